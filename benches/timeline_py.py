#!/usr/bin/env python3
"""Time TensorFlow's pure-Python Chrome trace writer (client/timeline.py) on a RunMetadata.

  timeline_py.py run_0.pb [dataflow|memory|both|none ...]     (run with a python that has TensorFlow)
One JSON line a mode; each mode in a fresh process. parse = RunMetadata.FromString (upb), make = Timeline() +
generate_chrome_trace_format().
"""

import json
import os
import resource
import subprocess
import sys
import time


def worker(path, mode):
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    from tensorflow.core.protobuf import config_pb2
    from tensorflow.python.client import timeline

    base = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    b = open(path, "rb").read()
    c0 = time.process_time()
    m = config_pb2.RunMetadata.FromString(b)
    c1, w1 = time.process_time(), time.perf_counter()
    j = timeline.Timeline(m.step_stats).generate_chrome_trace_format(
        show_dataflow=mode in ("dataflow", "both"), show_memory=mode in ("memory", "both")
    )
    c2, w2 = time.process_time(), time.perf_counter()
    n = sum(len(d.node_stats) for d in m.step_stats.dev_stats)
    print(
        json.dumps(
            {
                "mode": mode,
                "in_bytes": len(b),
                "stats": n,
                "out_bytes": len(j),
                "events": j.count('"ph":'),
                "parse_cpu": round(c1 - c0, 4),
                "make_cpu": round(c2 - c1, 4),
                "make_wall": round(w2 - w1, 4),
                "parse_MBps": round(len(b) / 1e6 / (c1 - c0), 1),
                "make_in_MBps": round(len(b) / 1e6 / (c2 - c1), 2),
                "stats_per_s": round(n / (c2 - c1)),
                "base_mb": base // 1024,
                "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
            }
        )
    )


if __name__ == "__main__":
    if sys.argv[1] == "--worker":
        worker(*sys.argv[2:4])
    else:
        for mode in sys.argv[2:] or ["none", "dataflow", "memory", "both"]:
            r = subprocess.run(
                [sys.executable, __file__, "--worker", sys.argv[1], mode], capture_output=True, text=True, timeout=600
            )
            print((r.stdout.strip().splitlines() or [r.stderr[-300:]])[-1], flush=True)
