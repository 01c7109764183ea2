"""Compares the breakdown of GPU time with HolisticTraceAnalysis: `breakdown.py TFPROF TRACE...`, with the Python that has HTA.

HTA cuts every start and length to whole microseconds, and drops the last step unless it is told not to. So tfprof reads a
copy of the trace whose times are cut the same way, without waits, which HTA takes for work; then compute, other work and idle time
of each rank must be equal. The difference to the exact times is printed.
"""

import gzip
import json
import math
import subprocess
import sys
import tempfile
from pathlib import Path

from hta.trace_analysis import TraceAnalysis


def load(path):
    data = Path(path).read_bytes()
    return json.loads(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data)


def device(program, path):
    done = subprocess.run([program, "info", path, "-output", "json:outfile=-"], capture_output=True, text=True, check=True)
    host = json.loads(done.stdout)["overview"]["hosts"][0]
    gpus = [device for device in host["devices"] if "GPU" in device["device"]]
    assert len(gpus) == 1, "HTA adds several GPUs of a rank up"
    return gpus[0]


def main(program, *traces):
    failed = 0
    for trace in traces:
        whole = load(trace)
        # HTA takes waits on streams for work, too.
        events = [event for event in whole["traceEvents"] if event.get("ph") == "X" and event.get("cat", "cuda_sync") != "cuda_sync"]
        cut = dict(whole, traceEvents=events)
        for event in cut["traceEvents"]:
            event["ts"], event["dur"] = math.floor(event["ts"]), math.floor(event["dur"])
        with tempfile.TemporaryDirectory() as directory:
            rank = whole.get("distributedInfo", {}).get("rank", 0)
            path = Path(directory) / "trace.json"
            path.write_text(json.dumps(cut))
            analysis = TraceAnalysis(trace_files={rank: str(path)}, trace_dir=directory, include_last_profiler_step=True)
            theirs = analysis.get_temporal_breakdown(visualize=False).iloc[0]
            ours, exact = device(program, path), device(program, trace)
        compute, busy = ours["compute_micros"], ours["busy_micros"]
        figures = {
            "compute": (compute, theirs["compute_time(us)"], exact["compute_micros"]),
            "other work": (busy - compute, theirs["non_compute_time(us)"], exact["busy_micros"] - exact["compute_micros"]),
            "idle": (ours["working_micros"] - busy, theirs["idle_time(us)"], exact["working_micros"] - exact["busy_micros"]),
        }
        same = all(abs(ours - theirs) < 0.5 for ours, theirs, _ in figures.values())
        failed += not same
        print(f"{'ok' if same else 'FAILED':7}{trace}")
        for name, (ours, theirs, exact) in figures.items():
            print(f"        {name}: tfprof {ours:,.0f}, HTA {theirs:,.0f}; with exact times {exact:,.3f} us")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
