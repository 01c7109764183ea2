"""`tfprof.jax.step`: marks a step of a JAX program."""

from __future__ import annotations

import contextlib
from typing import Any

from tfprof.recording import _recording


def step(number: int) -> contextlib.AbstractContextManager[Any]:
    """Marks a step, for `tfprof.record` or for a trace that `jax.profiler` records.

        with tfprof.record("run"):
            for number, batch in enumerate(batches):
                with tfprof.jax.step(number):
                    state = train_step(state, batch)
    """
    current = _recording.current()
    if current is not None:
        return contextlib.nullcontext() if current._is_done else current.step(number)
    import jax

    return jax.profiler.StepTraceAnnotation("train", step_num=number)  # type: ignore[no-any-return]
