//! Options with a few choices: the view, the step, the order of rows, and the events of a profile that count.

use crate::metric::{self, METRICS, Metric};
use crate::words::Choice;

/// Which view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ViewKind {
    Scope,
    Graph,
    Op,
    Code,
}

impl ViewKind {
    pub const ALL: [ViewKind; 4] = [ViewKind::Scope, ViewKind::Graph, ViewKind::Op, ViewKind::Code];

    pub const fn word(self) -> &'static str {
        match self {
            ViewKind::Scope => "scope",
            ViewKind::Graph => "graph",
            ViewKind::Op => "op",
            ViewKind::Code => "code",
        }
    }

    pub const fn about(self) -> &'static str {
        match self {
            ViewKind::Scope => "nodes by name scope; a/b lies within a",
            ViewKind::Graph => "nodes by what they read; the inputs of a node lie below it",
            ViewKind::Op => "nodes by operation type; one row for each type",
            ViewKind::Code => "nodes by the line of Python that made them; what a line calls lies below it",
        }
    }

    pub fn parse(word: &str) -> Option<ViewKind> {
        ViewKind::ALL.into_iter().find(|kind| kind.word() == word)
    }
}

/// Which step a question is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Step {
    /// For each node, the average of the steps that have it.
    Average,
    At(i64),
    /// The same average without the steps before this one, such as those of the warm-up.
    From(i64),
    /// The sum of everything, including what belongs to no step.
    All,
}

impl Step {
    /// Whether the question is about an average of steps.
    pub(crate) fn is_average(self) -> bool {
        matches!(self, Step::Average | Step::From(_))
    }
}

/// Which events of a profile are nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Events {
    #[default]
    Ops,
    /// The kernels and copies of devices apart from the ops that launched them.
    Kernels,
    /// Those of the runtime, too.
    All,
}

impl Choice for Events {
    const WORDS: &'static [(&'static str, Events)] =
        &[("ops", Events::Ops), ("kernels", Events::Kernels), ("all", Events::All)];
}

/// The grouping of rows in a trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum GroupBy {
    /// The grouping of the view: op types, scopes.
    #[default]
    View,
    /// The compiled program is the outermost level.
    Program,
    /// The category of XLA instructions, in op view.
    Category,
    /// The shapes of inputs split op types, in op view.
    Shapes,
}

impl Choice for GroupBy {
    const WORDS: &'static [(&'static str, GroupBy)] = &[
        ("view", GroupBy::View),
        ("program", GroupBy::Program),
        ("category", GroupBy::Category),
        ("shapes", GroupBy::Shapes),
    ];
}

/// The stacks that the code view of a profile shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum CodeStacks {
    /// Lines of source if there are any, else Python calls.
    #[default]
    Auto,
    /// The source lines that made the ops.
    Source,
    /// The Python calls of the host.
    Python,
}

impl Choice for CodeStacks {
    const WORDS: &'static [(&'static str, CodeStacks)] =
        &[("auto", CodeStacks::Auto), ("source", CodeStacks::Source), ("python", CodeStacks::Python)];
}

/// The frames that the code view shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Frames {
    /// All; on terminals and pages, those of the user.
    #[default]
    Auto,
    All,
    /// Frames of TensorFlow, Keras, JAX and the standard library are folded into the user's frame around them.
    User,
}

impl Choice for Frames {
    const WORDS: &'static [(&'static str, Frames)] =
        &[("auto", Frames::Auto), ("all", Frames::All), ("user", Frames::User)];
}

/// The order of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OrderBy {
    /// By name; in op view, by the first selected metric.
    Auto,
    Name,
    /// By depth in the tree, then by name.
    Depth,
    Metric(Metric),
    /// The order of the tree.
    Unordered,
}

impl From<Metric> for OrderBy {
    fn from(metric: Metric) -> OrderBy {
        OrderBy::Metric(metric)
    }
}

impl OrderBy {
    /// `name`, `depth`, or the word of a metric.
    pub fn words() -> Vec<&'static str> {
        let metrics = METRICS.iter().filter_map(|info| info.word);
        ["name"].into_iter().chain(metrics).chain(["depth"]).collect()
    }

    pub fn word(self) -> &'static str {
        match self {
            OrderBy::Name | OrderBy::Auto => "name",
            OrderBy::Depth => "depth",
            OrderBy::Metric(metric) => metric.info().word.unwrap_or_default(),
            OrderBy::Unordered => "",
        }
    }

    pub(super) fn parse(word: &str) -> Result<OrderBy, String> {
        match word {
            "name" => Ok(OrderBy::Name),
            "depth" => Ok(OrderBy::Depth),
            "" => Ok(OrderBy::Unordered),
            word => Metric::of_word(word)
                .map(OrderBy::Metric)
                .ok_or_else(|| metric::unknown_word("order", word, &OrderBy::words())),
        }
    }
}
