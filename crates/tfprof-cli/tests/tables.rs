//! `tfprof tables` and `tfprof sql`: files of tables, and answers that agree with the views.

mod common;

use common::{corpus, scratch, tfprof};
use serde_json::Value;

/// The standard output of a command.
fn stdout(words: &[&str]) -> String {
    let answer = tfprof(words);
    assert_eq!(answer.code, 0, "{words:?}: {}", answer.err);
    answer.out
}

/// Micros by op, as the op view has them.
fn of_view(path: &str, step: &str) -> Vec<(String, String)> {
    let out = stdout(&[
        "op",
        &corpus(path),
        "-step",
        step,
        "-select",
        "micros,occurrence",
        "--format=json",
        "-max_depth",
        "100000",
    ]);
    let answer: Value = serde_json::from_str(&out).expect("JSON");
    let rows = answer["rows"].as_array().expect("rows").iter().skip(1);
    let mut rows: Vec<(String, String)> = rows
        .map(|row| (row["name"].as_str().unwrap_or_default().to_owned(), row["total"]["micros"].to_string()))
        .collect();
    rows.sort();
    rows
}

fn of_sql(path: &str, condition: &str) -> Vec<(String, String)> {
    let statement = format!("select op, sum(self_ps) as ps from totals {condition} group by op order by op");
    let out = stdout(&["sql", &corpus(path), &statement, "--format=json"]);
    let answer: Value = serde_json::from_str(&out).expect("JSON");
    let micros =
        |ps: i64| if ps % 1_000_000 == 0 { (ps / 1_000_000).to_string() } else { format!("{}", ps as f64 / 1e6) };
    answer["rows"]
        .as_array()
        .expect("rows")
        .iter()
        .map(|row| (row["op"].as_str().unwrap_or_default().to_owned(), micros(row["ps"].as_i64().unwrap_or(0))))
        .collect()
}

#[test]
fn sums_are_those_of_the_views() {
    for path in ["resnet32", "gpu_synthetic", "xspace/jax_mlp", "xspace/gpu_like"] {
        let timed = |rows: Vec<(String, String)>| rows.into_iter().filter(|(_, n)| n != "0").collect::<Vec<_>>();
        assert_eq!(timed(of_sql(path, "")), timed(of_view(path, "all")), "{path}");
    }
    assert_eq!(of_sql("resnet32", "where step = 0 and runs > 0").len(), {
        let ran = of_view("resnet32", "0").into_iter().filter(|(_, n)| n != "0");
        ran.count()
    });
}

#[test]
fn executions_add_up_to_the_totals() {
    for path in ["resnet32", "xspace/jax_mlp"] {
        let sum = |table: &str| {
            stdout(&["sql", &corpus(path), &format!("select sum(self_ps) as ps from {table}"), "--format=csv"])
        };
        assert_eq!(sum("executions"), sum("totals"), "{path}");
    }
}

#[test]
fn every_form_is_written_and_none_half_way() {
    let dir = scratch("tables_forms");
    let at = |name: &str| dir.join(name).display().to_string();
    for (file, begin) in [
        ("t.parquet", &b"PAR1"[..]),
        ("t.arrow", b"\xff\xff\xff\xff"),
        ("t.sqlite", b"SQLite format 3"),
        ("t.csv", b"node,"),
    ] {
        stdout(&["tables", &corpus("mlp_small"), "--table=totals", "-output", &at(file)]);
        assert!(std::fs::read(at(file)).expect("a file").starts_with(begin), "{file}");
    }
    stdout(&["tables", &corpus("mlp_small"), "-output", &at("all.sqlite")]);
    stdout(&["tables", &corpus("mlp_small"), "-output", &at("all/")]);
    assert_eq!(std::fs::read_dir(at("all")).expect("a directory").count(), 15);
    let refused = tfprof(&["tables", &corpus("mlp_small"), "-output", &at("x.parquet")]);
    assert_eq!(refused.code, 2);
    assert!(refused.err.contains("holds one table; choose it"));
    let unknown = tfprof(&["tables", &corpus("mlp_small"), "--table=total"]);
    assert!(unknown.err.contains("did you mean `totals`?"));
}

#[test]
fn sql_reads_only() {
    for statement in
        ["create table x(y)", "attach 'x.db' as x", "insert into nodes(id) values (1)", "pragma writable_schema=1"]
    {
        let refused = tfprof(&["sql", &corpus("mlp_small"), statement]);
        assert_eq!(refused.code, 2, "{statement}");
        assert!(refused.err.contains("SQL only reads here"), "{statement}");
    }
    let limited = tfprof(&[
        "sql",
        &corpus("mlp_small"),
        "with recursive n(x) as (select 1 union all select x + 1 from n limit 10000000) select count(distinct x) from n",
        "--max_memory=60MB",
    ]);
    assert_eq!(limited.code, 1);
    assert!(limited.err.contains("allow more with --max_memory"), "{limited:?}");
}
