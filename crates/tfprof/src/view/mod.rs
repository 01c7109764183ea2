//! Views: group the model's nodes into a tree, then run one pipeline that sums, filters and sorts it.

pub mod ceilings;
mod code;
pub mod columns;
pub mod compare;
mod demand;
pub mod filter;
mod framework;
mod graph;
mod op;
mod pipeline;
mod scope;
mod source_text;
pub mod steps;
pub mod tree;
pub mod values;

use crate::checkpoint::Values as TensorValues;
use crate::checkpoint::{Checkpoint, Damage};
use crate::error::{Error, Fix, Warning};
use crate::metric::{Column, Detail, Metric, MetricSet, Table};
use crate::model::Model;
use crate::model::hosts::{self, EventKind};
use crate::model::layers::{Layer, Layers, NodeFilter};
use crate::model::nodes::NodeId;
use crate::model::stacks::{Frame, FrameText};
use crate::options::{CodeStacks, Events, Frames, GroupBy, Options, OrderBy, Selection, Step, ViewKind};
use crate::units::Amount;
use ceilings::{Peaks, need_peaks};
pub use columns::Side;
pub use demand::Demand;
pub use pipeline::VisibleRow;
use pipeline::{Filters, LeftOut, Pipeline, Rows, Rules};
use source_text::SourceText;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use steps::{check_step, from_step};
use values::{Lens, Values};

/// The visible rows in print order, with their numbers. Row 0 is the root.
///
/// Renderers only read it: they never filter, sum or sort.
#[derive(Debug)]
pub struct View {
    pub kind: ViewKind,
    pub options: Options,
    pub selection: Selection,
    #[doc(hidden)]
    pub model: Arc<Model>,
    /// The metrics that the files do not have for these layers.
    unknown: MetricSet,
    pub warnings: Vec<Warning>,
    /// The source of tensor values.
    pub checkpoints: Vec<Arc<Checkpoint>>,
    /// Found while the answer was written: tensor values are read only then.
    late_warnings: Mutex<Vec<Warning>>,
    notes: Mutex<Vec<String>>,
    /// Source files on disk, read when their lines are shown.
    source_text: Mutex<SourceText>,
    /// The number of frames that are folded.
    folded: usize,
    layers: Layers,
    demand: Demand,
    rows: Rows,
    /// Where the peaks come from that it compares with; empty if it does not.
    peaks: Vec<String>,
    /// The other side of a comparison.
    compared: Option<Box<compare::Compared>>,
}

/// A line of a program.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Line<'a> {
    pub file: &'a str,
    pub function: &'a str,
    pub number: i32,
    pub function_start: i32,
    /// It stands for the gradients of the line's ops.
    pub is_gradient: bool,
}

impl View {
    /// Asks a question about a model; `demand` is that of the form in which the answer will be written.
    pub(crate) fn new(model: Arc<Model>, kind: ViewKind, options: &Options, demand: Demand) -> Result<Self, Error> {
        let layers = layers(&model, kind, options)?;
        View::of_layers(model, layers, kind, options, demand)
    }

    /// Asks a question about some layers of a model.
    pub(crate) fn of_layers(
        model: Arc<Model>,
        layers: Layers,
        kind: ViewKind,
        options: &Options,
        demand: Demand,
    ) -> Result<Self, Error> {
        let model = match options.step {
            Step::At(step) => check_step(&model, step).map(|()| model)?,
            Step::From(first) => from_step(&model, first)?,
            _ => model,
        };
        let filters = Filters::new(options)?;
        let quirks = &options.quirks;
        let mut warnings = Vec::new();
        let selection = options.selection(!model.runs.is_empty() || model.is_trace);
        demand::check_original(options, selection)?;
        demand.check(kind, options, selection)?;
        let peaks = Peaks::of_question(&model, options, selection, &demand)?;
        let unknown = model.unknown_in(layers).and(peaks.unknown());
        demand::check_known(unknown, options)?;
        warnings.extend(unknown_metrics(selection, unknown, &peaks));
        let filter = NodeFilter { layers, inside_functions: !quirks.functions_are_closed };
        let plain = |tree| code::Grouped { tree, lost_gradients: 0, folded: 0 };
        let code::Grouped { tree, lost_gradients, folded } = match kind {
            ViewKind::Scope => plain(scope::group(&model, filter)),
            ViewKind::Graph => plain(graph::group(&model, !quirks.cycles_are_lost, filter)),
            ViewKind::Op if options.group_by == GroupBy::Shapes && !layers.has(Layer::Shapes) => {
                let values = Values::new(&model, options.step, options.quirks);
                plain(op::group_by_shapes(&values, filter))
            }
            ViewKind::Op => plain(op::group(&model, options.group_by, demand.nodes_by_name, filter)),
            ViewKind::Code => code_tree(&model, options, filter, demand.folds_frames)?,
        };
        if lost_gradients > 0 {
            let message = format!("{lost_gradients} groups of gradient nodes have no forward node with a trace");
            warnings.push(Warning::new("lost_gradients", message));
        }
        let rules = Rules::of(kind);
        if options.account_displayed_op_only && !rules.can_recount {
            let message = format!("the {} view ignores account_displayed_op_only", kind.word());
            warnings.push(Warning::new("ignored_option", message));
        }
        let metrics = summed_metrics(&model, selection, demand.metrics(selection));
        let mut options = options.clone();
        options.order_by = options.resolved_order(kind, selection, unknown);
        if demand.whole_tree {
            options.max_depth.get_or_insert(i64::from(i32::MAX));
        }
        let mut lens = Lens::new(&model, options.step, options.quirks);
        lens.kernels_apart = layers.has(Layer::Kernels);
        lens.ceilings = peaks.ceilings;
        let values = Values::through(lens, &model);
        let rows =
            Pipeline::new(rules, &options, filters, values, tree, metrics, lead_metric(&options, selection, unknown))
                .run();
        let past = metrics.iter().find(|metric| matches!(rows.totals.get(*metric, 0), i64::MIN | i64::MAX));
        if let Some(metric) = past.filter(|_| !quirks.numbers_wrap) {
            warnings.push(past_the_limit(metric));
        }
        warnings.extend(nothing_to_draw(&rows, demand.drawn(selection)));
        Ok(View {
            kind,
            options,
            selection,
            model,
            unknown,
            warnings,
            checkpoints: Vec::new(),
            late_warnings: Mutex::default(),
            notes: Mutex::default(),
            source_text: Mutex::default(),
            folded,
            layers,
            demand,
            rows,
            peaks: peaks.said,
            compared: None,
        })
    }

    /// Where the peaks come from that the answer compares with, one line for each device.
    pub fn peaks(&self) -> &[String] {
        &self.peaks
    }

    /// The same question about another step.
    pub fn at(&self, step: Step) -> Result<View, Error> {
        let options = Options { step, ..self.options.clone() };
        let mut view = View::of_layers(Arc::clone(&self.model), self.layers, self.kind, &options, self.demand)?;
        view.checkpoints.clone_from(&self.checkpoints);
        Ok(view)
    }

    pub(crate) fn rules(&self) -> &'static Rules {
        Rules::of(self.kind)
    }

    #[doc(hidden)]
    pub fn values(&self) -> Values<'_> {
        Values::through(self.rows.lens, &self.model)
    }

    /// The visible rows, the root first.
    pub fn rows(&self) -> &[VisibleRow] {
        &self.rows.shown
    }

    pub fn name(&self, row: &VisibleRow) -> &str {
        self.rows.tree.name(row.row, &self.model)
    }

    /// The line of source that a row of the code view stands for.
    pub(crate) fn frame(&self, row: &VisibleRow) -> Option<&Frame> {
        let (frame, _) = self.rows.tree.frame(row.row)?;
        Some(self.model.stacks.frame(frame))
    }

    /// The text of that line, as the files have it, else from the source file if there is one on this machine.
    pub(crate) fn source_line(&self, row: &VisibleRow) -> Option<String> {
        if let Some((before, row)) = self.removed(row) {
            return before.source_line(row);
        }
        let frame = self.frame(row)?;
        let string = |text| code::string(&self.model, &self.options.quirks, frame, text);
        let line = string(FrameText::Line).trim();
        // TensorFlow writes `none` where it has no text.
        if !line.is_empty() && line != "none" {
            return Some(code::cut(line));
        }
        let mut on_disk = lock(&self.source_text);
        Some(on_disk.line(string(FrameText::File), frame.lineno).map_or_else(|| "none".to_owned(), code::cut))
    }

    /// The number of framework frames folded into the user's.
    pub(crate) fn folded(&self) -> usize {
        self.folded
    }

    /// The line of code that a row stands for.
    pub fn line(&self, row: &VisibleRow) -> Option<Line<'_>> {
        if let Some((before, row)) = self.removed(row) {
            return before.line(row);
        }
        let (frame, is_gradient) = self.rows.tree.frame(row.row)?;
        let frame = self.model.stacks.frame(frame);
        let string = |text| code::string(&self.model, &self.options.quirks, frame, text);
        Some(Line {
            file: string(FrameText::File),
            function: string(FrameText::Function),
            number: frame.lineno,
            function_start: frame.function_start,
            is_gradient,
        })
    }

    /// The accounted nodes of all leaves of the tree below this row, visible or not.
    pub(crate) fn innermost_nodes(&self, row: &VisibleRow) -> impl Iterator<Item = NodeId> + '_ {
        let tree = &self.rows.tree;
        let start = row.row;
        let rows = start..tree.len();
        let inside = rows.take_while(move |at| *at == start || tree.parent(*at) >= start);
        let leaves = inside.filter(move |at| at + 1 >= tree.len() || tree.parent(at + 1) != *at);
        leaves.flat_map(|at| tree.nodes(at)).copied().filter(|node| self.accounts(*node))
    }

    /// Whether a type of the node matches `-account_type_regexes`.
    pub(crate) fn accounts(&self, node: NodeId) -> bool {
        self.rows.filters.account.matches(node, &self.values())
    }

    /// Whether the row itself is accounted, not only rows below it.
    pub fn is_accounted(&self, row: &VisibleRow) -> bool {
        self.rows.accounted[row.row]
    }

    /// The self value of a row, in whole units.
    pub fn self_value(&self, metric: Metric, row: &VisibleRow) -> i64 {
        self.exact_self(metric, row).rounded()
    }

    /// The total of a row, in whole units.
    pub fn total(&self, metric: Metric, row: &VisibleRow) -> i64 {
        self.exact_total(metric, row).rounded()
    }

    /// The self value of a row, unrounded.
    pub fn exact_self(&self, metric: Metric, row: &VisibleRow) -> Amount {
        Amount { n: self.rows.self_values.get(metric, row.row), parts: self.parts(metric) }
    }

    /// In op view, the sum of a row and all rows after it; elsewhere the total.
    pub fn cumulative(&self, metric: Metric, row: &VisibleRow) -> Amount {
        let table = if self.rules().chain { &self.rows.cumulative } else { &self.rows.totals };
        Amount { n: table.get(metric, row.row), parts: self.parts(metric) }
    }

    /// The rows that only `-max_depth` hides.
    pub(crate) fn left_out(&self) -> LeftOut {
        self.rows.left_out
    }

    /// The metric that bars and shares are about: the one that rows are sorted by, else the first selected one.
    pub(crate) fn lead_metric(&self) -> Option<Metric> {
        lead_metric(&self.options, self.selection, self.unknown)
    }

    /// The total of a row, unrounded.
    pub fn exact_total(&self, metric: Metric, row: &VisibleRow) -> Amount {
        Amount { n: self.rows.totals.get(metric, row.row), parts: self.parts(metric) }
    }

    /// The numbers of rows themselves and their totals, by row of the tree, if all of them are whole and known.
    pub(crate) fn whole_numbers(&self, metric: Metric) -> Option<[Column<'_>; 2]> {
        let [own, total] = [Side::SelfOnly, Side::Total].map(|side| self.table(side).column(metric));
        let is_known = self.knows(metric) && !self.model.is_trace && self.parts(metric) == 1 && !metric.is_ratio();
        (is_known && !own.is_empty() && own.len() == total.len()).then_some([own, total])
    }

    fn table(&self, side: Side) -> &Table {
        match side {
            Side::SelfOnly => &self.rows.self_values,
            Side::Total => &self.rows.totals,
            Side::Cumulative => &self.rows.cumulative,
        }
    }

    /// Whether the files have a metric.
    pub fn knows(&self, metric: Metric) -> bool {
        !self.unknown.has_part_of(metric)
    }

    /// The metrics to show: those selected, and inclusive time where a trace has it.
    pub fn metrics(&self) -> MetricSet {
        let mut metrics = self.selection.metrics();
        if self.model.is_trace && metrics.has(Metric::Micros) {
            metrics.add(Metric::InclusiveMicros);
        }
        metrics
    }

    /// The tensor that a checkpoint has under the name of a row, or its first `count` values, if `-select` asks for it.
    // As the original: a scope without a node may have values, those of a partitioned variable.
    pub fn tensor(&self, row: &VisibleRow, count: Option<u64>) -> Option<TensorValues> {
        if self.rules().bags || !self.selection.has_detail(Detail::TensorValue) || row.row == 0 {
            return None;
        }
        let name = self.name(row);
        let (checkpoint, tensor) = self.checkpoints.iter().find_map(|from| Some((from, from.find(name)?)))?;
        let values = match count {
            Some(count) => checkpoint.first_values(tensor, count),
            None => checkpoint.values(tensor),
        };
        let (values, damage) = match values {
            Ok(values) => {
                let damage = values.damage.clone();
                (Some(values), damage)
            }
            Err(damage) => (None, vec![damage]),
        };
        lock(&self.late_warnings).extend(damage.iter().map(Damage::warning));
        values
    }

    /// Adds a warning of a renderer.
    pub(crate) fn warn_late(&self, code: &'static str, message: String) {
        lock(&self.late_warnings).push(Warning::new(code, message));
    }

    /// Takes the warnings that were added while the answer was written.
    pub fn late_warnings(&self) -> Vec<Warning> {
        std::mem::take(&mut *lock(&self.late_warnings))
    }

    /// Leaves a note to the user about the file.
    pub(crate) fn note(&self, note: String) {
        lock(&self.notes).push(note);
    }

    /// Takes the notes that were left while the answer was written.
    pub fn take_notes(&self) -> Vec<String> {
        std::mem::take(&mut *lock(&self.notes))
    }

    /// Whether the tree has nothing but a root.
    pub(crate) fn is_empty(&self) -> bool {
        self.rows.tree.is_empty()
    }

    /// The node of a row of the scope or graph view; `None` for a scope without a node.
    #[doc(hidden)]
    pub fn node(&self, row: &VisibleRow) -> Option<NodeId> {
        self.rows.tree.nodes(row.row).first().copied().filter(|_| !self.rules().bags)
    }

    /// The accounted nodes of a row of the op or code view.
    #[doc(hidden)]
    pub fn bag(&self, row: &VisibleRow) -> impl Iterator<Item = NodeId> + '_ {
        let nodes = if self.rules().bags { self.rows.tree.nodes(row.row) } else { &[] };
        nodes.iter().copied().filter(|node| self.accounts(*node))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The warning about a sum that overflows.
pub(crate) fn past_the_limit(metric: Metric) -> Warning {
    let key = metric.info().key;
    let message = format!("the sum of {key} is larger than any number that fits, and stays at the limit");
    Warning::new("past_the_limit", message)
}

/// The warning about selected metrics that the profile lacks.
fn unknown_metrics(selection: Selection, unknown: MetricSet, peaks: &Peaks) -> Option<Warning> {
    let asked: Vec<_> = selection.given().filter(|metric| unknown.has_part_of(*metric)).collect();
    if let Some(warning) = peaks.missing(&asked) {
        return Some(warning);
    }
    let words: Vec<_> = asked.into_iter().filter_map(|metric| metric.info().word).collect();
    let message = || format!("this profile does not have {}, so they are unknown, not 0", words.join(", "));
    (!words.is_empty()).then(|| Warning::new("unknown_metric", message()))
}

/// The warning about a picture without any area.
fn nothing_to_draw(rows: &Rows, drawn: Option<Metric>) -> Option<Warning> {
    let metric = drawn?;
    let total = rows.totals.get(metric, 0);
    let message = || format!("nothing to draw: the total of {} is {total}", metric.info().key);
    (total <= 0).then(|| Warning::new("nothing_to_draw", message()))
}

/// The layers that a question is about.
fn layers(model: &Model, kind: ViewKind, options: &Options) -> Result<Layers, Error> {
    if model.is_partial {
        check_partial(kind, options)?;
    }
    let no_programs = || Error::option("group_by", "nothing that is loaded belongs to a compiled XLA program");
    let has = |layer: Layer| model.nodes.all().any(|node| model.nodes.layer(node) == layer);
    if model.hosts.is_empty() {
        let can_group = matches!(options.group_by, GroupBy::View | GroupBy::Shapes);
        return if can_group { Ok(Layers::OPS) } else { Err(no_programs()) };
    }
    if kind == ViewKind::Graph && model.hosts.iter().any(|host| host.recording.is_some()) {
        let message = "a trace has no data-flow graph, only what ran when; ask for scope, op or code";
        return Err(Error::Missing(message.to_owned()));
    }
    if kind == ViewKind::Code {
        return match options.stacks {
            CodeStacks::Auto | CodeStacks::Source if has(Layer::Stacks) => Ok(Layers::STACKS),
            CodeStacks::Source => Ok(Layers::OPS),
            CodeStacks::Auto if model.has_traces || !model.has_calls => Ok(Layers::OPS),
            _ if model.has_calls => Ok(Layers::CALLS),
            _ => {
                let is_torch = model.hosts.iter().any(|host| host.recording.is_some());
                let how = if is_torch {
                    "torch.profiler.profile(with_stack=True) records them"
                } else {
                    "JAX records them with jax.profiler.ProfileOptions().python_tracer_level = 1"
                };
                Err(Error::Missing(format!("no Python call is in this profile; {how}")))
            }
        };
    }
    if options.group_by == GroupBy::Program {
        return if has(Layer::Programs) { Ok(Layers::PROGRAMS) } else { Err(no_programs()) };
    }
    if options.group_by == GroupBy::Shapes {
        let how = "torch.profiler.profile(record_shapes=True) records them";
        let missing = || Error::option("group_by", format!("no shapes of inputs are in this profile; {how}"));
        return if has(Layer::Shapes) { Ok(Layers::SHAPES) } else { Err(missing()) };
    }
    let has_ops = || model.runs.everything().rows().any(|cell| model.nodes.layer(cell.node) == Layer::Ops);
    Ok(match options.events {
        Events::All => Layers::ALL_EVENTS,
        _ if !has_ops() => Layers::ALL_EVENTS,
        Events::Kernels => Layers::OPS_AND_KERNELS,
        Events::Ops if kind == ViewKind::Scope => Layers::OPS_AND_KERNELS,
        Events::Ops => Layers::OPS,
    })
}

fn lead_metric(options: &Options, selection: Selection, unknown: MetricSet) -> Option<Metric> {
    match options.order_by {
        OrderBy::Metric(metric) if selection.metrics().has(metric) => Some(metric.summed()),
        _ => selection.first(unknown).map(Metric::summed),
    }
}

/// The metrics to sum in order to show these.
fn summed_metrics(model: &Model, selection: Selection, mut metrics: MetricSet) -> MetricSet {
    if selection.has_detail(Detail::BoundBy) {
        metrics = metrics.and(need_peaks());
        [Metric::Runs, Metric::DeviceMicros].into_iter().for_each(|metric| metrics.add(metric));
    }
    if model.is_trace && metrics.has(Metric::Micros) {
        metrics.add(Metric::InclusiveMicros);
    }
    // A row of a trace with nothing but ops of unknown cost is unknown, not 0.
    let costs = [Metric::FloatOps, Metric::IoBytes];
    if model.is_trace && costs.iter().any(|cost| metrics.summed().has(*cost)) {
        metrics.add(Metric::UnknownOps);
    }
    metrics
}

/// Refuses questions about what a partial does not keep: nothing is not 0.
fn check_partial(kind: ViewKind, options: &Options) -> Result<(), Error> {
    let lacks =
        |what: &str| Err(Error::Missing(format!("a partial keeps no {what}; ask the files that it was made from")));
    let groups = matches!(options.group_by, GroupBy::Program | GroupBy::Shapes);
    match options.stacks {
        _ if options.events == Events::All => lacks("events of the runtime"),
        _ if groups => lacks("ops by program or shapes"),
        CodeStacks::Auto | CodeStacks::Source => Ok(()),
        _ if kind == ViewKind::Code => lacks("Python calls"),
        _ => Ok(()),
    }
}

/// Why a model file of a dialect has no lines of code, and where to find what it has instead.
fn no_code(dialect: &str) -> String {
    let why = match dialect {
        "Keras" => "a file of Keras lists layers, not the lines of Python that call them",
        "TensorFlow Lite" => "the converter to TensorFlow Lite drops the lines of Python that made the ops",
        _ => "an ONNX file does not say which lines of Python made its ops",
    };
    let how = match dialect {
        "ONNX" => "",
        _ => {
            ", or save the model with tf.saved_model.save(model, DIR, \
             options=tf.saved_model.SaveOptions(save_debug_info=True)) and ask `tfprof code DIR`"
        }
    };
    format!("{why}; see its layers with `tfprof scope`{how}")
}

fn code_tree(model: &Model, options: &Options, filter: NodeFilter, folds: bool) -> Result<code::Grouped, Error> {
    let missing = || {
        if model.is_trace {
            if model.hosts.iter().any(|host| host.recording.is_some()) {
                let how = "torch.profiler.profile(with_stack=True) records them";
                return Error::Missing(format!("no op of this trace has a Python stack; {how}"));
            }
            let is_jax = model.hosts.iter().any(|host| host.framework.is_some());
            let how = if !is_jax && hosts::events(&model.hosts, EventKind::Tf) > 0 {
                "TensorFlow records neither, but saves lines with tf.saved_model.SaveOptions(save_debug_info=True)"
            } else {
                "JAX records both with jax.profiler.ProfileOptions().python_tracer_level = 1"
            };
            return Error::Missing(format!(
                "no op of this profile has a line of source, and no Python call is in it; {how}"
            ));
        }
        if let Some(dialect) = model.dialect {
            return Error::Missing(no_code(dialect));
        }
        if model.nodes.inner.iter().any(|inner| *inner) {
            let how = "save the model with options=tf.saved_model.SaveOptions(save_debug_info=True)";
            return Error::Missing(format!("the code view needs lines of code, and the model has none; {how}"));
        }
        let fix = Fix::new("load an op log with traces, as tfprof.write_op_log writes it, with", "op_log_path");
        Error::Missing("the code view needs code traces, and there are none".to_owned()).with_fix(fix)
    };
    let has_stacks = if filter.layers.has(Layer::Calls) { model.has_calls } else { model.has_traces };
    if !has_stacks {
        return Err(missing());
    }
    let fold = match options.frames {
        Frames::Auto => folds && !options.quirks.frames_are_all_shown,
        Frames::All => false,
        Frames::User => true,
    };
    let grouped = code::group(model, &options.quirks, filter, fold);
    if grouped.tree.is_empty() { Err(missing()) } else { Ok(grouped) }
}
