//! The options of a view, their defaults, and how to parse them. [`OPTIONS`] lists them all.
//!
//! Patterns stay text here; a view compiles them.

mod builder;
mod choices;
mod compare;
mod output;
mod selection;
mod table;

pub use choices::{CodeStacks, Events, Frames, GroupBy, OrderBy, Step, ViewKind};
pub use compare::{Comparing, Warmup};
pub use output::Output;
pub use selection::Selection;
pub use table::{OPTIONS, OptionInfo, ValueKind, boolean, refused};

use crate::error::Error;
use crate::metric::{METRICS, Metric, MetricSet};
use crate::quirks::Quirks;
use crate::words;

/// The levels of a tree, or the rows of the op view, that an answer has unless the question says otherwise.
pub const DEFAULT_DEPTH: i64 = 10;

/// The options of a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// None: 10, and no limit for pictures and pages.
    pub max_depth: Option<i64>,
    /// The minimum of each metric; 0 by default.
    pub min: [i64; Metric::COUNT],
    pub step: Step,
    pub order_by: OrderBy,
    pub account_type_regexes: Vec<String>,
    pub start_name_regexes: Vec<String>,
    pub trim_name_regexes: Vec<String>,
    pub show_name_regexes: Vec<String>,
    pub hide_name_regexes: Vec<String>,
    pub account_displayed_op_only: bool,
    /// None: the metric that says most about the loaded files.
    pub select: Option<Selection>,
    pub output: Output,
    pub ops_only: bool,
    pub source_lines: bool,
    pub events: Events,
    pub stacks: CodeStacks,
    pub frames: Frames,
    pub group_by: GroupBy,
    /// A pattern for the names of the events that mark steps; empty to find steps by rule.
    pub step_marker: String,
    /// The run of a log directory; empty for the newest.
    pub run: String,
    /// The peaks to compare with, and the device whose peaks they are; empty to take those of the profile.
    pub peak_flops: String,
    pub peak_bandwidth: String,
    pub device: String,
    /// A file with devices of the user.
    pub devices: String,
    pub quirks: Quirks,
}

impl Default for Options {
    fn default() -> Self {
        let all = || vec![".*".to_owned()];
        Options {
            max_depth: None,
            min: [0; Metric::COUNT],
            step: Step::Average,
            order_by: OrderBy::Auto,
            account_type_regexes: all(),
            start_name_regexes: all(),
            trim_name_regexes: Vec::new(),
            show_name_regexes: all(),
            hide_name_regexes: Vec::new(),
            account_displayed_op_only: false,
            select: None,
            output: Output::default(),
            ops_only: false,
            source_lines: false,
            events: Events::Ops,
            stacks: CodeStacks::Auto,
            frames: Frames::Auto,
            group_by: GroupBy::View,
            step_marker: String::new(),
            run: String::new(),
            peak_flops: String::new(),
            peak_bandwidth: String::new(),
            device: String::new(),
            devices: String::new(),
            quirks: Quirks::NONE,
        }
    }
}

impl Options {
    /// Sets an option by its name, without dashes, whatever the forms of an answer are.
    pub(crate) fn apply(&mut self, name: &str, value: &str) -> Result<(), Error> {
        let option = OPTIONS.iter().find(|option| option.name == name).ok_or_else(|| {
            let names: Vec<_> = OPTIONS.iter().map(|option| option.name).collect();
            Error::Question(words::unknown("option", name, &names))
        })?;
        option.apply(self, value)
    }

    /// The selection, or the metric that says most about the loaded files.
    pub fn selection(&self, has_steps: bool) -> Selection {
        self.select.unwrap_or_else(|| {
            let metric = if has_steps || self.quirks.micros_by_default { Metric::Micros } else { Metric::Parameters };
            let mut selection = Selection::default();
            selection.add_metric(metric);
            selection
        })
    }

    /// The order of the rows of a view: in op view the first metric of `selection` that the files have, else names.
    pub(crate) fn resolved_order(&self, kind: ViewKind, selection: Selection, unknown: MetricSet) -> OrderBy {
        match self.order_by {
            OrderBy::Auto if kind == ViewKind::Op && !self.quirks.op_rows_by_name => {
                selection.first(unknown).map_or(OrderBy::Name, OrderBy::Metric)
            }
            OrderBy::Auto => OrderBy::Name,
            order => order,
        }
    }

    /// The metrics to sum for this question: shown, sorted by or compared to a minimum.
    pub fn summed_metrics(&self) -> MetricSet {
        let mut metrics = self.selection(true).metrics();
        if let OrderBy::Metric(metric) = self.order_by {
            metrics.add(metric);
        }
        METRICS.iter().filter(|info| self.min[info.metric as usize] > 0).for_each(|info| metrics.add(info.metric));
        metrics.summed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(name: &str, value: &str) -> Result<Options, String> {
        let mut options = Options::default();
        options.set(name, value).map(|()| options).map_err(|error| error.to_string())
    }

    #[test]
    fn wrong_words_name_the_nearest() {
        let error = |name, value| set(name, value).unwrap_err();
        assert!(error("select", "micro").starts_with("unknown metric `micro` in -select; did you mean `micros`?"));
        assert!(
            error("order_by", "beauty").contains("unknown order `beauty` in -order_by; expected one of name, bytes")
        );
        assert!(error("order_by", "time").contains("unknown order `time` in -order_by; did you mean `micros`?"));
        assert!(
            error("select", "params,FLOPs").contains("unknown metric `FLOPs` in -select; did you mean `float_ops`?")
        );
        assert!(error("max_dept", "3").contains("unknown option `max_dept`; did you mean `max_depth`?"));
        assert!(error("output", "file").contains("needs a file"));
        assert!(error("output", "stdout:outfile=x").contains("takes no file"));
        assert!(error("max_depth", "3000000000").contains("too large"));
        assert!(error("step", "x").contains("expected a whole number"));
    }

    #[test]
    fn values_come_back_as_typed() {
        for (name, value) in [
            ("select", "bytes,micros,params"),
            ("order_by", "cpu_micros"),
            ("step", "7"),
            ("output", "file:outfile=a=b"),
            ("hide_name_regexes", "a,b"),
            ("min_micros", "-3"),
            ("original_quirks", "true"),
        ] {
            let options = set(name, value).unwrap();
            let info = OPTIONS.iter().find(|info| info.name == name).unwrap();
            assert_eq!(info.show(&options), value);
        }
    }
}
