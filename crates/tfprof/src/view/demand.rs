//! The demands of output forms on a view, and the ones a view refuses.

use crate::error::{Error, Fix, Refusal};
use crate::metric::{METRICS, Metric, MetricInfo, MetricSet};
use crate::options::{GroupBy, Options, OrderBy, Selection, ViewKind};

/// The demands of an output form on a view.
#[derive(Clone, Copy, Debug)]
pub struct Demand {
    /// All metrics, whatever was selected.
    pub all_metrics: bool,
    /// All levels, unless the question has a limit.
    pub whole_tree: bool,
    /// The nodes of a row of the op view in the order of their names.
    pub nodes_by_name: bool,
    /// Shown even if it was not selected.
    pub extra_metrics: &'static [Metric],
    /// The form draws one metric: exactly one must be selected, and its total must be positive.
    pub one_metric: bool,
    /// The form shows sums: some metric must be selected, and no ratio.
    pub sums: bool,
    /// The frames of frameworks are folded, unless the question says otherwise.
    pub folds_frames: bool,
    /// In graph view, each step has a file of its own, drawn from its single executions.
    pub executions: bool,
    /// The form can show two sides.
    pub compares: bool,
    /// Of two sides, rows without any difference are left out, unless asked for.
    pub changes_only: bool,
    /// Says why the form cannot show a view.
    pub check: fn(ViewKind, &Options, Selection) -> Result<(), Refusal>,
}

impl Demand {
    /// The rows as the question has them.
    pub const ROWS: Demand = Demand {
        all_metrics: false,
        whole_tree: false,
        nodes_by_name: false,
        extra_metrics: &[],
        one_metric: false,
        sums: false,
        folds_frames: false,
        executions: false,
        compares: true,
        changes_only: false,
        check: |_, _, _| Ok(()),
    };

    /// A drawing of one metric.
    pub const DRAWING: Demand = Demand { one_metric: true, sums: true, whole_tree: true, ..Demand::ROWS };

    /// Refuses a question that the form cannot show.
    pub fn check(&self, kind: ViewKind, options: &Options, selection: Selection) -> Result<(), Error> {
        let given = selection.given().count();
        let checked = (self.check)(kind, options, selection).and_then(|()| {
            if self.sums && given == 0 {
                return Err(Refusal::new("no metric is selected", Fix::with_value("try", "select", "micros")));
            }
            if self.sums && selection.given().any(Metric::is_ratio) {
                let why = "it shows sums, and a ratio is selected, which cannot be summed";
                return Err(Refusal::new(why, Fix::with_value("try", "select", "micros")));
            }
            if self.one_metric && given > 1 {
                let found = selection.words().join(",");
                let why = format!("it shows one metric, and several are selected ({found})");
                return Err(Refusal::new(why, Fix::new("choose one with", "select")));
            }
            Ok(())
        });
        let refused = |why| Error::Option { name: "output".to_owned(), value: options.output.form.clone(), why };
        checked.map_err(|refusal| refusal.into_error(refused))?;
        if options.group_by == GroupBy::Category && kind != ViewKind::Op {
            return Err(Error::option("group_by", "only the op view groups by category"));
        }
        Ok(())
    }

    /// The metrics that the form shows.
    pub fn metrics(&self, selection: Selection) -> MetricSet {
        if self.all_metrics {
            return MetricSet::ALL;
        }
        let mut metrics = selection.metrics();
        self.extra_metrics.iter().for_each(|metric| metrics.add(*metric));
        metrics
    }

    /// The one metric that the form draws.
    pub fn drawn(&self, selection: Selection) -> Option<Metric> {
        selection.given().next().filter(|_| self.one_metric)
    }
}

/// Refuses ratios where the original's answer is wanted: it has none.
pub fn check_original(options: &Options, selection: Selection) -> Result<(), Error> {
    let ordered_by = if let OrderBy::Metric(metric) = options.order_by { Some(metric) } else { None };
    match selection.given().chain(ordered_by).find(|metric| metric.is_ratio()) {
        Some(ratio) if options.quirks.fewer_outputs => {
            let word = ratio.info().word.unwrap_or_default();
            let fix = Fix::new("leave out the metric, or", "original_quirks");
            Err(Error::Question(format!("the original has no metric `{word}`")).with_fix(fix))
        }
        _ => Ok(()),
    }
}

/// Refuses to sort by, or to filter by a minimum of, a metric that the files do not have.
pub fn check_known(unknown: MetricSet, options: &Options) -> Result<(), Error> {
    let known = || {
        let known = METRICS.iter().filter(|info| !unknown.has_part_of(info.metric));
        let known = known.filter_map(|info| info.word).collect::<Vec<_>>().join(", ");
        if known.is_empty() { "no metric of it is known".to_owned() } else { format!("it has {known}") }
    };
    let refuse = |option: &str, word: &str| {
        Err(Error::option(option, format!("this profile does not have {word}; {}", known())))
    };
    if let OrderBy::Metric(metric) = options.order_by
        && unknown.has_part_of(metric)
    {
        return refuse("order_by", options.order_by.word());
    }
    let asked = |info: &&MetricInfo| unknown.has(info.metric) && options.min[info.metric as usize] != 0;
    match METRICS.iter().find(asked) {
        Some(info) => refuse(info.min.map_or("", |min| min.option), info.word.unwrap_or_default()),
        None => Ok(()),
    }
}
