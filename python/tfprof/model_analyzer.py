"""The names of `tf.contrib.tfprof.model_analyzer`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tfprof._api import ALL_ADVICE, Profiler, advise, profile

__all__ = [
    "ALL_ADVICE",
    "FLOAT_OPS_OPTIONS",
    "PRINT_ALL_TIMING_MEMORY",
    "PRINT_PARAMS_ON_DEVICE",
    "TRAINABLE_VARS_PARAMS_STAT_OPTIONS",
    "Profiler",
    "advise",
    "print_model_analysis",
    "profile",
]


def _options(**changes: Any) -> dict[str, Any]:
    options: dict[str, Any] = {
        "max_depth": 10000,
        "min_bytes": 0,
        "min_micros": 0,
        "min_params": 0,
        "min_float_ops": 0,
        "order_by": "name",
        "account_type_regexes": [".*"],
        "start_name_regexes": [".*"],
        "trim_name_regexes": [],
        "show_name_regexes": [".*"],
        "hide_name_regexes": [],
        "account_displayed_op_only": True,
        "select": ["params"],
        "output": "stdout",
        "dump_to_file": "",
    }
    options.update(changes)
    return options


TRAINABLE_VARS_PARAMS_STAT_OPTIONS = _options(account_type_regexes=["_trainable_variables"])
FLOAT_OPS_OPTIONS = _options(min_float_ops=1, order_by="float_ops", select=["float_ops"])
PRINT_PARAMS_ON_DEVICE = _options(
    max_depth=1,
    account_type_regexes=[".*ps.*task:0.*"],
    account_displayed_op_only=False,
    select=["device", "params"],
)
PRINT_ALL_TIMING_MEMORY = _options(min_bytes=1, min_micros=1, select=["micros", "bytes"])


def print_model_analysis(
    graph: Any,
    run_meta: Any = None,
    op_log: Any = None,
    tfprof_cmd: str = "scope",
    tfprof_options: Mapping[str, Any] = TRAINABLE_VARS_PARAMS_STAT_OPTIONS,
) -> Any:
    """The old name of `tfprof.profile`."""
    return profile(graph, run_meta, op_log, tfprof_cmd, tfprof_options)
