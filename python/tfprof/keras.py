"""`tfprof.keras.Callback`: records some batches of Keras' `fit`."""

from __future__ import annotations

import os
from typing import Any

import keras

from tfprof.recording import Recording
from tfprof.recording._recording import STEPS, WARMUP


class Callback(keras.callbacks.Callback):  # type: ignore[misc]
    """Records `steps` batches of training after `warmup` batches; with `every`, again after each `every` batches.

        model.fit(data, callbacks=[tfprof.keras.Callback("run")])

    With `every`, the recording that starts at batch N is in `DIRECTORY/batch-N`.
    """

    def __init__(
        self,
        directory: str | os.PathLike[str] = "tfprof-run",
        *,
        every: int | None = None,
        steps: int = STEPS,
        warmup: int = WARMUP,
        stacks: bool = True,
        quiet: bool = False,
    ) -> None:
        super().__init__()
        if every is not None and every <= steps + warmup:
            raise ValueError(f"every: expected more batches than the {steps + warmup} of a recording, found {every}")
        self._directory, self._every = os.fsdecode(directory), every
        self._settings: dict[str, Any] = {"steps": steps, "warmup": warmup, "stacks": stacks, "quiet": quiet}
        # Keras builds some functions at the first batch, so none is recorded before it.
        self._batch, self._starts_at = 0, 0
        self._recording: Recording | None = None
        self.recordings: list[Recording] = []
        """All recordings that are complete."""

    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
        if self._batch == self._starts_at:
            name = f"batch-{self._batch}" if self._every else ""
            self._recording = Recording(os.path.join(self._directory, name), **self._settings).__enter__()
        if self._recording is not None:
            self._recording._take_over("step")
            self._recording._begin_step(self._batch)

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        self._batch += 1
        recording = self._recording
        if recording is not None:
            recording._end_step()
            if not recording._is_recording:
                self._finish()

    def on_train_end(self, logs: Any = None) -> None:
        # Shorter than asked for, but true.
        if self._recording is not None and self._recording._recorded:
            self._finish()

    def _finish(self) -> None:
        recording, self._recording = self._recording, None
        if recording is not None:
            recording._close()
            self.recordings.append(recording)
        if self._every:
            self._starts_at += self._every
