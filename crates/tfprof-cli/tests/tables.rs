//! `tfprof tables` and `tfprof sql`: files of tables, and answers that agree with the views.

use crate::common::{corpus, scratch, tfprof};
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

/// The paths of all files below a directory, sorted.
fn files_below(dir: &std::path::Path) -> Vec<String> {
    let (mut found, mut left) = (Vec::new(), vec![dir.to_owned()]);
    while let Some(next) = left.pop() {
        for entry in std::fs::read_dir(&next).expect("a directory") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                left.push(path);
            } else {
                found.push(path.strip_prefix(dir).expect("below").to_string_lossy().replace('\\', "/"));
            }
        }
    }
    found.sort();
    found
}

#[test]
fn partitions_are_directories_by_host_and_step() {
    let dir = scratch("partitions");
    let target = format!("{}/csv/", dir.display());
    let words = ["tables", &corpus("xspace/jax_two_hosts"), "--table=executions", "--partition"];
    stdout(&[&words[..], &["-output", &format!("csv:outfile={target}")]].concat());
    let files = files_below(&dir.join("csv/executions"));
    assert!(files.contains(&"host=worker-0/step=20/part-0.csv".to_owned()), "{files:?}");
    assert_eq!(files.len(), 12, "{files:?}");
    let rows = |file: &String| {
        let text = std::fs::read_to_string(dir.join("csv/executions").join(file)).expect("a file");
        assert!(text.starts_with("device,line,node,op,start_ps,duration_ps,self_ps\n"), "{file}: {text:.80}");
        text.lines().count() - 1
    };
    let counted: usize = files.iter().map(rows).sum();
    let statement = "select count(*) from executions";
    assert_eq!(
        stdout(&["sql", &corpus("xspace/jax_two_hosts"), statement, "--format=csv"]).lines().last(),
        Some(&*counted.to_string())
    );
    // Rows of another run would count as well.
    let again = tfprof(&[&words[..], &["-output", &format!("csv:outfile={target}")]].concat());
    assert_eq!(again.code, 2, "{}", again.err);
    assert!(again.err.contains("is not empty"), "{}", again.err);
    let one_file = tfprof(&[&words[..], &["-output", "executions.parquet"]].concat());
    assert_eq!(one_file.code, 2, "{}", one_file.err);
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
