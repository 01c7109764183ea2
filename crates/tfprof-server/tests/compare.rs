//! The screen that compares: both sides in one answer, with the figures of `tfprof diff`.

use crate::common::{Dir, site};
use serde_json::Value;
use std::path::PathBuf;
use tfprof::{Inputs, Keep, Profiler};
use tfprof_server::Site;
use tfprof_server::reply::Body;

fn graph(dir: &Dir, name: &str, variables: &[(&str, i64)]) -> PathBuf {
    let node = |(name, size): &(&str, i64)| {
        let shape = format!("shape {{ dim {{ size: {size} }} }}");
        format!("node {{ name: '{name}' op: 'VariableV2' attr {{ key: 'shape' value {{ {shape} }} }} }}\n")
    };
    dir.write(name, variables.iter().map(node).collect::<String>().as_bytes())
}

fn ask(site: &Site, key: &str) -> (u16, Value) {
    let reply = site.answer(key);
    let Body::Json(json) = reply.body else { panic!("{key} is not JSON") };
    (reply.status, serde_json::from_slice(&json).unwrap())
}

#[test]
fn both_sides_are_in_one_answer() {
    let dir = Dir::new("compare");
    let before = graph(&dir, "old.pbtxt", &[("a/w", 8), ("a/gone", 4), ("b/w", 16)]);
    let after = graph(&dir, "new.pbtxt", &[("a/w", 10), ("b/w", 16), ("c/new", 2)]);
    let alone = site(std::slice::from_ref(&after), &dir.0);
    let (status, refused) = ask(&alone, "compare");
    assert_eq!(status, 422, "{refused}");
    assert!(refused["error"]["message"].as_str().unwrap().contains("--baseline"), "{refused}");

    let mut inputs = Inputs::default();
    inputs.add_path(&before).unwrap();
    let mut profiler = Profiler::new(Keep::EVERYTHING);
    inputs.load(&mut profiler).unwrap();
    let both = alone.compared_with(profiler, &inputs, "old.pbtxt").unwrap();

    let (status, answer) = ask(&both, "compare?metric=params");
    assert_eq!(status, 200, "{answer}");
    assert_eq!((&answer["root"]["before"], &answer["root"]["after"]), (&28.into(), &28.into()));
    let names: Vec<&str> = answer["names"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
    for name in ["gone", "new"] {
        assert!(names.contains(&name), "rows of one side are drawn: {names:?}");
    }
    assert!(answer["command"].as_str().unwrap().starts_with("tfprof diff scope old.pbtxt "), "{answer}");

    let (_, list) = ask(&both, "changes?metric=params");
    let of = |list: &Value, path: &str| -> (Value, Value) {
        let rows = list["changes"].as_array().unwrap();
        let row = rows.iter().find(|row| row["path"] == path).unwrap_or_else(|| panic!("no {path} in {list}"));
        (row["status"].clone(), row["difference"].clone())
    };
    assert_eq!(of(&list, "a/w"), ("changed".into(), 2.into()));
    assert_eq!(of(&list, "a/gone"), ("removed".into(), (-4).into()));
    assert_eq!(of(&list, "c/new"), ("added".into(), 2.into()));
    assert!(!list.to_string().contains("\"b/w\""), "a row without a difference is not listed: {list}");

    let (_, swapped) = ask(&both, "changes?metric=params&swap=1");
    assert_eq!(of(&swapped, "a/gone"), ("added".into(), 4.into()));
    assert!(swapped["command"].as_str().unwrap().ends_with("old.pbtxt -select params -order_by params"), "{swapped}");
    let (_, meta) = ask(&both, "meta");
    let screens = meta["screens"].as_array().unwrap();
    assert!(screens.iter().any(|screen| screen["word"] == "compare" && screen["known"] == true));
}
