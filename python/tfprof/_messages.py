"""Protobuf messages: TensorFlow's classes where TensorFlow is loaded, else our own."""

from __future__ import annotations

import sys
from typing import Any

from tfprof import _native

NAMES = ("GraphNodeProto", "MultiGraphNodeProto", "AdviceProto", "OpLogProto", "OpLogEntry", "CodeDef")

_own: dict[str, Any] = {}


def tensorflow_is_loaded() -> bool:
    """Whether this process has finished importing TensorFlow."""
    return hasattr(sys.modules.get("tensorflow"), "compat")


def tensorflow(what: str) -> Any:
    """TensorFlow, imported if necessary, for features that need it."""
    try:
        import tensorflow
    except ImportError as error:
        raise ImportError(f"{what} needs TensorFlow, which cannot be imported here: {error}") from error
    return tensorflow


def message_class(name: str) -> Any:
    """The class of a message."""
    if tensorflow_is_loaded():
        from tensorflow.core.profiler import tfprof_log_pb2, tfprof_output_pb2

        return getattr(tfprof_output_pb2, name, None) or getattr(tfprof_log_pb2, name)
    if not _own:
        from tfprof import _schema

        _own.update(_schema.classes())
    return _own[name]


def parse(name: str, data: bytes) -> Any:
    """A message from its bytes, nested to any depth."""
    from google.protobuf.message import DecodeError

    message = message_class(name)()
    try:
        message.ParseFromString(data)
    except DecodeError:
        message = message_class(name)()
        try:
            _parse_deep(message, data)
        except DecodeError as error:
            raise _native.Error(f"these bytes are not a {name}: {error}") from None
    return message


def _parse_deep(message: Any, data: bytes) -> None:
    """The protobuf library rejects more than 100 levels by default."""
    from google.protobuf.internal import api_implementation

    if api_implementation.Type() == "python":
        limit = sys.getrecursionlimit()
        sys.setrecursionlimit(max(limit, 1_000_000))
        try:
            message.ParseFromString(data)
        finally:
            sys.setrecursionlimit(limit)
        return
    from google._upb import _message

    _message.SetAllowOversizeProtos(True)
    try:
        message.ParseFromString(data)
    finally:
        _message.SetAllowOversizeProtos(False)


def to_bytes(value: Any, what: str) -> bytes:
    """The bytes of a message, of bytes, or of a file."""
    import os

    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value)
    if isinstance(value, (str, os.PathLike)):
        return _native.read_file(value)
    if hasattr(value, "SerializeToString"):
        message: bytes = value.SerializeToString()
        return message
    raise TypeError(f"{what}: expected a message, bytes or a path, found {type(value).__name__}")
