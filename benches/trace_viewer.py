#!/usr/bin/env python3
"""CPU time, memory and bytes of XProf's trace viewer for a file, beside tests/web/scale.mjs.

  trace_viewer.py FILE.xplane.pb      (with the Python of .venv-xprof)
"""

import resource
import sys
import time

from xprof.convert import raw_to_tool_data


def ask(path, window):
    options = {"trace_viewer_options": {"resolution": 8000, **window}, "host": "host", "hosts": ["host"]}
    began = time.process_time()
    data, _ = raw_to_tool_data.xspace_to_tool_data([path], "trace_viewer@", options)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    name = "a window of 100 ms" if window else "the whole"
    print(f"{name}: {time.process_time() - began:.2f} CPU s, {len(data) / 1e6:.1f} MB of answer, {memory:.0f} MB of memory")


ask(sys.argv[1], {})
ask(sys.argv[1], {"start_time_ms": "100", "end_time_ms": "200"})
