//! Fills any message of TensorFlow's schema.

use crate::make::{Make, message, number, text};
use tfprof_proto::schema::{Kind, Message};
use tfprof_proto::write;

/// How deep messages nest before they stay empty.
const DEPTH: usize = 12;

/// A message of this kind as bytes.
pub fn any(kind: &'static Message, make: &mut Make<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    fill(kind, make, &mut out, 0);
    out
}

fn fill(kind: &'static Message, make: &mut Make<'_>, out: &mut Vec<u8>, depth: usize) {
    // At the top as many fields as there are bytes, below only a few.
    let most = if depth == 0 { usize::MAX } else { 1 + make.below(8) };
    for _ in 0..most {
        if !make.goes_on() || kind.fields.is_empty() {
            return;
        }
        let field = &kind.fields[make.below(kind.fields.len())];
        make.repeat(out, |make, out| match field.kind {
            Kind::Message(inner) if depth < DEPTH => message(out, field.number, |out| fill(inner, make, out, depth + 1)),
            Kind::Message(_) => {}
            Kind::String | Kind::Bytes => text(out, field.number, make.name()),
            Kind::Enum(values) => number(out, field.number, if values.is_empty() { 0 } else { i64::from(make.pick(values).1) }),
            Kind::Bool => number(out, field.number, make.small() & 1),
            Kind::Float => {
                write::key(out, field.number, 5);
                out.extend((make.number() as f32).to_le_bytes());
            }
            Kind::Double | Kind::Fixed64 => {
                write::key(out, field.number, 1);
                out.extend(make.number().to_le_bytes());
            }
            Kind::Int32 | Kind::Int64 | Kind::Uint32 | Kind::Uint64 | Kind::Sint64 => {
                number(out, field.number, make.number());
            }
        });
    }
}
