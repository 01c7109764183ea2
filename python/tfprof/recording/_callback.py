"""The callback of Keras that marks steps. It needs Keras, so it is made when Keras is loaded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tfprof.recording._recording import Recording


def new(recording: Recording) -> Any:
    """A callback by which `fit` marks the steps of a recording."""
    import keras

    class Steps(keras.callbacks.Callback):  # type: ignore[misc]
        def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
            if recording._take_over("fit"):
                recording._begin_step()

        def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
            if recording._take_over("fit"):
                recording._end_step()

    return Steps()
