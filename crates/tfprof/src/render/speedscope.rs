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
    let boxes = nesting::boxes(view, metric.metric);
    write!(out, "{{\"$schema\":\"{SCHEMA}\",\"exporter\":\"tfprof\",\"shared\":{{\"frames\":[")?;
    let frames = write_frames(view, &boxes, out)?;
    let unit = match metric.unit {
        Unit::Micros => "microseconds",
        Unit::Bytes => "bytes",
        Unit::Count | Unit::BytesPerSecond | Unit::FlopsPerSecond => "none",
    };
    let end = boxes.first().map_or(0, |root| root.width);
    write!(out, "]}},\n\"profiles\":[{{\"type\":\"evented\",\"name\":")?;
    write_string(&format!("{} by {}", metric.legend, view.kind.word()), out)?;
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
    out.write_all(b"]}]}\n")
}

/// Writes each frame once and returns the frame of each box.
fn write_frames(view: &View, boxes: &[Nested], out: &mut dyn Write) -> io::Result<Vec<u32>> {
    let mut ids: UntrustedMap<(&str, &str, i32), u32> = UntrustedMap::default();
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
