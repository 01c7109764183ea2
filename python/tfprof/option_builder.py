"""Options of a question, built step by step."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import Any

Options = dict[str, Any]


def _preset(**changes: Any) -> Options:
    options: Options = {
        "max_depth": 10000,
        "min_bytes": 0,
        "min_micros": 0,
        "min_params": 0,
        "min_float_ops": 0,
        "min_occurrence": 0,
        "order_by": "name",
        "account_type_regexes": [".*"],
        "start_name_regexes": [".*"],
        "trim_name_regexes": [],
        "show_name_regexes": [".*"],
        "hide_name_regexes": [],
        "account_displayed_op_only": True,
        "select": ["micros"],
        "step": -1,
        "output": "stdout",
    }
    options.update(changes)
    return options


class ProfileOptionBuilder:
    """Builds the options of `profile` and of the methods of `Profiler`.

    Every method but `build` returns the builder, so that calls can be chained:

    >>> options = ProfileOptionBuilder(ProfileOptionBuilder.float_operation()).with_max_depth(3).build()
    >>> options["max_depth"], options["select"]
    (3, ['float_ops'])
    """

    def __init__(self, options: Options | None = None) -> None:
        """Starts from a copy of `options`, or with the execution time of all nodes."""
        if options is None:
            self._options = _preset(max_depth=100, account_displayed_op_only=False)
        elif isinstance(options, dict):
            self._options = copy.deepcopy(options)
        else:
            raise TypeError(f"options: expected a dict, found {type(options).__name__}")

    @staticmethod
    def trainable_variables_parameter() -> Options:
        """Parameters of trainable variables."""
        return _preset(account_type_regexes=["_trainable_variables"], select=["params"])

    @staticmethod
    def float_operation() -> Options:
        """FLOPs; needs shapes, from the graph or a run."""
        return _preset(min_float_ops=1, order_by="float_ops", select=["float_ops"])

    @staticmethod
    def time_and_memory(
        min_micros: int = 1,
        min_bytes: int = 1,
        min_accelerator_micros: int = 0,
        min_cpu_micros: int = 0,
        min_peak_bytes: int = 0,
        min_residual_bytes: int = 0,
        min_output_bytes: int = 0,
    ) -> Options:
        """Time and requested memory; hides rows below the minimums."""
        return _preset(
            min_micros=min_micros,
            min_bytes=min_bytes,
            min_accelerator_micros=min_accelerator_micros,
            min_cpu_micros=min_cpu_micros,
            min_peak_bytes=min_peak_bytes,
            min_residual_bytes=min_residual_bytes,
            min_output_bytes=min_output_bytes,
            order_by="micros",
            select=["micros", "bytes"],
        )

    def build(self) -> Options:
        """A copy of the options."""
        return copy.deepcopy(self._options)

    def _set(self, **changes: Any) -> ProfileOptionBuilder:
        self._options.update(changes)
        return self

    def with_max_depth(self, max_depth: int) -> ProfileOptionBuilder:
        """Sets the number of levels to show."""
        return self._set(max_depth=max_depth)

    def with_min_memory(
        self, min_bytes: int = 0, min_peak_bytes: int = 0, min_residual_bytes: int = 0, min_output_bytes: int = 0
    ) -> ProfileOptionBuilder:
        """Hides rows with less memory. Sets all four minimums."""
        return self._set(
            min_bytes=min_bytes,
            min_peak_bytes=min_peak_bytes,
            min_residual_bytes=min_residual_bytes,
            min_output_bytes=min_output_bytes,
        )

    def with_min_execution_time(
        self, min_micros: int = 0, min_accelerator_micros: int = 0, min_cpu_micros: int = 0
    ) -> ProfileOptionBuilder:
        """Hides rows with less time. Sets all three minimums."""
        return self._set(
            min_micros=min_micros, min_accelerator_micros=min_accelerator_micros, min_cpu_micros=min_cpu_micros
        )

    def with_min_parameters(self, min_params: int) -> ProfileOptionBuilder:
        """Hides rows with fewer parameters."""
        return self._set(min_params=min_params)

    def with_min_occurrence(self, min_occurrence: int) -> ProfileOptionBuilder:
        """Hides op types with fewer nodes."""
        return self._set(min_occurrence=min_occurrence)

    def with_min_float_operations(self, min_float_ops: int) -> ProfileOptionBuilder:
        """Hides rows with fewer FLOPs."""
        return self._set(min_float_ops=min_float_ops)

    def with_accounted_types(self, account_type_regexes: Iterable[str]) -> ProfileOptionBuilder:
        """Counts only nodes with a type that matches one of these patterns."""
        return self._set(account_type_regexes=copy.copy(account_type_regexes))

    def with_node_names(
        self,
        start_name_regexes: Iterable[str] | None = None,
        show_name_regexes: Iterable[str] | None = None,
        hide_name_regexes: Iterable[str] | None = None,
        trim_name_regexes: Iterable[str] | None = None,
    ) -> ProfileOptionBuilder:
        """Sets patterns of names to start at, show, hide and trim. Those not given stay as they are."""
        given = {
            "start_name_regexes": start_name_regexes,
            "show_name_regexes": show_name_regexes,
            "hide_name_regexes": hide_name_regexes,
            "trim_name_regexes": trim_name_regexes,
        }
        return self._set(**{name: copy.copy(value) for name, value in given.items() if value is not None})

    def account_displayed_op_only(self, is_true: bool) -> ProfileOptionBuilder:
        """Sets whether only shown rows are summed."""
        return self._set(account_displayed_op_only=is_true)

    def with_empty_output(self) -> ProfileOptionBuilder:
        """Prints nothing; the answer is the returned message."""
        return self._set(output="none")

    def with_stdout_output(self) -> ProfileOptionBuilder:
        """Prints the report."""
        return self._set(output="stdout")

    def with_file_output(self, outfile: str) -> ProfileOptionBuilder:
        """Writes the report to a file."""
        return self._set(output=f"file:outfile={outfile}")

    def with_timeline_output(self, timeline_file: str) -> ProfileOptionBuilder:
        """Writes a timeline, for Chrome and Perfetto; the step is appended to the name of the file."""
        return self._set(output=f"timeline:outfile={timeline_file}")

    def with_pprof_output(self, pprof_file: str) -> ProfileOptionBuilder:
        """Writes a profile for pprof."""
        return self._set(output=f"pprof:outfile={pprof_file}")

    def order_by(self, attribute: str) -> ProfileOptionBuilder:
        """Sets the order of rows: `name`, or a metric."""
        return self._set(order_by=attribute)

    def select(self, attributes: Iterable[str]) -> ProfileOptionBuilder:
        """Sets the metrics and details to show."""
        return self._set(select=copy.copy(attributes))

    def with_step(self, step: int) -> ProfileOptionBuilder:
        """Sets the step; -1 is the average of all."""
        return self._set(step=step)
