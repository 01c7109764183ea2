//! Properties of any text.

use crate::support::{Dribble, GRAPH, dump, read, read_graph};
use proptest::prelude::*;
use tfprof_proto::schema::{self, Kind, Message};
use tfprof_proto::write;

/// Pieces that texts are made of, right or wrong.
fn pieces() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("node {"),
        Just("}"),
        Just("<"),
        Just(">"),
        Just("["),
        Just("]"),
        Just(","),
        Just(";"),
        Just(":"),
        Just(" name: "),
        Just("'a'"),
        Just("\"b\\n\""),
        Just("\""),
        Just("'"),
        Just("\\"),
        Just("#"),
        Just("\n"),
        Just(" attr {"),
        Just("key: 'k' "),
        Just("value { "),
        Just("i: 5 "),
        Just("-"),
        Just("1e"),
        Just("0x"),
        Just("tensor {"),
        Just("float_val: "),
        Just("inf"),
        Just("1.5"),
        Just("type: "),
        Just("DT_INT32 "),
        Just("library {"),
        Just("function {"),
        Just("node_def {"),
        Just("debug_info {"),
        Just("unknown: "),
        Just("[x.y/Z]"),
        Just("\u{e4}"),
        Just("\0"),
        Just("shape { dim { size: 3 } }"),
        Just("list { i: [1, 2] }"),
    ];
    proptest::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

/// A message in wire format and one of its spellings, both made of the same choices.
fn spell(message: &Message, choices: &mut impl Iterator<Item = u8>, depth: u32, wire: &mut Vec<u8>, text: &mut String) {
    let fields = choices.next().unwrap_or(0) % 4;
    for _ in 0..fields {
        let pick = usize::from(choices.next().unwrap_or(0)) % message.fields.len();
        let field = &message.fields[pick];
        let (style, seed) = (choices.next().unwrap_or(0), choices.next().unwrap_or(0));
        text.push_str(["", " ", "\n  ", " # a \"comment\"\n"][usize::from(style & 3)]);
        text.push_str(field.name);
        text.push_str(if style & 4 == 0 { ":" } else { " : " });
        let mut number = |value: i64, spelled: &str| {
            write::key(wire, field.number, 0);
            write::varint(wire, value as u64);
            text.push_str(spelled);
        };
        match field.kind {
            Kind::Message(inner) => {
                let mut bytes = Vec::new();
                text.push_str(if style & 8 == 0 { "{" } else { "<" });
                if depth > 0 {
                    spell(inner, choices, depth - 1, &mut bytes, text);
                }
                text.push_str(if style & 8 == 0 { "}" } else { ">" });
                write::element(wire, field.number, &bytes);
            }
            Kind::String | Kind::Bytes => {
                let bytes: Vec<u8> = choices.take(usize::from(seed % 40)).collect();
                write::element(wire, field.number, &bytes);
                let (head, tail) = bytes.split_at(bytes.len() / 2);
                let quote = if style & 16 == 0 { '"' } else { '\'' };
                for part in [head, tail] {
                    text.push(quote);
                    text.extend(part.iter().map(|byte| format!("\\{byte:03o}")));
                    text.push(quote);
                }
            }
            Kind::Bool => number(i64::from(seed & 1), if seed & 1 == 1 { "true" } else { "false" }),
            Kind::Enum(values) => {
                let (name, value) = values[usize::from(seed) % values.len()];
                number(i64::from(value), if style & 32 == 0 { name } else { "0x0" });
                if style & 32 != 0 {
                    *wire = wire[..wire.len() - write::varint_len(i64::from(value) as u64)].to_vec();
                    wire.push(0);
                }
            }
            Kind::Int32 | Kind::Int64 => {
                let value = i64::from(seed as i8) * 1_000_003;
                number(value, &value.to_string());
            }
            Kind::Uint32 | Kind::Uint64 => number(i64::from(seed), &format!("{seed:#x}")),
            Kind::Sint64 => number(i64::from(seed) * 2, &seed.to_string()),
            Kind::Fixed64 => {
                write::key(wire, field.number, 1);
                wire.extend(u64::from(seed).to_le_bytes());
                text.push_str(&seed.to_string());
            }
            Kind::Float => {
                let value = f32::from(seed) / 3.0;
                write::key(wire, field.number, 5);
                wire.extend(value.to_le_bytes());
                text.extend([format!("{value:?}f")]);
            }
            Kind::Double => {
                let value = f64::from(seed) / 3e10;
                write::key(wire, field.number, 1);
                wire.extend(value.to_le_bytes());
                text.extend([format!("{value:e}")]);
            }
        }
        text.push_str([" ", ", ", ";", "\n"][usize::from(style >> 6)]);
    }
}

proptest! {
    #[test]
    fn any_bytes_end_without_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        read_graph(&bytes);
    }

    #[test]
    fn any_pieces_end_without_a_panic_wherever_the_window_ends(text in pieces(), step in 1_usize..8) {
        let whole = read_graph(&text);
        let dribbled = read(&mut Dribble(text.as_bytes(), step), &schema::GRAPH_DEF, &GRAPH);
        prop_assert_eq!(whole, dribbled);
    }

    #[test]
    fn printed_messages_are_read_back(choices in proptest::collection::vec(any::<u8>(), 0..600), step in 1_usize..8) {
        let node = &schema::NODE_DEF;
        let (mut wire, mut text) = (Vec::new(), String::from("node {"));
        spell(node, &mut choices.into_iter(), 6, &mut wire, &mut text);
        text.push('}');
        let expected = format!("1 {{{}}}", dump(node, &wire));
        let log = read_graph(&text);
        prop_assert_eq!(&log.error, &None, "{}", text);
        prop_assert_eq!(&log.records, &[expected], "{}", text);
        prop_assert_eq!(log, read(&mut Dribble(text.as_bytes(), step), &schema::GRAPH_DEF, &GRAPH));
    }

    #[test]
    fn cut_messages_stay_well_formed(choices in proptest::collection::vec(any::<u8>(), 0..300), cut: u16) {
        let (mut wire, mut text) = (Vec::new(), String::from("node {"));
        spell(&schema::NODE_DEF, &mut choices.into_iter(), 6, &mut wire, &mut text);
        text.truncate(usize::from(cut) % text.len());
        // `dump` panics on a record that is not.
        read_graph(&text);
    }
}
