//! Files, hosts, devices, lines, memory and warnings.

use super::{Facts, Writer};
use crate::error::Spelling;
use crate::model::devices::DeviceKind;
use std::io;

pub fn files(facts: &Facts<'_>, out: &mut Writer<'_>) -> io::Result<()> {
    for (file, id) in facts.files.iter().zip(0..) {
        out.row()?.int(id).text(&*file.path).text(file.format).int(file.bytes).int(file.step);
    }
    Ok(())
}

pub fn hosts(facts: &Facts<'_>, out: &mut Writer<'_>) -> io::Result<()> {
    for (host, id) in facts.model.hosts.iter().zip(0..) {
        out.row()?
            .int(id)
            .text(&*host.host)
            .text(&*host.file)
            .text(host.framework.as_deref())
            .int(Some(host.base).filter(|base| *base > 0))
            .int(host.rank)
            .int(host.world_size)
            .text(host.rule.word());
    }
    Ok(())
}

pub fn devices(facts: &Facts<'_>, out: &mut Writer<'_>) -> io::Result<()> {
    let devices = &facts.model.devices;
    for id in devices.all() {
        let kind = match devices.kind(id) {
            DeviceKind::Placement => "placement",
            DeviceKind::AllStreams => "all streams",
            DeviceKind::OneStream => "one stream",
            DeviceKind::Other => "other",
            DeviceKind::Nameless | DeviceKind::NamelessLate => "nameless",
        };
        let host = devices.host(id).map(|host| facts.host(host));
        out.row()?.int(i64::from(id.0)).text(devices.spelled(id)).text(kind).text(host);
    }
    Ok(())
}

pub fn lines(facts: &Facts<'_>, out: &mut Writer<'_>) -> io::Result<()> {
    for host in &facts.model.hosts {
        for (line, id) in host.lines.iter().zip(0..) {
            let name = if line.display_name.is_empty() { &line.name } else { &line.display_name };
            out.row()?
                .int(id)
                .text(&*host.host)
                .text(&*line.plane)
                .text(&**name)
                .int(i64::try_from(line.events).unwrap_or(i64::MAX))
                .int(line.first)
                .int(line.last)
                .int(line.busy);
        }
    }
    Ok(())
}

pub fn memory(facts: &Facts<'_>, out: &mut Writer<'_>) -> io::Result<()> {
    let model = facts.model;
    for ((step, device), bytes) in model.peaks.each() {
        out.row()?
            .text(model.devices.host(device).map(|host| facts.host(host)))
            .text(model.devices.spelled(device))
            .text("peak")
            .int(step)
            .int(None)
            .int(bytes)
            .int(None)
            .int(None)
            .int(None);
    }
    for host in &model.hosts {
        for allocator in &host.allocators {
            let peak = &allocator.peak;
            out.row()?
                .text(&*host.host)
                .text(&*allocator.name)
                .text("peak")
                .int(None)
                .int(peak.time)
                .int(peak.in_use())
                .int(peak.stack_bytes)
                .int(peak.heap_bytes)
                .int(peak.free_bytes);
            for (time, most) in allocator.over_time.each() {
                let mut row = out.row()?;
                row.text(&*host.host).text(&*allocator.name).text("sample").int(None).int(time).int(most);
                row.int(None).int(None).int(None);
            }
        }
    }
    Ok(())
}

pub fn warnings(facts: &Facts<'_>, out: &mut Writer<'_>) -> io::Result<()> {
    for warning in facts.warnings {
        let file = warning.location.as_ref().map(|location| &*location.file);
        let message = warning.message(Spelling::CommandLine);
        out.row()?.text(warning.code).text(file).bool(warning.damage).text(&*message);
    }
    Ok(())
}
