//! The instructions of an XLA program as cost formulas see them: shapes, operands, called computations, attributes.

use super::each;
use crate::hash::UntrustedMap;
use tfprof_proto::fields::{hlo_computation, hlo_instruction, hlo_module, shape};
use tfprof_proto::wire::{Value, WireError, each_int};

/// A program. Instructions and computations are found by their ids.
#[derive(Debug, Default)]
pub struct Module<'a> {
    pub computations: Vec<Computation<'a>>,
    computation_of: UntrustedMap<i64, u32>,
    /// By the id of an instruction, its computation and its index in there.
    instruction_of: UntrustedMap<i64, (u32, u32)>,
}

#[derive(Debug, Default)]
pub struct Computation<'a> {
    pub instructions: Vec<Instruction<'a>>,
    pub root: i64,
}

#[derive(Debug, Default)]
pub struct Instruction<'a> {
    pub name: &'a [u8],
    pub opcode: &'a str,
    pub shape: Shape,
    pub operands: Vec<i64>,
    pub called: Vec<i64>,
    pub fusion_kind: &'a str,
    pub parameter: usize,
    /// Messages, which few instructions have.
    pub dot: &'a [u8],
    pub convolution: &'a [u8],
    pub window: &'a [u8],
    pub fft_length: Vec<i64>,
    /// Of a custom call: the function that it calls, and its settings.
    pub target: &'a str,
    pub settings: &'a [u8],
}

/// The first array of a shape, which is the only one unless it is a tuple, and the size of all. Sums are made once: many
/// instructions may read one.
#[derive(Clone, Debug, Default)]
pub struct Shape {
    first: Option<Array>,
    elements: Option<i64>,
    bytes: Option<i64>,
}

#[derive(Clone, Debug, Default)]
pub struct Array {
    pub dims: Vec<i64>,
    elements: Option<i64>,
    /// The bits of an element; `None` for a type that we do not know.
    bits: Option<i64>,
}

impl Array {
    fn new(dims: Vec<i64>, bits: Option<i64>) -> Array {
        Array { elements: product(&dims), dims, bits }
    }

    pub fn elements(&self) -> Option<i64> {
        self.elements
    }

    pub fn bytes(&self) -> Option<i64> {
        let bits = i128::from(self.elements?) * i128::from(self.bits?);
        Some(i64::try_from((bits + 7) / 8).unwrap_or(i64::MAX))
    }
}

impl Shape {
    fn new(arrays: Vec<Array>) -> Shape {
        let sum = |size: fn(&Array) -> Option<i64>| {
            arrays.iter().try_fold(0, |sum: i64, array| Some(sum.saturating_add(size(array)?)))
        };
        Shape { elements: sum(Array::elements), bytes: sum(Array::bytes), first: arrays.into_iter().next() }
    }

    /// The only array, or the first of a tuple, however deeply nested.
    pub fn first(&self) -> Option<&Array> {
        self.first.as_ref()
    }

    pub fn elements(&self) -> Option<i64> {
        self.elements
    }

    pub fn bytes(&self) -> Option<i64> {
        self.bytes
    }
}

/// The product of sizes; `None` if one of them is not known.
pub fn product(sizes: &[i64]) -> Option<i64> {
    sizes.iter().try_fold(1, |product: i64, size| (*size >= 0).then(|| product.saturating_mul(*size)))
}

impl<'a> Module<'a> {
    pub fn read(bytes: &'a [u8]) -> Result<Module<'a>, WireError> {
        let mut module = Module::default();
        each(bytes, |number, value| {
            if let (hlo_module::COMPUTATIONS, Value::Bytes(bytes)) = (number, value) {
                module.read_computation(bytes)?;
            }
            Ok(())
        })?;
        Ok(module)
    }

    fn read_computation(&mut self, bytes: &'a [u8]) -> Result<(), WireError> {
        let at = self.computations.len() as u32;
        let (mut computation, mut id) = (Computation::default(), 0);
        each(bytes, |number, value| {
            match (number, value) {
                (hlo_computation::INSTRUCTIONS, Value::Bytes(bytes)) => {
                    let (id, instruction) = read_instruction(bytes)?;
                    self.instruction_of.insert(id, (at, computation.instructions.len() as u32));
                    computation.instructions.push(instruction);
                }
                (hlo_computation::ID, Value::Varint(n)) => id = n as i64,
                (hlo_computation::ROOT_ID, Value::Varint(n)) => computation.root = n as i64,
                _ => {}
            }
            Ok(())
        })?;
        self.computation_of.insert(id, at);
        self.computations.push(computation);
        Ok(())
    }

    /// The index of a computation by its id.
    pub fn computation(&self, id: i64) -> Option<usize> {
        self.computation_of.get(&id).map(|at| *at as usize)
    }

    pub fn instruction(&self, id: i64) -> Option<&Instruction<'a>> {
        let (computation, at) = *self.instruction_of.get(&id)?;
        Some(&self.computations[computation as usize].instructions[at as usize])
    }

    pub fn operand(&self, of: &Instruction<'a>, at: usize) -> Option<&Instruction<'a>> {
        self.instruction(*of.operands.get(at)?)
    }

    /// The array that an operand is.
    pub fn array(&self, of: &Instruction<'a>, at: usize) -> Option<&Array> {
        self.operand(of, at)?.shape.first()
    }
}

fn read_instruction(bytes: &[u8]) -> Result<(i64, Instruction<'_>), WireError> {
    use hlo_instruction as field;
    let (mut id, mut found) = (0, Instruction::default());
    let text = |bytes| std::str::from_utf8(bytes).unwrap_or_default();
    each(bytes, |number, value| {
        match (number, value) {
            (field::ID, Value::Varint(n)) => id = n as i64,
            (field::NAME, Value::Bytes(name)) => found.name = name,
            (field::OPCODE, Value::Bytes(opcode)) => found.opcode = text(opcode),
            (field::SHAPE, Value::Bytes(shape)) => found.shape = read_shape(shape)?,
            (field::OPERAND_IDS, value) => read_numbers(value, &mut found.operands)?,
            (field::CALLED_COMPUTATION_IDS, value) => read_numbers(value, &mut found.called)?,
            (field::FFT_LENGTH, value) => read_numbers(value, &mut found.fft_length)?,
            (field::FUSION_KIND, Value::Bytes(kind)) => found.fusion_kind = text(kind),
            (field::PARAMETER_NUMBER, Value::Varint(n)) => found.parameter = usize::try_from(n).unwrap_or(usize::MAX),
            (field::DOT_DIMENSION_NUMBERS, Value::Bytes(message)) => found.dot = message,
            (field::CONVOLUTION_DIMENSION_NUMBERS, Value::Bytes(message)) => found.convolution = message,
            (field::WINDOW, Value::Bytes(message)) => found.window = message,
            (field::CUSTOM_CALL_TARGET, Value::Bytes(target)) => found.target = text(target),
            (field::BACKEND_CONFIG, Value::Bytes(settings)) => found.settings = settings,
            _ => {}
        }
        Ok(())
    })?;
    Ok((id, found))
}

/// A repeated integer, packed or not.
pub fn read_numbers(value: Value<'_>, into: &mut Vec<i64>) -> Result<(), WireError> {
    each_int(value, |n| into.push(n)).map_err(|fault| WireError { offset: 0, fault })
}

/// The arrays of a shape; tuples in tuples are taken apart without recursion.
fn read_shape(bytes: &[u8]) -> Result<Shape, WireError> {
    let mut arrays = Vec::new();
    let mut open = vec![bytes];
    while let Some(bytes) = open.pop() {
        let (mut kind, mut dims, first) = (0, Vec::new(), open.len());
        each(bytes, |number, value| {
            match (number, value) {
                (shape::ELEMENT_TYPE, Value::Varint(n)) => kind = n,
                (shape::DIMENSIONS, value) => read_numbers(value, &mut dims)?,
                (shape::TUPLE_SHAPES, Value::Bytes(part)) => open.push(part),
                _ => {}
            }
            Ok(())
        })?;
        open[first..].reverse();
        if kind != TUPLE {
            arrays.push(Array::new(dims, bits(kind)));
        }
    }
    Ok(Shape::new(arrays))
}

const TUPLE: u64 = 13;

/// The bits of an element, by the number of its type in `xla.PrimitiveType`. Opaque values and tokens have none.
fn bits(kind: u64) -> Option<i64> {
    Some(match kind {
        14 | 17 => 0,
        // A bool takes a byte.
        1 | 2 | 6 | 19 | 20 | 23 | 24 | 25 | 28 | 29 | 33 => 8,
        3 | 7 | 10 | 16 => 16,
        4 | 8 | 11 => 32,
        5 | 9 | 12 | 15 => 64,
        18 => 128,
        21 | 22 | 32 => 4,
        26 | 27 => 2,
        30 | 31 => 1,
        _ => return None,
    })
}
