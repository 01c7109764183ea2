"""A run as a Chrome trace: the names of `tensorflow.python.client.timeline`."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from tfprof import _api, _native

__all__ = ["AllocationMaximum", "StepStatsAnalysis", "Timeline"]


class AllocationMaximum(NamedTuple):
    """The most that an allocator held."""

    # In microseconds, as the run counts them.
    timestamp: int
    num_bytes: int
    # The names of the tensors that it held then.
    tensors: set[str]


class ChromeTrace:
    """The events of a trace."""

    def __init__(self, text: str = '{\n    "traceEvents": []\n}') -> None:
        self._text = text
        self._parsed: list[dict[str, Any]] | None = None

    def format_to_string(self, pretty: bool = False) -> str:
        """The trace as JSON; laid out for people if `pretty`."""
        if pretty:
            return self._text
        return json.dumps({"traceEvents": self._all()}, separators=(",", ":"))

    def _all(self) -> list[dict[str, Any]]:
        if self._parsed is None:
            self._parsed = json.loads(self._text)["traceEvents"]
        return self._parsed

    @property
    def _metadata(self) -> list[dict[str, Any]]:
        return [event for event in self._all() if event["ph"] == "M"]

    @property
    def _events(self) -> list[dict[str, Any]]:
        return [event for event in self._all() if event["ph"] != "M"]


class StepStatsAnalysis(NamedTuple):
    """A trace, and the most that each allocator held."""

    chrome_trace: ChromeTrace
    allocator_maximums: dict[str, AllocationMaximum]


class Timeline:
    """Draws when the ops of a step ran, for Perfetto (https://ui.perfetto.dev).

    `step_stats` is the StepStats message of a run, or its bytes; `graph` is taken for the sake of old code, and not used.

    >>> print(Timeline(b"").generate_chrome_trace_format())
    {
        "traceEvents": [
            {
                "name": "process_name",
                "ph": "M",
                "pid": 0,
                "args": {
                    "name": "Allocators"
                }
            }
        ]
    }
    """

    def __init__(self, step_stats: Any, graph: Any = None) -> None:
        self._origin_step_stats = step_stats
        self._step_stats: Any = None
        self._graph = graph
        self._chrome_trace = ChromeTrace()
        self._allocator_maximums: dict[str, AllocationMaximum] = {}

    def analyze_step_stats(
        self, show_dataflow: bool = True, show_memory: bool = True, op_time: str = "schedule"
    ) -> StepStatsAnalysis:
        """The trace, and the most that each allocator held, if memory is shown."""
        text, peaks = chrome_trace(self._origin_step_stats, show_dataflow, show_memory, op_time)
        self._step_stats = self._origin_step_stats
        self._chrome_trace = ChromeTrace(text)
        self._allocator_maximums = {
            allocator: AllocationMaximum(at, held, set(tensors)) for allocator, at, held, tensors in peaks
        }
        return StepStatsAnalysis(self._chrome_trace, self._allocator_maximums)

    def generate_chrome_trace_format(
        self, show_dataflow: bool = True, show_memory: bool = False, op_time: str = "schedule"
    ) -> str:
        """The trace as JSON: with arrows from the producer of a tensor to its consumers, and the lifetimes of tensors.

        `op_time` says how an op that launches kernels is drawn: `schedule` while it is launched, `gpu` while its
        kernels run, `all` from the launch to the end of the last kernel.
        """
        return Timeline.analyze_step_stats(self, show_dataflow, show_memory, op_time).chrome_trace._text


def chrome_trace(
    step_stats: Any, show_dataflow: bool, show_memory: bool, op_time: str
) -> tuple[str, list[tuple[str, int, int, list[str]]]]:
    """The text of a trace, and the peaks of the allocators."""
    if not isinstance(op_time, str):
        raise TypeError(f"op_time: expected a string, found {type(op_time).__name__}")
    data = statistics(step_stats)
    text, peaks, warnings = _native.chrome_trace(data, bool(show_dataflow), bool(show_memory), op_time)
    _api.tell(warnings)
    return text.decode("ascii"), peaks


def statistics(step_stats: Any) -> bytes:
    """The bytes of a StepStats message. A RunMetadata stands for its StepStats."""
    if isinstance(step_stats, (bytes, bytearray, memoryview)):
        return bytes(step_stats)
    inner = getattr(step_stats, "step_stats", step_stats)
    if not hasattr(inner, "SerializeToString"):
        raise TypeError(f"step_stats: expected a StepStats message or its bytes, found {type(step_stats).__name__}")
    data: bytes = inner.SerializeToString()
    return data
