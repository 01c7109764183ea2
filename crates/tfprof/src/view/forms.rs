//! Which forms of output a view has, and which numbers each of them needs.

use crate::error::Error;
use crate::metric::{METRICS, Metric, MetricInfo, MetricSet};
use crate::model::Model;
use crate::options::{Form, Options, OrderBy, Selection, Step, ViewKind};

/// Refuses what a view cannot give.
pub fn check(kind: ViewKind, options: &Options, selection: Selection) -> Result<(), Error> {
    let refuse = |why: String| Err(Error::Question(format!("-output {}: {why}", options.output.form.word())));
    let fewer = options.quirks.fewer_outputs;
    let given = selection.given().count();
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
        Form::Folded | Form::Speedscope | Form::Flamegraph if given > 1 => {
            let found = selection.words().join(",");
            refuse(format!("it shows one metric, and -select names several ({found}); choose one"))
        }
        _ => Ok(()),
    }
}

/// Refuses to sort by or to ask for a minimum of what nobody knows.
pub fn check_known(model: &Model, options: &Options) -> Result<(), Error> {
    let known = || {
        let known = METRICS.iter().filter(|info| !model.unknown.has(info.metric));
        known.filter_map(|info| info.word).collect::<Vec<_>>().join(", ")
    };
    let refuse = |option: &str, word: &str| {
        let message = format!("-{option}: this profile does not have {word}; it has {}", known());
        Err(Error::Question(message))
    };
    if let OrderBy::Metric(metric) = options.order_by
        && model.unknown.has(metric)
    {
        return refuse("order_by", options.order_by.word());
    }
    let asked = |info: &&MetricInfo| model.unknown.has(info.metric) && options.min[info.metric as usize] != 0;
    match METRICS.iter().find(asked) {
        Some(info) => refuse(info.min.unwrap_or_default(), info.word.unwrap_or_default()),
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
    const MEMORY: [Metric; 4] = [Metric::RequestedBytes, Metric::PeakBytes, Metric::ResidualBytes, Metric::OutputBytes];
    let shown = metrics(options.output.form, options.selection(true));
    let asked = |metric: Metric| {
        shown.has(metric) || options.order_by == OrderBy::Metric(metric) || options.min[metric as usize] > 0
    };
    options.quirks.zero_minimum_hides || options.output.form == Form::Proto || MEMORY.into_iter().any(asked)
}

/// The one metric of a flame graph.
pub fn drawn(form: Form, selection: Selection) -> Option<Metric> {
    let draws = matches!(form, Form::Folded | Form::Speedscope | Form::Flamegraph);
    selection.given().next().filter(|_| draws)
}
