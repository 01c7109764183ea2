"""`tfprof.torch.schedule`: PyTorch's profiler, set up so that tfprof can answer everything."""

from __future__ import annotations

import os
import socket
from typing import Any

from tfprof.recording._recording import STEPS, WARMUP


def schedule(
    directory: str | os.PathLike[str] = "tfprof-run",
    *,
    wait: int = 0,
    warmup: int = WARMUP,
    steps: int = STEPS,
    repeat: int = 1,
    stacks: bool = True,
) -> Any:
    """A `torch.profiler.profile` that skips `wait` steps, warms up, records `steps`, and writes a trace.

        with tfprof.torch.schedule("run") as profiler:
            for batch in batches:
                train_step(batch)
                profiler.step()

    Shapes, memory and, with `stacks`, modules and lines of Python are recorded. With `repeat`, each cycle writes a
    trace of its own to `DIRECTORY/cycle-N`.
    """
    import torch

    folder = os.path.abspath(os.fsdecode(directory))
    cycles = [0]

    def write(profiler: Any) -> None:
        target = folder if repeat == 1 else os.path.join(folder, f"cycle-{cycles[0]}")
        cycles[0] += 1
        os.makedirs(target, exist_ok=True)
        name = f"{socket.gethostname()}_{os.getpid()}.pt.trace.json.gz"
        partial = os.path.join(target, f".{name[:-3]}.partial.gz")
        profiler.export_chrome_trace(partial)
        os.replace(partial, os.path.join(target, name))

    return torch.profiler.profile(
        activities=torch.profiler.supported_activities(),
        schedule=torch.profiler.schedule(wait=wait, warmup=warmup, active=steps, repeat=repeat),
        on_trace_ready=write,
        record_shapes=True,
        profile_memory=True,
        with_stack=stacks,
    )
