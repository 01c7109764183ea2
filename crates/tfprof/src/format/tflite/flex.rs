//! Ops of TensorFlow in a TensorFlow Lite model (`FlexTensorListStack`): the custom options are a `FlexBuffer` with the name
//! of the op and its `NodeDef`, whose attributes rules and formulas know. Every offset is checked.

use crate::words::lossy;
use tfprof_proto::node_def::NodeDecoder;

/// An op of TensorFlow: its name, and its attributes as they are encoded.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct FlexOp {
    pub op: String,
    pub attributes: Vec<(String, Vec<u8>)>,
}

impl FlexOp {
    /// Reads the options of an op. Without its `NodeDef`, the op has no attributes.
    pub fn read(op: &str, options: &[u8]) -> FlexOp {
        let mut read = FlexOp { op: op.to_owned(), attributes: Vec::new() };
        let Some(node) = second_text(options) else { return read };
        NodeDecoder::default().decode(node, 0, |node| {
            if let Some(own) = Some(lossy(node.op)).filter(|own| !own.is_empty()) {
                read.op = own.into_owned();
            }
            let attribute = |key: &[u8], value: &[u8]| (lossy(key).into_owned(), value.to_vec());
            let known = node.attributes.iter().filter_map(|own| Some(attribute(own.key, own.value?)));
            read.attributes = known.collect();
        });
        read
    }
}

/// The second text of a vector of texts, which is the root of a `FlexBuffer`.
fn second_text(bytes: &[u8]) -> Option<&[u8]> {
    // The end: the root, its type, and the width of the root.
    let width = usize::from(*bytes.last()?);
    let root_type = *bytes.get(bytes.len().checked_sub(2)?)?;
    let root = bytes.len().checked_sub(2)?.checked_sub(width)?;
    let vector = root.checked_sub(unsigned(bytes, root, width)?)?;
    let width = 1_usize << (root_type & 3);
    let count = unsigned(bytes, vector.checked_sub(width)?, width)?;
    if count < 2 {
        return None;
    }
    let place = vector.checked_add(width)?;
    let text = place.checked_sub(unsigned(bytes, place, width)?)?;
    let types = vector.checked_add(count.checked_mul(width)?)?;
    let width = 1_usize << (bytes.get(types.checked_add(1)?)? & 3);
    let length = unsigned(bytes, text.checked_sub(width)?, width)?;
    bytes.get(text..text.checked_add(length)?)
}

/// A number of one, two, four or eight bytes.
fn unsigned(bytes: &[u8], at: usize, width: usize) -> Option<usize> {
    let number = bytes.get(at..at.checked_add(width)?)?;
    if !matches!(width, 1 | 2 | 4 | 8) {
        return None;
    }
    let number = number.iter().rev().fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
    usize::try_from(number).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As the converter writes `["Elu", NodeDef { op: "Elu", attr: { "T": type 1 } }]`.
    fn options() -> Vec<u8> {
        let node = b"\x12\x03Elu\x2a\x07\x0a\x01T\x12\x02\x30\x01";
        let mut bytes = b"\x03Elu\0".to_vec();
        let name = 1;
        bytes.push(node.len() as u8);
        let text = bytes.len();
        bytes.extend_from_slice(node);
        bytes.push(0);
        // Two texts: their number, where they are, and their types.
        bytes.push(2);
        let vector = bytes.len();
        bytes.extend([(vector - name) as u8, (vector + 1 - text) as u8, 5 << 2, 5 << 2]);
        bytes.extend([(bytes.len() - vector) as u8, 10 << 2, 1]);
        bytes
    }

    #[test]
    fn attributes_come_from_the_node_of_tensorflow() {
        let read = FlexOp::read("Elu", &options());
        assert_eq!(read, FlexOp { op: "Elu".to_owned(), attributes: vec![("T".to_owned(), vec![0x30, 1])] });
    }

    #[test]
    fn damaged_options_leave_an_op_without_attributes() {
        let whole = options();
        for cut in 0..whole.len() {
            assert_eq!(FlexOp::read("Elu", &whole[..cut]).op, "Elu");
        }
        for at in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[at] = 0xff;
            FlexOp::read("Elu", &damaged);
        }
    }
}
