//! Every execution of an op, as runs and traces recorded it.

use super::{Facts, Writer};
use crate::model::devices::{DeviceId, DeviceKind};
use crate::model::executions::Execution;
use crate::model::nodes::NodeId;
use std::io;

pub fn executions(facts: &Facts<'_>, out: &mut Writer<'_>) -> io::Result<()> {
    let origin = facts.origin();
    for step in facts.model.runs.steps() {
        let Some(records) = facts.model.runs.records(step) else { continue };
        for timing in records.all_timings() {
            let start = timing.start.saturating_sub(origin).saturating_mul(MICRO);
            let duration = timing.length.saturating_mul(MICRO);
            push(facts, out, None, (timing.node, timing.device), None, Some(step), [start, duration, duration])?;
        }
    }
    for host in &facts.model.executions {
        let mut outcome = Ok(());
        host.each(|execution| {
            if outcome.is_ok() {
                let Execution { node, device, line, step, start, duration, self_time } = execution;
                let times = [start, duration, self_time];
                outcome = push(facts, out, Some(host.host), (node, device), Some(line.into()), step, times);
            }
        })?;
        outcome?;
    }
    Ok(())
}

/// Picoseconds of a microsecond.
pub const MICRO: i64 = 1_000_000;

#[inline]
fn push(
    facts: &Facts<'_>,
    out: &mut Writer<'_>,
    host: Option<u32>,
    (node, device): (NodeId, DeviceId),
    line: Option<i64>,
    step: Option<i64>,
    [start, duration, self_time]: [i64; 3],
) -> io::Result<()> {
    let model = facts.model;
    let is_part = model.devices.kind(device) == DeviceKind::OneStream;
    out.row()?
        .keyed(host, |host| facts.host(host))
        .keyed(Some(device.0), |_| model.devices.spelled(device))
        .int(line)
        .int(step)
        .int(i64::from(node.0))
        .keyed(Some(model.nodes.op[node.index()].0), |_| model.names.get(model.nodes.op[node.index()]))
        .int(start)
        .int(duration)
        .int(if is_part { None } else { Some(self_time) });
    Ok(())
}
