# Written by `tfprof man stubs` from the table of options; a test compares them.

from collections.abc import Sequence
from typing import TypedDict

from tfprof._view import View

class Options(TypedDict, total=False):
    """The keywords of `scope`, `graph`, `op` and `code`."""

    max_depth: int
    """how many levels of the tree to show, the root being the first; in op view, how many rows; 10 by default, and no limit for pictures and pages"""
    min_bytes: int
    """hide rows whose total of requested bytes is less"""
    min_peak_bytes: int
    """hide rows whose total of peak bytes is less"""
    min_residual_bytes: int
    """hide rows whose total of residual bytes is less"""
    min_output_bytes: int
    """hide rows whose total of output bytes is less"""
    min_micros: int
    """hide rows whose total time is less, in microseconds"""
    min_accelerator_micros: int
    """hide rows whose total of accelerator time is less"""
    min_cpu_micros: int
    """hide rows whose total of cpu time is less"""
    min_params: int
    """hide rows with fewer parameters (of their own in scope and graph view)"""
    min_float_ops: int
    """hide rows with fewer FLOPs (of their own in scope and graph view)"""
    min_occurrence: int
    """hide rows that ran less often; in op view, that have fewer nodes"""
    step: int | str
    """the step to show; -1 is the average over the steps in which a node ran, 5: that of step 5 and later ones, all the sum of everything"""
    order_by: str
    """the order of rows: by name (ascending), a metric (descending), or depth; by default the name, in op view the first selected metric"""
    account_type_regexes: str | Sequence[str]
    """count only nodes with a type (op, device, custom type) that matches one of these"""
    start_name_regexes: str | Sequence[str]
    """start at rows whose name matches one of these"""
    trim_name_regexes: str | Sequence[str]
    """stop at rows whose name matches one of these"""
    show_name_regexes: str | Sequence[str]
    """show only rows whose name matches one of these"""
    hide_name_regexes: str | Sequence[str]
    """hide rows whose name matches one of these"""
    account_displayed_op_only: bool
    """sum only shown rows"""
    select: str | Sequence[str]
    """metrics and details to show; by default micros if steps are loaded, else params"""
    output: str
    """where the answer goes: a file whose ending tells the form, such as x.html, x.svg, x.json or x.csv; or FORM:outfile=FILE, stdout, none (tfprof help output lists the forms)"""
    min_macs: int
    """hide rows whose total of multiply-adds is less"""
    min_io_bytes: int
    """hide rows whose total of bytes read and written is less"""
    min_unknown_ops: int
    """hide rows with fewer nodes of unknown cost"""
    min_device_micros: int
    """hide rows whose total of device time is less"""
    min_lost_micros: int
    """hide rows whose total time above the roofline is less"""
    ops_only: bool
    """leave out rows that are only name scopes; their children move up"""
    source_lines: bool
    """in code view, append the text of the source line, cut at 20 characters; read from disk if the profile lacks it"""
    frames: str
    """code view: all frames; user folds those of TensorFlow, Keras, JAX, PyTorch and the standard library into the user's frame around them; auto folds on terminals and pages"""
    events: str
    """the events of a profile to show as nodes: ops, kernels (apart from their ops), or all, events of the runtime included"""
    stacks: str
    """code view of an XSpace: source lines, python calls, or auto: the first that is there"""
    group_by: str
    """what rows stand for: view (as the view has them); in op view, shapes (of inputs); of a profile, program (the compiled program is the outermost level) or category"""
    step_marker: str
    """the events of a profile that mark steps, by a pattern of their names; else they are found by rule"""
    run: str
    """which run of a log directory to read; the newest if not given"""
    peak_flops: str
    """the FLOP/s that the device can do at the most, to compare with: 312T, or by precision f32=19.5T,bf16=312T; if not given, what the profile records, what is published for its device, or what tfprof peak measured"""
    peak_bandwidth: str
    """the bytes a second that the device's memory can move at the most, as 900G or 2.04TB/s; if not given, as peak_flops"""
    device: str
    """the device whose published peaks to compare with, as h100, or a CPU as cpu:avx2:16x3.0GHz"""
    devices: str
    """a file with devices of your own, in the form of devices.toml (docs/limits.md)"""
    original_quirks: bool
    """reproduce the bugs of the original, figure by figure"""

class Views:
    def scope(
        self,
        *,
        max_depth: int | None = None,
        min_bytes: int | None = None,
        min_peak_bytes: int | None = None,
        min_residual_bytes: int | None = None,
        min_output_bytes: int | None = None,
        min_micros: int | None = None,
        min_accelerator_micros: int | None = None,
        min_cpu_micros: int | None = None,
        min_params: int | None = None,
        min_float_ops: int | None = None,
        min_occurrence: int | None = None,
        step: int | str | None = None,
        order_by: str | None = None,
        account_type_regexes: str | Sequence[str] | None = None,
        start_name_regexes: str | Sequence[str] | None = None,
        trim_name_regexes: str | Sequence[str] | None = None,
        show_name_regexes: str | Sequence[str] | None = None,
        hide_name_regexes: str | Sequence[str] | None = None,
        account_displayed_op_only: bool | None = None,
        select: str | Sequence[str] | None = None,
        output: str | None = None,
        min_macs: int | None = None,
        min_io_bytes: int | None = None,
        min_unknown_ops: int | None = None,
        min_device_micros: int | None = None,
        min_lost_micros: int | None = None,
        ops_only: bool | None = None,
        source_lines: bool | None = None,
        frames: str | None = None,
        events: str | None = None,
        stacks: str | None = None,
        group_by: str | None = None,
        step_marker: str | None = None,
        run: str | None = None,
        peak_flops: str | None = None,
        peak_bandwidth: str | None = None,
        device: str | None = None,
        devices: str | None = None,
        original_quirks: bool | None = None,
    ) -> View:
        """nodes by name scope; a/b lies within a"""
    def graph(
        self,
        *,
        max_depth: int | None = None,
        min_bytes: int | None = None,
        min_peak_bytes: int | None = None,
        min_residual_bytes: int | None = None,
        min_output_bytes: int | None = None,
        min_micros: int | None = None,
        min_accelerator_micros: int | None = None,
        min_cpu_micros: int | None = None,
        min_params: int | None = None,
        min_float_ops: int | None = None,
        min_occurrence: int | None = None,
        step: int | str | None = None,
        order_by: str | None = None,
        account_type_regexes: str | Sequence[str] | None = None,
        start_name_regexes: str | Sequence[str] | None = None,
        trim_name_regexes: str | Sequence[str] | None = None,
        show_name_regexes: str | Sequence[str] | None = None,
        hide_name_regexes: str | Sequence[str] | None = None,
        account_displayed_op_only: bool | None = None,
        select: str | Sequence[str] | None = None,
        output: str | None = None,
        min_macs: int | None = None,
        min_io_bytes: int | None = None,
        min_unknown_ops: int | None = None,
        min_device_micros: int | None = None,
        min_lost_micros: int | None = None,
        ops_only: bool | None = None,
        source_lines: bool | None = None,
        frames: str | None = None,
        events: str | None = None,
        stacks: str | None = None,
        group_by: str | None = None,
        step_marker: str | None = None,
        run: str | None = None,
        peak_flops: str | None = None,
        peak_bandwidth: str | None = None,
        device: str | None = None,
        devices: str | None = None,
        original_quirks: bool | None = None,
    ) -> View:
        """nodes by what they read; the inputs of a node lie below it"""
    def op(
        self,
        *,
        max_depth: int | None = None,
        min_bytes: int | None = None,
        min_peak_bytes: int | None = None,
        min_residual_bytes: int | None = None,
        min_output_bytes: int | None = None,
        min_micros: int | None = None,
        min_accelerator_micros: int | None = None,
        min_cpu_micros: int | None = None,
        min_params: int | None = None,
        min_float_ops: int | None = None,
        min_occurrence: int | None = None,
        step: int | str | None = None,
        order_by: str | None = None,
        account_type_regexes: str | Sequence[str] | None = None,
        start_name_regexes: str | Sequence[str] | None = None,
        trim_name_regexes: str | Sequence[str] | None = None,
        show_name_regexes: str | Sequence[str] | None = None,
        hide_name_regexes: str | Sequence[str] | None = None,
        account_displayed_op_only: bool | None = None,
        select: str | Sequence[str] | None = None,
        output: str | None = None,
        min_macs: int | None = None,
        min_io_bytes: int | None = None,
        min_unknown_ops: int | None = None,
        min_device_micros: int | None = None,
        min_lost_micros: int | None = None,
        ops_only: bool | None = None,
        source_lines: bool | None = None,
        frames: str | None = None,
        events: str | None = None,
        stacks: str | None = None,
        group_by: str | None = None,
        step_marker: str | None = None,
        run: str | None = None,
        peak_flops: str | None = None,
        peak_bandwidth: str | None = None,
        device: str | None = None,
        devices: str | None = None,
        original_quirks: bool | None = None,
    ) -> View:
        """nodes by operation type; one row for each type"""
    def code(
        self,
        *,
        max_depth: int | None = None,
        min_bytes: int | None = None,
        min_peak_bytes: int | None = None,
        min_residual_bytes: int | None = None,
        min_output_bytes: int | None = None,
        min_micros: int | None = None,
        min_accelerator_micros: int | None = None,
        min_cpu_micros: int | None = None,
        min_params: int | None = None,
        min_float_ops: int | None = None,
        min_occurrence: int | None = None,
        step: int | str | None = None,
        order_by: str | None = None,
        account_type_regexes: str | Sequence[str] | None = None,
        start_name_regexes: str | Sequence[str] | None = None,
        trim_name_regexes: str | Sequence[str] | None = None,
        show_name_regexes: str | Sequence[str] | None = None,
        hide_name_regexes: str | Sequence[str] | None = None,
        account_displayed_op_only: bool | None = None,
        select: str | Sequence[str] | None = None,
        output: str | None = None,
        min_macs: int | None = None,
        min_io_bytes: int | None = None,
        min_unknown_ops: int | None = None,
        min_device_micros: int | None = None,
        min_lost_micros: int | None = None,
        ops_only: bool | None = None,
        source_lines: bool | None = None,
        frames: str | None = None,
        events: str | None = None,
        stacks: str | None = None,
        group_by: str | None = None,
        step_marker: str | None = None,
        run: str | None = None,
        peak_flops: str | None = None,
        peak_bandwidth: str | None = None,
        device: str | None = None,
        devices: str | None = None,
        original_quirks: bool | None = None,
    ) -> View:
        """nodes by the line of Python that made them; what a line calls lies below it"""
