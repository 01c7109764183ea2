//! Records become the model. Several files merge here; no policy of any view is applied.

use super::Model;
use super::cells::{Cells, Measure, Sum, Sums};
use super::devices::{DeviceId, DeviceKind};
use super::names::NameId;
use super::nodes::{Input, NodeId, ShapeId};
use super::peaks::PeakFinder;
use super::records::{Allocation, Details, MemoryUse, Records, Timing};
use super::runs::KeepSteps;
use super::stacks::{Frame, StackId, Stacks};
use crate::error::{Place, Warning};
use crate::format::attribute_shape;
use crate::format::debug_info::DebugInfo;
use crate::infer::body::{Body, PendingBody};
use crate::infer::fact::Shape;
use crate::infer::functions::library::PendingLibrary;
use crate::infer::known::RanShapes;
use crate::infer::settings::Settings;
use rustc_hash::FxHashMap;
use std::sync::Arc;
use tfprof_proto::stream::Spot;
use tfprof_proto::{canonical, schema};

/// Which parts of the files the questions at hand need. What is not kept cannot be asked for later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keep {
    pub steps: KeepSteps,
    /// Bytes as well as times.
    pub memory: bool,
    /// Inputs of nodes, and with `output_shapes` the shapes of what they produce.
    pub inputs: bool,
    pub output_shapes: bool,
    pub traces: bool,
    /// Single executions, for timelines and for saving.
    pub records: bool,
    /// The attributes of nodes, for saving and for advice.
    pub attributes: bool,
    /// How much memory was in use at the most.
    pub peaks: bool,
    /// What functions have inside.
    pub functions: bool,
    /// What ops take by computation; it needs all of a graph.
    pub costs: bool,
    /// Of profiles: where steps begin and end, what the runtime did, and Python calls.
    pub step_marks: bool,
    pub runtime: bool,
    pub calls: bool,
    /// Of profiles: how busy each line was, and with what.
    pub busy: bool,
}

impl Keep {
    pub const EVERYTHING: Keep = Keep {
        steps: KeepSteps::Each,
        memory: true,
        inputs: true,
        output_shapes: true,
        traces: true,
        records: true,
        attributes: true,
        peaks: true,
        functions: true,
        costs: true,
        step_marks: true,
        runtime: true,
        calls: true,
        busy: true,
    };
}

/// Fills a model, and notes what was odd on the way.
#[derive(Debug)]
pub struct Builder {
    pub model: Model,
    pub keep: Keep,
    pub warnings: Vec<Warning>,
    /// Why the file at hand does not fit to what was loaded before.
    pub conflict: Option<String>,
    /// Why the file at hand cannot answer what is asked of it.
    pub refused: Option<String>,
    pub settings: Settings,
    /// The graph as inference needs it; of a `SavedModel` what is served.
    pub graph: PendingBody,
    pub served: Body,
    /// Shapes that runs told of; of several runs of a node the first counts.
    pub ran: Arc<RanShapes>,
    pub library: PendingLibrary,
    /// Where nodes were made.
    pub debug_info: DebugInfo,
    /// The file that is being read, for warnings.
    file: String,
    warned: FxHashMap<&'static str, u64>,
}

/// What a run says of one execution of a node.
#[derive(Clone, Copy, Debug, Default)]
pub struct Execution<'a> {
    pub name: &'a [u8],
    pub start: i64,
    /// Length of the op, in microseconds.
    pub length: i64,
    pub requested_bytes: Sum,
    pub peak_bytes: Sum,
    pub residual_bytes: Sum,
    pub output_bytes: Sum,
    /// There if single executions are kept.
    pub details: Option<&'a Details>,
}

/// One step, as one file tells it.
#[derive(Debug)]
pub struct Run {
    pub peaks: PeakFinder,
    step: i64,
    /// Its own sums, if its step can be asked for.
    cells: Option<Cells>,
    records: Records,
    /// The node of the record before: the next one is a good guess for the next record.
    last: u32,
    gpu: bool,
    streams: bool,
}

/// Executions on one device that are looked up together: most of the work is waiting for memory, and waiting for many
/// places at once takes little longer than for one.
#[derive(Debug, Default)]
pub struct Batch {
    names: Vec<u8>,
    /// With the end of its name, and where it stands in the file.
    executions: Vec<(Execution<'static>, usize, u64)>,
}

impl Batch {
    const SIZE: usize = 32;

    #[inline]
    pub fn push(&mut self, execution: &Execution<'_>, offset: u64) {
        self.names.extend_from_slice(execution.name);
        let execution = Execution { name: &[], details: None, ..*execution };
        self.executions.push((execution, self.names.len(), offset));
    }

    pub fn is_full(&self) -> bool {
        self.executions.len() >= Self::SIZE
    }
}

/// How many warnings of one kind are worth reading.
const WARNINGS_OF_A_KIND: u64 = 5;

impl Builder {
    pub fn new(keep: Keep) -> Self {
        let mut model = Model::default();
        model.runs.keep = keep.steps;
        Builder {
            model,
            keep,
            warnings: Vec::new(),
            conflict: None,
            refused: None,
            settings: Settings::default(),
            graph: PendingBody::default(),
            served: Body::default(),
            ran: Arc::default(),
            library: PendingLibrary::default(),
            debug_info: DebugInfo::default(),
            file: String::new(),
            warned: FxHashMap::default(),
        }
    }

    /// Names the file that the next records come from.
    pub fn begin_file(&mut self, file: &str) {
        self.end_file();
        file.clone_into(&mut self.file);
    }

    pub fn file(&self) -> &str {
        &self.file
    }

    /// Says how many warnings were held back, if any.
    pub fn end_file(&mut self) {
        let mut counts: Vec<_> = std::mem::take(&mut self.warned).into_iter().collect();
        counts.sort_unstable();
        for (code, count) in counts {
            if count > WARNINGS_OF_A_KIND {
                let more = count - WARNINGS_OF_A_KIND;
                self.push_warning(code, None, format!("{more} more warnings like the last `{code}`"), false);
            }
        }
    }

    pub fn warn(&mut self, code: &'static str, spot: Option<Spot>, message: impl FnOnce() -> String) {
        let count = self.warned.entry(code).or_default();
        *count += 1;
        if *count <= WARNINGS_OF_A_KIND {
            self.push_warning(code, spot, message(), false);
        }
    }

    /// Part of the file was lost.
    pub fn warn_damage(&mut self, code: &'static str, spot: Option<Spot>, message: String) {
        self.push_warning(code, spot, message, true);
    }

    fn push_warning(&mut self, code: &'static str, spot: Option<Spot>, message: String, damage: bool) {
        let place = (!self.file.is_empty()).then(|| Place { file: self.file.clone(), spot });
        self.warnings.push(Warning { code, place, message, damage });
    }

    /// Interns a name from a file; what is not UTF-8 is escaped, with a warning.
    pub fn name(&mut self, bytes: &[u8], offset: u64) -> NameId {
        let (id, escaped) = self.model.names.intern_bytes(bytes);
        if escaped {
            let text = self.model.names.get(id).to_owned();
            self.warn("invalid_utf8", Some(Spot::Byte(offset)), || {
                format!("a name is not valid UTF-8; it is shown as `{text}`")
            });
        }
        id
    }

    // ---- graphs

    /// Adds a node unless there is one of that name: the first definition counts.
    pub fn add_node(&mut self, name: NameId, op: NameId) -> Option<NodeId> {
        if self.model.node(name).is_some() {
            return None;
        }
        Some(self.model.push_node(name, op))
    }

    /// Adds an input, spelled as in a graph, to the last node: `name`, `name:1` or `^name`.
    pub fn add_input(&mut self, spelling: &[u8], offset: u64) {
        let (source, output) = match memchr::memchr(b':', spelling) {
            None => (spelling, 0),
            Some(colon) => (&spelling[..colon], output_number(&spelling[colon + 1..])),
        };
        let source = source.strip_prefix(b"^").unwrap_or(source);
        let source = self.name(source, offset);
        self.model.nodes.push_input(Input { source, output });
    }

    pub fn add_type(&mut self, node: NodeId, ty: NameId) {
        let model = &mut self.model;
        let nodes = &mut *model.nodes;
        let types = &mut nodes.types[node.index()];
        let old = model.type_sets.get(*types);
        if old.contains(&ty) || nodes.op[node.index()] == ty {
            return;
        }
        let mut new = old.to_vec();
        new.push(ty);
        new.sort_unstable_by(|a, b| model.names.get(*a).cmp(model.names.get(*b)));
        *types = model.type_sets.intern(&new);
    }

    /// Gives a node its attributes: keys and values of a map, values in any form.
    pub fn set_attributes(&mut self, node: NodeId, entries: &[(&[u8], &[u8])], offset: u64) {
        let keys = entries.iter().enumerate().map(|(place, (key, _))| (self.name(key, offset), place)).collect();
        let Model { attributes, names, .. } = &mut self.model;
        attributes.set(node, keys, names, |place, out| canonical::encode(&schema::ATTR_VALUE, entries[place].1, out));
    }

    pub fn shape(&mut self, dims: &[i64]) -> ShapeId {
        self.model.shapes.intern(dims)
    }

    /// Gives a node the shape that its attribute `shape` holds.
    pub fn set_shape_attribute(&mut self, node: NodeId, attribute: Option<&[u8]>) {
        let mut dims = Vec::new();
        let known = attribute.and_then(|attribute| attribute_shape(attribute, &mut dims));
        self.model.nodes.shape[node.index()] = known.map_or(ShapeId::EMPTY, |()| self.model.shapes.intern(&dims));
    }

    /// Gives the nodes of these names a type.
    pub fn mark_variables<'n>(&mut self, names: impl Iterator<Item = &'n String>, ty: &str) {
        let ty = self.model.names.intern(ty);
        for name in names {
            if let Some(node) = self.model.names.find(name.as_bytes()).and_then(|name| self.model.node(name)) {
                self.add_type(node, ty);
            }
        }
    }

    /// Adds a `GraphDebugInfo`, if traces are kept.
    pub fn add_debug_info(&mut self, input: &mut dyn std::io::Read) {
        if self.keep.traces
            && let Err(error) = self.debug_info.read(input)
        {
            let message = format!("the debug info is damaged ({error:?}); traces may be missing");
            self.push_warning("damaged", None, message, true);
        }
    }

    // ---- checkpoints

    /// Notes that a checkpoint has a variable of that name; without a graph, the name and the shape are all there is.
    pub fn add_variable(&mut self, name: &str, shape: &[i64], alone: bool) {
        let ty = self.model.names.intern("_checkpoint_variables");
        let name = self.model.names.intern(name);
        if alone {
            let op = self.model.names.intern("VariableV2");
            if let Some(node) = self.add_node(name, op) {
                // As the original: a scalar is `[1]`.
                self.model.nodes.shape[node.index()] =
                    self.model.shapes.intern(if shape.is_empty() { &[1] } else { shape });
            }
        }
        if let Some(node) = self.model.node(name) {
            self.add_type(node, ty);
        }
    }

    // ---- runs

    pub fn device(&mut self, name: &[u8]) -> DeviceId {
        self.model.devices.intern(name, &mut self.model.names)
    }

    pub fn begin_run(&mut self, step: i64) -> Run {
        let cells = self.model.runs.begin_run(step).then(Cells::default);
        let (peaks, records) = (PeakFinder::default(), Records::default());
        Run { peaks, step, cells, records, last: 0, gpu: false, streams: false }
    }

    /// Notes that the run has records of this device.
    pub fn meet_device(&mut self, run: &mut Run, device: DeviceId) {
        let name = self.model.names.get(self.model.devices.name(device));
        let gpu = name.contains("gpu");
        run.gpu |= gpu;
        run.streams |= gpu && name.contains("stream:all");
    }

    /// Adds executions of nodes on a device; the batch is empty then.
    pub fn add_batch(&mut self, run: &mut Run, device: DeviceId, batch: &mut Batch) {
        let mut start = 0;
        let names = batch
            .executions
            .iter()
            .map(|(_, end, _)| node_name(&batch.names[std::mem::replace(&mut start, *end)..*end]));
        let mut nodes = [None; Batch::SIZE];
        for (node, name) in nodes.iter_mut().zip(names) {
            *node = self.model.node_near(run.last, name);
        }
        let mut start = 0;
        for ((execution, end, offset), node) in batch.executions.iter().zip(nodes) {
            let name = node_name(&batch.names[start..*end]);
            start = *end;
            let Some(node) = node.or_else(|| self.stranger(name, *offset)) else { continue };
            self.add_execution_of(run, device, node, execution, *offset);
        }
        batch.names.clear();
        batch.executions.clear();
    }

    /// Adds one execution of a node on a device.
    pub fn add_execution(&mut self, run: &mut Run, device: DeviceId, execution: &Execution<'_>, offset: u64) {
        let name = node_name(execution.name);
        let node = self.model.node_near(run.last, name).or_else(|| self.stranger(name, offset));
        if let Some(node) = node {
            self.add_execution_of(run, device, node, execution, offset);
        }
    }

    #[inline]
    fn add_execution_of(
        &mut self,
        run: &mut Run,
        device: DeviceId,
        node: NodeId,
        execution: &Execution<'_>,
        offset: u64,
    ) {
        run.last = node.0;
        let device = self.place(node, device);
        let counts = self.model.counts(node, device, true);
        let cell = match &mut run.cells {
            Some(cells) => cells.at(node, device),
            None => self.model.runs.cell(node, device, counts),
        };
        if execution.start <= 0 {
            if device == self.model.placement[node.index()] {
                let name = self.model.name(node).to_owned();
                self.warn("no_start_time", Some(Spot::Byte(offset)), || {
                    format!("a record of `{name}` has no start time; its time and memory are left out")
                });
            }
            return;
        }
        // As the original: an op that was traced takes at least a microsecond.
        let length = if execution.length == 0 { 1 } else { execution.length };
        let sums: Sums = [
            Sum::new(1),
            Sum::new(length),
            execution.requested_bytes,
            execution.peak_bytes,
            execution.residual_bytes,
            execution.output_bytes,
        ];
        cell.record(&sums, execution.start, execution.start.saturating_add(length));
        let ran = cell.sum(Measure::Runs).wrapped();
        if run.cells.is_none() {
            self.model.runs.note(&sums, ran);
        }
        if let Some(details) = execution.details {
            run.records.push_timing(Timing { node, device, start: execution.start, length });
            self.add_memory(&mut run.records, node, device, execution, details);
        }
    }

    /// Adds the memory of one execution, unless it is on a stream, which speaks of what is scheduled elsewhere.
    fn add_memory(
        &self,
        records: &mut Records,
        node: NodeId,
        device: DeviceId,
        execution: &Execution<'_>,
        details: &Details,
    ) {
        if matches!(self.model.devices.kind(device), DeviceKind::AllStreams | DeviceKind::OneStream) {
            return;
        }
        let mut memory = MemoryUse::new(node, device);
        memory.micros = execution.start.wrapping_add(execution.length);
        memory.requested = execution.requested_bytes.wrapped();
        memory.peak = execution.peak_bytes.wrapped();
        memory.residual = execution.residual_bytes.wrapped();
        memory.output = execution.output_bytes.wrapped();
        memory.allocator_in_use = details.allocator_in_use;
        if self.model.names.get(self.model.devices.name(device)).contains("cpu") {
            (memory.host_temp, memory.host_persistent) = (details.temp, details.persistent);
        } else {
            (memory.accelerator_temp, memory.accelerator_persistent) = (details.temp, details.persistent);
        }
        records.push_memory(memory, &details.outputs);
        for (micros, bytes) in &details.allocations {
            records.push_allocation(Allocation { node, device, micros: *micros, bytes: *bytes });
        }
    }

    /// A node for a name that no graph has.
    #[inline(never)]
    fn stranger(&mut self, name: &[u8], offset: u64) -> Option<NodeId> {
        // As the original: these are the session's own doings.
        if name == b"RecvTensor" || name == b"_SOURCE" || memchr::memmem::find(name, b"MEMCPY").is_some() {
            return None;
        }
        let name = self.name(name, offset);
        Some(self.model.node(name).unwrap_or_else(|| self.model.push_node(name, name)))
    }

    /// Notes the first placement of a node.
    #[inline]
    fn place(&mut self, node: NodeId, device: DeviceId) -> DeviceId {
        let placement = &mut self.model.placement[node.index()];
        match self.model.devices.kind(device) {
            DeviceKind::Placement if !placement.is_some() => *placement = device,
            DeviceKind::Nameless if placement.is_some() => return self.model.devices.late(device),
            _ => {}
        }
        device
    }

    /// Adds what another builder noted of shapes in runs that come later.
    pub fn add_ran_shapes(&mut self, later: &RanShapes) {
        if later.is_empty() {
            return;
        }
        let mut names: Vec<&String> = later.keys().collect();
        names.sort_unstable();
        let ran = Arc::make_mut(&mut self.ran);
        for name in names {
            let shapes = ran.entry(name.clone()).or_default();
            for (at, shape) in later[name].iter().enumerate() {
                if shapes.len() <= at {
                    shapes.push(shape.clone());
                } else if shapes[at] == Shape::UNKNOWN {
                    shapes[at] = shape.clone();
                }
            }
        }
    }

    /// Notes the shape of an output in a run. A placeholder that was fed ran as `_arg_NAME_0_0`.
    pub fn add_ran_shape(&mut self, name: &str, output: usize, shape: Shape) {
        let fed = name.strip_prefix("_arg_").and_then(|rest| {
            let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
            let (rest, last) = rest.rsplit_once('_')?;
            let (fed, first) = rest.rsplit_once('_')?;
            (is_number(last) && is_number(first)).then_some(fed)
        });
        let name = fed.unwrap_or(name);
        let ran = Arc::make_mut(&mut self.ran);
        if !ran.contains_key(name) {
            ran.insert(name.to_owned(), Vec::new());
        }
        let Some(shapes) = ran.get_mut(name) else { return };
        if shapes.len() <= output {
            shapes.resize(output + 1, Shape::UNKNOWN);
        }
        if shapes[output] == Shape::UNKNOWN {
            shapes[output] = shape;
        }
    }

    /// Puts what a run had into the model.
    pub fn end_run(&mut self, run: &mut Run) {
        let step = run.step;
        self.model.misses_streams |= run.gpu && !run.streams;
        self.model.peaks.add(step, std::mem::take(&mut run.peaks));
        match run.cells.take() {
            Some(cells) => self.add_step(step, cells),
            None => self.model.runs.end_run(step),
        }
        if self.keep.records {
            self.model.runs.fold_records(step, std::mem::take(&mut run.records));
        }
    }

    /// Adds what was measured in a step.
    pub fn add_step(&mut self, step: i64, cells: Cells) {
        let Model { runs, placement, devices, .. } = &mut self.model;
        runs.fold(step, cells, placement, devices);
    }

    // ---- op logs

    /// Puts call stacks in place that were read before their strings: `strings` says what the log's numbers mean. Says
    /// what each stack of the log became.
    pub fn end_log(
        &mut self,
        log: &Stacks,
        entries: &[(NodeId, StackId)],
        strings: &FxHashMap<i64, NameId>,
    ) -> Vec<StackId> {
        let mut unknown = 0;
        let mut placed = vec![StackId::NONE; log.len()];
        placed[StackId::EMPTY.0 as usize] = StackId::EMPTY;
        let missing = self.model.names.intern("unknown");
        for id in 2..log.len() as u32 {
            let Some((outer, frame)) = log.last(StackId(id)) else { continue };
            let mut frame = *log.frame(frame);
            let mut string = |id: i64| {
                strings.get(&id).copied().unwrap_or_else(|| {
                    unknown += 1;
                    missing
                })
            };
            let [file, function, line] = frame.string_ids;
            frame.file = string(file);
            frame.function = string(function);
            frame.line = strings.get(&line).copied().unwrap_or(NameId::EMPTY);
            let frame = self.model.stacks.intern_frame(frame);
            placed[id as usize] = self.model.stacks.push(placed[outer.0 as usize], frame);
        }
        for (node, stack) in entries {
            self.model.has_traces = true;
            let slot = &mut self.model.nodes.stack[node.index()];
            if *slot == StackId::NONE {
                *slot = placed[stack.0 as usize];
            }
        }
        if unknown > 0 {
            let message = format!("{unknown} frames of code traces name files or functions that the log does not have");
            self.warn("unknown_string", None, || message);
        }
        placed
    }

    /// A frame whose strings are still numbers.
    pub fn unresolved_frame(string_ids: [i64; 3], lineno: i32, function_start: i32) -> Frame {
        let name = NameId::EMPTY;
        Frame { file: name, function: name, line: name, lineno, function_start, string_ids }
    }
}

/// As the original: what follows a colon is not part of the name.
#[inline]
fn node_name(name: &[u8]) -> &[u8] {
    match memchr::memchr(b':', name) {
        None => name,
        Some(colon) => &name[..colon],
    }
}

/// The number of an output; what is not a number means the first.
fn output_number(digits: &[u8]) -> u32 {
    let digits = digits.split(|byte| *byte == b':').next_back().unwrap_or_default();
    std::str::from_utf8(digits).ok().and_then(|digits| digits.parse().ok()).unwrap_or(0)
}
