//! Timelines and pprof profiles against the original's, by content: JSON values, and profiles field by field.

use crate::case::read_maybe_gzipped;
use serde_json::Value;
use std::path::Path;
use tfprof::{Dress, Error, Options, Profiler, Question, ViewKind};
use tfprof_proto::wire::{Fields, Value as WireValue};

/// Writes all files of a question and compares each with the golden of its name; `Some` says what differs.
pub fn compare(
    dir: &Path,
    expect: &Value,
    profiler: &Profiler,
    kind: ViewKind,
    options: &Options,
) -> Result<Option<String>, Error> {
    let mut written = Vec::new();
    let mut difference = None;
    profiler.ask(&Question::new(kind, options))?.each_part(|part| {
        let mut file = Vec::new();
        part.write(&Dress::PLAIN, &mut file).expect("memory takes all");
        let timeline = options.output.form == "timeline";
        let key = match part.file.strip_prefix(&options.output.outfile) {
            Some(step) if timeline => format!("timeline{}", step.replacen('_', ":", 1)),
            _ => options.output.form.clone(),
        };
        if let Some(path) = expect[&key].as_str() {
            let golden = read_maybe_gzipped(&dir.join(path)).expect("a golden file");
            let found = if timeline { compare_json(&golden, &file) } else { compare_pprof(&golden, &file) };
            difference = difference.take().or(found.map(|found| format!("{key}: {found}")));
        }
        written.push(key);
        Ok::<(), Error>(())
    })?;
    if difference.is_some() {
        return Ok(difference);
    }
    let goldens = files(expect);
    if expect["exit"] == 0 && goldens.len() != written.len() {
        return Ok(Some(format!("wrote {written:?} instead of {goldens:?}")));
    }
    Ok(None)
}

/// The timelines and profiles that a case expects.
pub fn files(expect: &Value) -> Vec<String> {
    let keys = expect.as_object().into_iter().flatten().map(|(key, _)| key.clone());
    keys.filter(|key| key == "pprof" || key.starts_with("timeline:")).collect()
}

fn compare_json(golden: &[u8], ours: &[u8]) -> Option<String> {
    let parse = |bytes: &[u8]| serde_json::from_slice::<Value>(bytes);
    let golden = parse(golden).expect("a golden of JSON");
    let ours = match parse(ours) {
        Ok(ours) => ours,
        Err(error) => return Some(format!("not JSON: {error}")),
    };
    if golden == ours {
        return None;
    }
    let (golden, ours) = (&golden["traceEvents"], &ours["traceEvents"]);
    for i in 0.. {
        match (golden.get(i), ours.get(i)) {
            (None, None) => break,
            (a, b) if a != b => return Some(format!("event {i}\n    expected {a:?}\n    found    {b:?}")),
            _ => {}
        }
    }
    Some("not in its events".to_owned())
}

fn compare_pprof(golden: &[u8], ours: &[u8]) -> Option<String> {
    let mut plain = Vec::new();
    std::io::Read::read_to_end(&mut flate2::read::GzDecoder::new(ours), &mut plain).expect("gzip");
    let (golden, ours) = (without_comment(golden), without_comment(&plain));
    let place = golden.iter().zip(&ours).position(|(a, b)| a != b);
    match place {
        Some(i) => Some(format!("field {i}\n    expected {:?}\n    found    {:?}", golden[i], ours[i])),
        None if golden.len() != ours.len() => Some(format!("{} fields instead of {}", ours.len(), golden.len())),
        None => None,
    }
}

/// The fields of a profile, with the text of its comment left out.
fn without_comment(bytes: &[u8]) -> Vec<(u32, Vec<u8>)> {
    let mut all = Vec::new();
    let mut comment = None;
    let mut fields = Fields::new(bytes, 0);
    while let Some(field) = fields.next_field().expect("a valid profile") {
        let content = match field.value {
            WireValue::Bytes(bytes) => bytes.to_vec(),
            WireValue::Varint(n) => n.to_le_bytes().to_vec(),
            value => panic!("field {} is {value:?}", field.number),
        };
        if field.number == 13 {
            tfprof_proto::wire::each_int(field.value, |n| comment = Some(n as usize)).expect("a valid profile");
        }
        all.push((field.number, content));
    }
    let strings = all.iter_mut().filter(|(number, _)| *number == 6);
    if let (Some(comment), mut strings) = (comment, strings) {
        strings.nth(comment).expect("the text of the comment").1.clear();
    }
    all
}
