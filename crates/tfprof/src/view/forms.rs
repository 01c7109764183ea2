//! Which forms of output a view has, and which numbers each of them needs.

use crate::error::Error;
use crate::metric::{Metric, MetricSet};
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
        Form::Timeline if kind == ViewKind::Graph && options.step == Step::Average => {
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
