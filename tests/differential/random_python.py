"""Compares tfprof's Python API, and TensorFlow's after `patch_tensorflow()`, with TensorFlow's: random models and questions.

  random_python.py --seed S --models N --questions Q

Each model is built in a process of its own and asked three ways: by tfprof's names, by TensorFlow's names while patched,
and by TensorFlow itself. Questions are `profile` with every command and output, `Profiler` with steps added between
questions, `advise`, `write_op_log`, `serialize_to_string` and `Timeline`. Exit code 1 and a line for each difference;
model I and its questions depend on the seed and I only.
"""

import argparse
import collections
import ctypes
import difflib
import gc
import gzip
import json
import os
import random
import signal
import sys
import tempfile
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

import oracle
import tensorflow as tf
import tfprof
from casekit import ALL, CHECKERS, METRICS, ORDERS, SELECTS
from live_model import LiveModel
from random_question import pattern
from tensorflow.python.client import timeline as their_timeline
from vocabulary import chance

theirs = tf.compat.v1.profiler
COMMANDS = {
    "scope": "profile_name_scope",
    "graph": "profile_graph",
    "op": "profile_operations",
    "code": "profile_python",
}


def flush():
    """Writes what Python and TensorFlow, which prints past Python, hold back."""
    sys.stdout.flush()
    ctypes.CDLL(None).fflush(None)


class Asker:
    """Asks each question three ways, each in a directory of its own, and compares results, printed text and files."""

    def __init__(self, rng, model):
        self.rng, self.model = rng, model
        self.names = [op.name for op in model.graph.get_operations()]
        self.types = [op.type for op in model.graph.get_operations()]
        self.asked = collections.Counter()
        self.differences = []

    def ask(self):
        kinds = [self.profile] * 6 + [self.profiler] * 2 + [self.advise, self.write_op_log, self.timeline]
        kind = self.rng.choice(kinds)
        self.asked[kind.__name__] += 1
        kind()

    def profile(self):
        rng = self.rng
        cmd = rng.choice(list(COMMANDS))
        run = rng.choice([None, *self.model.runs])
        options, log = self._options(cmd, steps=()), self._log()
        self._compare("profile(cmd=%r, run_meta=%s, options=%s)" % (cmd, run is not None, options), lambda api: api.profile(self.model.graph, run, log, cmd, options))

    def profiler(self):
        rng = self.rng
        log = self._log()
        script = [("step", n, run) for n, run in zip(rng.sample([0, 1, 5, 100], 3), self.model.runs)]
        for _ in range(rng.randint(1, 3)):
            cmd = rng.choice(list(COMMANDS))
            steps = [step for what, step, _ in script if what == "step"]
            script.insert(rng.randint(len(steps), len(script)), ("ask", cmd, self._options(cmd, steps)))
        if chance(rng, 0.6):
            script.append(("save", None, None))

        def play(api):
            profiler = api.Profiler(self.model.graph, log)
            answers = []
            for what, word, more in script:
                if what == "step":
                    profiler.add_step(word, more)
                    answers.append(round(profiler._coverage, 9))
                elif what == "ask":
                    answers.append(getattr(profiler, COMMANDS[word])(more))
                else:
                    from tensorflow.core.profiler import tfprof_log_pb2

                    answers.append(tfprof_log_pb2.ProfileProto.FromString(profiler.serialize_to_string()))
            del profiler
            gc.collect()  # TensorFlow allows one at a time.
            return answers

        self._compare("Profiler: %s" % [part[:2] if part[0] == "step" else part for part in script], play)

    def advise(self):
        checkers = {name: {} for name in CHECKERS if chance(self.rng, 0.7)}
        run = self.rng.choice([None, *self.model.runs])

        def reports(api):
            found = api.advise(self.model.graph, run, checkers)
            words = ["FusedBatchNorm", "NHWC"]  # the two sentences that we word ourselves share them
            return {
                name: [next((w for w in words if w in text), text if name != "OperationChecker" else "?") for text in checker.reports]
                for name, checker in found.checkers.items()
            }

        self._compare("advise", reports, text=False)

    def write_op_log(self):
        rng = self.rng
        log, trace = self._log(), chance(rng, 0.7)
        run = rng.choice([None, *self.model.runs])

        def written(api):
            from tensorflow.core.profiler import tfprof_log_pb2

            api.write_op_log(self.model.graph, ".", log, run, trace)
            with open("tfprof_log", "rb") as file:
                return tfprof_log_pb2.OpLogProto.FromString(file.read())

        self._compare("write_op_log", written, text=False)

    def timeline(self):
        rng = self.rng
        if not self.model.runs:
            return
        run = rng.choice(self.model.runs)
        options = {"show_dataflow": chance(rng, 0.7), "show_memory": chance(rng, 0.5)}
        if chance(rng, 0.4):
            options["op_time"] = rng.choice(["schedule", "gpu", "all"])

        def trace(api):
            timeline = tfprof.timeline if api is tfprof else their_timeline
            return timeline.Timeline(run.step_stats).generate_chrome_trace_format(**options)

        self._compare("Timeline", trace)

    def _log(self):
        return self.model.log if self.model.log is not None and chance(self.rng, 0.7) else None

    def _options(self, cmd, steps):
        rng = self.rng
        builder = tfprof.ProfileOptionBuilder
        if chance(rng, 0.3):
            options = rng.choice(
                [builder.trainable_variables_parameter, builder.float_operation, builder.time_and_memory]
            )()
        else:
            options = builder.time_and_memory()
            options["select"] = rng.sample([word for word in SELECTS if word != "tensor_value"], rng.choice([1, 2, 4]))
            options["order_by"] = rng.choice(ORDERS)
            options["max_depth"] = rng.choice([1, 3, 10, 1000])
            for word, known, idle in (
                ("account_type", self.types, ALL),
                ("start_name", self.names, ALL),
                ("trim_name", self.names, []),
                ("show_name", self.names, ALL),
                ("hide_name", self.names, []),
            ):
                # A root that is trimmed away is the end of the original.
                some = known and chance(rng, 0.15) and not (cmd == "code" and word == "trim_name")
                options[word + "_regexes"] = [pattern(rng, known, not idle)] if some else list(idle)
            for metric in ("micros", "bytes", "params", "float_ops", "occurrence"):
                if chance(rng, 0.15):
                    options["min_" + metric] = rng.choice([1, 10, 1000])
            options["account_displayed_op_only"] = chance(rng, 0.3)
        options["step"] = rng.choice(steps) if steps and chance(rng, 0.4) else -1
        outputs = ["none", "stdout", "file:outfile=out"]
        if cmd != "op" and self.model.runs:
            outputs.append("timeline:outfile=timeline")
        if cmd == "code":
            outputs.append("pprof:outfile=pprof.gz")
        options["output"] = rng.choice(outputs)
        if options["output"].startswith("pprof"):
            options["select"] = [rng.choice([m for m in METRICS if m != "occurrence"])]
        return options

    def _compare(self, what, ask, text=True):
        found = {"direct": self._one(tfprof, ask, text)}
        tfprof.patch_tensorflow()
        try:
            found["patched"] = self._one(theirs, ask, text)
        finally:
            tfprof.unpatch_tensorflow()
        # TensorFlow goes last: it completes the shapes of the graph for good.
        original = self._one(theirs, ask, text)
        for way, ours in found.items():
            self.asked[way] += 1
            for part in sorted({*ours, *original}):
                if not same(ours.get(part), original.get(part), way == "direct"):
                    difference = first_lines(original.get(part), ours.get(part))
                    self.differences.append("%s, %s: %s differs\n%s" % (way, what, part, difference))

    @staticmethod
    def _one(api, ask, text):
        """What one of the two returned, printed and wrote."""
        before = os.getcwd()
        with tempfile.TemporaryDirectory(prefix="tfprof_python_") as work:
            os.chdir(work)
            flush()
            kept = os.dup(1)
            out = os.open(".stdout", os.O_WRONLY | os.O_CREAT, 0o644)
            os.dup2(out, 1)
            try:
                found = {"result": ask(api)}
            except Exception as error:
                found = {"result": "refused: %s" % type(error).__name__}
            finally:
                flush()
                os.dup2(kept, 1)
                os.close(kept)
                os.close(out)
                os.chdir(before)
            for name in sorted(os.listdir(work)):
                data = oracle.read_raw(os.path.join(work, name))
                if name == ".stdout":
                    if text:
                        found["stdout"] = printed(data)
                elif name == "pprof.gz":
                    found[name] = samples(gzip.decompress(data))
                elif name.startswith("timeline"):
                    found[name] = json.loads(data)
                elif name == "out":
                    found[name] = oracle.profile_text(data)
            return found


def printed(data):
    """The printed text without the sentences between `Doc:` and `Profile:`, which are ours."""
    head, *parts = data.split(b"\nDoc:\n")
    return head + b"".join(part[part.find(b"\nProfile:\n") :] for part in parts)


def samples(data):
    """The samples of a pprof profile by their stacks, whatever the order and the numbers of its tables."""
    from tensorflow.core.profiler import profile_pb2

    profile = profile_pb2.Profile.FromString(data)
    strings = profile.string_table
    functions = {f.id: (strings[f.name], strings[f.filename]) for f in profile.function}
    lines = {l.id: [(functions.get(line.function_id), line.line) for line in l.line] for l in profile.location}
    return sorted((str([lines.get(id) for id in s.location_id]), list(s.value)) for s in profile.sample)


def same(ours, original, direct):
    """Equal, or a message that the original cannot read because it is deep. Directly, a timeline also has a message."""
    if isinstance(ours, list) and isinstance(original, list):
        return len(ours) == len(original) and all(same(a, b, direct) for a, b in zip(ours, original))
    if ours == original or direct and getattr(original, "ByteSize", lambda: 1)() == 0:
        return True
    try:
        type(ours).FromString(ours.SerializeToString())
    except AttributeError:
        return False
    except Exception as error:
        return "MaxDepth" in str(error)
    return False


def first_lines(original, ours):
    """The first differences: lines of the original with -, ours with +."""
    before, after = ([str(line) for line in lines(part)] for part in (original, ours))
    return "\n".join(list(difflib.unified_diff(before, after, "original", "ours", n=2, lineterm=""))[:30])


def lines(part):
    if isinstance(part, list):
        return [line for item in part for line in lines(item)]
    text = part.decode("utf-8", "replace") if isinstance(part, bytes) else str(part)
    return text.splitlines()


def ask_model(args, index):
    """In the child: (questions by kind, differences)."""
    rng = random.Random("python/%d/%d" % (args.seed, index))
    asker = Asker(rng, LiveModel(rng))
    for _ in range(args.questions):
        asker.ask()
    return asker.asked, asker.differences


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--models", type=int, default=50)
    parser.add_argument("--first", type=int, default=0, help="the model to begin with")
    parser.add_argument("--questions", type=int, default=8, help="for each model")
    args = parser.parse_args()
    gc.freeze()  # children share its pages
    begin, asked, different, died = time.time(), collections.Counter(), 0, 0
    for index in range(args.first, args.first + args.models):
        read, write = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(read)
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, 2)  # standard error is worded freely
            signal.alarm(300)
            try:
                answer = ask_model(args, index)
            except BaseException as error:
                answer = {}, ["%s: %s" % (type(error).__name__, error)]
            with os.fdopen(write, "w") as pipe:
                json.dump(answer, pipe)
            os._exit(0)
        os.close(write)
        with os.fdopen(read) as pipe:
            answer = pipe.read()
        _, status = os.waitpid(pid, 0)
        if status != 0 or not answer:
            died += 1
            print("seed %d, model %d: the process died (%d)" % (args.seed, index, status))
            continue
        kinds, differences = json.loads(answer)
        asked.update(kinds)
        for difference in differences:
            different += 1
            print("seed %d, model %d: %s\n" % (args.seed, index, difference))
    ways = " and ".join("%d %s" % (asked.pop(way, 0), way) for way in ("direct", "patched"))
    kinds = ", ".join("%d %s" % (n, kind) for kind, n in sorted(asked.items()))
    count = sum(asked.values())
    print(
        "Python: %d models, %d questions (%s), compared %s; %d different, %d died; %.1f questions a second"
        % (args.models, count, kinds, ways, different, died, count / (time.time() - begin))
    )
    sys.exit(1 if different or died else 0)


if __name__ == "__main__":
    main()
