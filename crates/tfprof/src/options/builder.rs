//! Typed setters of [`Options`], to chain: the words that [`Options::set`] parses, checked by the compiler.

use super::{CodeStacks, Events, Frames, GroupBy, Options, OrderBy, Step};
use crate::metric::{Detail, Metric};
use crate::quirks::Quirks;

/// Typed setters. Each takes the options and returns them, changed.
///
/// ```
/// use tfprof::{Detail, Metric, Options};
///
/// let typed = Options::new()
///     .select([Metric::Micros, Metric::Parameters])
///     .details([Detail::Device])
///     .order_by(Metric::Micros)
///     .min(Metric::Micros, 10)
///     .max_depth(3);
///
/// let mut parsed = Options::new();
/// parsed.set("select", "micros,params,device")?;
/// parsed.set("order_by", "micros")?;
/// parsed.set("min_micros", "10")?;
/// parsed.set("max_depth", "3")?;
/// assert_eq!(typed, parsed);
/// # Ok::<(), tfprof::Error>(())
/// ```
impl Options {
    /// The defaults: all rows down to level 10, by name (in op view the ten largest), on average over the steps.
    pub fn new() -> Options {
        Options::default()
    }

    /// The metrics to show, in addition to those selected before. Without any, the most telling one is shown.
    #[must_use]
    pub fn select(mut self, metrics: impl IntoIterator<Item = Metric>) -> Options {
        let selection = self.select.get_or_insert_default();
        metrics.into_iter().for_each(|metric| selection.add_metric(metric));
        self
    }

    /// The details to show besides numbers.
    #[must_use]
    pub fn details(mut self, details: impl IntoIterator<Item = Detail>) -> Options {
        let selection = self.select.get_or_insert_default();
        details.into_iter().for_each(|detail| selection.add_detail(detail));
        self
    }

    /// A metric sorts rows from the largest down; see [`OrderBy`] for other orders.
    #[must_use]
    pub fn order_by(mut self, order: impl Into<OrderBy>) -> Options {
        self.order_by = order.into();
        self
    }

    /// The number of levels to show, including the root; in op view, the number of rows.
    #[must_use]
    pub fn max_depth(mut self, levels: u32) -> Options {
        self.max_depth = Some(levels.into());
        self
    }

    /// Hides rows whose number is less.
    #[must_use]
    pub fn min(mut self, metric: Metric, least: i64) -> Options {
        self.min[metric as usize] = least;
        self
    }

    /// The step to show.
    #[must_use]
    pub fn step(mut self, step: Step) -> Options {
        self.step = step;
        self
    }

    /// Counts only nodes with a type (op, device, custom type) that matches one of these patterns.
    #[must_use]
    pub fn account_type_regexes<P: Into<String>>(mut self, patterns: impl IntoIterator<Item = P>) -> Options {
        self.account_type_regexes = texts(patterns);
        self
    }

    /// Begins at rows whose name matches one of these patterns.
    #[must_use]
    pub fn start_name_regexes<P: Into<String>>(mut self, patterns: impl IntoIterator<Item = P>) -> Options {
        self.start_name_regexes = texts(patterns);
        self
    }

    /// Cuts off everything below rows whose name matches one of these patterns.
    #[must_use]
    pub fn trim_name_regexes<P: Into<String>>(mut self, patterns: impl IntoIterator<Item = P>) -> Options {
        self.trim_name_regexes = texts(patterns);
        self
    }

    /// Shows only rows whose name matches one of these patterns.
    #[must_use]
    pub fn show_name_regexes<P: Into<String>>(mut self, patterns: impl IntoIterator<Item = P>) -> Options {
        self.show_name_regexes = texts(patterns);
        self
    }

    /// Hides rows whose name matches one of these patterns.
    #[must_use]
    pub fn hide_name_regexes<P: Into<String>>(mut self, patterns: impl IntoIterator<Item = P>) -> Options {
        self.hide_name_regexes = texts(patterns);
        self
    }

    /// The events of a trace that are nodes.
    #[must_use]
    pub fn events(mut self, events: Events) -> Options {
        self.events = events;
        self
    }

    /// The stacks that the code view of a trace shows.
    #[must_use]
    pub fn stacks(mut self, stacks: CodeStacks) -> Options {
        self.stacks = stacks;
        self
    }

    /// The frames that the code view shows.
    #[must_use]
    pub fn frames(mut self, frames: Frames) -> Options {
        self.frames = frames;
        self
    }

    /// The grouping of rows in a trace.
    #[must_use]
    pub fn group_by(mut self, group_by: GroupBy) -> Options {
        self.group_by = group_by;
        self
    }

    /// The form of the answer: the word of one of the [`FORMS`](crate::FORMS).
    #[must_use]
    pub fn form(mut self, word: impl Into<String>) -> Options {
        self.output.form = word.into();
        self
    }

    /// The bugs of the original to reproduce.
    #[must_use]
    pub fn quirks(mut self, quirks: Quirks) -> Options {
        self.quirks = quirks;
        self
    }
}

fn texts<P: Into<String>>(patterns: impl IntoIterator<Item = P>) -> Vec<String> {
    patterns.into_iter().map(Into::into).collect()
}
