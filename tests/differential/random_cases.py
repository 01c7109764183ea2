"""Random small models, random questions about them, and the answers of the original tfprof.

  random_cases.py --seed S --models N --questions Q --out DIR
                  [--kinds K,K...] [--jobs J] [--report FILE]

DIR gets one directory per model, random_<seed>_<index>, in the layout of the corpus:
inputs, cases.json, golden/.  The same seed gives the same files; model I and its question
number J depend on the seed, I, J and --kinds only, not on N, Q or the number of jobs.

Reports in text begin at their `Profile:` line; standard output and error are not kept.
A question that makes no sense, or that kills tfprof, is tagged `rude`, and the end of its
name says why.
"""

import argparse
import gc
import json
import os
import random
import shutil
import sys
import tempfile
import time

import oracle
from casekit import Cases
from random_model import Model
from random_question import CODE_KINDS, KINDS, Question
from survey import Asker, Survey
from tally import Tally


def make_model(args, index, tally):
    name = "random_%d_%04d" % (args.seed, index)
    directory = os.path.join(args.out, name)
    shutil.rmtree(directory, ignore_errors=True)
    golden = os.path.join(directory, "golden")
    os.makedirs(golden)
    model = Model(random.Random("%d/%d" % (args.seed, index)), need_code=all(k in CODE_KINDS for k in args.kinds))
    model.save(directory)
    op_log = "tfprof_log" if model.log is not None else None
    asker = Asker(directory)
    survey = Survey(asker, model, op_log)
    if survey.profile is not None:
        with open(os.path.join(directory, "profile.pb"), "wb") as f:
            f.write(oracle.canonical("serialize", survey.profile)[0])
    cases = Cases(
        name,
        run_meta=[(s, f) for s, f, _ in model.runs],
        op_log=op_log,
        about="random: " + ", ".join(sorted(model.traits)),
    )
    tally["models"] += 1
    tally["nodes"] += len(model.graph.node)
    for trait in model.traits:
        tally["models with " + trait] += 1
    if survey.exit != 0:
        tally["models whose survey dies: %s" % survey.exit] += 1
    for number in range(args.questions):
        rng = random.Random("%d/%d/%d" % (args.seed, index, number))
        question = Question(rng, args.kinds, model, survey)
        cases.add("q%02d" % number, question.cmd, question.options, api=question.api, inputs=question.inputs)
        case = cases.cases[-1]
        res = asker.run(case)
        if res["exit"] == "SIGXCPU":
            tally["left out, too slow"] += 1
            cases.cases.pop()
            continue
        if res["exit"] != 0:
            question.rude.append("dies")
        case["name"] += "_" + "_".join([question.kind] + ["rude"] * bool(question.rude) + question.rude)
        if question.rude:
            case["tags"] = ["rude"]
        tally.question(question, case, res, survey)
        res["stdout"] = res["stderr"] = ""
        case["expect"] = oracle.write_golden(case, res, golden)
    cases.save(args.out)


def work(args, job, path):
    tally = Tally()
    for index in range(job, args.models, args.jobs):
        make_model(args, index, tally)
    with open(path, "w") as f:
        json.dump(tally, f)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--models", type=int, default=10)
    parser.add_argument("--questions", type=int, default=8, help="for each model")
    parser.add_argument("--out", required=True)
    parser.add_argument("--kinds", default=",".join(KINDS), help="default: %(default)s")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--report", help="a JSON file of figures: what the questions reached")
    args = parser.parse_args()
    args.kinds = args.kinds.split(",")
    unknown = set(args.kinds) - set(KINDS)
    if unknown:
        parser.error("unknown kinds: %s" % ", ".join(sorted(unknown)))
    os.makedirs(args.out, exist_ok=True)
    oracle.Oracle(args.out)  # loads TensorFlow once, for all children
    gc.freeze()  # children share its pages
    begin = time.time()
    with tempfile.TemporaryDirectory(prefix="tfprof_random_") as temp:
        jobs = {}
        for job in range(args.jobs):
            path = os.path.join(temp, str(job))
            pid = os.fork()
            if pid == 0:
                code = 1
                try:
                    work(args, job, path)
                    code = 0
                except BaseException:
                    sys.excepthook(*sys.exc_info())
                finally:
                    sys.stderr.flush()
                    os._exit(code)
            jobs[pid] = path
        tally, failed = Tally(), 0
        for pid, path in jobs.items():
            failed += os.waitpid(pid, 0)[1] != 0
            if os.path.exists(path):
                with open(path) as f:
                    tally.update(json.load(f))
    spent = time.time() - begin
    asked = sum(n for k, n in tally.items() if k.startswith("kind: "))
    if args.report:
        with open(args.report, "w") as f:
            json.dump(dict(sorted(tally.items())), f, indent=1)
    print(
        "%d models, %d questions, %d rude, %d of them deadly; %.0f questions a second"
        % (
            tally["models"],
            asked,
            tally["rude"],
            sum(n for k, n in tally.items() if k.startswith("death: ")),
            asked / max(spent, 0.001),
        )
    )
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
