//! Partials, merging and fleets through the real binary.

use crate::common::{corpus, scratch, tfprof};
use std::path::Path;

fn text(path: &Path) -> String {
    path.to_str().expect("a path").to_owned()
}

fn save(input: &str, file: &Path) {
    let answer = tfprof(&["save", "--partial", input, &format!("-outfile={}", text(file))]);
    assert_eq!(answer.code, 0, "{input}: {}", answer.err);
}

#[test]
fn views_of_a_partial_are_those_of_its_inputs() {
    let dir = scratch("part_views");
    for input in ["mlp_small", "xspace/jax_mlp", "xspace/tf_keras_fit", "xspace/jax_two_hosts", "xspace/gpu_like"] {
        let (input, part) = (corpus(input), dir.join("one.part"));
        save(&input, &part);
        let questions: [&[&str]; 5] = [
            &["op", "-select", "micros,occurrence", "-max_depth", "50"],
            &["scope", "-select", "micros,params,float_ops", "-max_depth", "6"],
            &["op", "-step", "all", "-select", "micros,bytes,occurrence"],
            &["code", "-max_depth", "8"],
            &["graph", "-max_depth", "40", "-select", "micros,params"],
        ];
        for question in questions {
            let ask = |path: &str| {
                let words: Vec<&str> = [question[0], path].into_iter().chain(question[1..].iter().copied()).collect();
                let answer = tfprof(&words);
                (answer.code, answer.out)
            };
            assert_eq!(ask(&input), ask(&text(&part)), "{input} {question:?}");
        }
    }
}

#[test]
fn merged_bytes_do_not_depend_on_order_or_grouping() {
    let dir = scratch("part_merge");
    let names = ["jax_mlp", "tf_keras_fit", "jax_no_markers", "tpu_like"];
    let parts = names.map(|name| {
        let file = dir.join(format!("{name}.part"));
        save(&corpus(&format!("xspace/{name}")), &file);
        text(&file)
    });
    let merge = |parts: &[&str], name: &str| {
        let out = text(&dir.join(name));
        let words: Vec<String> =
            [vec!["merge"], parts.to_vec()].concat().iter().map(|word| (*word).to_owned()).collect();
        let target = format!("-outfile={out}");
        let words: Vec<&str> = words.iter().map(String::as_str).chain([target.as_str()]).collect();
        let answer = tfprof(&words);
        assert_eq!(answer.code, 0, "{}", answer.err);
        (out, answer.err)
    };
    let [a, b, c, d] = parts.each_ref().map(String::as_str);
    let (all, _) = merge(&[a, b, c, d], "all.part");
    let (left, _) = merge(&[c, a], "left.part");
    let (right, _) = merge(&[d, b], "right.part");
    let (grouped, _) = merge(&[&right, &left], "grouped.part");
    let (again, said) = merge(&[&grouped, b, d], "again.part");
    let bytes = |file: &str| std::fs::read(file).expect("a partial");
    assert_eq!(bytes(&all), bytes(&grouped));
    assert_eq!(bytes(&all), bytes(&again));
    assert!(said.contains("count once"), "{said}");
}

#[test]
fn damaged_and_missing_parts_are_named() {
    let dir = scratch("part_damage");
    let whole = dir.join("whole.part");
    save(&corpus("xspace/jax_mlp"), &whole);
    let bytes = std::fs::read(&whole).expect("a partial");
    let cut = dir.join("cut.part");
    std::fs::write(&cut, &bytes[..bytes.len() / 2]).expect("a file");
    let out = text(&dir.join("merged.part"));
    let (target, missing) = (format!("-outfile={out}"), text(&dir.join("none.part")));
    let answer = tfprof(&["merge", &text(&whole), &text(&cut), &missing, &target]);
    assert_eq!(answer.code, 4, "{}", answer.err);
    let answer = tfprof(&["op", &out, "-max_depth", "1"]);
    assert_eq!(answer.code, 4);
    assert!(answer.err.contains("cut.part") && answer.err.contains("none.part"), "{}", answer.err);
    let answer = tfprof(&["op", &text(&cut)]);
    assert_eq!(answer.code, 1);
    assert_eq!(answer.err.lines().count(), 1, "{}", answer.err);
    assert_eq!(tfprof(&["op", &text(&whole), "-events", "all"]).code, 1);
    let answer = tfprof(&["fleet", &text(&whole), &missing, "--require_hosts=2"]);
    assert_eq!(answer.code, 3, "{}", answer.err);
    assert!(answer.out.contains("none.part"), "{}", answer.out);
}

#[test]
fn a_lost_host_is_named_once_with_the_damage_of_its_file() {
    let dir = scratch("part_lost");
    let cut = text(&dir.join("cut.xplane.pb"));
    let good = corpus("xspace/jax_mlp");
    // A plane with a name, of which most is not there.
    std::fs::write(&cut, b"\x0a\xe4\x00\x12\x09/host:CPU\x1a\x50\x12\x03abc").expect("a file");
    let answer = tfprof(&["op", &cut]);
    assert_eq!(answer.code, 1, "{}", answer.err);
    assert!(answer.err.contains("holds no events; it is damaged: "), "{}", answer.err);
    let missing = ["b", "a"].map(|name| text(&dir.join(format!("{name}.xplane.pb"))));
    let answer = tfprof(&["fleet", &good, &cut, &missing[0], &missing[1]]);
    assert_eq!(answer.code, 4, "{}", answer.err);
    let named: Vec<&str> = answer.err.lines().filter(|line| line.contains(" is missing: ")).collect();
    assert_eq!(named.len(), 3, "{}", answer.err);
    for (line, path) in named.iter().zip([&missing[1], &missing[0], &cut]) {
        assert_eq!(line.matches(path.as_str()).count(), 1, "{line}");
    }
}

#[test]
fn shares_of_a_fleet_merge_to_the_whole_and_a_second_run_resumes() {
    let dir = scratch("part_fleet");
    let paths = ["jax_mlp", "tf_keras_fit", "tpu_like"].map(|name| corpus(&format!("xspace/{name}")));
    let run = |more: &[&str]| {
        let words: Vec<&str> =
            ["fleet"].into_iter().chain(paths.iter().map(String::as_str)).chain(more.iter().copied()).collect();
        let answer = tfprof(&words);
        assert_eq!(answer.code, 0, "{}", answer.err);
        answer.out
    };
    let file = |name: &str| text(&dir.join(name));
    for share in ["1", "2"] {
        run(&[&format!("--part={share}/2"), &format!("--save={}", file(share))]);
    }
    let cache = format!("--cache={}", file("cache"));
    let first = run(&[&cache, &format!("--save={}", file("whole"))]);
    assert_eq!(std::fs::read_dir(dir.join("cache")).expect("a directory").count(), 3);
    assert_eq!(run(&[&cache]), first);
    assert_eq!(tfprof(&["merge", &file("2"), &file("1"), &format!("-outfile={}", file("merged"))]).code, 0);
    let bytes = |name: &str| std::fs::read(dir.join(name)).expect("a partial");
    assert_eq!(bytes("merged"), bytes("whole"));
    let html = file("fleet.html");
    run(&[&format!("-output=html:outfile={html}")]);
    assert!(std::fs::read_to_string(html).expect("a page").contains("<svg class=\"heat\""));
}
