//! Advice: the same checkers and reports as the original, apart from two sentences of our own.

use crate::case::{Case, Verdict, read_maybe_gzipped};
use tfprof::internal::report::advise;
use tfprof::{Error, Profiler, Quirks};
use tfprof_proto::wire::Fields;

type Reports = Vec<(String, Vec<String>)>;

pub fn compare(case: &Case<'_>, profiler: &Profiler) -> Result<Verdict, Error> {
    let expect = &case.case["expect"];
    let names: Vec<String> =
        case.case["options"].as_object().into_iter().flatten().map(|(name, _)| name.clone()).collect();
    let advice = profiler.advise(&names, Quirks::ORIGINAL)?;
    if expect["exit"] != 0 {
        return Ok(Verdict::OursAlone);
    }
    let mut ours = Vec::new();
    advise::write_proto(&advice, Quirks::ORIGINAL, &mut ours).expect("memory takes all");
    let golden = expect["proto"].as_str().map(|path| read_maybe_gzipped(&case.dir.join(path)).expect("a golden file"));
    let (golden, ours) = (reports(&golden.unwrap_or_default()), reports(&ours));
    if golden == ours {
        return Ok(Verdict::Same);
    }
    let different = golden.iter().zip(&ours).find(|(a, b)| a != b);
    Ok(Verdict::Different(format!("{different:#?}, {} checkers instead of {}", ours.len(), golden.len())))
}

/// The reports of each checker, by name; the two sentences by the words that both wordings share.
fn reports(bytes: &[u8]) -> Reports {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let mut checkers = Vec::new();
    let mut entries = Fields::new(bytes, 0);
    while let Some(entry) = entries.next_field().expect("a valid message") {
        let (mut name, mut reports) = (String::new(), Vec::new());
        let mut halves = Fields::new(entry.value.bytes().expect("a message"), 0);
        while let Some(half) = halves.next_field().expect("a valid message") {
            let half_bytes = half.value.bytes().expect("a string or a message");
            if half.number == 1 {
                name = text(half_bytes);
                continue;
            }
            let mut fields = Fields::new(half_bytes, 0);
            while let Some(report) = fields.next_field().expect("a valid message") {
                reports.push(text(report.value.bytes().expect("a string")));
            }
        }
        if name == "OperationChecker" {
            reports.iter_mut().for_each(|report| {
                let shared = ["FusedBatchNorm", "NHWC"].into_iter().find(|word| report.contains(word));
                shared.unwrap_or("?").clone_into(report);
            });
        }
        checkers.push((name, reports));
    }
    checkers.sort();
    checkers
}
