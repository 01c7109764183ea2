//! Which forms of output a view has, and which numbers each of them needs.

use crate::error::Error;
use crate::metric::{METRICS, Metric, MetricInfo, MetricSet};
use crate::options::{Form, Options, OrderBy, Selection, Step, ViewKind};

/// Refuses what a view cannot give.
pub fn check(kind: ViewKind, options: &Options, selection: Selection) -> Result<(), Error> {
    let refuse = |why: String| Err(Error::Question(format!("-output {}: {why}", options.output.form.word())));
    let fewer = options.quirks.fewer_outputs;
    let given = selection.given().count();
    let ordered_by = if let OrderBy::Metric(metric) = options.order_by { Some(metric) } else { None };
    if fewer && let Some(ratio) = selection.given().chain(ordered_by).find(|metric| metric.is_ratio()) {
        let word = ratio.info().word.unwrap_or_default();
        let why = format!("the original has no metric `{word}`; leave out -original_quirks, or the metric");
        return Err(Error::Question(why));
    }
    match options.output.form {
        Form::Timeline if kind == ViewKind::Op && fewer => {
            refuse("the op view has none; ask the graph, scope or code view, or leave out -original_quirks".to_owned())
        }
        Form::Timeline if kind == ViewKind::Graph && !matches!(options.step, Step::At(_)) => {
            refuse("in graph view it is about one step; give it with -step".to_owned())
        }
        Form::Pprof if kind != ViewKind::Code && fewer => {
            refuse("only the code view has it; ask that, or leave out -original_quirks".to_owned())
        }
        Form::Pprof if fewer && (given != 1 || selection.has(Metric::Runs) || selection.words().len() != 1) => {
            let found = selection.words().join(",");
            refuse(format!("-select must be one metric and not occurrence, found `{found}`; try -select micros"))
        }
        Form::Pprof | Form::Folded | Form::Speedscope | Form::Flamegraph if given == 0 => {
            refuse("-select names no metric; try -select micros".to_owned())
        }
        Form::Pprof | Form::Folded | Form::Speedscope | Form::Flamegraph if selection.given().any(Metric::is_ratio) => {
            refuse("it shows sums, and -select names a ratio, which cannot be summed; try -select micros".to_owned())
        }
        Form::Folded | Form::Speedscope | Form::Flamegraph if given > 1 => {
            let found = selection.words().join(",");
            refuse(format!("it shows one metric, and -select names several ({found}); choose one"))
        }
        _ => Ok(()),
    }
}

/// Refuses to sort by or to ask for a minimum of what nobody knows.
pub fn check_known(unknown: MetricSet, options: &Options) -> Result<(), Error> {
    let known = || {
        let known = METRICS.iter().filter(|info| !unknown.has_part_of(info.metric));
        known.filter_map(|info| info.word).collect::<Vec<_>>().join(", ")
    };
    let refuse = |option: &str, word: &str| {
        let message = format!("-{option}: this profile does not have {word}; it has {}", known());
        Err(Error::Question(message))
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

/// The metrics that a form shows.
pub fn metrics(form: Form, selection: Selection) -> MetricSet {
    let mut metrics = selection.metrics();
    if form == Form::Timeline {
        metrics.add(Metric::Micros);
    }
    metrics
}

/// Whether a question is about memory: if not, what runs say of it need not be read.
pub fn needs_memory(options: &Options) -> bool {
    let asked = || options.summed_metrics().iter().any(|metric| metric.info().is_measured_memory());
    options.quirks.zero_minimum_hides || options.output.form == Form::Proto || asked()
}

/// The one metric of a flame graph.
pub fn drawn(form: Form, selection: Selection) -> Option<Metric> {
    let draws = matches!(form, Form::Folded | Form::Speedscope | Form::Flamegraph);
    selection.given().next().filter(|_| draws)
}
