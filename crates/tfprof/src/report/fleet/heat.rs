//! The table of hosts and steps as a picture: one box for each step of each host, coloured by its time. Large fleets are
//! drawn coarser: a box then shows the slowest of its steps.

use super::Side;
use crate::render::markup::{Xml, fit};
use std::collections::BTreeMap;
use std::io::{self, Write};

/// The maximum number of boxes across and down.
const ACROSS: usize = 300;
const DOWN: usize = 200;
/// Colours from fast to slow, and the most that a step may take of the median one for each.
const COLOURS: [(&str, f64, &str); 7] = [
    ("#4a90d9", 0.9, "over 10 % faster"),
    ("#a9cbe8", 0.98, "2 to 10 % faster"),
    ("#e8e8e8", 1.02, "within 2 %"),
    ("#fbe3a6", 1.1, "up to 10 % slower"),
    ("#f4b65f", 1.25, "up to 25 % slower"),
    ("#e2703a", 2.0, "up to twice as slow"),
    ("#a3122b", f64::INFINITY, "slower"),
];
/// The size of the picture, and the smallest and largest size of a box.
const ROOM: (usize, usize) = (900, 600);
const LEAST: usize = 3;
const MOST: (usize, usize) = (28, 18);
const LETTERS: usize = 24;

/// Boxes by row, column and colour.
#[derive(Clone, Debug, Default)]
pub struct Heat {
    /// The first host of each row.
    rows: Vec<String>,
    columns: usize,
    steps: (i64, i64),
    /// By row and column, the time of the slowest step over that of the median one.
    boxes: BTreeMap<(usize, usize), f64>,
    hosts_by_row: usize,
    steps_by_column: usize,
}

impl Heat {
    pub(super) fn new(sides: &[Side]) -> Heat {
        let mut steps: Vec<i64> = sides.iter().flat_map(|side| side.times.iter().map(|(step, _)| *step)).collect();
        steps.sort_unstable();
        steps.dedup();
        let all = sides.iter().flat_map(|side| side.times.iter().map(|(_, time)| *time)).collect();
        let Some(middle) = super::median(all).filter(|middle| *middle > 0.0) else { return Heat::default() };
        let hosts_by_row = sides.len().div_ceil(DOWN).max(1);
        let steps_by_column = steps.len().div_ceil(ACROSS).max(1);
        let mut heat = Heat {
            rows: sides.iter().step_by(hosts_by_row).map(|side| side.host.host.clone()).collect(),
            columns: steps.len().div_ceil(steps_by_column),
            steps: (steps[0], steps[steps.len() - 1]),
            hosts_by_row,
            steps_by_column,
            ..Heat::default()
        };
        for (at, side) in sides.iter().enumerate() {
            for (step, time) in &side.times {
                let column = steps.partition_point(|other| other < step) / steps_by_column;
                let slowest = heat.boxes.entry((at / hosts_by_row, column)).or_insert(0.0);
                *slowest = slowest.max(time / middle);
            }
        }
        heat
    }

    /// Writes it as SVG, without a script. What was not recorded stays white.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        if self.boxes.is_empty() {
            return out.write_all(b"<p>no step has a time</p>\n");
        }
        let left = 8 * LETTERS;
        let across = (ROOM.0 / self.columns.max(1)).clamp(LEAST, MOST.0);
        let down = (ROOM.1 / self.rows.len().max(1)).clamp(LEAST, MOST.1);
        let (first, last) = self.steps;
        let label = if first == last { format!("step {first}") } else { format!("steps {first} to {last}") };
        let width = left + (across * self.columns).max(8 * label.len());
        let height = down * self.rows.len() + 24;
        writeln!(
            out,
            "<svg class=\"heat\" role=\"img\" aria-label=\"time of each step of each host\" width=\"{width}\" height=\"{height}\" \
             viewBox=\"0 0 {width} {height}\" font-size=\"11\" font-family=\"sans-serif\" fill=\"currentColor\">"
        )?;
        // Labels must not overlap.
        let every = 14_usize.div_ceil(down);
        for (row, host) in self.rows.iter().enumerate().step_by(every) {
            let y = down * row + 6 + down.min(14) / 2;
            writeln!(out, "<text x=\"0\" y=\"{y}\">{}</text>", Xml(&fit(host, LETTERS)))?;
        }
        let mut from = 0.0;
        for (colour, to, _) in COLOURS {
            let mut path = String::new();
            for ((row, column), _) in self.boxes.iter().filter(|(_, ratio)| **ratio > from && **ratio <= to) {
                let (x, y) = (left + across * column, down * row);
                path.push_str(&format!("M{x} {y}h{across}v{down}h-{across}z"));
            }
            writeln!(out, "<path fill=\"{colour}\" d=\"{path}\"/>")?;
            from = to;
        }
        let y = height - 8;
        writeln!(out, "<text x=\"{left}\" y=\"{y}\">{label}</text>\n</svg>")?;
        out.write_all(b"<p>against the median step of all hosts:")?;
        for (colour, _, words) in COLOURS {
            write!(
                out,
                " <svg width=\"10\" height=\"10\"><path fill=\"{colour}\" d=\"M0 0h10v10h-10z\"/></svg> {words};"
            )?;
        }
        writeln!(out, " white: not recorded</p>")?;
        if self.hosts_by_row > 1 || self.steps_by_column > 1 {
            writeln!(
                out,
                "<p>A box is {} hosts and {} steps; it shows the slowest of them.</p>",
                self.hosts_by_row, self.steps_by_column
            )?;
        }
        Ok(())
    }
}
