"""`tfprof.record`: records whatever framework is running, and opens the result."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from tfprof.recording._recording import STEPS, WARMUP, Recording

__all__ = ["Recording", "record"]


def record(
    what: str | os.PathLike[str] | Callable[..., Any] = "tfprof-run",
    *args: Any,
    directory: str | os.PathLike[str] = "tfprof-run",
    steps: int = STEPS,
    warmup: int = WARMUP,
    stacks: bool = True,
    quiet: bool = False,
) -> Recording:
    """Records TensorFlow, JAX and PyTorch, whichever run, into a directory that every command opens.

    With a directory, it is a context; with a function, it calls the function with `args`: `warmup` times before it
    records, then `steps` times.

        with tfprof.record("run"):
            train()

        tfprof.record(train_step, batch)

    Inside the context, steps are found by themselves in Keras' `fit`, in sessions of TensorFlow 1 and in PyTorch (an
    optimizer's `step` ends one). Mark those of other loops with `with recording.step():`. The first `warmup` steps
    are left out, and recording ends after `steps`; without steps, the whole block is recorded.

    `stacks=False` leaves out calls of Python, which makes recorded steps of TensorFlow and PyTorch cheaper. The
    first lines of the answer are printed unless `quiet`.
    """
    if callable(what):
        return Recording(directory, steps=steps, warmup=warmup, stacks=stacks, quiet=quiet).call(what, args)
    if args:
        raise TypeError("tfprof.record: arguments belong to a function; the first argument is a directory")
    return Recording(what, steps=steps, warmup=warmup, stacks=stacks, quiet=quiet)
