//! Float operations of one op from the shapes around it and its attributes.
//!
//! [`FORMULAS`] is the list of ops that have a formula; each family of ops has a file of its own. The figures are those
//! of TensorFlow's statistics: a multiply-add is two, data movement is nothing.

mod conv;
mod elementwise;
mod matmul;
mod pool;

use super::body::Body;
use super::inference::{Calls, Cost, Instance, NodeCost};
use tfprof_proto::wire::{Fields, Value, each_int};

/// The dimensions of a tensor, all of them known.
pub type Dims<'a> = &'a [i64];

/// What a formula may look at.
pub struct Op<'a> {
    /// Shapes by input, control inputs among them; an empty list is unknown, −1 an unknown size.
    pub inputs: &'a [Dims<'a>],
    /// The shape of the first output.
    pub output: Dims<'a>,
    /// The bytes of an attribute's `AttrValue`.
    pub attribute: &'a dyn Fn(&str) -> Option<&'a [u8]>,
}

impl std::fmt::Debug for Op<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Op").field("inputs", &self.inputs).field("output", &self.output).finish_non_exhaustive()
    }
}

/// Why there is no figure although there is a formula.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unknown {
    /// There is no formula for the op.
    NoFormula,
    /// A shape that the formula needs is not fully known.
    Shape,
    /// The formula does not know this layout of data.
    DataFormat,
    /// The op is not as its definition has it: an input, a dimension or an attribute is missing.
    Malformed,
}

pub type Flops = Result<i64, Unknown>;

/// The formula of an op.
pub type Formula = fn(&Op<'_>) -> Flops;

/// The formulas, by family.
pub const FORMULAS: &[&[(&str, Formula)]] = &[elementwise::FORMULAS, pool::FORMULAS, conv::FORMULAS, matmul::FORMULAS];

/// The formula of an op type, if it has one.
pub fn formula(op: &str) -> Option<Formula> {
    FORMULAS.iter().copied().flatten().find(|(name, _)| *name == op).map(|(_, formula)| *formula)
}

/// The cost of each node of a body.
pub fn costs(body: &Body, _instance: &Instance, calls: &dyn Calls) -> Vec<NodeCost> {
    let unknown = |node| {
        if calls.is_call(body.op(node)) {
            NodeCost::Call
        } else {
            NodeCost::Unknown(Unknown::NoFormula, Cost::default())
        }
    };
    (0..body.len() as u32).map(unknown).collect()
}

impl<'a> Op<'a> {
    /// The shape of an input, which must be known.
    fn input(&self, index: usize) -> Result<Dims<'a>, Unknown> {
        known(self.inputs.get(index).ok_or(Unknown::Malformed)?)
    }

    /// The shape of the first output, which must be known.
    fn output(&self) -> Result<Dims<'a>, Unknown> {
        known(self.output)
    }

    /// A boolean attribute; false if it is not there.
    fn flag(&self, name: &str) -> bool {
        let value = (self.attribute)(name).and_then(|value| last_field(value, 5));
        matches!(value, Some(Value::Varint(n)) if n != 0)
    }

    /// An attribute that is a list of integers.
    fn integers(&self, name: &str) -> Result<Vec<i64>, Unknown> {
        let value = (self.attribute)(name).and_then(|value| last_field(value, 1));
        let Some(Value::Bytes(list)) = value else { return Err(Unknown::Malformed) };
        let mut integers = Vec::new();
        let mut fields = Fields::new(list, 0);
        while let Ok(Some(field)) = fields.next_field() {
            if field.number == 3 {
                each_int(field.value, |n| integers.push(n)).map_err(|_| Unknown::Malformed)?;
            }
        }
        Ok(integers)
    }

    /// Refuses layouts other than batch, height, width, channel.
    fn needs_nhwc(&self) -> Result<(), Unknown> {
        match (self.attribute)("data_format").and_then(|value| last_field(value, 2)) {
            Some(Value::Bytes(b"NHWC")) => Ok(()),
            _ => Err(Unknown::DataFormat),
        }
    }
}

/// A shape without unknown sizes.
fn known(dims: Dims<'_>) -> Result<Dims<'_>, Unknown> {
    if dims.is_empty() || dims.iter().any(|dim| *dim < 0) { Err(Unknown::Shape) } else { Ok(dims) }
}

/// The number of elements of a shape.
fn elements(dims: Dims<'_>) -> i64 {
    dims.iter().fold(1, |product, dim| product.saturating_mul(*dim))
}

fn dim(dims: Dims<'_>, index: usize) -> Result<i64, Unknown> {
    dims.get(index).copied().ok_or(Unknown::Malformed)
}

/// The value of an attribute if it is of the kind that a field number stands for.
fn last_field(attribute: &[u8], number: u32) -> Option<Value<'_>> {
    let mut last = None;
    let mut fields = Fields::new(attribute, 0);
    while let Ok(Some(field)) = fields.next_field() {
        last = Some(field);
    }
    last.filter(|field| field.number == number).map(|field| field.value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tfprof_proto::write;

    /// A list of integers as an attribute.
    fn list(numbers: &[i64]) -> Vec<u8> {
        let mut out = Vec::new();
        write::message(&mut out, 1, |out| write::packed(out, 3, numbers));
        out
    }

    fn check(op: &str, inputs: &[Dims<'_>], output: Dims<'_>, attributes: &[(&str, Vec<u8>)], expect: Flops) {
        let attribute = |name: &str| attributes.iter().find(|(key, _)| *key == name).map(|(_, value)| &value[..]);
        let formula = formula(op).expect("a formula");
        assert_eq!(formula(&Op { inputs, output, attribute: &attribute }), expect, "{op}");
    }

    #[test]
    fn there_are_46_and_no_two_for_one_op() {
        let mut names: Vec<_> = FORMULAS.iter().copied().flatten().map(|(name, _)| *name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), FORMULAS.iter().map(|family| family.len()).sum::<usize>());
        assert_eq!(names.len(), 46);
    }

    #[test]
    fn figures_that_tensorflow_gives() {
        let nhwc = || ("data_format", b"\x12\x04NHWC".to_vec());
        let ksize = || ("ksize", list(&[1, 2, 2, 1]));
        let strides = || ("strides", list(&[1, 2, 2, 1]));
        let image: Dims<'_> = &[2, 8, 8, 3];
        check("AssignAdd", &[&[3, 4], &[3, 4]], &[3, 4], &[], Ok(12));
        check("Softmax", &[&[3, 2]], &[3, 2], &[], Ok(30));
        check("L2Loss", &[&[3, 2]], &[1], &[], Ok(17));
        check("Mean", &[image, &[2]], &[2, 3], &[], Ok(384));
        check("Sum", &[image, &[2]], &[2, 3], &[], Ok(378));
        check("AvgPool", &[image], &[2, 4, 4, 3], &[nhwc(), ksize()], Ok(384));
        check("AvgPoolGrad", &[&[4], &[2, 4, 4, 3]], image, &[nhwc(), ksize()], Ok(768));
        check("MaxPoolGrad", &[image, &[2, 4, 4, 3], &[2, 4, 4, 3]], image, &[nhwc(), ksize()], Ok(480));
        check("Conv2D", &[image, &[3, 3, 3, 4]], &[2, 6, 6, 4], &[], Ok(15552));
        check("Conv3D", &[&[1, 4, 4, 4, 2], &[2, 2, 2, 2, 3]], &[1, 3, 3, 3, 3], &[], Ok(2592));
        check("DepthwiseConv2dNative", &[&[1, 4, 4, 2], &[2, 2, 2, 3]], &[1, 3, 3, 6], &[], Ok(432));
        check("Dilation2D", &[&[1, 4, 4, 2], &[2, 2, 2]], &[1, 3, 3, 2], &[], Ok(144));
        let same = [&[4][..], &[3, 3, 3, 4], &[2, 4, 4, 4]];
        check("Conv2DBackpropInput", &same, image, &[nhwc(), strides()], Ok(6912));
        check("Conv2DBackpropInput", &same, &[2, 9, 9, 3], &[nhwc(), strides()], Ok(8748));
        check("Conv2DBackpropFilter", &[image, &[4], &[2, 4, 4, 4]], &[3, 3, 3, 4], &[nhwc(), strides()], Ok(6912));
        check("AddN", &[&[2, 3], &[2, 3], &[2, 3], &[2, 3]], &[2, 3], &[], Ok(18));
        check("MatMul", &[&[3, 2], &[3, 4]], &[2, 4], &[("transpose_a", vec![0x28, 1])], Ok(48));
        check("BatchMatMulV2", &[&[5, 2, 3], &[5, 3, 4]], &[5, 2, 4], &[], Ok(240));
    }

    #[test]
    fn what_is_not_known_is_said() {
        check("Add", &[], &[-1, 3], &[], Err(Unknown::Shape));
        check("Square", &[&[]], &[4], &[], Err(Unknown::Shape));
        check("Square", &[], &[4], &[], Err(Unknown::Malformed));
        check("MaxPool", &[&[1, 2, 2, 1]], &[1, 1, 1, 1], &[], Err(Unknown::DataFormat));
        check("Conv2D", &[&[1, 8], &[3]], &[1, 6], &[], Err(Unknown::Malformed));
    }
}
