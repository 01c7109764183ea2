"""Runs the tfprof inside TensorFlow on files and records its answers.

The profiler is driven through TensorFlow's native binding, which takes serialized
protos, so no live tf.Graph is needed.  Every case is run in a forked child whose
working directory is a fresh temporary one: a crash of the native code (some option
mistakes abort the process) is recorded like any other result, and output files are
named relatively so that no path of the machine ends up in a result.

  oracle.py run   --graph G [--run_meta [STEP=]F,...] [--op_log F]
                  --cmd scope|graph|op|code|advise|serialize|chrome
                  [--api one_shot|multi_step|from_profile] [--options JSON] --out DIR
  oracle.py batch --root DIR [--only REGEX] [--jobs N]     (DIR holds cases.json)
"""

import argparse
import gzip
import json
import os
import re
import shutil
import signal
import sys
import tempfile

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

# What model_analyzer._build_options falls back to when a key is not given.
API_DEFAULTS = {
    "max_depth": 10,
    "min_bytes": 0,
    "min_peak_bytes": 0,
    "min_residual_bytes": 0,
    "min_output_bytes": 0,
    "min_micros": 0,
    "min_accelerator_micros": 0,
    "min_cpu_micros": 0,
    "min_params": 0,
    "min_float_ops": 0,
    "min_occurrence": 0,
    "step": -1,
    "order_by": "name",
    "account_type_regexes": [],
    "start_name_regexes": [],
    "trim_name_regexes": [],
    "show_name_regexes": [],
    "hide_name_regexes": [],
    "account_displayed_op_only": False,
    "select": [],
    "output": "file",
}
VIEWS = ("scope", "graph", "op", "code")
# Result files above this size are stored gzipped.
GZIP_ABOVE = 24 * 1024
# The text rendering of a result proto is only kept below this size.
TEXT_PROTO_MAX = 8 * 1024


def _tf():
    """Imports TensorFlow lazily: it takes seconds."""
    import tensorflow as tf

    return tf


def read_bytes(path):
    """What a file says; the corpus keeps `x` as `x.gz`."""
    if not os.path.exists(path) and os.path.exists(path + ".gz"):
        path += ".gz"
    if path.endswith(".gz"):
        with gzip.open(path, "rb") as f:
            return f.read()
    with open(path, "rb") as f:
        return f.read()


def load_graph(path):
    """Binary GraphDef bytes of a .pb or .pbtxt file."""
    data = read_bytes(path)
    name = path[:-3] if path.endswith(".gz") else path
    if name.endswith(".pbtxt"):
        from google.protobuf import text_format

        graph = _tf().compat.v1.GraphDef()
        text_format.Parse(data, graph)
        return graph.SerializeToString()
    return data


def options_proto(options):
    """tfprof OptionsProto of a dict; keys not given take the Python API's defaults."""
    from tensorflow.core.profiler import tfprof_options_pb2

    merged = dict(API_DEFAULTS)
    merged.update(options)
    proto = tfprof_options_pb2.OptionsProto()
    for key, value in merged.items():
        if key == "output":
            value = {
                "file": "file:outfile=out.txt",
                "timeline": "timeline:outfile=timeline",
                "pprof": "pprof:outfile=pprof.gz",
            }.get(value, value)
        if isinstance(value, list):
            getattr(proto, key).extend(value)
        else:
            setattr(proto, key, value)
    return proto


def advisor_proto(checkers):
    from tensorflow.core.profiler import tfprof_options_pb2

    proto = tfprof_options_pb2.AdvisorOptionsProto()
    for name, opts in (checkers or {}).items():
        proto.checkers[name].options.update(opts)
        proto.checkers[name].SetInParent()
    return proto


def result_proto(cmd):
    from tensorflow.core.profiler import tfprof_log_pb2
    from tensorflow.core.profiler import tfprof_output_pb2

    if cmd in ("scope", "graph"):
        return tfprof_output_pb2.GraphNodeProto()
    if cmd in ("op", "code"):
        return tfprof_output_pb2.MultiGraphNodeProto()
    if cmd == "advise":
        return tfprof_output_pb2.AdviceProto()
    if cmd == "serialize":
        return tfprof_log_pb2.ProfileProto()
    return None


class Oracle:
    """Reads input files once and runs cases in forked children."""

    def __init__(self, root="."):
        self.root = os.path.abspath(root)
        self._cache = {}
        self._unpacked = tempfile.TemporaryDirectory(prefix="tfprof_oracle_profiles_")
        _tf()
        from tensorflow.python.util import _pywrap_tfprof

        self._native = _pywrap_tfprof

    def _input(self, rel, graph=False):
        if rel not in self._cache:
            path = os.path.join(self.root, rel)
            self._cache[rel] = load_graph(path) if graph else read_bytes(path)
        return self._cache[rel]

    def _profile(self, rel):
        """Path of a plain profile: tfprof opens this one input itself and knows no gzip."""
        path = os.path.join(self.root, rel)
        if os.path.exists(path) or not os.path.exists(path + ".gz"):
            return path
        plain = os.path.join(self._unpacked.name, rel.replace("/", "_"))
        if not os.path.exists(plain):
            with open(plain, "wb") as f:
                f.write(read_bytes(path))
        return plain

    def prepare(self, case):
        """Loads the inputs of a case in the parent, so children share them."""
        inputs = case["inputs"]
        if inputs.get("profile"):
            self._profile(inputs["profile"])
        if inputs.get("graph"):
            self._input(inputs["graph"], graph=True)
        if inputs.get("op_log"):
            self._input(inputs["op_log"])
        for item in inputs.get("run_meta", []):
            self._input(item["file"])

    def _execute(self, case):
        """In the child: calls the profiler; returns serialized result bytes."""
        native = self._native
        inputs = case["inputs"]
        cmd = case["cmd"]
        graph = self._input(inputs["graph"], graph=True) if inputs.get("graph") else b""
        op_log = self._input(inputs["op_log"]) if inputs.get("op_log") else b""
        metas = [(m["step"], self._input(m["file"])) for m in inputs.get("run_meta", [])]
        if cmd == "chrome":
            return self._chrome(metas[0][1], case.get("options", {}))
        if cmd == "advise":
            opts = advisor_proto(case.get("options"))
        else:
            opts = options_proto(case.get("options", {}))
        opts = opts.SerializeToString()
        api = case["api"]
        if api == "one_shot":
            return native.PrintModelAnalysis(graph, metas[0][1] if metas else b"", op_log, cmd.encode(), opts)
        if api == "multi_step":
            native.NewProfiler(graph, op_log)
            for step, meta in metas:
                native.AddStep(step, b"", meta, b"")
        elif api == "from_profile":
            native.ProfilerFromFile(self._profile(inputs["profile"]).encode())
        else:
            raise ValueError("unknown api %r" % api)
        if cmd == "serialize":
            return native.SerializeToString()
        return native.Profile(cmd.encode(), opts)

    def _chrome(self, meta, options):
        from tensorflow.core.protobuf import config_pb2
        from tensorflow.python.client import timeline

        run_meta = config_pb2.RunMetadata.FromString(meta)
        opts = dict(options)
        op_time = opts.pop("op_time", "schedule")
        if op_time != "schedule":
            opts["op_time"] = op_time
        trace = timeline.Timeline(run_meta.step_stats).generate_chrome_trace_format(**opts)
        with open("chrome.json", "w") as f:
            f.write(trace)
        return b""

    def run(self, case):
        """Runs a case; returns {'exit', 'stdout', 'stderr', 'files': {name: bytes}}."""
        self.prepare(case)
        work = tempfile.mkdtemp(prefix="tfprof_oracle_")
        pid = os.fork()
        if pid == 0:
            code = 70
            try:
                os.chdir(work)
                for fd, name in ((1, ".stdout"), (2, ".stderr")):
                    out = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
                    os.dup2(out, fd)
                ret = self._execute(case)
                sys.stdout.flush()
                sys.stderr.flush()
                with open(".result", "wb") as f:
                    f.write(ret)
                code = 0
            except BaseException as e:
                os.write(2, ("%s: %s\n" % (type(e).__name__, e)).encode())
            finally:
                os._exit(code)
        _, status = os.waitpid(pid, 0)
        res = {"files": {}}
        if os.WIFSIGNALED(status):
            res["exit"] = signal.Signals(os.WTERMSIG(status)).name
        else:
            res["exit"] = os.WEXITSTATUS(status)
        for name in sorted(os.listdir(work)):
            data = read_raw(os.path.join(work, name))
            if name in (".stdout", ".stderr"):
                res[name[1:]] = data.decode("utf-8", "replace")
            elif name == ".result":
                res["result"] = data
            else:
                res["files"][name] = data
        shutil.rmtree(work)
        res["stderr"] = clean_stderr(res.get("stderr", ""), self.root)
        return res


def read_raw(path):
    with open(path, "rb") as f:
        return f.read()


def clean_stderr(text, root):
    """Drops what varies between runs: log prefixes, stack dumps, temporary paths."""
    out = []
    for line in text.splitlines():
        if line.startswith("WARNING: All log messages before absl::InitializeLog"):
            continue
        if line.startswith("*** Check failure stack trace") or re.match(r"\s+@\s+0x", line):
            continue
        m = re.match(r"^([IWEF])\d{4} [^\]]*?([\w.]+\.(?:cc|h)):\d+\] (.*)$", line)
        if m:
            line = "%s %s] %s" % m.groups()
        else:
            m = re.match(r"^\d{4}-\d\d-\d\d [\d:.]+: ([IWEF]) (?:\S*/)?([\w.]+\.(?:cc|h)):\d+\] (.*)$", line)
            if m:
                line = "%s %s] %s" % m.groups()
        line = line.replace(root + "/", "")
        out.append(line)
    return "".join(l + "\n" for l in out)


def _varint(buf, pos):
    value = shift = 0
    while True:
        byte = buf[pos]
        pos += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, pos


def _encode_varint(value):
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def sort_maps(data, child_field, map_field):
    """Sorts the entries of a map field by key, through nested children.

    Works on the wire format: the graph view nests deeper than the Python protobuf
    parser follows.
    """
    fields, entries, where = [], [], None
    pos = 0
    while pos < len(data):
        begin = pos
        tag, pos = _varint(data, pos)
        number, wire = tag >> 3, tag & 7
        if wire == 0:
            _, pos = _varint(data, pos)
        elif wire == 1:
            pos += 8
        elif wire == 5:
            pos += 4
        else:
            size, pos = _varint(data, pos)
            body = data[pos : pos + size]
            pos += size
            if number == child_field:
                body = sort_maps(body, child_field, map_field)
                fields.append(_encode_varint(tag) + _encode_varint(len(body)) + body)
                continue
            if number == map_field:
                key = _varint(body, 1)[0] if body[:1] == b"\x08" else 0
                if where is None:
                    where = len(fields)
                entries.append((key, data[begin:pos]))
                continue
        fields.append(data[begin:pos])
    if entries:
        fields[where:where] = [raw for _, raw in sorted(entries)]
    return b"".join(fields)


def canonical(cmd, data):
    """Result bytes with map entries in sorted order, plus the text form."""
    from google.protobuf import message
    from google.protobuf import text_format

    proto = result_proto(cmd)
    if proto is None:
        return b"", ""
    try:
        proto.ParseFromString(data)
    except message.DecodeError:
        # Deeper than the parser goes; only the graph view does that.
        desc = proto.DESCRIPTOR.fields_by_name
        limit = sys.getrecursionlimit()
        sys.setrecursionlimit(100000)
        try:
            return sort_maps(data, desc["children"].number, desc["input_shapes"].number), ""
        finally:
            sys.setrecursionlimit(limit)
    return (proto.SerializeToString(deterministic=True), text_format.MessageToString(proto))


def store(path, data):
    """Writes data, gzipped when large; returns the name actually used."""
    if len(data) > GZIP_ABOVE and not path.endswith(".gz"):
        path += ".gz"
        with open(path, "wb") as raw:
            with gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0) as f:
                f.write(data)
    else:
        with open(path, "wb") as f:
            f.write(data)
    return os.path.basename(path)


def profile_text(data):
    """A report from its `Profile:` line on; the wording of what comes before is free."""
    if data.startswith(b"Profile:\n"):
        return data
    return data[data.find(b"\nProfile:\n") + 1 :]  # all of it when there is no such line


def to_files(case, res, want_text_proto=True):
    """Maps a raw result to {'kind': (suffix, bytes)}."""
    files = {}
    raw_files = dict(res["files"])
    if "out.txt" in raw_files:
        files["text"] = (".txt", profile_text(raw_files.pop("out.txt")))
    if "chrome.json" in raw_files:
        files["chrome"] = (".chrome.json", raw_files.pop("chrome.json"))
    if "pprof.gz" in raw_files:
        files["pprof"] = (".pprof.gz", raw_files.pop("pprof.gz"))
    for name in sorted(raw_files):
        m = re.match(r"^timeline_(-?\d+)$", name)
        if m:
            files["timeline:" + m.group(1)] = (".timeline_%s.json" % m.group(1), raw_files[name])
        else:
            files["file:" + name] = ("." + name, raw_files[name])
    if res.get("stdout"):
        files["stdout"] = (".stdout", res["stdout"].encode())
    if res.get("stderr"):
        files["stderr"] = (".stderr", res["stderr"].encode())
    if res.get("result"):
        data, text = canonical(case["cmd"], res["result"])
        files["proto"] = (".pb", data)
        if want_text_proto and 0 < len(text) <= TEXT_PROTO_MAX and case["cmd"] != "serialize":
            files["proto_text"] = (".pbtxt", text.encode())
    return files


def write_golden(case, res, golden_dir):
    """Writes the result files of a case; returns its `expect` record."""
    expect = {"exit": res["exit"]}
    for kind, (suffix, data) in to_files(case, res).items():
        expect[kind] = "golden/" + store(os.path.join(golden_dir, case["name"] + suffix), data)
    return expect


def batch(args):
    """(Re)creates the goldens of every case in ROOT/cases.json."""
    path = os.path.join(args.root, "cases.json")
    with open(path) as f:
        doc = json.load(f)
    golden = os.path.join(args.root, "golden")
    os.makedirs(golden, exist_ok=True)
    oracle = Oracle(args.root)
    for case in doc["cases"]:
        if args.only and not re.search(args.only, case["name"]):
            continue
        res = oracle.run(case)
        case["expect"] = write_golden(case, res, golden)
        if args.verbose:
            print(case["name"], res["exit"], sorted(case["expect"]))
    save_cases(path, doc)
    print("%s: %d cases" % (os.path.basename(os.path.abspath(args.root)), len(doc["cases"])))


def save_cases(path, doc):
    with open(path, "w") as f:
        f.write("{\n")
        for key in doc:
            if key != "cases":
                f.write(" %s: %s,\n" % (json.dumps(key), json.dumps(doc[key])))
        f.write(' "cases": [\n')
        rows = ["  " + json.dumps(c) for c in doc["cases"]]
        f.write(",\n".join(rows))
        f.write("\n ]\n}\n")


def run_one(args):
    metas = []
    for i, item in enumerate(filter(None, (args.run_meta or "").split(","))):
        m = re.match(r"^(\d+)=(.*)$", item)
        step, name = (int(m.group(1)), m.group(2)) if m else (i, item)
        metas.append({"step": step, "file": os.path.abspath(name)})
    absolute = lambda p: os.path.abspath(p) if p else None
    api = args.api or (
        "from_profile" if args.profile else "one_shot" if args.cmd in VIEWS and len(metas) < 2 else "multi_step"
    )
    case = {
        "name": args.name or args.cmd,
        "api": api,
        "cmd": args.cmd,
        "options": json.loads(args.options),
        "inputs": {
            "graph": absolute(args.graph),
            "run_meta": metas,
            "op_log": absolute(args.op_log),
            "profile": absolute(args.profile),
        },
    }
    res = Oracle("/").run(case)
    os.makedirs(args.out, exist_ok=True)
    record = {"exit": res["exit"]}
    for kind, (suffix, data) in to_files(case, res).items():
        path = os.path.join(args.out, case["name"] + suffix)
        with open(path, "wb") as f:
            f.write(data)
        record[kind] = path
    print(json.dumps(record, indent=1))
    if "text" in record and args.show:
        sys.stdout.write(res["files"]["out.txt"].decode())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    sub = parser.add_subparsers(dest="mode", required=True)
    one = sub.add_parser("run")
    one.add_argument("--graph")
    one.add_argument("--run_meta", help="comma-separated files, each FILE or STEP=FILE")
    one.add_argument("--op_log")
    one.add_argument("--profile", help="a serialized ProfileProto instead of the above")
    one.add_argument("--cmd", required=True)
    one.add_argument("--api", choices=["one_shot", "multi_step", "from_profile"])
    one.add_argument("--options", default="{}")
    one.add_argument("--name")
    one.add_argument("--out", default=".")
    one.add_argument("--show", action="store_true")
    many = sub.add_parser("batch")
    many.add_argument("--root", required=True)
    many.add_argument("--only")
    many.add_argument("--verbose", action="store_true")
    args = parser.parse_args()
    {"run": run_one, "batch": batch}[args.mode](args)


if __name__ == "__main__":
    main()
