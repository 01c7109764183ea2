//! A small fleet with a slow host, a slow step and a missing host.

use super::*;
use crate::part::{InputEntry, Packed, StepRow};

fn partial() -> Partial {
    let mut partial = Partial::lost("host9", "no such file");
    partial.about.per_micro = Some(1);
    for host in 0..5_u32 {
        let input =
            InputEntry { path: format!("host{host}.pb"), size: 1, tag: u128::from(host) + 1, is_measured: true };
        let recording = Recording { host: format!("host{host}"), inputs: [input].into(), ..Recording::default() };
        let slow = if host == 3 { 130 } else { 100 };
        let wall = |step: i64| if host == 1 && step == 7 { 500 } else { slow + step % 2 };
        let steps = (0..10).map(|number| StepRow { number, wall: Some(wall(number)), ..StepRow::default() });
        let ops = [("MatMul", (20, 400)), ("Send", (10, if host == 3 { 600 } else { 300 }))];
        let ops = ops.map(|(op, numbers)| (op.to_owned(), numbers)).into();
        let block = Block { per_micro: 1, steps: steps.collect(), ops, ..Block::default() };
        let id = recording.id();
        partial.recordings.insert(id, recording);
        partial.blocks.insert(id, Packed::new(&block.write()));
    }
    partial
}

#[test]
fn slow_hosts_steps_and_missing_hosts_are_named() {
    let fleet = Fleet::new(&partial()).unwrap();
    assert_eq!(fleet.hosts.len(), 5);
    assert_eq!(fleet.hosts[0].host, "host3");
    assert!((fleet.hosts[0].slower_percent.unwrap() - 29.85).abs() < 0.1);
    assert_eq!(fleet.hosts[0].busy_micros, None);
    assert_eq!(fleet.slowest[0].ops.iter().map(|op| op.op.as_str()).collect::<Vec<_>>(), ["Send"]);
    assert!((fleet.slowest[0].ops[0].difference_micros - 30.0).abs() < 1e-9);
    assert_eq!((fleet.outliers[0].host.as_str(), fleet.outliers[0].step), ("host1", 7));
    assert_eq!(fleet.outliers.len(), 1);
    assert_eq!(fleet.skewed_steps[0].step, 7);
    assert_eq!(fleet.missing[0].path, "host9");
}

#[test]
fn all_forms_are_written() {
    let fleet = Fleet::new(&partial()).unwrap();
    let mut text = Vec::new();
    render::write(&fleet, crate::report::cost::render::Style::Text(None), &mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    assert!(text.contains("29.9% slower than the median host: host3") && text.contains("no such file"), "{text}");
    let mut json = Vec::new();
    render::write_json(&fleet, &[], &mut json).unwrap();
    let json: serde_json::Value = serde_json::from_slice(&json).unwrap();
    assert_eq!(json["hosts"][0]["busy_micros"], serde_json::Value::Null);
    let mut svg = Vec::new();
    fleet.heat.write(&mut svg).unwrap();
    assert!(String::from_utf8(svg).unwrap().contains("slower"));
}
