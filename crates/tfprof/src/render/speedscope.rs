//! A file for [speedscope](https://www.speedscope.app): each box is a frame that opens and closes.

use super::nesting::{self, Nested};
use crate::hash::UntrustedMap;
use crate::json::write_string;
use crate::metric::Unit;
use crate::view::{Line, View};
use std::io::{self, Write};

const SCHEMA: &str = "https://www.speedscope.app/file-format-schema.json";

pub fn write(view: &View, out: &mut dyn Write) -> io::Result<()> {
    let metric = nesting::metric(view).info();
    // Two sides are two profiles of one file.
    let profiles: Vec<(String, Vec<Nested>)> = match view.compared() {
        None => vec![(format!("{} by {}", metric.legend, view.kind.word()), nesting::boxes(view, metric.metric))],
        Some(compared) => ["before", "after"]
            .into_iter()
            .zip(&compared.names)
            .map(|(word, name)| {
                (format!("{word}: {name}"), nesting::boxes_of_side(view, metric.metric, word == "before"))
            })
            .collect(),
    };
    write!(out, "{{\"$schema\":\"{SCHEMA}\",\"exporter\":\"tfprof\",\"shared\":{{\"frames\":[")?;
    let mut ids = UntrustedMap::default();
    let mut frames = Vec::new();
    for (_, boxes) in &profiles {
        frames.push(write_frames(view, boxes, &mut ids, out)?);
    }
    let unit = match metric.unit {
        Unit::Micros => "microseconds",
        Unit::Bytes => "bytes",
        Unit::Count | Unit::BytesPerSecond | Unit::FlopsPerSecond | Unit::Share => "none",
    };
    out.write_all(b"]},\n\"profiles\":[")?;
    for (i, ((name, boxes), frames)) in profiles.iter().zip(&frames).enumerate() {
        out.write_all(if i > 0 { b",\n" } else { b"" })?;
        write_profile(name, unit, boxes, frames, out)?;
    }
    out.write_all(b"]}\n")
}

fn write_profile(name: &str, unit: &str, boxes: &[Nested], frames: &[u32], out: &mut dyn Write) -> io::Result<()> {
    let end = boxes.first().map_or(0, |root| root.width);
    out.write_all(b"{\"type\":\"evented\",\"name\":")?;
    write_string(name, out)?;
    write!(out, ",\"unit\":\"{unit}\",\"startValue\":0,\"endValue\":{end},\"events\":[")?;
    // The boxes around the current one, not closed yet.
    let mut open: Vec<usize> = Vec::new();
    let close = |i: usize, out: &mut dyn Write| {
        let at = boxes[i].start.saturating_add(boxes[i].width);
        write!(out, ",\n{{\"type\":\"C\",\"frame\":{},\"at\":{at}}}", frames[i])
    };
    for (i, nested) in boxes.iter().enumerate() {
        while open.len() > nested.depth {
            if let Some(last) = open.pop() {
                close(last, out)?;
            }
        }
        let separator = if i > 0 { ",\n" } else { "\n" };
        write!(out, "{separator}{{\"type\":\"O\",\"frame\":{},\"at\":{}}}", frames[i], nested.start)?;
        open.push(i);
    }
    while let Some(last) = open.pop() {
        close(last, out)?;
    }
    out.write_all(b"]}")
}

/// Writes each frame once and returns the frame of each box.
fn write_frames<'v>(
    view: &'v View,
    boxes: &[Nested],
    ids: &mut UntrustedMap<(&'v str, &'v str, i32), u32>,
    out: &mut dyn Write,
) -> io::Result<Vec<u32>> {
    let mut frames = Vec::with_capacity(boxes.len());
    for (i, nested) in boxes.iter().enumerate() {
        let label = nesting::label(view, boxes, i);
        let line = view.line(&view.rows()[nested.row]);
        let (file, number) = line.map_or(("", 0), |Line { file, number, .. }| (file, number));
        let next = ids.len() as u32;
        let id = *ids.entry((label, file, number)).or_insert(next);
        frames.push(id);
        if id < next {
            continue;
        }
        out.write_all(if id > 0 { b",\n" } else { b"\n" })?;
        out.write_all(b"{\"name\":")?;
        write_string(label, out)?;
        if !file.is_empty() {
            out.write_all(b",\"file\":")?;
            write_string(file, out)?;
            write!(out, ",\"line\":{number}")?;
        }
        out.write_all(b"}")?;
    }
    Ok(frames)
}
