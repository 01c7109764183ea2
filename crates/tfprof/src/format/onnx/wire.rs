//! Reads the messages of ONNX in place: tensors are skipped unless they are small, since small ones may determine sizes.

use crate::budget;
use crate::format::ModelFile;
use crate::format::file_bytes::ByteWindow;
use crate::model::dtype::DType;
use crate::model::shape::{ANY, Shape};
use crate::words::lossy;
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Deref;
use std::path::{Component, Path};
use std::rc::Rc;
use tfprof_proto::window::{ByteRange, FieldError, FieldReader, Head};
use tfprof_proto::wire::{Value, each_int};

/// Names and other texts are read up to this length.
const LONGEST_TEXT: u64 = 64 * 1024;

/// Longer tensors are not read: no sizes follow from them.
const LONGEST_TENSOR: i64 = 512;

/// The first damage of a file.
#[derive(Debug)]
pub struct Damaged {
    pub offset: u64,
    pub what: String,
}

/// The file, its window, and the first damage.
pub struct OnnxFile<'f> {
    pub file: &'f ModelFile,
    window: ByteWindow<'f>,
    pub damage: Option<Damaged>,
}

impl<'f> OnnxFile<'f> {
    pub fn new(file: &'f ModelFile) -> OnnxFile<'f> {
        OnnxFile { file, window: file.bytes.window(), damage: None }
    }

    /// The fields of a message, up to its end or the first damage.
    pub fn fields(&mut self, span: ByteRange) -> io::Result<Vec<(u32, Head)>> {
        let mut fields = Vec::new();
        let mut reader = FieldReader::new(&mut self.window, span)?;
        loop {
            // A function is read again for each set of attributes that it is called with.
            budget::work(4);
            match reader.next_field() {
                Ok(Some(field)) => fields.push(field),
                Ok(None) => return Ok(fields),
                Err(FieldError::Io(error)) => return Err(error),
                Err(FieldError::Damage(damage)) => {
                    self.damage.get_or_insert(Damaged { offset: damage.offset, what: damage.what });
                    return Ok(fields);
                }
            }
        }
    }

    fn bytes(&self, span: ByteRange, most: u64) -> io::Result<Vec<u8>> {
        self.file.bytes.content(ByteRange { start: span.start, end: span.end.min(span.start.saturating_add(most)) })
    }

    pub fn text(&mut self, span: ByteRange) -> io::Result<String> {
        // Most names are in the window.
        self.window.seek(span.start)?;
        let wanted = (span.end - span.start).min(LONGEST_TEXT);
        let held = self.window.fill(wanted)?.min(wanted) as usize;
        Ok(lossy(&self.window.bytes()[..held]).into_owned())
    }

    /// Packed or single integers.
    pub fn ints(&self, head: Head, into: &mut Vec<i64>) -> io::Result<()> {
        match head {
            Head::Varint(n) => into.push(n as i64),
            Head::Message(span) if into.len() <= LONGEST_TENSOR as usize => {
                let bytes = self.bytes(span, 10 * LONGEST_TENSOR as u64)?;
                // A damaged number ends the list.
                let _ = each_int(Value::Bytes(&bytes), |n| into.push(n));
            }
            _ => {}
        }
        Ok(())
    }
}

/// A `NodeProto`.
#[derive(Debug, Default)]
pub struct Node {
    pub name: String,
    pub op: String,
    pub domain: String,
    pub inputs: Vec<String>,
    pub outputs: Vec<String>,
    pub attributes: Vec<Attribute>,
}

/// An `AttributeProto`.
#[derive(Clone, Debug, Default)]
pub struct Attribute {
    pub name: String,
    /// Shared, since functions pass values on to their calls.
    pub value: Rc<AttributeValue>,
    /// The attribute of the calling node that this one stands for, inside a function.
    pub of_call: Option<String>,
}

impl Deref for Attribute {
    type Target = AttributeValue;

    fn deref(&self) -> &AttributeValue {
        &self.value
    }
}

#[derive(Debug, Default)]
pub struct AttributeValue {
    pub int: Option<i64>,
    pub ints: Vec<i64>,
    pub floats: Vec<f32>,
    pub text: Option<String>,
    pub tensor: Option<Tensor>,
    pub graph: Option<ByteRange>,
}

/// A `TensorProto`.
#[derive(Clone, Debug, Default)]
pub struct Tensor {
    pub name: String,
    pub dtype: DType,
    pub dims: Vec<i64>,
    /// The elements of a small tensor of integers.
    pub ints: Option<Vec<i64>>,
    /// The elements of a small tensor of floats.
    pub floats: Option<Vec<f32>>,
}

impl Tensor {
    pub fn shape(&self) -> Shape {
        Shape::of(&self.dims)
    }
}

impl Node {
    pub fn read(walk: &mut OnnxFile<'_>, span: ByteRange) -> io::Result<Node> {
        let mut node = Node::default();
        for (number, head) in walk.fields(span)? {
            let Head::Message(span) = head else { continue };
            match number {
                1 => node.inputs.push(walk.text(span)?),
                2 => node.outputs.push(walk.text(span)?),
                3 => node.name = walk.text(span)?,
                4 => node.op = walk.text(span)?,
                5 => node.attributes.push(Attribute::read(walk, span)?),
                7 => node.domain = walk.text(span)?,
                _ => {}
            }
        }
        Ok(node)
    }

    pub fn attribute(&self, name: &str) -> Option<&Attribute> {
        self.attributes.iter().rev().find(|attribute| attribute.name == name)
    }

    pub fn int(&self, name: &str) -> Option<i64> {
        self.attribute(name)?.int
    }

    /// The integers of an attribute; `None` if there is no such attribute.
    pub fn ints(&self, name: &str) -> Option<&[i64]> {
        Some(&self.attribute(name)?.ints)
    }

    pub fn text(&self, name: &str) -> &str {
        self.attribute(name).and_then(|attribute| attribute.text.as_deref()).unwrap_or_default()
    }

    /// The name of an input; `None` if it is left out.
    pub fn input(&self, at: usize) -> Option<&str> {
        self.inputs.get(at).map(String::as_str).filter(|name| !name.is_empty())
    }
}

impl Attribute {
    pub fn read(walk: &mut OnnxFile<'_>, span: ByteRange) -> io::Result<Attribute> {
        let (mut name, mut of_call, mut value) = (String::new(), None, AttributeValue::default());
        for (number, head) in walk.fields(span)? {
            match (number, head) {
                (1, Head::Message(span)) => name = walk.text(span)?,
                (3, Head::Varint(n)) => value.int = Some(n as i64),
                (4, Head::Message(span)) => value.text = Some(walk.text(span)?),
                (5, Head::Message(span)) => value.tensor = Some(Tensor::read(walk, span)?),
                (6, Head::Message(span)) => value.graph = Some(span),
                (7, Head::Message(span)) => value.floats = floats(&walk.bytes(span, LONGEST_TEXT)?),
                (8, head) => walk.ints(head, &mut value.ints)?,
                (21, Head::Message(span)) => of_call = Some(walk.text(span)?).filter(|name| !name.is_empty()),
                _ => {}
            }
        }
        Ok(Attribute { name, value: Rc::new(value), of_call })
    }
}

fn floats(bytes: &[u8]) -> Vec<f32> {
    bytes.chunks_exact(4).map(|four| f32::from_le_bytes([four[0], four[1], four[2], four[3]])).collect()
}

impl Tensor {
    /// Reads a tensor; its elements only if they are few.
    pub fn read(walk: &mut OnnxFile<'_>, span: ByteRange) -> io::Result<Tensor> {
        let mut tensor = Tensor::default();
        let (mut raw, mut packed_floats, mut ints, mut external) = (None, None, Vec::new(), Vec::new());
        let mut data = Vec::new();
        for (number, head) in walk.fields(span)? {
            match (number, head) {
                (1, head) => walk.ints(head, &mut tensor.dims)?,
                (2, Head::Varint(n)) => tensor.dtype = dtype(n as i64),
                (4, Head::Message(span)) => packed_floats = Some(span),
                (5 | 7 | 11, head) => data.push(head),
                (8, Head::Message(span)) => tensor.name = walk.text(span)?,
                (9, Head::Message(span)) => raw = Some(span),
                (13, Head::Message(span)) => external.push(span),
                _ => {}
            }
        }
        let count = tensor.shape().elements().filter(|count| *count <= LONGEST_TENSOR);
        let Some(count) = count else { return Ok(tensor) };
        for head in data {
            walk.ints(head, &mut ints)?;
        }
        let size = tensor.dtype.size().unwrap_or(0);
        let most = (count as u64).saturating_mul(size as u64);
        let raw = match raw {
            Some(raw) => Some(walk.bytes(raw, most)?),
            None if !external.is_empty() && most > 0 => outside(walk, &external, most)?,
            None => None,
        };
        if tensor.dtype == DType::FLOAT {
            let packed = packed_floats.map(|span| walk.bytes(span, most)).transpose()?;
            tensor.floats = raw.or(packed).map(|bytes| floats(&bytes)).filter(|all| all.len() as i64 == count);
        } else if tensor.dtype.is_integer() {
            let of_raw =
                raw.map(|raw| raw.chunks_exact(size.max(1)).map(|bytes| tensor.dtype.integer(bytes)).collect());
            tensor.ints = of_raw.or(Some(ints)).filter(|all: &Vec<i64>| all.len() as i64 == count);
        }
        Ok(tensor)
    }
}

/// The first bytes of a tensor in an external file, which is beside the model or below its directory.
fn outside(walk: &mut OnnxFile<'_>, entries: &[ByteRange], most: u64) -> io::Result<Option<Vec<u8>>> {
    let (mut location, mut offset) = (String::new(), 0_u64);
    for entry in entries {
        let (key, value) = super::property(walk, *entry)?;
        match key.as_str() {
            "location" => location = value,
            "offset" => offset = value.parse().unwrap_or(u64::MAX),
            _ => {}
        }
    }
    let inside = Path::new(&location).components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    let Some(directory) = walk.file.path.as_deref().and_then(Path::parent).filter(|_| inside && !location.is_empty())
    else {
        return Ok(None);
    };
    // A missing file leaves the elements unknown: shapes do not need it otherwise. Opening a pipe would wait forever.
    let path = directory.join(&location);
    if !std::fs::metadata(&path).is_ok_and(|file| file.is_file()) {
        return Ok(None);
    }
    let Ok(mut file) = std::fs::File::open(path) else { return Ok(None) };
    let mut bytes = Vec::new();
    let read = file.seek(SeekFrom::Start(offset)).and_then(|_| file.take(most).read_to_end(&mut bytes));
    Ok(read.is_ok().then_some(bytes))
}

/// A value's type and shape; a size that the file only names is open, and keeps its name.
#[derive(Clone, Debug, Default)]
pub struct ValueInfo {
    pub name: String,
    pub dtype: DType,
    pub shape: Shape,
    pub symbols: Vec<(u32, String)>,
}

impl ValueInfo {
    pub fn read(walk: &mut OnnxFile<'_>, span: ByteRange) -> io::Result<ValueInfo> {
        let mut value = ValueInfo::default();
        let mut ty = None;
        for (number, head) in walk.fields(span)? {
            match (number, head) {
                (1, Head::Message(span)) => value.name = walk.text(span)?,
                (2, Head::Message(span)) => ty = Some(span),
                _ => {}
            }
        }
        let tensor = ty.map(|ty| walk.fields(ty)).transpose()?.unwrap_or_default();
        for (number, head) in tensor {
            let (1, Head::Message(tensor)) = (number, head) else { continue };
            for (number, head) in walk.fields(tensor)? {
                match (number, head) {
                    (1, Head::Varint(n)) => value.dtype = dtype(n as i64),
                    (2, Head::Message(shape)) => value.read_shape(walk, shape)?,
                    _ => {}
                }
            }
        }
        Ok(value)
    }

    fn read_shape(&mut self, walk: &mut OnnxFile<'_>, span: ByteRange) -> io::Result<()> {
        let mut dims = Vec::new();
        for (number, head) in walk.fields(span)? {
            let (1, Head::Message(dim)) = (number, head) else { continue };
            let mut size = ANY;
            for (number, head) in walk.fields(dim)? {
                match (number, head) {
                    (1, Head::Varint(n)) => size = i64::try_from(n).unwrap_or(ANY),
                    (2, Head::Message(span)) => {
                        let name = walk.text(span)?;
                        if !name.is_empty() {
                            self.symbols.push((dims.len() as u32, name));
                        }
                    }
                    _ => {}
                }
            }
            dims.push(size);
        }
        self.shape = Shape::of(&dims);
        Ok(())
    }
}

/// ONNX's types, by number, as TensorFlow numbers them.
pub fn dtype(number: i64) -> DType {
    const TYPES: &[i32] =
        &[0, 1, 4, 6, 17, 5, 3, 9, 7, 10, 19, 2, 22, 23, 8, 18, 14, 25, 26, 24, 28, 30, 29, 33, 0, 32, 31];
    DType(usize::try_from(number).ok().and_then(|at| TYPES.get(at)).copied().unwrap_or(0))
}
