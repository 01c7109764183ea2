"""Where do a TensorFlow model's parameters, float operations, time and memory go?

`profile`, `advise`, `Profiler`, `ProfileOptionBuilder` and `write_op_log` are those of `tf.compat.v1.profiler`, with the
same results. TensorFlow itself is not needed: a path, a message or bytes will do.
"""

from __future__ import annotations

from typing import Any

from tfprof import _messages, model_analyzer, option_builder, tfprof_log_pb2, tfprof_logger
from tfprof._api import ALL_ADVICE, Profiler, advise, profile, write_op_log
from tfprof._cost import Cost, cost, flops, params
from tfprof._native import Error, MissingData
from tfprof.option_builder import ProfileOptionBuilder

__all__ = [
    "ALL_ADVICE",
    "Cost",
    "Error",
    "MissingData",
    "ProfileOptionBuilder",
    "Profiler",
    "advise",
    "cost",
    "flops",
    "model_analyzer",
    "option_builder",
    "params",
    "profile",
    "tfprof_log_pb2",
    "tfprof_logger",
    "write_op_log",
]

_MESSAGES = ("GraphNodeProto", "MultiGraphNodeProto", "AdviceProto", "OpLogProto")


def __getattr__(name: str) -> Any:
    if name in _MESSAGES:
        return _messages.message_class(name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
