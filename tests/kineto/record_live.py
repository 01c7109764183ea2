"""`tfprof.torch.schedule`, `tfprof.record` and `tfprof run` with the installed torch: the steps that are asked for, and their ops.

Each runs in a process of its own, since the profiler of some versions of torch cannot start twice.
"""

import pathlib
import subprocess
import sys
import tempfile

import tfprof

MODEL = """
import torch, tfprof
model = torch.nn.Sequential(torch.nn.Linear(64, 32), torch.nn.ReLU(), torch.nn.Linear(32, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
def train_step():
    torch.nn.functional.cross_entropy(model(torch.ones(8, 64)), torch.zeros(8, dtype=torch.long)).backward()
    optimizer.step()
    optimizer.zero_grad()
"""
SCHEDULED = """
import tfprof.torch
with tfprof.torch.schedule("run", wait=1, steps=3) as profiler:
    for _ in range(8):
        train_step()
        profiler.step()
"""
BLOCK = """
with tfprof.record("run", steps=4):
    for _ in range(20):
        train_step()
"""
SCRIPT = """
for _ in range(20):
    train_step()
"""


def recorded(program, words, steps):
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "train.py").write_text(MODEL + program)
        subprocess.run([sys.executable, *words, "train.py"], cwd=folder, check=True)
        [directory] = [path for path in pathlib.Path(folder).iterdir() if path.is_dir() and "run" in path.name]
        profile = tfprof.open(directory)
        assert len(profile.steps) == steps, profile.steps
        rows = {row.name: row for row in profile.op(select="cpu_micros,float_ops,occurrence", max_depth=1000)}
        # Two layers, forward and the gradient of weights and inputs, of which the first layer's is not needed. A step of a view.
        assert rows["aten::addmm"].self["float_ops"] == 2 * 8 * (64 * 32 + 32 * 10), rows["aten::addmm"]
        assert rows["aten::mm"].self["float_ops"] == 2 * 8 * (64 * 32 + 2 * 32 * 10), rows["aten::mm"]


recorded(SCHEDULED, [], 3)
recorded(BLOCK, [], 4)
recorded(SCRIPT, ["-m", "tfprof", "run", "--steps", "5", "--no_stacks"], 5)
print("ok: a schedule, a block and a script were recorded")
