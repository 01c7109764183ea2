//! ONNX models (`.onnx`): a `ModelProto` is read at its offsets, so that weights are skipped, and lowered to ops that rules
//! and formulas know.

mod graph;
mod lower;
mod wire;

use super::{ModelFile, lowered};
use crate::error::{Error, Location};
use crate::model::builder::Builder;
use crate::model::dialects::onnx::ONNX;
use crate::words::cut;
use graph::{FunctionDef, Reader, Shared};
use std::io;
use tfprof_proto::stream::Spot;
use tfprof_proto::window::{ByteRange, Head};
use tfprof_proto::wire::{Fields, Value};
use wire::{Attribute, OnnxFile};

/// Reads a model.
pub fn read(file: &ModelFile, builder: &mut Builder) -> Result<(), Error> {
    if builder.program.settings.signature.is_some() {
        builder.warn("no_signatures", None, || "an ONNX model has no signatures; all of it counts".to_owned());
    }
    let mut walk = OnnxFile::new(file);
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
    lowered::store(builder, lowered, &ONNX);
    Ok(())
}

/// The lowered graph and the number of its nodes; `None` if there is none.
fn read_model(walk: &mut OnnxFile<'_>) -> io::Result<Option<(crate::model::lowered::Lowered, usize)>> {
    let mut shared = Shared::default();
    let mut graph = None;
    let (mut about, mut properties) = (ModelDescription::default(), Vec::new());
    for (number, head) in walk.fields(walk.file.bytes.whole())? {
        if let (1, Head::Varint(version)) = (number, head) {
            about.version = Some(version);
        }
        let Head::Message(span) = head else { continue };
        match number {
            2 => about.producer = walk.text(span)?,
            3 => about.producer_version = walk.text(span)?,
            14 => properties.push(property(walk, span)?),
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
    let (mut lowered, nodes) = (std::mem::take(&mut reader.lowered), reader.nodes);
    lowered.stated = about.stated(&shared, &properties);
    Ok((!lowered.graph.is_empty()).then_some((lowered, nodes)))
}

/// The description of a model in its file.
#[derive(Default)]
struct ModelDescription {
    version: Option<u64>,
    producer: String,
    producer_version: String,
}

impl ModelDescription {
    fn stated(self, shared: &Shared, properties: &[(String, String)]) -> Vec<(&'static str, String)> {
        let mut stated = Vec::new();
        if !self.producer.is_empty() {
            stated.push(("producer", format!("{} {}", self.producer, self.producer_version).trim_end().to_owned()));
        }
        let mut sets: Vec<String> = shared
            .versions
            .iter()
            .map(|(domain, version)| format!("{} {version}", if domain.is_empty() { "ai.onnx" } else { domain }))
            .collect();
        sets.sort_unstable();
        let format = self.version.map(|version| format!("version {version}, ")).unwrap_or_default();
        let functions = shared.functions.len();
        let functions = if functions > 0 { format!("; {functions} functions") } else { String::new() };
        stated.push(("ONNX", format!("{format}op sets {}{functions}", sets.join(", "))));
        if !properties.is_empty() {
            let shown = properties.iter().take(MOST_PROPERTIES).map(|(key, value)| format!("{key}={}", cut(value)));
            let more = properties.len().saturating_sub(MOST_PROPERTIES);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            stated.push(("metadata", shown.collect::<Vec<_>>().join(", ") + &more));
        }
        stated
    }
}

/// The maximum number of metadata entries in an overview.
const MOST_PROPERTIES: usize = 8;

/// A `StringStringEntryProto`.
fn property(walk: &mut OnnxFile<'_>, span: ByteRange) -> io::Result<(String, String)> {
    let (mut key, mut value) = (String::new(), String::new());
    for (number, head) in walk.fields(span)? {
        match (number, head) {
            (1, Head::Message(span)) => key = walk.text(span)?,
            (2, Head::Message(span)) => value = walk.text(span)?,
            _ => {}
        }
    }
    Ok((key, value))
}

/// A `FunctionProto`.
fn read_function(walk: &mut OnnxFile<'_>, span: ByteRange, shared: &mut Shared) -> io::Result<()> {
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
        // The graph extends beyond the head.
        None => head.get(2) == Some(&0x3a),
        _ => false,
    }
}
