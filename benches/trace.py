#!/usr/bin/env python3
"""Chrome traces: time of `tfprof trace` and of TensorFlow's timeline.py, and memory as runs grow.

  trace.py [--nodes 100000] [--times 10] [--binary F] [--python F]

Makes a run of --nodes nodes (some 2.7 records each), the same records --times over (a loop: more events, the same
names), and a run of --nodes x --times nodes (more events, more names), and writes the trace of each in three modes. The
smallest is also written by timeline.py (TF_PYTHON or --python; left out if there is none), and must be the same bytes.
"""

import argparse
import filecmp
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
MODES = {
    "none": ["--show_dataflow=false"],
    "dataflow": [],
    "memory": ["--show_dataflow=false", "--show_memory=true"],
}

WORKER = """
import json, os, resource, sys, time
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
from tensorflow.core.protobuf import config_pb2
from tensorflow.python.client import timeline
base = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
start = time.process_time()
run = config_pb2.RunMetadata.FromString(open(sys.argv[1], "rb").read())
trace = timeline.Timeline(run.step_stats).generate_chrome_trace_format(
    show_dataflow=sys.argv[2] == "dataflow", show_memory=sys.argv[2] == "memory")
open(sys.argv[3], "w").write(trace)
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(json.dumps({"cpu": time.process_time() - start, "mb": (peak - base) / 1024}))
"""


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--nodes", type=int, default=100_000)
    p.add_argument("--times", type=int, default=10)
    p.add_argument("--binary", default=os.path.join(HERE, "..", "target", "release", "tfprof"))
    p.add_argument("--python", default=os.environ.get("TF_PYTHON"), help="one with TensorFlow")
    a = p.parse_args()
    with tempfile.TemporaryDirectory(prefix="tfprof_trace_") as temp:
        small = generate(a.nodes, os.path.join(temp, "small"))
        # Messages that stand one behind the other are one message: the same records again.
        loop = os.path.join(temp, "loop.pb")
        with open(loop, "wb") as out, open(small, "rb") as run:
            for _ in range(a.times):
                run.seek(0)
                shutil.copyfileobj(run, out)
        large = generate(a.nodes * a.times, os.path.join(temp, "large"))
        cases = [("small", small), (f"the same {a.times} times", loop), (f"{a.times} times the nodes", large)]
        print(f"{'run':24} {'shown':9} {'in MB':>6} {'out MB':>7} {'cpu s':>7} {'peak MB':>8}")
        for name, run in cases:
            for mode, flags in MODES.items():
                out = os.path.join(temp, "ours.json")
                ours = measure([a.binary, "trace", "--run_meta_path=" + run, "--outfile=" + out, *flags])
                show(name, mode, run, out, ours)
                if name == "small" and a.python:
                    theirs = os.path.join(temp, "theirs.json")
                    cmd = [a.python, "-c", WORKER, run, mode, theirs]
                    answer = subprocess.run(cmd, capture_output=True, text=True, check=True)
                    show("  timeline.py", mode, run, theirs, json.loads(answer.stdout.splitlines()[-1]))
                    if not filecmp.cmp(out, theirs, shallow=False):
                        sys.exit("trace: the two traces differ")


def generate(nodes, directory):
    cmd = [sys.executable, os.path.join(HERE, "gen.py"), "--out", directory, "--nodes", str(nodes), "--steps", "1"]
    subprocess.run([*cmd, "--frames", "0", "--label-inputs"], check=True, stdout=subprocess.DEVNULL)
    return os.path.join(directory, "run_0.pb")


def measure(cmd, quiet=False):
    """CPU seconds, seconds by the clock, and the peak of the resident set of one process.

    The peak is looked up while it runs: what the system says afterwards is never less than this script's own.
    """
    start = time.monotonic()
    warnings = [(os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0)] if quiet else []
    pid = os.posix_spawn(cmd[0], cmd, os.environ, file_actions=warnings)
    peak = 0
    while True:
        done, status, used = os.wait4(pid, os.WNOHANG)
        if done:
            break
        with open(f"/proc/{pid}/status") as f:
            peak = max([peak] + [int(line.split()[1]) for line in f if line.startswith("VmHWM")])
        time.sleep(0.005)
    if status != 0:
        sys.exit("trace: %s ended with %d" % (" ".join(cmd), status))
    return {"cpu": used.ru_utime + used.ru_stime, "wall": time.monotonic() - start, "mb": peak / 1024}


def show(name, mode, run, out, cost):
    sizes = [os.path.getsize(f) / 1e6 for f in (run, out)]
    print(f"{name:24} {mode:9} {sizes[0]:6.0f} {sizes[1]:7.0f} {cost['cpu']:7.2f} {cost['mb']:8.1f}", flush=True)


if __name__ == "__main__":
    main()
