//! Requests of any parameters to the page's server, about made profiles: JSON or bytes, or a problem with a sentence.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tfprof::{Inputs, Keep};
use tfprof_fuzz::answers::{Files, check_json};
use tfprof_fuzz::{Make, budgeted};
use tfprof_server::reply::Body;
use tfprof_server::{Command, Setup, Site};

const ROUTES: &[&str] = &[
    "meta", "overview", "rows", "path", "all", "find", "flame", "lists", "node", "timeline", "tile", "names", "at", "range", "events", "memory",
    "code", "graph", "query", "roofline", "compare", "changes",
];
const KEYS: &[&str] = &[
    "view", "metric", "metrics", "step", "id", "name", "node", "parent", "from", "to", "start", "end", "width", "lane", "level", "tile", "q",
    "sort", "page", "limit", "depth", "file", "line", "warm", "show", "root", "at", "min", "max", "x", "group_by", "events", "offset", "count",
];
const VALUES: &[&str] = &[
    "scope", "graph", "op", "code", "micros", "bytes", "params", "float_ops", "occurrence", "all", "-1", "0", "1", "7", "18446744073709551615",
    "9223372036854775807", "-9223372036854775808", "1e308", "NaN", "", "true", ".*", "(", "a{1000}{1000}", "../../etc/passwd", "%00", "%ff", "%",
];

fuzz_target!(|bytes: &[u8]| {
    let Some((choices, bytes)) = bytes.split_at_checked(40) else { return };
    let files = Files::made(bytes);
    let mut make = Make::new(choices);
    budgeted(files.size(), || {
        let profiler = files.load(Keep::EVERYTHING)?;
        let command = Command { program: "tfprof".to_owned(), inputs: Vec::new(), python: String::new() };
        let setup = Setup { command, source_root: std::env::temp_dir(), defaults: Vec::new() };
        let site = Site::new(profiler, Inputs::default(), setup)?;
        for _ in 0..3 {
            let mut key = make.pick(ROUTES).to_owned() + "?";
            for _ in 0..make.below(6) {
                let value = if make.once_in(8) { String::from_utf8_lossy(&make.name()).into_owned() } else { make.pick(VALUES).to_owned() };
                key += &format!("{}={value}&", make.pick(KEYS));
            }
            if let Body::Json(json) = site.answer(key.trim_end_matches(['?', '&'])).body {
                check_json(&json);
            }
        }
        Ok(())
    });
});
