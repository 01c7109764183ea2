//! A question to a view. It knows what it needs of the files, and [`Profiler::ask`](super::profiler::Profiler::ask)
//! answers it. This is the one place that chooses a [`Keep`].

use super::inputs::Inputs;
use crate::error::Error;
use crate::format::Role;
use crate::metric::{Detail, MetricInfo, Source};
use crate::model::builder::Keep;
use crate::model::runs::KeepSteps;
use crate::options::{CodeStacks, Events, Options, Output, Step, ViewKind};
use crate::render::{self, Form};

/// Which view, and with which options; these say where the answer goes, too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    pub kind: ViewKind,
    pub options: Options,
}

impl Question {
    pub fn new(kind: ViewKind, options: &Options) -> Question {
        Question { kind, options: options.clone() }
    }

    /// The form of the answer.
    pub fn form(&self) -> Result<&'static Form, Error> {
        render::form(&self.options.output)
    }

    /// The parts of the files that the question needs: a cold answer does not pay for other views.
    pub fn needs(&self, inputs: &Inputs) -> Result<Keep, Error> {
        let Question { kind, options } = self;
        let demand = &self.form()?.demand;
        let shapes = demand.all_metrics || options.select.is_some_and(|select| select.has_detail(Detail::InputShapes));
        let mut steps: Vec<i64> = inputs.runs().map(|(step, _)| step).collect();
        let (runs, profiles) = (steps.len(), inputs.of(Role::Profile).count());
        steps.sort_unstable();
        steps.dedup();
        let records = self.needs_records()?;
        let steps = match options.step {
            // A step in several files is put together while it is kept.
            _ if steps.len() < runs || profiles > 1 || (profiles == 1 && runs > 0) => KeepSteps::Each,
            Step::Average if records => KeepSteps::Each,
            Step::Average | Step::All => KeepSteps::TotalsOnly,
            Step::At(step) => KeepSteps::One(step),
        };
        let functions = !options.quirks.functions_are_closed;
        let asks = |is: fn(&MetricInfo) -> bool| {
            demand.all_metrics || options.summed_metrics().iter().any(|metric| is(metric.info()))
        };
        Ok(Keep {
            steps,
            memory: records || options.quirks.zero_minimum_hides || asks(MetricInfo::is_measured_memory),
            inputs: shapes || *kind == ViewKind::Graph,
            output_shapes: shapes,
            traces: *kind == ViewKind::Code,
            records,
            attributes: false,
            peaks: false,
            functions,
            costs: functions && (inputs.settings.const_params || asks(|metric| metric.source == Source::Computed)),
            step_marks: options.step != Step::All,
            runtime: options.events == Events::All,
            calls: *kind == ViewKind::Code && options.stacks != CodeStacks::Source,
            busy: false,
        })
    }

    /// Whether the answer needs single executions, which a session does not keep.
    pub fn needs_records(&self) -> Result<bool, Error> {
        Ok(self.kind == ViewKind::Graph && self.form()?.demand.executions)
    }
}

/// Any view. Single executions and attributes take most of the memory, and few questions need them.
pub const ANY_VIEW: Keep = Keep { records: false, attributes: false, ..Keep::EVERYTHING };

/// [`Overview`](crate::report::overview::Overview).
pub const OVERVIEW: Keep = Keep { inputs: false, output_shapes: false, runtime: false, calls: false, ..ANY_VIEW };

/// [`advise`](crate::report::advise::advise).
pub const ADVICE: Keep =
    Keep { inputs: false, output_shapes: false, functions: false, costs: false, ..Keep::EVERYTHING };

/// Saving everything as a `ProfileProto`.
pub const SAVING: Keep = Keep { functions: false, costs: false, ..Keep::EVERYTHING };

/// [`Cost`](crate::report::cost::Cost).
pub const COST: Keep = Keep {
    steps: KeepSteps::TotalsOnly,
    memory: false,
    inputs: false,
    output_shapes: false,
    traces: false,
    records: false,
    attributes: false,
    peaks: false,
    functions: true,
    costs: true,
    step_marks: false,
    runtime: false,
    calls: false,
    busy: false,
};

/// A command of the original's interface, which computes nothing from the graph.
pub fn of_original(command: &str, records: bool) -> Keep {
    let advises = command == "advise";
    Keep { traces: advises || command == "code", attributes: advises, records, ..SAVING }
}

/// Sets an option by its name, without dashes. The form of `output` must be one that can be written.
pub fn set(options: &mut Options, name: &str, value: &str) -> Result<(), Error> {
    if name == "output" {
        render::form_of(Output::word_of(value))?;
    }
    options.set(name, value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_form_is_refused() {
        let mut options = Options::default();
        let error = |options: &mut Options, value: &str| set(options, "output", value).unwrap_err().to_string();
        assert!(
            error(&mut options, "paper").starts_with("unknown form `paper` in -output; expected one of stdout, file")
        );
        assert!(error(&mut options, "jsn:outfile=x").contains("did you mean `json`?"));
        assert!(error(&mut options, "json").contains("needs a file"));
        assert_eq!(options, Options::default());
        set(&mut options, "output", "json:outfile=x").unwrap();
        assert_eq!(Question::new(ViewKind::Op, &options).form().unwrap().word, "json");
    }
}
