"""Where do a TensorFlow model's parameters, FLOPs, time and memory go?

`profile`, `advise`, `Profiler`, `ProfileOptionBuilder` and `write_op_log` are those of `tf.compat.v1.profiler`, with the
same results. TensorFlow itself is not needed: a path, a message or bytes will do.

In notebooks and scripts, `open` loads files or a graph once, and its views are tables, trees and files:

>>> import tfprof
>>> p = tfprof.demo()
>>> p.scope(select="params", account_type_regexes="_trainable_variables", max_depth=1)
node name | # parameters
_TFProfRoot (--/464.15k params)
… 220 more rows, 100 % of the parameters; use max_depth=5
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from tfprof import _messages, model_analyzer, option_builder, tfprof_log_pb2, tfprof_logger
from tfprof._api import ALL_ADVICE, Profiler, advise, profile, write_op_log
from tfprof._native import Error, MissingData
from tfprof.option_builder import ProfileOptionBuilder

__all__ = [
    "ALL_ADVICE",
    "Advice",
    "Checkpoint",
    "Comparison",
    "Cost",
    "DataWarning",
    "Diff",
    "Difference",
    "Error",
    "Facts",
    "MissingData",
    "Numbers",
    "Options",
    "Overview",
    "Profile",
    "ProfileOptionBuilder",
    "Profiler",
    "Row",
    "Tensor",
    "Verdict",
    "View",
    "advise",
    "checkpoint",
    "cost",
    "demo",
    "diff",
    "flops",
    "load",
    "open",
    "params",
    "profile",
    "write_op_log",
]

# Names that are loaded on first use, and their modules: `import tfprof` is to take no longer than its first call needs.
_LOADED_LATER = {
    "Advice": "tfprof._view",
    "Checkpoint": "tfprof._checkpoint",
    "Comparison": "tfprof._checkpoint",
    "Cost": "tfprof._cost",
    "DataWarning": "tfprof._open",
    "Diff": "tfprof._diff",
    "Difference": "tfprof._diff",
    "Facts": "tfprof._facts",
    "Numbers": "tfprof._view",
    "Options": "tfprof._views",
    "Overview": "tfprof._open",
    "Profile": "tfprof._open",
    "Row": "tfprof._view",
    "Tensor": "tfprof._checkpoint",
    "Verdict": "tfprof._checkpoint",
    "View": "tfprof._view",
    "checkpoint": "tfprof._checkpoint",
    "cost": "tfprof._cost",
    "demo": "tfprof._open",
    "diff": "tfprof._diff",
    "flops": "tfprof._cost",
    "load": "tfprof._open",
    "open": "tfprof._open",
    "params": "tfprof._cost",
}

# The same for names that need a framework or large imports.
_BESIDE_TENSORFLOW = {
    "Fleet": "tfprof._fleet",
    "ProfileContext": "tfprof.profile_context",
    "ProfilerHook": "tfprof._hook",
    "Timeline": "tfprof.timeline",
    "fleet": "tfprof._fleet",
    "Recording": "tfprof.recording",
    "patch_tensorflow": "tfprof.patch",
    "record": "tfprof.recording",
    "unpatch_tensorflow": "tfprof.patch",
}
# The hook is a class of TensorFlow's, which `from tfprof import *` is not to load.
__all__ += [name for name in _BESIDE_TENSORFLOW if name != "ProfilerHook"]



def load_ipython_extension(shell: Any) -> None:
    """`%load_ext tfprof` in a notebook: `%%tfprof` records a cell."""
    from tfprof.recording import _magics

    _magics.load(shell)


if TYPE_CHECKING:
    from tfprof import profile_context as profile_context
    from tfprof import timeline as timeline
    from tfprof._checkpoint import Checkpoint, Comparison, Tensor, Verdict, checkpoint
    from tfprof._cost import Cost, cost, flops, params
    from tfprof._diff import Diff, Difference, diff
    from tfprof._facts import Facts
    from tfprof._fleet import Fleet as Fleet
    from tfprof._fleet import fleet as fleet
    from tfprof._hook import ProfilerHook as ProfilerHook
    from tfprof._open import DataWarning, Overview, Profile, demo, load, open
    from tfprof._view import Advice, Numbers, Row, View
    from tfprof._views import Options
    from tfprof.patch import patch_tensorflow as patch_tensorflow
    from tfprof.patch import unpatch_tensorflow as unpatch_tensorflow
    from tfprof.profile_context import ProfileContext as ProfileContext
    from tfprof.recording import Recording as Recording
    from tfprof.recording import record as record
    from tfprof.timeline import Timeline as Timeline

    # Classes of messages, TensorFlow's own where it is imported.
    GraphNodeProto: Any
    MultiGraphNodeProto: Any
    AdviceProto: Any
    OpLogProto: Any
else:

    def __dir__() -> list[str]:
        # The modules of TensorFlow's old names can be imported, but nobody needs to see them.
        return sorted([*__all__, "ProfilerHook", "__doc__"])

    def __getattr__(name: str) -> Any:
        if name in _LOADED_LATER:
            globals()[name] = getattr(importlib.import_module(_LOADED_LATER[name]), name)
            return globals()[name]
        if name in _BESIDE_TENSORFLOW:
            return getattr(importlib.import_module(_BESIDE_TENSORFLOW[name]), name)
        if name in ("timeline", "profile_context", "keras", "jax", "torch"):
            return importlib.import_module(f"tfprof.{name}")
        if name in ("GraphNodeProto", "MultiGraphNodeProto", "AdviceProto", "OpLogProto"):
            return _messages.message_class(name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
