"""`tfprof.open(prof)` with a profile of the installed torch, against `key_averages()`."""

import torch
from torch.profiler import ProfilerActivity, profile

import tfprof

with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as prof:
    torch.mm(torch.ones(8, 4), torch.ones(4, 2))
opened = tfprof.open(prof)
rows = {row.name: row.self for row in opened.op(step="all", select="cpu_micros,float_ops", max_depth=1000)}
for row in prof.key_averages():
    assert abs(float(rows[row.key]["cpu_micros"]) - row.self_cpu_time_total) < 0.001, (row.key, rows[row.key])
assert rows["aten::mm"]["float_ops"] == 2 * 8 * 4 * 2
running = profile(activities=[ProfilerActivity.CPU])
try:
    tfprof.open(running)
except ValueError as error:
    print(error)
else:
    raise AssertionError("a profiler that has not begun has no trace")
print(f"ok: {len(rows)} rows of a live profile")
