//! [`Builder`] turns records of files into a [`Model`]. Several files merge here; views and their policies are not
//! known yet.

mod keep;
mod runs;

use crate::error::{Location, Refusal, Warning};
use crate::hash::{TrustedMap, UntrustedMap};
use crate::model::Model;
use crate::model::names::NameId;
use crate::model::nodes::{Input, NO_INPUT, NodeId, ShapeId};
use crate::model::program::ProgramBuilder;
use crate::model::stacks::{Frame, StackId, Stacks, StringIds};
use crate::model::type_names::IN_CHECKPOINT;
pub use keep::Keep;
pub use runs::{Batch, Execution, Figures, Run};
use std::collections::{BTreeMap, BTreeSet};
use tfprof_proto::node_def::Attribute;
use tfprof_proto::shape::{attribute_shape, attribute_shapes, shape_dims};
use tfprof_proto::stream::Spot;
use tfprof_proto::{canonical, schema};

/// Fills a model, and collects warnings on the way.
#[derive(Debug)]
pub struct Builder {
    pub model: Model,
    pub keep: Keep,
    pub warnings: Vec<Warning>,
    /// Why the current file contradicts the files before it.
    pub conflict: Option<String>,
    /// Why the current file cannot be used with the user's settings.
    pub refused: Option<Refusal>,
    pub program: ProgramBuilder,
    /// The current file, for warnings.
    file: String,
    warned: TrustedMap<&'static str, u64>,
    deferred_types: Vec<(NodeId, NameId)>,
    /// The last device as spelled, and its name: most nodes have the device of the node before.
    last_device: (Vec<u8>, NameId),
    /// Names that were looked up last, by their lengths and ends.
    common_names: [NameId; COMMON_NAMES],
    /// By node, the one whose record came next.
    followers: Vec<u32>,
    /// Scratch space.
    dims: Vec<i64>,
}

/// Above this count of types of a node, defer: inserting one by one is quadratic.
const MANY_TYPES: usize = 16;

/// The number of op and type names that are cached in front of the hash table.
const COMMON_NAMES: usize = 64;

/// Warnings of one kind beyond this count are only counted.
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
            program: ProgramBuilder::default(),
            file: String::new(),
            warned: TrustedMap::default(),
            deferred_types: Vec::new(),
            last_device: (Vec::new(), NameId::EMPTY),
            common_names: [NameId::EMPTY; COMMON_NAMES],
            followers: Vec::new(),
            dims: Vec::new(),
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

    /// Reports how many warnings were held back, if any.
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
        if self.is_listed(code) {
            self.push_warning(code, spot, message(), false);
        }
    }

    /// Warns that a part of the file was lost.
    pub fn warn_damage(&mut self, code: &'static str, spot: Option<Spot>, message: String) {
        if self.is_listed(code) {
            self.push_warning(code, spot, message, true);
        }
    }

    /// Adds warnings that are not there yet: the first few of each kind, then their number.
    pub fn add_warnings(&mut self, warnings: Vec<Warning>) {
        let known: BTreeSet<Warning> = self.warnings.iter().cloned().collect();
        let mut counts: BTreeMap<&'static str, u64> = BTreeMap::new();
        for warning in warnings {
            let count = counts.entry(warning.code).or_default();
            *count += 1;
            if *count <= WARNINGS_OF_A_KIND && !known.contains(&warning) {
                self.warnings.push(warning);
            }
        }
        for (code, count) in counts.into_iter().filter(|(_, count)| *count > WARNINGS_OF_A_KIND) {
            let more = count - WARNINGS_OF_A_KIND;
            let warning = Warning::new(code, format!("{more} more warnings like the last `{code}`"));
            if !known.contains(&warning) {
                self.warnings.push(warning);
            }
        }
    }

    /// Counts a warning of a kind. The first few are listed.
    fn is_listed(&mut self, code: &'static str) -> bool {
        let count = self.warned.entry(code).or_default();
        *count += 1;
        *count <= WARNINGS_OF_A_KIND
    }

    fn push_warning(&mut self, code: &'static str, spot: Option<Spot>, message: String, damage: bool) {
        let location = (!self.file.is_empty()).then(|| Location { file: self.file.clone(), spot });
        self.warnings.push(Warning { code, location, message, damage, fix: None });
    }

    /// Interns a name from a file. Bytes that are not UTF-8 are escaped, with a warning.
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

    /// Interns a name that many nodes have, such as that of an op.
    pub fn common_name(&mut self, bytes: &[u8], offset: u64) -> NameId {
        let ends = [bytes.first(), bytes.last()].map(|byte| byte.map_or(0, |byte| usize::from(*byte)));
        let slot = (bytes.len() + 7 * ends[0] + 3 * ends[1]) % COMMON_NAMES;
        let known = self.common_names[slot];
        if known.index() < self.model.names.len() && self.model.names.get(known).as_bytes() == bytes {
            return known;
        }
        let name = self.name(bytes, offset);
        self.common_names[slot] = name;
        name
    }

    /// Interns the name of a device. Devices that differ in case are one.
    pub fn device_name(&mut self, bytes: &[u8], offset: u64) -> NameId {
        if self.last_device.0 != bytes {
            let name = self.name(&bytes.to_ascii_lowercase(), offset);
            self.last_device = (bytes.to_owned(), name);
        }
        self.last_device.1
    }

    // ---- graphs

    /// Adds a node unless there is one of that name: the first definition wins.
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

    /// Warns about inputs that name no node, for the nodes from `first` on.
    pub fn warn_missing_inputs(&mut self, first: usize) {
        for node in self.model.nodes.all().skip(first) {
            for place in 0..self.model.nodes.inputs(node).len() {
                let input = self.model.nodes.inputs(node)[place];
                if input == NO_INPUT || self.model.node(input.source).is_some() {
                    continue;
                }
                let (reader, source) =
                    (self.model.name(node).to_owned(), self.model.names.get(input.source).to_owned());
                self.warn("missing_input", None, || format!("`{reader}` reads `{source}`, and there is no such node"));
            }
        }
    }

    /// Gives a node a type. If it has many, further ones appear after [`Builder::settle_types`].
    pub fn add_type(&mut self, node: NodeId, ty: NameId) {
        let model = &mut self.model;
        let nodes = &mut *model.nodes;
        let types = &mut nodes.types[node.index()];
        let old = model.type_sets.get(*types);
        if old.contains(&ty) || nodes.op[node.index()] == ty {
            return;
        }
        if old.len() >= MANY_TYPES {
            return self.deferred_types.push((node, ty));
        }
        let mut new = old.to_vec();
        new.push(ty);
        new.sort_unstable_by(|a, b| model.names.get(*a).cmp(model.names.get(*b)));
        *types = model.type_sets.intern(&new);
    }

    /// Adds the deferred types, all those of a node at once.
    pub fn settle_types(&mut self) {
        let mut deferred = std::mem::take(&mut self.deferred_types);
        deferred.sort_unstable();
        let model = &mut self.model;
        for of_node in deferred.chunk_by(|(a, _), (b, _)| a == b) {
            let types = &mut model.nodes.types[of_node[0].0.index()];
            let mut new = model.type_sets.get(*types).to_vec();
            new.extend(of_node.iter().map(|(_, ty)| *ty));
            new.sort_unstable_by(|a, b| model.names.get(*a).cmp(model.names.get(*b)));
            new.dedup();
            *types = model.type_sets.intern(&new);
        }
    }

    /// Gives a node its attributes. Values are stored in canonical form.
    pub fn set_attributes(&mut self, node: NodeId, entries: &[Attribute<'_>], offset: u64) {
        let keys = entries.iter().enumerate().map(|(at, entry)| (self.name(entry.key, offset), at)).collect();
        let Model { attributes, names, .. } = &mut self.model;
        attributes.set(node, keys, names, |at, out| {
            canonical::encode(&schema::ATTR_VALUE, entries[at].value.unwrap_or_default(), out);
        });
    }

    pub fn shape(&mut self, dims: &[i64]) -> ShapeId {
        self.model.shapes.intern(dims)
    }

    /// Gives a node the shape that its attribute `shape` holds.
    pub fn set_shape_attribute(&mut self, node: NodeId, attribute: Option<&[u8]>) {
        let known = attribute.and_then(|attribute| attribute_shape(attribute, &mut self.dims));
        self.model.nodes.shape[node.index()] = known.map_or(ShapeId::EMPTY, |()| self.model.shapes.intern(&self.dims));
    }

    /// Gives the last node the shapes that its attribute `_output_shapes` lists.
    pub fn add_output_shapes(&mut self, attribute: &[u8]) {
        for shape in attribute_shapes(attribute) {
            shape_dims(shape, &mut self.dims);
            let shape = self.model.shapes.intern(&self.dims);
            self.model.nodes.push_output_shape(shape);
        }
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

    // ---- checkpoints

    /// Marks a variable as contained in a checkpoint. Without a graph (`alone`), its name and shape become a node.
    pub fn add_variable(&mut self, name: &str, shape: &[i64], alone: bool) {
        let ty = self.model.names.intern(IN_CHECKPOINT);
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
}

/// The number of an output; anything that is not a number means the first.
fn output_number(digits: &[u8]) -> u32 {
    let digits = digits.split(|byte| *byte == b':').next_back().unwrap_or_default();
    std::str::from_utf8(digits).ok().and_then(|digits| digits.parse().ok()).unwrap_or(0)
}

impl Builder {
    /// Adds the call stacks of a log, now that its string table (`strings`) is read. Returns the model's stack for each
    /// stack of the log.
    pub fn end_log(
        &mut self,
        log: &Stacks,
        entries: &[(NodeId, StackId)],
        strings: &UntrustedMap<i64, NameId>,
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
            let StringIds { file, function, line } = frame.string_ids;
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

    /// A frame whose strings are still ids.
    pub fn unresolved_frame(string_ids: StringIds, lineno: i32, function_start: i32) -> Frame {
        let name = NameId::EMPTY;
        Frame { file: name, function: name, line: name, lineno, function_start, string_ids }
    }
}
