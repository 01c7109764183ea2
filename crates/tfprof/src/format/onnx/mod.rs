//! ONNX models (`.onnx`): a `ModelProto` is read at its offsets, so that weights are skipped, and lowered to ops that rules
//! and formulas know.

mod graph;
mod lower;
mod wire;

use super::{ModelFile, lowered};
use crate::error::{Error, Location};
use crate::model::builder::Builder;
use graph::{FunctionDef, Reader, Shared};
use std::io;
use tfprof_proto::stream::Spot;
use tfprof_proto::window::{ByteRange, Head};
use tfprof_proto::wire::{Fields, Value};
use wire::{Attribute, Walk};

/// Reads a model.
pub fn read(file: &ModelFile, builder: &mut Builder) -> Result<(), Error> {
    if builder.program.settings.signature.is_some() {
        builder.warn("no_signatures", None, || "an ONNX model has no signatures; all of it counts".to_owned());
    }
    let mut walk = Walk::new(file);
    let found =
        read_model(&mut walk).map_err(|source| Error::Io { file: file.name.clone(), action: "cannot read", source })?;
    let damage = walk.damage.take();
    let Some((lowered, nodes)) = found else {
        let spot = damage.as_ref().map(|damage| Spot::Byte(damage.offset));
        let why = damage.map_or("it has no graph".to_owned(), |damage| damage.what);
        let location = Location { file: file.name.clone(), spot };
        return Err(Error::Input { location, message: format!("not an ONNX model: {why}") });
    };
    if let Some(damage) = damage {
        let message = format!("{}; the answer is about the {nodes} nodes before it", damage.what);
        builder.warn_damage("damaged", Some(Spot::Byte(damage.offset)), message);
    }
    lowered::store(builder, lowered);
    Ok(())
}

/// The lowered graph and the number of its nodes; `None` if there is none.
fn read_model(walk: &mut Walk<'_>) -> io::Result<Option<(crate::model::lowered::Lowered, usize)>> {
    let mut shared = Shared::default();
    let mut graph = None;
    for (number, head) in walk.fields(walk.file.bytes.whole())? {
        let Head::Message(span) = head else { continue };
        match number {
            7 => graph = Some(span),
            8 => {
                let (mut domain, mut version) = (String::new(), 0);
                for (number, head) in walk.fields(span)? {
                    match (number, head) {
                        (1, Head::Message(span)) => domain = walk.text(span)?,
                        (2, Head::Varint(n)) => version = n as i64,
                        _ => {}
                    }
                }
                shared.versions.insert(if domain == "ai.onnx" { String::new() } else { domain }, version);
            }
            25 => read_function(walk, span, &mut shared)?,
            _ => {}
        }
    }
    let Some(graph) = graph else { return Ok(None) };
    let mut reader = Reader::new(walk, &shared);
    reader.read(graph)?;
    let (lowered, nodes) = (std::mem::take(&mut reader.lowered), reader.nodes);
    Ok((!lowered.graph.is_empty()).then_some((lowered, nodes)))
}

/// A `FunctionProto`.
fn read_function(walk: &mut Walk<'_>, span: ByteRange, shared: &mut Shared) -> io::Result<()> {
    let (mut name, mut domain) = (String::new(), String::new());
    let mut function = FunctionDef::default();
    for (number, head) in walk.fields(span)? {
        let Head::Message(span) = head else { continue };
        match number {
            1 => name = walk.text(span)?,
            4 => function.inputs.push(walk.text(span)?),
            5 => function.outputs.push(walk.text(span)?),
            7 => function.nodes.push(span),
            10 => domain = walk.text(span)?,
            11 => function.defaults.push(Attribute::read(walk, span)?),
            _ => {}
        }
    }
    shared.functions.entry((domain, name)).or_insert(function);
    Ok(())
}

/// A `ModelProto` starts with the version of its format, then its producer, its op sets or its graph.
pub fn recognizes(head: &[u8]) -> bool {
    let mut fields = Fields::new(head, 0);
    let mut next = || fields.next_field().ok().flatten().map(|field| (field.number, field.value));
    if !matches!(next(), Some((1, Value::Varint(1..=100)))) {
        return false;
    }
    let is_word = |text: &[u8]| !text.is_empty() && text.iter().all(|byte| matches!(byte, b' '..=b'~'));
    match next() {
        Some((2, Value::Bytes(producer))) => is_word(producer),
        Some((7 | 8, Value::Bytes(_))) => true,
        // A graph that is longer than the head.
        None => head.get(2) == Some(&0x3a),
        _ => false,
    }
}
