//! Chrome traces, to the byte.

use crate::case::{Case, Verdict, first_difference, read_maybe_gzipped};
use tfprof::internal::trace::{OpTime, Step, Trace, TraceOptions};
use tfprof::internal::words::Choice;

pub fn compare(case: &Case<'_>) -> Verdict {
    let expect = &case.case["expect"];
    let Some(golden) = expect["chrome"].as_str() else { return Verdict::OursAlone };
    let golden = read_maybe_gzipped(&case.dir.join(golden)).expect("a golden file");
    let given = &case.case["options"];
    let default = TraceOptions::default();
    let options = TraceOptions {
        show_dataflow: given["show_dataflow"].as_bool().unwrap_or(default.show_dataflow),
        show_memory: given["show_memory"].as_bool().unwrap_or(default.show_memory),
        op_time: given["op_time"]
            .as_str()
            .map_or(default.op_time, |word| OpTime::from_word(word).expect("a known time")),
    };
    // As the original: of several runs, the first.
    let file = case.case["inputs"]["run_meta"][0]["file"].as_str().unwrap_or_default().to_owned();
    let open = || case.source(&file);
    let trace = match Trace::new(vec![Step { step: 0, open: Box::new(open) }], options) {
        Ok(trace) => trace,
        Err(error) => return Verdict::Different(format!("refused: {error}")),
    };
    let mut ours = Vec::new();
    trace.write(&mut ours).expect("memory takes all");
    if ours == golden { Verdict::Same } else { Verdict::Different(first_difference(&golden, &ours)) }
}
