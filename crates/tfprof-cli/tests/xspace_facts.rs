//! Every profile of the corpus against its `facts.json`, which a slow second reader wrote: what JSON says of ops, types,
//! steps, calls and lines of source must be the same to the picosecond.

use crate::common::{corpus, scratch, tfprof, tfprof_with};
use serde_json::Value;
use std::collections::BTreeMap;

/// Runs, time with what lies within, and own time, in picoseconds.
type Sums = (i64, i64, i64);

fn json(words: &[&str]) -> Value {
    let answer = tfprof(&[words, &["-output", "json:outfile=-"]].concat());
    assert!(matches!(answer.code, 0 | 4), "{words:?}: {} {}", answer.code, answer.err);
    serde_json::from_str(&answer.out).unwrap_or_else(|error| panic!("{words:?}: {error}"))
}

/// Microseconds of JSON as picoseconds. They are decimal and below 2^53 parts, so nothing is lost.
fn picos(value: &Value) -> i64 {
    (value.as_f64().unwrap_or_else(|| panic!("a number, found {value}")) * 1e6).round() as i64
}

fn int(value: &Value) -> i64 {
    value.as_i64().unwrap_or_else(|| panic!("a whole number, found {value}"))
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("a text, found {value}"))
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn sums(facts: &Value) -> Sums {
    let count = facts.get("occurrences").or_else(|| facts.get("calls")).expect("a count");
    (int(count), int(&facts["total_ps"]), int(&facts["self_ps"]))
}

/// The figures of a program by device and op.
fn ops(view: &Value) -> BTreeMap<(String, String, String), Sums> {
    let mut ops = BTreeMap::new();
    for row in list(&view["rows"]) {
        let devices: Vec<_> = list(&row["devices"]).iter().map(text).collect();
        let types = list(&row["op_types"]).iter().map(text);
        let types: Vec<_> = types.filter(|ty| !devices.contains(ty)).collect();
        for on in list(&row["by_device"]) {
            let numbers = (int(&on["runs"]), picos(&on["inclusive_micros"]), picos(&on["micros"]));
            let key = (text(&on["device"]).to_owned(), text(&row["name"]).to_owned(), types.join("|"));
            assert_eq!(ops.insert(key, numbers), None);
        }
    }
    ops
}

fn check_ops(path: &str, facts: &Value, distinct: &Value) {
    let words = ["scope", path, "-step", "all", "-select", "micros,occurrence,device,op_types"];
    let view = json(&[&words[..], &["-ops_only", "-max_depth", "1000000"]].concat());
    let found = ops(&view);
    for row in list(facts) {
        let kind = text(&row["type"]);
        let name = text(&row["name"]);
        let name = if kind == "Dataset" { name.replace("::", "/") } else { name.to_owned() };
        let matches = |(device, found, types): &(String, String, String)| {
            device == text(&row["device"]) && *found == name && types.split('|').any(|ty| ty == kind)
        };
        let numbers: Vec<_> = found.iter().filter(|(key, _)| matches(key)).map(|(_, numbers)| *numbers).collect();
        assert_eq!(numbers, [sums(row)], "{path}: {row}");
    }
    assert_eq!(found.len() as i64, int(distinct), "{path}: how many ops there are");
    // Own time of all rows is the total of the root, and so it is in every other view of ops.
    let root = picos(&view["rows"][0]["total"]["micros"]);
    assert_eq!(found.values().map(|(.., own)| own).sum::<i64>(), root, "{path}: the root");
}

fn check_types(path: &str, facts: &Value) {
    let mut expect: BTreeMap<&str, (i64, i64)> = BTreeMap::new();
    for row in list(facts) {
        let sum = expect.entry(text(&row["type"])).or_default();
        *sum = (sum.0 + int(&row["total_ps"]), sum.1 + int(&row["self_ps"]));
    }
    let view = json(&["op", path, "-step", "all", "-select", "micros", "-max_depth", "1000000"]);
    let rows = list(&view["rows"]).iter().skip(1);
    let found: BTreeMap<&str, (i64, i64)> = rows
        .map(|row| {
            let own = &row["self"];
            (text(&row["name"]), (picos(&own["inclusive_micros"]), picos(&own["micros"])))
        })
        .collect();
    assert_eq!(found, expect, "{path}: types");
}

/// The numbers of each path of a code view.
fn paths(view: &Value) -> BTreeMap<Vec<String>, Sums> {
    let rows = list(&view["rows"]);
    let mut paths: Vec<Vec<String>> = vec![Vec::new()];
    let mut found = BTreeMap::new();
    for row in &rows[1..] {
        let mut path = paths[int(&row["parent"]) as usize].clone();
        path.push(text(&row["frame"]).to_owned());
        let own = &row["self"];
        let numbers = (int(&own["runs"]), picos(&own["inclusive_micros"]), picos(&own["micros"]));
        assert_eq!(found.insert(path.clone(), numbers), None, "one row for each path");
        paths.push(path);
    }
    found
}

fn check_code(path: &str, stacks: &str, key: &str, facts: &Value) {
    let top = list(&facts["top30"]);
    let words = ["code", path, "-step", "all", "-stacks", stacks, "-select", "micros,occurrence"];
    let words = [&words[..], &["-max_depth", "1000000"]].concat();
    if top.is_empty() {
        let answer = tfprof(&words);
        assert_eq!(answer.code, 1, "{path}: {}", answer.err);
        return;
    }
    let found = paths(&json(&words));
    for row in top {
        let path_of: Vec<String> = list(&row[key]).iter().map(|frame| text(frame).to_owned()).collect();
        assert_eq!(found.get(&path_of), Some(&sums(row)), "{path}: {path_of:?}");
    }
    let own: i64 = found.values().map(|(.., own)| own).sum();
    assert_eq!(own, int(&facts["self_ps"]), "{path}: own time of {stacks}");
    if stacks == "python" {
        assert_eq!(found.len() as i64, int(&facts["paths"]), "{path}: paths");
        assert_eq!(found.values().map(|(calls, ..)| calls).sum::<i64>(), int(&facts["calls"]), "{path}: calls");
        let roots = found.iter().filter(|(path, _)| path.len() == 1).map(|(_, (_, total, _))| total);
        assert_eq!(roots.sum::<i64>(), int(&facts["root_total_ps"]), "{path}: outermost calls");
    }
}

fn check_info(name: &str, host: &Value, facts: &Value) {
    let steps = &facts["steps"];
    assert_eq!((text(&host["step_rule"]), text(&host["step_marker"])), (text(&steps["rule"]), text(&steps["marker"])));
    let expect: Vec<_> = list(&steps["list"])
        .iter()
        .map(|step| ["step", "start_ps", "duration_ps", "op_events", "op_self_ps"].map(|key| int(&step[key])))
        .collect();
    let found: Vec<_> = list(&host["steps"])
        .iter()
        .map(|step| {
            let time = |key: &str| picos(&step[key]);
            [
                int(&step["step"]),
                time("start_micros"),
                time("length_micros"),
                int(&step["op_events"]),
                time("op_micros"),
            ]
        })
        .collect();
    assert_eq!(found, expect, "{name}: steps");
    let outside = &host["outside"];
    let found = (int(&outside["op_events"]), picos(&outside["op_micros"]));
    assert_eq!(found, (int(&steps["outside"]["op_events"]), int(&steps["outside"]["op_self_ps"])), "{name}: outside");
    let kinds: BTreeMap<&str, Sums> = host["kinds"]
        .as_object()
        .expect("kinds")
        .iter()
        .map(|(kind, sums)| {
            (kind.as_str(), (int(&sums["events"]), picos(&sums["inclusive_micros"]), picos(&sums["micros"])))
        })
        .collect();
    let expect: BTreeMap<&str, Sums> = facts["kinds"]
        .as_object()
        .expect("kinds")
        .iter()
        .map(|(kind, sums)| (kind.as_str(), (int(&sums["events"]), int(&sums["total_ps"]), int(&sums["self_ps"]))))
        .collect();
    assert_eq!(kinds, expect, "{name}: kinds");
    let assigned = steps["assigned_by"].as_object().expect("how steps were found");
    for (how, count) in assigned {
        assert_eq!(host["assigned_by"][how.replace(' ', "_")], *count, "{name}: steps by {how}");
    }
    for (found, expect) in list(&host["lines"]).iter().zip(list(&facts["lines"])) {
        for key in ["plane", "id", "name", "display_name", "events", "aggregated", "deepest"] {
            assert_eq!(found[key], expect[key], "{name}: {key} of {expect}");
        }
        let (busy, top_level) = (picos(&found["busy_micros"]), picos(&found["top_level_micros"]));
        assert_eq!(top_level, int(&expect["top_level_ps"]), "{name}: {expect}");
        // Overlaps count once.
        let span = expect["last_ps"].as_i64().zip(expect["first_ps"].as_i64()).map_or(0, |(last, first)| last - first);
        assert!(busy <= top_level && busy <= span && (busy > 0) == (top_level > 0), "{name}: {found}");
        let time = |value: &Value| (!value.is_null()).then(|| picos(value));
        assert_eq!(time(&found["first_micros"]), expect["first_ps"].as_i64(), "{name}: {expect}");
        assert_eq!(time(&found["last_micros"]), expect["last_ps"].as_i64(), "{name}: {expect}");
        // Ops of a line never take longer than what runs in it, unless they overlap without one holding the other.
        let overlaps = name.ends_with("odd") && expect["name"] == "overlap";
        let alone = found["aggregated"] == 0 && !overlaps;
        assert!(!alone || picos(&found["op_micros"]) <= int(&expect["top_level_ps"]), "{name}: {found}");
    }
    assert_eq!(list(&host["lines"]).len(), list(&facts["lines"]).len(), "{name}: lines");
    assert_eq!(list(&host["planes"]).len(), list(&facts["planes"]).len(), "{name}: planes");
}

#[test]
fn profiles_say_what_their_facts_say() {
    let mut checked = 0;
    for entry in std::fs::read_dir(corpus("xspace")).expect("the corpus").flatten() {
        let dir = entry.path();
        let Ok(facts) = std::fs::read(dir.join("facts.json")) else { continue };
        let facts: Value = serde_json::from_slice(&facts).expect("facts");
        let path = dir.display().to_string();
        checked += 1;
        if let Some(hosts) = facts.get("hosts") {
            check_hosts(&path, hosts, &facts["merged"]);
            continue;
        }
        let events: i64 = list(&facts["planes"]).iter().map(|plane| int(&plane["events"])).sum();
        if events == 0 {
            assert_eq!(tfprof(&["op", &path]).code, 1, "{path} holds nothing");
            continue;
        }
        let damaged = !list(&facts["damage"]).is_empty()
            || facts["dangling"].as_object().is_some_and(|dangling| dangling.keys().any(|kind| kind != "clock"));
        let answer = tfprof(&["op", &path]);
        assert_eq!(answer.code, if damaged { 4 } else { 0 }, "{path}: {}", answer.err);
        if int(&facts["ops_distinct"]) > 0 {
            check_ops(&path, &facts["ops_top30"], &facts["ops_distinct"]);
            check_types(&path, &facts["op_types"]);
        }
        check_code(&path, "source", "stack", &facts["source"]);
        check_code(&path, "python", "path", &facts["python"]);
        check_info(&path, &json(&["info", &path])["overview"]["hosts"][0], &facts);
    }
    assert!(checked >= 20, "only {checked} profiles were found");
}

fn check_hosts(path: &str, hosts: &Value, merged: &Value) {
    check_ops(path, &merged["top30"], &merged["cells"]);
    let info = json(&["info", path]);
    for (host, facts) in list(&info["overview"]["hosts"]).iter().zip(list(hosts)) {
        assert_eq!(host["host"], facts["host"]);
        check_info(path, host, facts);
    }
    let files: Vec<String> =
        list(&info["overview"]["hosts"]).iter().map(|host| text(&host["file"]).to_owned()).collect();
    // Each host alone has the device's own name, and all of it.
    for (file, facts) in files.iter().zip(list(hosts)) {
        check_ops(file, &facts["ops_top30"], &facts["ops_distinct"]);
        check_types(file, &facts["op_types"]);
        check_code(file, "source", "stack", &facts["source"]);
    }
    // Two files are what their directory is.
    let select = ["-step", "all", "-select", "micros,occurrence", "-order_by", "micros"];
    let words: Vec<&str> = ["op", &files[0], &files[1]].into_iter().chain(select).collect();
    assert_eq!(json(&words)["rows"], json(&[&["op", path][..], &select].concat())["rows"]);
    // Steps add up: one by one and what lies in none, they are all.
    let total = |step: &str| picos(&json(&["op", path, "-step", step])["rows"][0]["total"]["micros"]);
    let steps: i64 = list(&info["overview"]["steps"]).iter().map(|step| total(&step["step"].to_string())).sum();
    assert_eq!(steps, total("all"), "{path}: the steps together");
}

#[test]
fn log_directories_runs_and_patterns() {
    let dir = scratch("xspace_logdir");
    // Callbacks put the directory of profiles below one of their own.
    for (run, profile) in [("2026_01_02_03_04_05", "jax_mlp"), ("2026_02_02_03_04_05", "tf_custom_loop")] {
        let run = dir.join("logs/train/plugins/profile").join(run);
        std::fs::create_dir_all(&run).expect("a directory");
        std::fs::copy(corpus(&format!("xspace/{profile}/host.xplane.pb.gz")), run.join("host.xplane.pb.gz"))
            .expect("a copy");
        std::fs::write(run.join("host.trace.json.gz"), "made from it").expect("a file to be ignored");
    }
    let dir = dir.display().to_string();
    let newest = json(&["info", &dir]);
    assert_eq!(newest["overview"]["other_runs"], serde_json::json!(["2026_01_02_03_04_05"]));
    assert_eq!(newest["overview"]["hosts"][0]["steps"][0]["step"], 100);
    let asked = json(&["info", &dir, "-run", "2026_01_02_03_04_05"]);
    assert_eq!(asked["overview"]["framework"], "JAX 0.10.2");
    let unknown = tfprof(&["op", &dir, "--run=2026_01_02_03_04_06"]);
    assert_eq!(unknown.code, 1, "{}", unknown.err);
    assert!(unknown.err.contains("did you mean `2026_01_02_03_04_05`?"), "{}", unknown.err);
    // Each answer says which run it is about, unless it was asked about one.
    let note = "logs/train has 2 runs: this is the newest, `2026_02_02_03_04_05`, not `2026_01_02_03_04_05`; choose one with -run NAME";
    let train = format!("{dir}/logs/train");
    let answer = tfprof(&["op", &train]);
    assert!(answer.code == 0 && answer.err.contains(note), "{}", answer.err);
    assert_eq!(tfprof(&["op", &train, "-run", "2026_02_02_03_04_05"]).err, "");
    let text = tfprof(&["info", &train]).out;
    assert!(text.contains("run               2026_02_02_03_04_05, the newest of 2\n"), "{text}");
    assert!(text.contains(&format!("  tfprof info {train} -run 2026_01_02_03_04_05  # another run\n")), "{text}");
    let text = tfprof(&["info", &train, "-run", "2026_01_02_03_04_05"]).out;
    assert!(text.contains(&format!("  tfprof op {train} -run 2026_01_02_03_04_05 -select")), "{text}");
    let shell = tfprof_with(&["shell", &train], b"info\n").out;
    assert!(shell.contains(&format!("  tfprof info {train} -run 2026_01_02_03_04_05  # another run\n")), "{shell}");
    let pattern = format!("{dir}/logs/*/plugins/profile/2026_02*/*.xplane.pb.gz");
    assert_eq!(json(&["op", &pattern])["rows"], json(&["op", &dir])["rows"]);
}

#[test]
fn two_log_directories_are_two_hosts_only_if_asked() {
    let dir = scratch("xspace_two_logdirs");
    for log in ["a", "b"] {
        let run = dir.join(log).join("plugins/profile/run");
        std::fs::create_dir_all(&run).expect("a directory");
        std::fs::copy(corpus("xspace/jax_mlp/host.xplane.pb.gz"), run.join(format!("{log}.xplane.pb.gz")))
            .expect("a copy");
    }
    let [a, b] = ["a", "b"].map(|log| dir.join(log).display().to_string());
    let refused = tfprof(&["op", &a, &b]);
    let expect = format!(
        "tfprof: {a} and {b} are two recordings; ask about one of them; or, if they are hosts that ran together, say so with --hosts\n"
    );
    assert_eq!((refused.code, refused.err), (2, expect));
    let hosts = json(&["info", &a, &b, "--hosts"]);
    assert_eq!(hosts["overview"]["hosts"].as_array().expect("hosts").len(), 2);
}

#[test]
fn advice_is_for_the_framework_of_the_files() {
    let how = |words: &[&str]| {
        let missing = &json(words)["overview"]["missing"];
        let missing = missing.as_array().expect("a list").iter();
        missing
            .map(|one| (one["code"].as_str().expect("a code").to_owned(), one["how"].to_string()))
            .collect::<Vec<_>>()
    };
    let all = |file: &str| how(&["info", &corpus(file)]);
    let jax = all("xspace/jax_no_markers/host.xplane.pb.gz");
    assert!(jax.iter().any(|(code, _)| code == "no_step_markers"), "{jax:?}");
    assert!(jax.iter().all(|(_, how)| !how.contains("tf.")), "{jax:?}");
    let tensorflow = all("xspace/tf_keras_fit/host.xplane.pb.gz");
    assert!(tensorflow.iter().any(|(_, how)| how.contains("save_debug_info=True")), "{tensorflow:?}");
    assert!(tensorflow.iter().all(|(_, how)| !how.contains("jax.")), "{tensorflow:?}");
    let model = how(&["info", &format!("{}/../../tests/models/dense_export", env!("CARGO_MANIFEST_DIR"))]);
    let codes: Vec<&str> = model.iter().map(|(code, _)| code.as_str()).collect();
    assert_eq!(codes, ["no_steps", "no_traces"]);
    assert!(model.iter().all(|(_, how)| !how.contains("compat.v1")), "{model:?}");
    let dump = how(&["info", &corpus("mlp_small/graph.pb.gz")]);
    assert!(dump.iter().any(|(code, how)| code == "no_steps" && how.contains("compat.v1.RunOptions")), "{dump:?}");
}

#[test]
fn a_profile_under_the_wrong_flag_names_the_right_one() {
    let profile = corpus("xspace/jax_mlp/host.xplane.pb.gz");
    let wrong = tfprof(&["op", &format!("--graph_path={profile}")]);
    assert!(
        wrong.code == 1 && wrong.err.contains("this is an XSpace") && wrong.err.contains("--xspace_path"),
        "{}",
        wrong.err
    );
    let graph = corpus("mlp_small/graph.pb.gz");
    let wrong = tfprof(&["op", &format!("--xspace_path={graph}")]);
    assert!(wrong.code == 1 && wrong.err.contains("--graph_path"), "{}", wrong.err);
    // Whatever it is called, and through a pipe: its content tells.
    let bytes = std::fs::read(&profile).expect("the profile");
    let piped = tfprof_with(&["op", "-", "-output", "json:outfile=-"], &bytes);
    let piped: Value = serde_json::from_str(&piped.out).expect("JSON");
    assert_eq!(piped["rows"], json(&["op", &profile])["rows"]);
    let both = tfprof(&["op", &profile, &corpus("mlp_small/run_meta_0.gz")]);
    assert_eq!(both.code, 2, "{}", both.err);
}

#[test]
fn every_form_of_output_is_written() {
    let dir = scratch("xspace_outputs");
    let profile = corpus("xspace/jax_mlp/host.xplane.pb.gz");
    for view in ["op", "scope", "code"] {
        for form in
            ["flamegraph", "folded", "speedscope", "pprof", "csv", "json", "markdown", "proto", "file", "timeline"]
        {
            let file = dir.join(format!("{view}.{form}")).display().to_string();
            let answer = tfprof(&[view, &profile, "-step", "all", "-output", &format!("{form}:outfile={file}")]);
            assert_eq!(answer.code, 0, "{view} {form}: {}", answer.err);
            let file = if form == "timeline" { format!("{file}_all.json") } else { file };
            assert!(std::fs::metadata(&file).expect("a file").len() > 100, "{file}");
        }
    }
    // Collapsed stacks add up to the time of all ops, in whole microseconds.
    let folded = std::fs::read_to_string(dir.join("op.folded")).expect("stacks");
    let sum: i64 =
        folded.lines().map(|line| line.rsplit(' ').next().expect("a number").parse::<i64>().expect("whole")).sum();
    let root = picos(&json(&["op", &profile, "-step", "all"])["rows"][0]["total"]["micros"]);
    assert_eq!(sum, (root + 500_000) / 1_000_000);
}

#[test]
fn a_trace_has_every_event_once() {
    for name in ["jax_python", "tf_custom_loop", "gpu_like", "aggregated"] {
        let facts: Value =
            serde_json::from_slice(&std::fs::read(corpus(&format!("xspace/{name}/facts.json"))).expect("facts"))
                .expect("facts");
        let trace: Value =
            serde_json::from_str(&tfprof(&["trace", &corpus(&format!("xspace/{name}"))]).out).expect("JSON");
        let events = || list(&trace["traceEvents"]).iter();
        // By thread: how many events, their first start and their last end.
        let mut threads: BTreeMap<(i64, i64), (i64, i64, i64)> = BTreeMap::new();
        for event in events().filter(|event| event["ph"] == "X") {
            let (start, end) = (picos(&event["ts"]), picos(&event["ts"]) + picos(&event["dur"]));
            let thread = threads.entry((int(&event["pid"]), int(&event["tid"]))).or_insert((0, start, end));
            *thread = (thread.0 + 1, thread.1.min(start), thread.2.max(end));
        }
        let lines = list(&facts["lines"]);
        assert_eq!(threads.len(), lines.iter().filter(|line| int(&line["events"]) > 0).count(), "{name}");
        for (thread, line) in threads.values().zip(lines.iter().filter(|line| int(&line["events"]) > 0)) {
            assert_eq!(thread.0, int(&line["events"]), "{name}: {line}");
            if let (Some(first), Some(last)) = (line["first_ps"].as_i64(), line["last_ps"].as_i64()) {
                assert_eq!((thread.1, thread.2), (first, last), "{name}: {line}");
            }
        }
        let ids = |phase: &str| -> std::collections::BTreeSet<i64> {
            events().filter(|event| event["ph"] == phase).map(|event| int(&event["id"])).collect()
        };
        assert_eq!(ids("s"), ids("f"), "{name}: arrows have two ends");
        assert!(name == "aggregated" || !ids("s").is_empty(), "{name}: arrows");
    }
}
