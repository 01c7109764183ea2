//! Saved profiles, to the byte after both are brought into canonical form.

use crate::case::{Case, Verdict, read_maybe_gzipped};
use tfprof::internal::format::profile;
use tfprof::{Profiler, Quirks};
use tfprof_proto::wire::{Fields, Value};
use tfprof_proto::{canonical, schema};

pub fn compare(case: &Case<'_>, profiler: &Profiler) -> Verdict {
    let expect = &case.case["expect"];
    if expect["exit"] != 0 {
        return Verdict::OursAlone;
    }
    let mut ours = Vec::new();
    profile::write(profiler.model(), Quirks::ORIGINAL, &mut ours).expect("memory takes all");
    // An empty message is no file.
    let golden = expect["proto"].as_str().map(|path| read_maybe_gzipped(&case.dir.join(path)).expect("a golden file"));
    let mut sorted = Vec::new();
    canonical::encode(&schema::PROFILE, &golden.unwrap_or_default(), &mut sorted);
    if ours == sorted {
        return Verdict::Same;
    }
    let (golden, ours) = (lines(&sorted), lines(&ours));
    let place = golden.iter().zip(&ours).position(|(a, b)| a != b).unwrap_or(golden.len().min(ours.len()));
    let show = |lines: &[String]| lines.get(place).cloned().unwrap_or_default();
    Verdict::Different(format!("record {place}\n    expected {}\n    found    {}", show(&golden), show(&ours)))
}

/// The fields of a message in a form that a person can compare.
fn lines(bytes: &[u8]) -> Vec<String> {
    let mut fields = Fields::new(bytes, 0);
    let mut lines = Vec::new();
    while let Some(field) = fields.next_field().expect("a valid message") {
        lines.push(match field.value {
            Value::Bytes(bytes) => format!("{}: {}", field.number, bytes.escape_ascii()),
            value => format!("{}: {value:?}", field.number),
        });
    }
    lines
}
