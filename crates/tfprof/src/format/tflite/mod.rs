//! TensorFlow Lite models (`.tflite`): tables are read in place (`flat.rs`), weights are not read, and operators are lowered
//! to ops that rules and formulas know.

mod flat;
mod flex;
mod lower;
mod ops;

use super::ModelFile;
use super::lowered::{self, Input};
use crate::budget;
use crate::error::{Error, Location, Refusal};
use crate::format::saved_model::signature::{self, Signature};
use crate::hash::UntrustedSet;
use crate::model::attr_value::{AttrValue, Elements};
use crate::model::body::{Body, NO_NODE, Tensor};
use crate::model::builder::Builder;
use crate::model::dialects::tflite::TFLITE;
use crate::model::dtype::DType;
use crate::model::lowered::{Lowered, UniqueNames};
use crate::model::settings::Settings;
use crate::model::shape::{ANY, Shape};
use crate::words;
use flat::{Flat, FlatError, FlatFile, Table, Vector};
use flex::FlexOp;
use lower::Operator;
use std::collections::{BTreeMap, BTreeSet};
use tfprof_proto::stream::Spot;

/// Longer tensors are not read: no sizes follow from them.
const LONGEST_TENSOR: i64 = 512;

/// The maximum number of signatures and metadata entries in an overview, and the maximum length of one.
const MOST_STATED: usize = 8;
const LONGEST_STATED: u64 = 64;

/// Longer options of an op are not read.
const LONGEST_OPTIONS: u64 = 64 * 1024;

/// Whether a file is a TensorFlow Lite model: its identifier comes after the offset of its root.
pub fn recognizes(head: &[u8]) -> bool {
    head.get(4..8) == Some(b"TFL3")
}

/// Reads a model.
pub fn read(file: &ModelFile, builder: &mut Builder) -> Result<(), Error> {
    let flat = FlatFile::new(&file.bytes);
    let settings = builder.program.settings.clone();
    let (lowered, signature) = read_model(&flat, &settings).map_err(|error| match error {
        ReadError::Flat(FlatError::Io(source)) => Error::Io { file: file.name.clone(), action: "cannot read", source },
        ReadError::Flat(FlatError::Damaged(offset, what)) => {
            let location = Location { file: file.name.clone(), spot: Some(Spot::Byte(offset)) };
            Error::Input { location, message: format!("the TensorFlow Lite model is damaged: {what}") }
        }
        ReadError::Signature(refusal) => {
            let location = Location { file: file.name.clone(), spot: None };
            refusal.into_error(|message| Error::Input { location, message })
        }
    })?;
    builder.program.signature = signature;
    lowered::store(builder, lowered, &TFLITE);
    Ok(())
}

enum ReadError {
    Flat(FlatError),
    Signature(Refusal),
}

impl From<FlatError> for ReadError {
    fn from(error: FlatError) -> Self {
        ReadError::Flat(error)
    }
}

/// The lowered model, and the signature that counts.
fn read_model(file: &FlatFile<'_>, settings: &Settings) -> Result<(Lowered, Option<String>), ReadError> {
    let model = Model::read(file)?;
    let (signature, main) = model.subgraph(settings)?;
    let mut lowered = Lowered::default();
    lowered.stated = model.stated()?;
    let mut called = BTreeSet::new();
    lowered.graph = Subgraph::read(&model, main, true)?.lower(&mut called)?;
    let mut done = UntrustedSet::default();
    while let Some(next) = called.pop_first() {
        if done.insert(next) && next < model.subgraphs.count {
            let body = Subgraph::read(&model, next, false)?.lower(&mut called)?;
            lowered.functions.push((function_name(next), body));
        }
    }
    Ok((lowered, signature))
}

fn function_name(subgraph: u64) -> String {
    format!("subgraph{subgraph}")
}

struct Model<'a, 'f> {
    file: &'a FlatFile<'f>,
    ops: Vec<String>,
    subgraphs: Vector,
    buffers: Vector,
    signatures: Vec<(String, u64)>,
}

impl<'a, 'f> Model<'a, 'f> {
    /// The description of the model in its file.
    fn stated(&self) -> Flat<Vec<(&'static str, String)>> {
        let (file, root) = (self.file, self.file.root()?);
        let plural = |n: u64, word: &str| format!("{n} {word}{}", if n == 1 { "" } else { "s" });
        let version = file.int(root, 0, 0)?;
        let description = file.text(root, 3)?;
        let description = if description.is_empty() { description } else { format!("; {description}") };
        let subgraphs = plural(self.subgraphs.count, "subgraph");
        let mut stated = vec![("TensorFlow Lite", format!("schema {version}, {subgraphs}{description}"))];
        if !self.signatures.is_empty() {
            let names: Vec<&str> = self.signatures.iter().take(MOST_STATED).map(|(name, _)| name.as_str()).collect();
            let more = self.signatures.len().saturating_sub(MOST_STATED);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            stated.push(("signatures", names.join(", ") + &more));
        }
        let listed = file.vector(root, 6, 4)?;
        let mut entries = Vec::new();
        for index in 0..listed.count.min(MOST_STATED as u64) {
            let Some(entry) = file.element(listed, index)? else { break };
            let data = self.buffer(u64::from(file.int(entry, 1, 0)? as u32))?.unwrap_or_default();
            let name = file.text(entry, 0)?;
            let text = file.bytes_of(data, LONGEST_STATED)?;
            let text = words::lossy(&text).trim_end_matches('\0').to_owned();
            let is_text = !text.is_empty() && text.chars().all(|letter| letter == ' ' || letter.is_ascii_graphic());
            let is_short = data.count < LONGEST_STATED && is_text;
            entries.push(if is_short { format!("{name}={text}") } else { format!("{name} ({} bytes)", data.count) });
        }
        if !entries.is_empty() {
            stated.push(("metadata", entries.join(", ")));
        }
        Ok(stated)
    }

    fn read(file: &'a FlatFile<'f>) -> Flat<Model<'a, 'f>> {
        let root = file.root()?;
        let codes = file.vector(root, 1, 4)?;
        let mut ops = Vec::new();
        for index in 0..codes.count {
            let Some(code) = file.element(codes, index)? else { break };
            ops.push(op_name(file, code)?);
        }
        let listed = file.vector(root, 7, 4)?;
        let mut signatures = Vec::new();
        for index in 0..listed.count {
            let Some(signature) = file.element(listed, index)? else { break };
            let subgraph = file.int(signature, 4, 0)?;
            signatures.push((file.text(signature, 2)?, u64::try_from(subgraph).unwrap_or(u64::MAX)));
        }
        let (subgraphs, buffers) = (file.vector(root, 2, 4)?, file.vector(root, 4, 4)?);
        if subgraphs.count == 0 {
            return Err(FlatError::Damaged(0, "it has no subgraph".to_owned()));
        }
        Ok(Model { file, ops, subgraphs, buffers, signatures })
    }

    /// The signature that counts, and its subgraph; without signatures, the first subgraph.
    fn subgraph(&self, settings: &Settings) -> Result<(Option<String>, u64), ReadError> {
        let named = |(name, _): &(String, u64)| Signature { name: name.clone(), ..Signature::default() };
        let all: Vec<Signature> = self.signatures.iter().map(named).collect();
        let chosen = signature::choose(&all, settings.signature.as_deref(), false).map_err(|mut refusal| {
            // Subgraphs are models of their own: there is no graph of all of them.
            if let Some(fix) = &mut refusal.fix {
                fix.options.retain(|option| option.name != "all");
            }
            ReadError::Signature(refusal)
        })?;
        let Some(chosen) = chosen else { return Ok((None, 0)) };
        let found = self.signatures.iter().find(|(name, _)| *name == chosen.name).map_or(0, |(_, subgraph)| *subgraph);
        Ok((Some(chosen.name.clone()), found.min(self.subgraphs.count - 1)))
    }

    /// The data of a buffer, if it has any.
    fn buffer(&self, index: u64) -> Flat<Option<Vector>> {
        let Some(buffer) = self.file.element(self.buffers, index)? else { return Ok(None) };
        let data = self.file.vector(buffer, 0, 1)?;
        if data.count > 0 {
            return Ok(Some(data));
        }
        // Large models keep their weights after the tables.
        let (at, count) = (self.file.long(buffer, 1)?, self.file.long(buffer, 2)?);
        Ok((at > 1 && count > 0).then_some(Vector { at, count }))
    }
}

/// The name of an op: builtin, or what the model calls it.
fn op_name(file: &FlatFile<'_>, code: Table) -> Flat<String> {
    let number = file.int(code, 3, 0)?.max(i32::from(file.byte(code, 0)? as i8));
    let name = usize::try_from(number).ok().and_then(|number| ops::BUILTIN_OPS.get(number)).copied();
    Ok(match name {
        Some("CUSTOM") => match file.text(code, 1)? {
            custom if custom.is_empty() => "CUSTOM".to_owned(),
            custom => custom,
        },
        Some(name) => name.to_owned(),
        None => format!("BUILTIN_{number}"),
    })
}

/// A tensor as the file describes it.
#[derive(Clone, Debug, Default)]
struct TensorInfo {
    name: String,
    dtype: DType,
    /// With open sizes, if the file says which.
    shape: Shape,
    buffer: u64,
    data: Option<Vector>,
    is_quantized: bool,
}

struct Subgraph<'m, 'a, 'f> {
    model: &'m Model<'a, 'f>,
    tensors: Vec<TensorInfo>,
    /// The node that produces each tensor.
    values: Vec<Option<Tensor>>,
    /// For each tensor, whether it only initializes a loop variable.
    starts: Vec<bool>,
    /// The parameter in each buffer: several tensors may share one.
    parameters: BTreeMap<(u64, Vec<i64>), Tensor>,
    operators: Vector,
    outputs: Vec<i64>,
    body: Body,
    names: UniqueNames,
}

impl<'m, 'a, 'f> Subgraph<'m, 'a, 'f> {
    fn read(model: &'m Model<'a, 'f>, index: u64, is_main: bool) -> Flat<Subgraph<'m, 'a, 'f>> {
        let file = model.file;
        let Some(table) = file.element(model.subgraphs, index)? else {
            return Err(FlatError::Damaged(model.subgraphs.at, format!("there is no subgraph {index}")));
        };
        let listed = file.vector(table, 0, 4)?;
        let mut tensors = Vec::new();
        for index in 0..listed.count {
            let Some(tensor) = file.element(listed, index)? else { break };
            tensors.push(TensorInfo::read(model, tensor)?);
        }
        let mut subgraph = Subgraph {
            model,
            values: vec![None; tensors.len()],
            starts: vec![false; tensors.len()],
            tensors,
            parameters: BTreeMap::new(),
            operators: file.vector(table, 3, 4)?,
            outputs: file.ints(table, 2)?,
            body: Body::default(),
            names: UniqueNames::default(),
        };
        for input in file.ints(table, 1)? {
            let Some(tensor) = subgraph.tensor(input).cloned() else { continue };
            let name = subgraph.names.take(&tensor.name);
            let value = if is_main {
                subgraph.body.push_model_input(&name, "Input", tensor.dtype, &tensor.shape)
            } else {
                subgraph.body.push_argument(&name, "Input")
            };
            subgraph.values[input as usize] = Some(value);
        }
        Ok(subgraph)
    }

    fn tensor(&self, index: i64) -> Option<&TensorInfo> {
        self.tensors.get(usize::try_from(index).ok()?)
    }

    /// Pushes all operators. `called` collects the subgraphs that they call.
    fn lower(mut self, called: &mut BTreeSet<u64>) -> Flat<Body> {
        self.mark_starts()?;
        for index in 0..self.operators.count {
            budget::check();
            let Some(operator) = self.model.file.element(self.operators, index)? else { break };
            self.operator(operator, called)?;
        }
        let outputs = std::mem::take(&mut self.outputs);
        for output in outputs {
            let value = self.value(output, "", 0)?;
            self.body.returns.push(value);
        }
        Ok(self.body)
    }

    fn operator(&mut self, table: Table, called: &mut BTreeSet<u64>) -> Flat<()> {
        let file = self.model.file;
        let code = usize::try_from(file.int(table, 0, 0)?).unwrap_or(usize::MAX);
        let op = self.model.ops.get(code).cloned().unwrap_or_else(|| "UNKNOWN".to_owned());
        let (inputs, outputs) = (file.ints(table, 1)?, file.ints(table, 2)?);
        let options = file.child(table, 4)?;
        if let ("READ_VARIABLE", [handle], [output]) = (op.as_str(), &inputs[..], &outputs[..]) {
            self.variable(*handle, *output);
            return Ok(());
        }
        let output_type = outputs.first().and_then(|at| self.tensor(*at)).map_or(DType::UNKNOWN, |tensor| tensor.dtype);
        let flex = match op.strip_prefix("Flex") {
            Some(own) => Some(FlexOp::read(own, &file.bytes_of(file.vector(table, 5, 1)?, LONGEST_OPTIONS)?)),
            None => None,
        };
        let composite = if op == "STABLEHLO_COMPOSITE" { file.child(table, 12)? } else { None };
        let graph = |field| options.map_or(Ok(0), |options| file.int(options, field, 0));
        let parts: Vec<(&str, i32)> = match op.as_str() {
            "IF" => vec![("then_branch", graph(0)?), ("else_branch", graph(1)?)],
            "WHILE" => vec![("cond", graph(0)?), ("body", graph(1)?)],
            "CALL" => vec![("f", graph(0)?)],
            "STABLEHLO_COMPOSITE" => match composite {
                Some(composite) => vec![("f", file.int(composite, 1, -1)?)],
                None => Vec::new(),
            },
            _ => Vec::new(),
        };
        let made = if parts.is_empty() {
            let operator = Operator { op: &op, inputs: &inputs, outputs: outputs.len(), options, output_type };
            match flex {
                Some(_) => lowered::Made::new("", (0..inputs.len()).map(Input::Of).collect()),
                None => lower::lower(file, &operator)?,
            }
        } else {
            let call = match op.as_str() {
                "IF" => "If",
                "WHILE" => "While",
                _ => "PartitionedCall",
            };
            lowered::Made::new(call, (0..inputs.len()).map(Input::Of).collect())
        };
        let mut tensors = Vec::with_capacity(made.inputs.len());
        for input in &made.inputs {
            tensors.push(match input {
                Input::Of(at) => self.value(inputs.get(*at).copied().unwrap_or(-1), &op, *at)?,
                other => lowered::push_hidden(&mut self.body, other),
            });
        }
        let name = outputs.iter().find_map(|at| self.tensor(*at)).map_or(op.clone(), |tensor| tensor.name.clone());
        let name = self.names.take(&name);
        let own = flex.as_ref().map_or(made.op, |flex| flex.op.as_str());
        let node = self.body.push_lowered(&name, own, &op);
        tensors.into_iter().for_each(|tensor| self.body.push_input(tensor));
        lowered::push_settings(&mut self.body, &made.settings);
        for (key, value) in flex.iter().flat_map(|flex| &flex.attributes) {
            self.body.push_attribute(key, value);
        }
        for (part, subgraph) in parts {
            let subgraph = u64::try_from(subgraph).unwrap_or(u64::MAX);
            called.insert(subgraph);
            self.body.push_value(part, AttrValue::Function(&function_name(subgraph)));
        }
        self.state_outputs(node, &outputs);
        Ok(())
    }

    /// Marks the tensors that only initialize a loop variable: a constant there, such as a state of
    /// zeros, is not a weight. It may be stored as float16, with a `DEQUANTIZE` in between.
    fn mark_starts(&mut self) -> Flat<()> {
        let file = self.model.file;
        let mut widened = Vec::new();
        for index in 0..self.operators.count {
            let Some(operator) = file.element(self.operators, index)? else { break };
            let code = usize::try_from(file.int(operator, 0, 0)?).unwrap_or(usize::MAX);
            match self.model.ops.get(code).map(String::as_str) {
                Some("WHILE") => self.mark_loop(operator)?,
                Some("DEQUANTIZE") => widened.push((file.ints(operator, 1)?, file.ints(operator, 2)?)),
                _ => {}
            }
        }
        for (inputs, outputs) in widened {
            let is_start = outputs.iter().any(|output| self.is_start(*output));
            inputs.iter().filter(|_| is_start).for_each(|input| self.mark_start(*input));
        }
        Ok(())
    }

    fn mark_loop(&mut self, operator: Table) -> Flat<()> {
        let file = self.model.file;
        let body = file.child(operator, 4)?.map_or(Ok(-1), |options| file.int(options, 1, 0))?;
        let body = u64::try_from(body).unwrap_or(u64::MAX);
        let Some(body) = file.element(self.model.subgraphs, body)? else { return Ok(()) };
        let (takes, returns) = (file.ints(body, 1)?, file.ints(body, 2)?);
        for (at, input) in file.ints(operator, 1)?.into_iter().enumerate() {
            let is_kept = takes.get(at).is_some_and(|taken| returns.get(at) == Some(taken));
            if !is_kept {
                self.mark_start(input);
            }
        }
        Ok(())
    }

    fn mark_start(&mut self, tensor: i64) {
        if let Some(start) = usize::try_from(tensor).ok().and_then(|at| self.starts.get_mut(at)) {
            *start = true;
        }
    }

    fn is_start(&self, tensor: i64) -> bool {
        usize::try_from(tensor).ok().and_then(|at| self.starts.get(at)).is_some_and(|start| *start)
    }

    /// The value of a variable is a parameter, however often it is read.
    fn variable(&mut self, handle: i64, output: i64) {
        let Some(tensor) = self.tensor(output).cloned() else { return };
        let key = (u64::MAX, vec![handle]);
        let value = match self.parameters.get(&key) {
            Some(known) => *known,
            None => {
                let name = self.names.take(&tensor.name);
                self.body.push_parameter(&name, "READ_VARIABLE", tensor.dtype, &tensor.shape, None)
            }
        };
        self.parameters.insert(key, value);
        if let Some(slot) = usize::try_from(output).ok().and_then(|at| self.values.get_mut(at)) {
            *slot = Some(value);
        }
    }

    /// Gives outputs their values, and states their types and shapes.
    fn state_outputs(&mut self, node: u32, outputs: &[i64]) {
        let stated: Vec<TensorInfo> = outputs.iter().map(|at| self.tensor(*at).cloned().unwrap_or_default()).collect();
        let shapes: Vec<Shape> = stated.iter().map(|tensor| tensor.shape.clone()).collect();
        let types: Vec<DType> = stated.iter().map(|tensor| tensor.dtype).collect();
        if !matches!(self.body.op(node), "If" | "While" | "PartitionedCall") {
            self.body.push_value("_output_shapes", AttrValue::Shapes(&shapes));
            self.body.push_value("_output_types", AttrValue::Types(&types));
        }
        for (output, at) in outputs.iter().enumerate() {
            if let Some(value) = usize::try_from(*at).ok().and_then(|at| self.values.get_mut(at)) {
                *value = Some(Tensor { node, output: output as u32 });
            }
        }
    }

    /// The value of an operand; a constant becomes a node on first use.
    fn value(&mut self, index: i64, op: &str, at: usize) -> Flat<Tensor> {
        let missing = Tensor { node: NO_NODE, output: 0 };
        let Some(tensor) = self.tensor(index).cloned() else { return Ok(missing) };
        let Some(Some(value)) = usize::try_from(index).ok().map(|index| self.values[index]) else {
            let Some(data) = tensor.data else { return Ok(missing) };
            // As the value of a `FILL`.
            let op = if self.is_start(index) { "FILL" } else { op };
            let value = self.constant(&tensor, data, op, at)?;
            self.values[index as usize] = Some(value);
            return Ok(value);
        };
        Ok(value)
    }

    fn constant(&mut self, tensor: &TensorInfo, data: Vector, op: &str, at: usize) -> Flat<Tensor> {
        let dims = tensor.shape.dims().unwrap_or_default().to_vec();
        let is_single = tensor.shape.elements() == Some(1);
        let is_factor = is_single && matches!(op, "MUL" | "DIV" | "SUB" | "POW" | "MAXIMUM" | "MINIMUM" | "QUANTIZE");
        let is_weight = match () {
            () if dims.is_empty() || is_factor => false,
            () if tensor.dtype.is_float() => !matches!(op, "RANGE" | "FILL" | "PADV2"),
            () => tensor.is_quantized || lower::is_weight(op, at),
        };
        if is_weight {
            let key = (tensor.buffer, dims);
            if let Some(known) = self.parameters.get(&key) {
                return Ok(*known);
            }
            let name = self.names.take(&tensor.name);
            let value = self.body.push_parameter(&name, "Constant", tensor.dtype, &tensor.shape, None);
            self.parameters.insert(key, value);
            return Ok(value);
        }
        let name = self.names.take(&tensor.name);
        let size = tensor.dtype.size().unwrap_or(0) as u64;
        let count = tensor.shape.elements().filter(|count| *count <= LONGEST_TENSOR && tensor.dtype.is_integer());
        let bytes = match count {
            Some(count) => self.model.file.bytes_of(data, size.saturating_mul(count as u64))?,
            None => Vec::new(),
        };
        let ints: Vec<i64> =
            bytes.chunks_exact(size.max(1) as usize).map(|bytes| tensor.dtype.integer(bytes)).collect();
        let elements = if count.is_some_and(|count| ints.len() as i64 == count) {
            Elements::Ints(&ints)
        } else {
            Elements::Unread
        };
        Ok(self.body.push_constant(&name, "Constant", tensor.dtype, &tensor.shape, elements))
    }
}

impl TensorInfo {
    fn read(model: &Model<'_, '_>, table: Table) -> Flat<TensorInfo> {
        let file = model.file;
        let (shape, signature) = (file.ints(table, 0)?, file.ints(table, 7)?);
        let sizes = if signature.len() == shape.len() { signature } else { shape };
        let dims: Vec<i64> = sizes.into_iter().map(|size| size.max(ANY)).collect();
        let buffer = u64::from(file.int(table, 2, 0)? as u32);
        let name = file.text(table, 3)?;
        // The converter joins the names of fused ops.
        let name = name.split(';').find(|part| !part.is_empty()).unwrap_or("tensor");
        let quantization = file.child(table, 4)?;
        // Scales are the third field.
        let scales = quantization.map_or(Ok(0), |table| file.vector(table, 2, 4).map(|scales| scales.count))?;
        Ok(TensorInfo {
            name: name.strip_suffix(":0").unwrap_or(name).to_owned(),
            dtype: dtype(file.byte(table, 1)?),
            shape: Shape::of(&dims),
            buffer,
            data: if buffer == 0 { None } else { model.buffer(buffer)? },
            is_quantized: scales > 0,
        })
    }
}

/// TensorFlow Lite's types, by number, as TensorFlow numbers them.
fn dtype(number: u8) -> DType {
    const TYPES: &[i32] = &[1, 19, 3, 4, 9, 7, 10, 5, 8, 6, 2, 18, 23, 20, 21, 22, 17, 29, 14, 31, 30];
    DType(TYPES.get(usize::from(number)).copied().unwrap_or(0))
}
