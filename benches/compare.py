#!/usr/bin/env python3
"""Runs the original tfprof and another program on the same case, alternating, and prints the ratios as JSON.

  compare.py --python TF_PYTHON CASE_DIR --do op --steps 1 --repeat 5 --ours "tfprof op --graph_path={case}/graph.pb ..."

Order: tfprof, ours, tfprof, ours, ... so that both meet the same noise. Medians are taken of each side, and the
ratio of each pair is kept too (its least and greatest say how noisy the run was).
  core     tfprof: read + load + steps + the view (no import, no destructors); ours: the whole process
  process  both whole processes (tfprof: extension-only import, not `import tensorflow`, so a low figure for it)
  rss      tfprof: peak less its RSS after import; ours: the whole peak (which is never under this script's own ~15 MB:
           a child's ru_maxrss starts at its parent's)
"""

import argparse
import json
import os
import shlex
import subprocess
import time
from statistics import median

import anchor


def compare(a, cmd):
    """Runs both sides `a.repeat` times in turns; `a` are the options of anchor.py, `cmd` the words of our command."""
    theirs, core, ours = [], [], []
    for _ in range(a.repeat):
        run = anchor.one_run(a)
        theirs.append(run)
        core.append(core_of(run))
        ours.append(run_ours(cmd))
    cpu = sorted(c["cpu"] / o["cpu"] for c, o in zip(core, ours))
    rss = sorted(c["rss"] / o["peak_mb"] for c, o in zip(core, ours))
    return {
        "case": os.path.basename(os.path.abspath(a.case)),
        "do": a.do,
        "steps": a.steps,
        "repeat": a.repeat,
        "end": sorted({t["end"] for t in theirs}),
        "ours_status": sorted({o["status"] for o in ours}),
        "tfprof": {
            "core_cpu": round(median(c["cpu"] for c in core), 4),
            "core_wall": round(median(c["wall"] for c in core), 4),
            "process_cpu": round(median(t["cpu"] for t in theirs), 4),
            "rss_mb": round(median(c["rss"] for c in core), 1),
        },
        "ours": {
            "cpu": round(median(o["cpu"] for o in ours), 4),
            "wall": round(median(o["wall"] for o in ours), 4),
            "peak_mb": round(median(o["peak_mb"] for o in ours), 1),
        },
        "times_less": {
            "core_cpu": round(median(cpu), 1),
            "core_cpu_range": [round(cpu[0], 1), round(cpu[-1], 1)],
            "core_wall": round(median(c["wall"] / o["wall"] for c, o in zip(core, ours)), 1),
            "process_cpu": round(median(t["cpu"] / o["cpu"] for t, o in zip(theirs, ours)), 1),
            "rss": round(median(rss), 1),
            "rss_range": [round(rss[0], 1), round(rss[-1], 1)],
        },
    }


def core_of(run):
    """What tfprof spent on the question itself."""
    phases = run["phases"]
    asked = [p for name, p in phases.items() if name not in ("import", "free")]
    core = {f: sum(p[f] for p in asked) for f in ("wall", "cpu")}
    core["rss"] = run["peak_mb"] - phases["import"]["rss_mb"]
    return core


def run_ours(cmd):
    t = time.perf_counter()
    p = subprocess.Popen(cmd, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, st, ru = os.wait4(p.pid, 0)
    p.returncode = 0
    return {
        "wall": time.perf_counter() - t,
        "cpu": ru.ru_utime + ru.ru_stime,
        "peak_mb": ru.ru_maxrss / 1024,
        "status": st,
    }


def question(p):
    """The options that describe a question to tfprof, for scripts that use anchor.one_run."""
    p.add_argument("--python", default=os.environ.get("TF_PYTHON"))
    p.add_argument("--steps", type=int, default=1)
    p.add_argument("--repeat", type=int, default=5)
    p.add_argument("--select", default="micros,bytes,params,float_ops")
    p.add_argument("--max-depth", type=int, default=10000)
    p.add_argument("--order-by", default="micros")
    p.add_argument("--account", default=".*")
    p.add_argument("--limit", type=float, default=300, help="seconds for one run of tfprof")
    p.add_argument("--cpu-limit", type=int, default=0)
    p.add_argument("--mem-gb", type=int, default=0)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("case")
    p.add_argument("--ours", required=True)
    p.add_argument("--do", default="op")
    question(p)
    a = p.parse_args()
    print(json.dumps(compare(a, [x.format(case=a.case, steps=a.steps, do=a.do) for x in shlex.split(a.ours)])))


if __name__ == "__main__":
    main()
