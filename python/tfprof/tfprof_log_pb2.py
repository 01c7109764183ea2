"""The messages of op logs: `OpLogProto`, which was once `OpLog`, `OpLogEntry` and `CodeDef`."""

from __future__ import annotations

from typing import Any

from tfprof import _messages

__all__ = ["CodeDef", "OpLog", "OpLogEntry", "OpLogProto"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        return _messages.message_class("OpLogProto" if name == "OpLog" else name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
