//! Bugs of the original that tfprof can reproduce, one named switch for each.
//!
//! Quirks change figures, layout and the forms on offer; loading ignores them.

/// The bugs to reproduce. [`Quirks::NONE`] is right; [`Quirks::ORIGINAL`] matches the original.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Quirks {
    /// Any node with an attribute `shape` has parameters, even a placeholder.
    pub placeholders_have_parameters: bool,
    /// Sums and products wrap around instead of staying at the largest number.
    pub numbers_wrap: bool,
    /// The average of a negative sum over several steps ignores the sign and becomes huge.
    pub negative_averages_are_huge: bool,
    /// The default minimum of 0 hides rows with any negative number, even one that is not shown.
    pub zero_minimum_hides: bool,
    /// An input `a:1` has the shape of output 0 of `a`.
    pub first_output_only: bool,
    /// In op and code view a node that matches two type patterns is summed twice.
    pub two_matches_count_twice: bool,
    /// In graph view nodes that only a cycle reaches are left out.
    pub cycles_are_lost: bool,
    /// A node has one device: records on a second one are left out.
    pub first_device_only: bool,
    /// TPU, XLA and other devices have no time.
    pub other_devices_are_free: bool,
    /// Temporary memory is added to the requested and peak bytes of allocators, which include it.
    pub temp_counts_twice: bool,
    /// The peak memory of a node is the sum over its executions in a step; so is its persistent memory in a timeline.
    pub peaks_add_up: bool,
    /// The device requested by the graph is ignored.
    pub declared_device_ignored: bool,
    /// Gradient nodes whose forward node has no trace are left out of code view.
    pub lone_gradients_are_lost: bool,
    /// String ids of later op logs refer to the strings of the first log.
    pub op_logs_share_strings: bool,
    /// Graph view describes itself as scope view.
    pub graph_doc_is_scopes: bool,
    /// Rows of the op view are in the order of their names unless the question says otherwise, and text does not say
    /// that it leaves rows out.
    pub op_rows_by_name: bool,
    /// `-max_depth N` shows N + 1 rows in op view.
    pub op_depth_is_one_more: bool,
    /// The advisor recognizes only the first version of `FusedBatchNorm` as fused.
    pub new_batch_norms_are_slow: bool,
    /// Saving a loaded profile gives every node an empty trace, and loses the note that streams were missing.
    pub saving_again_alters: bool,
    /// `-select` defaults to `micros`, even without steps.
    pub micros_by_default: bool,
    /// In a timeline of the graph view, of two executions that start in the same microsecond on one device only the
    /// first is shown.
    pub same_start_is_lost: bool,
    /// In a timeline of the graph view, every execution of an input has an arrow to every execution of its reader.
    pub arrows_from_every_run: bool,
    /// In pprof, a location is the function that is called at the line of its caller, so the outermost function is
    /// missing; ops that were made by a line which also calls something are left out.
    pub pprof_has_callees_only: bool,
    /// The names of timeline files end in the step, without `.json`.
    pub timelines_lack_endings: bool,
    /// The code view shows the frames of frameworks on pages and terminals, too.
    pub frames_are_all_shown: bool,
    /// The op view has no timeline, only the code view has pprof, of one metric, and there are no ratios.
    pub fewer_outputs: bool,
    /// Only float, double, int32 and int64 tensors of a checkpoint have values.
    pub few_types_have_values: bool,
    /// Values of a checkpoint keep six digits.
    pub values_lose_digits: bool,
    /// Function bodies are ignored and nothing is inferred: FLOPs come from an op log only.
    pub functions_are_closed: bool,
}

impl Quirks {
    /// No bugs.
    pub const NONE: Quirks = Quirks::all(false);

    /// All bugs of the original.
    pub const ORIGINAL: Quirks = Quirks::all(true);

    const fn all(on: bool) -> Quirks {
        Quirks {
            placeholders_have_parameters: on,
            numbers_wrap: on,
            negative_averages_are_huge: on,
            zero_minimum_hides: on,
            first_output_only: on,
            two_matches_count_twice: on,
            cycles_are_lost: on,
            first_device_only: on,
            other_devices_are_free: on,
            temp_counts_twice: on,
            peaks_add_up: on,
            declared_device_ignored: on,
            lone_gradients_are_lost: on,
            op_logs_share_strings: on,
            graph_doc_is_scopes: on,
            op_rows_by_name: on,
            op_depth_is_one_more: on,
            new_batch_norms_are_slow: on,
            saving_again_alters: on,
            micros_by_default: on,
            same_start_is_lost: on,
            arrows_from_every_run: on,
            pprof_has_callees_only: on,
            timelines_lack_endings: on,
            frames_are_all_shown: on,
            fewer_outputs: on,
            few_types_have_values: on,
            values_lose_digits: on,
            functions_are_closed: on,
        }
    }
}
