//! Which parts of the files each kind of question needs: the one place that chooses a [`Keep`].

use super::inputs::Inputs;
use super::question::Question;
use crate::error::Error;
use crate::format::Role;
use crate::metric::{Detail, MetricInfo, Source};
use crate::model::builder::Keep;
use crate::model::runs::KeepSteps;
use crate::options::{CodeStacks, Events, GroupBy, Step, ViewKind};

/// Any view. Single executions and attributes take most of the memory, and few questions need them.
pub const ANY_VIEW: Keep = Keep { records: false, attributes: false, spans: false, ..Keep::EVERYTHING };

/// [`TABLES`](crate::tables::TABLES). Layers that repeat the ops in other ways are left out.
pub const TABLES: Keep =
    Keep { attributes: false, runtime: false, calls: false, programs: false, shapes: false, ..Keep::EVERYTHING };

/// One of [`TABLES`](crate::tables::TABLES), or all. Single executions take most of the memory, and how busy devices were
/// takes as much.
pub fn of_table(name: Option<&str>) -> Keep {
    match name {
        None => TABLES,
        Some("executions") => Keep { busy: false, ..TABLES },
        Some(_) => Keep { spans: false, ..TABLES },
    }
}

/// [`Overview`](crate::report::overview::Overview).
pub const OVERVIEW: Keep = Keep {
    inputs: false,
    output_shapes: false,
    runtime: false,
    calls: false,
    programs: false,
    kernels: false,
    shapes: false,
    ..ANY_VIEW
};

/// [`advise`](crate::report::advise::advise).
pub const ADVICE: Keep = Keep { inputs: false, output_shapes: false, kernels: true, ..SAVING_AS_ORIGINAL };

/// Saving everything as a `ProfileProto`, computed costs included.
pub const SAVING: Keep =
    Keep { functions: false, programs: false, kernels: false, shapes: false, spans: false, ..Keep::EVERYTHING };

/// The same, as the original does it: it computes nothing.
pub const SAVING_AS_ORIGINAL: Keep = Keep { costs: false, ..SAVING };

/// A partial: sums of every step, edges, and no layer that repeats the ops.
pub const PARTIAL: Keep = Keep { inputs: true, ..OVERVIEW };

/// [`Cost`](crate::report::cost::Cost).
pub const COST: Keep = Keep {
    steps: KeepSteps::TotalsOnly,
    memory: false,
    bounds: false,
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
    programs: false,
    kernels: false,
    shapes: false,
    spans: false,
};

/// [`LayerReport`](crate::report::layers::LayerReport) and what if.
pub const LAYERS: Keep = Keep {
    steps: KeepSteps::Each,
    bounds: true,
    inputs: true,
    output_shapes: true,
    step_marks: true,
    busy: true,
    ..COST
};

/// A command of the original's interface, which computes nothing from the graph.
pub fn of_original(command: &str, records: bool) -> Keep {
    let advises = command == "advise";
    Keep { traces: advises || command == "code", attributes: advises, records, ..SAVING_AS_ORIGINAL }
}

impl Question {
    /// The parts of the files that the question needs: a cold answer does not pay for other views.
    pub fn needs(&self, inputs: &Inputs) -> Result<Keep, Error> {
        let Question { kind, options } = self;
        let demand = &self.form()?.demand;
        let shows = |detail| options.select.is_some_and(|select| select.has_detail(detail));
        let shapes = demand.all_metrics || shows(Detail::InputShapes);
        let mut steps: Vec<i64> = inputs.runs().map(|(step, _)| step).collect();
        let (runs, profiles) = (steps.len(), inputs.of(Role::Profile).count());
        steps.sort_unstable();
        steps.dedup();
        let records = self.needs_records()?;
        let steps = match options.step {
            // A step in several files is put together while it is kept.
            _ if steps.len() < runs || profiles > 1 || (profiles == 1 && runs > 0) => KeepSteps::Each,
            Step::Average if records => KeepSteps::Each,
            Step::From(_) => KeepSteps::Each,
            Step::Average | Step::All => KeepSteps::TotalsOnly,
            Step::At(step) => KeepSteps::One(step),
        };
        let functions = !options.quirks.functions_are_closed;
        let asks = |is: fn(&MetricInfo) -> bool| {
            let shown = options.summed_metrics().and(demand.metrics(options.selection(true)).summed());
            demand.all_metrics || shown.iter().any(|metric| is(metric.info()))
        };
        Ok(Keep {
            steps,
            memory: records || options.quirks.zero_minimum_hides || asks(MetricInfo::is_measured_memory),
            bounds: records,
            inputs: shapes || options.group_by == GroupBy::Shapes || *kind == ViewKind::Graph,
            output_shapes: shapes || options.group_by == GroupBy::Shapes,
            traces: *kind == ViewKind::Code,
            records,
            attributes: false,
            peaks: false,
            functions,
            costs: functions
                && (inputs.settings.const_params
                    || shows(Detail::Category)
                    || shows(Detail::BoundBy)
                    || options.group_by == GroupBy::Category
                    || asks(|metric| metric.source == Source::Computed)),
            step_marks: options.step != Step::All,
            runtime: options.events == Events::All,
            calls: *kind == ViewKind::Code && options.stacks != CodeStacks::Source,
            busy: false,
            programs: options.group_by == GroupBy::Program,
            kernels: shows(Detail::Kernels),
            shapes: options.group_by == GroupBy::Shapes,
            spans: false,
        })
    }

    /// Whether the answer needs single executions, which a session does not keep.
    pub fn needs_records(&self) -> Result<bool, Error> {
        Ok(self.kind == ViewKind::Graph && self.form()?.demand.executions)
    }
}
