//! A flame graph as a self-contained SVG file with zoom and search.
//!
//! The first picture is drawn here, so that it also shows without scripts; it leaves out boxes too narrow to see. The
//! script has all boxes and redraws them on zoom. Nothing is fetched from the network.

use super::markup::{Xml, fit};
use super::nesting::{self, Nested};
use super::{compare, direction};
use crate::hash::UntrustedMap;
use crate::metric::{Metric, MetricInfo, Unit};
use crate::units;
use crate::view::compare::{Compared, Figure, Status, size_of};
use crate::view::{Side, View};
use std::fmt;
use std::io::{self, Write};

const WIDTH: f64 = 1200.0;
const MARGIN: f64 = 12.0;
/// Room for the title and the search box.
const HEAD: usize = 64;
/// Room for the details of the box under the pointer.
const FOOT: usize = 32;
const ROW: usize = 19;
/// The width of a letter and of the narrowest box that is drawn, in pixels.
const LETTER: f64 = 6.7;
const NARROWEST: f64 = 0.4;

const STYLE: &str = include_str!("flamegraph/style.css");
const SCRIPT: &str = include_str!("flamegraph/script.js");

pub fn write(view: &View, out: &mut dyn Write) -> io::Result<()> {
    let metric = nesting::metric(view).info();
    let boxes = nesting::boxes(view, metric.metric);
    let levels = boxes.iter().map(|nested| nested.depth + 1).max().unwrap_or(1);
    let height = HEAD + levels * ROW + FOOT;
    let title = match view.compared() {
        None => format!("{} by {}", metric.legend, view.kind.word()),
        Some(compared) => format!(
            "{} by {}: {} → {} (red: more, green: less, violet: gone, grey: no change that stands out)",
            metric.legend,
            view.kind.word(),
            compared.names[0],
            compared.names[1]
        ),
    };
    writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" \
         viewBox=\"0 0 {WIDTH} {height}\">\n<title>{0}</title>\n<style>{STYLE}</style>\n\
         <rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n\
         <text id=\"title\" x=\"{MARGIN}\" y=\"28\">{0}</text>\n\
         <text id=\"hint\" x=\"{MARGIN}\" y=\"48\">{1}</text>\n<g id=\"boxes\">",
        Xml(&title),
        Xml(&units::text(metric.unit, boxes.first().map_or(0, |root| root.width))),
    )?;
    let mut names = Names::default();
    let labels: Vec<u32> = (0..boxes.len()).map(|i| names.id(label(view, &boxes, i))).collect();
    let tints = match view.compared() {
        Some(compared) => changes(view, compared, metric.metric, &boxes),
        None => tints(view, &boxes),
    };
    write_boxes(view, metric, &boxes, &tints, out)?;
    let foot = height - 10;
    writeln!(out, "</g>\n<text id=\"details\" x=\"{MARGIN}\" y=\"{foot}\"></text>\n<script><![CDATA[")?;
    write_data(view, metric, &names.all, out)?;
    out.write_all(b"// Depth, start, width, name, tint.\nconst boxes = [")?;
    for ((nested, label), tint) in boxes.iter().zip(labels).zip(tints) {
        writeln!(out, "{},{},{},{label},{},", nested.depth, nested.start, nested.width, tint.number())?;
    }
    out.write_all(b"];\n")?;
    writeln!(out, "{SCRIPT}]]></script>\n</svg>")
}

/// The name in a box.
fn label<'v>(view: &'v View, boxes: &[Nested], i: usize) -> &'v str {
    if i == 0 { nesting::ROOT } else { nesting::label(view, boxes, i) }
}

/// The colour of a box: a hue, and a shade of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Tint {
    /// None: the grey of the root.
    hue: Option<u32>,
    /// From 0 to 7, the darker the larger.
    shade: u32,
    is_gradient: bool,
}

impl Tint {
    const ROOT: Tint = Tint { hue: None, shade: 0, is_gradient: false };

    /// As the script has it.
    fn number(self) -> u32 {
        self.hue.map_or(0, |hue| 8 * hue + self.shade)
    }
}

impl fmt::Display for Tint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.hue {
            None => f.write_str("hsl(48,6%,84%)"),
            Some(hue) => write!(f, "hsl({hue},{}%,{}%)", if self.is_gradient { 42 } else { 72 }, 80 - 2 * self.shade),
        }
    }
}

/// The colours of a comparison: the hue says whether there is more or less, the shade by how much.
fn changes(view: &View, compared: &Compared, metric: Metric, boxes: &[Nested]) -> Vec<Tint> {
    let tint = |nested: &Nested| {
        let row = &view.rows()[nested.row];
        let status = compared.status(row);
        let percent = size_of(view.figure(Figure::Percent, Side::Total, metric, row));
        // Each tenth is a shade darker.
        let shade = ((percent / 10.0) as u32).min(7);
        let (hue, shade) = match (status, compare::growth(view, metric, row)) {
            (Status::Removed, _) => (270, 7),
            (Status::Added, _) => (8, 7),
            (status, _) if !status.stands_out() => return Tint::ROOT,
            (_, 1) => (8, shade),
            (_, -1) => (145, shade),
            _ => return Tint::ROOT,
        };
        Tint { hue: Some(hue), shade, is_gradient: hue > 100 }
    };
    boxes.iter().map(tint).collect()
}

/// The colours of boxes. A box has the hue of the box around it. Where a family begins (below the root, and where
/// gradients begin or end), the place among its siblings sets the hue; depth and name only shift the lightness.
fn tints(view: &View, boxes: &[Nested]) -> Vec<Tint> {
    let mut tints: Vec<Tint> = Vec::with_capacity(boxes.len());
    // By box: how many families began within it.
    let mut begun = vec![0_u32; boxes.len()];
    for (i, nested) in boxes.iter().enumerate() {
        let Some(around) = tints.get(nested.parent).copied() else {
            tints.push(Tint::ROOT);
            continue;
        };
        let is_gradient = direction::is_gradient(view, &view.rows()[nested.row]);
        let hue = around.hue.filter(|_| around.is_gradient == is_gradient).unwrap_or_else(|| {
            let place = begun[nested.parent];
            begun[nested.parent] += 1;
            // Neighbours are far apart: steps of the golden section through 26–44, or 174–200 for gradients.
            let (first, width) = if is_gradient { (174, 27) } else { (26, 19) };
            (f64::from(place) * 0.618_034).fract().mul_add(f64::from(width), f64::from(first)) as u32
        });
        let name = label(view, boxes, i).bytes();
        let hash = name.fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
        let shade = (hash ^ hash >> 15) % 4 + nested.depth as u32 % 2 * 4;
        tints.push(Tint { hue: Some(hue), shade, is_gradient });
    }
    tints
}

/// Writes the boxes that are visible without zoom.
fn write_boxes(
    view: &View,
    metric: &MetricInfo,
    boxes: &[Nested],
    tints: &[Tint],
    out: &mut dyn Write,
) -> io::Result<()> {
    let whole = boxes.first().map_or(1, |root| root.width).max(1) as f64;
    let scale = (WIDTH - 2.0 * MARGIN) / whole;
    for (i, nested) in boxes.iter().enumerate() {
        let width = nested.width as f64 * scale;
        if width < NARROWEST && i > 0 {
            continue;
        }
        let label = label(view, boxes, i);
        let (x, y) = (MARGIN + nested.start as f64 * scale, HEAD + nested.depth * ROW);
        let share = 100.0 * nested.width as f64 / whole;
        let name = if i == 0 { label } else { view.name(&view.rows()[nested.row]) };
        let number = match view.compared() {
            Some(compared) => compare::told(view, compared, metric.metric, &view.rows()[nested.row]),
            None => units::text(metric.unit, nested.width),
        };
        write!(
            out,
            "<g class=\"box\"><title>{}: {number} ({share:.2}%)</title>\
             <rect x=\"{x:.2}\" y=\"{y}\" width=\"{:.2}\" height=\"{}\" rx=\"2\" fill=\"{}\"/>",
            Xml(name),
            (width - 0.5).max(0.3),
            ROW - 1,
            tints[i],
        )?;
        let letters = ((width - 6.0) / LETTER).max(0.0) as usize;
        if letters > 2 {
            write!(out, "<text x=\"{:.2}\" y=\"{}\">{}</text>", x + 3.0, y + 13, Xml(&fit(label, letters)))?;
        }
        out.write_all(b"</g>\n")?;
    }
    Ok(())
}

/// Writes the data of the script that boxes share.
fn write_data(view: &View, metric: &MetricInfo, names: &[&str], out: &mut dyn Write) -> io::Result<()> {
    let unit = match metric.unit {
        Unit::Micros => "micros",
        Unit::Bytes => "bytes",
        Unit::Count | Unit::BytesPerSecond | Unit::FlopsPerSecond | Unit::Share => "count",
    };
    let scopes = view.kind == crate::options::ViewKind::Scope;
    write!(
        out,
        "const layout = {{margin: {MARGIN}, head: {HEAD}, foot: {FOOT}, row: {ROW}, letter: {LETTER}, \
         narrowest: {NARROWEST}}};\nconst unit = \"{unit}\", scopes = {scopes};\nconst names = ["
    )?;
    for name in names {
        writeln!(out, "{},", Js(name))?;
    }
    out.write_all(b"];\n")
}

/// Numbers names in the order of their first use.
#[derive(Default)]
struct Names<'v> {
    all: Vec<&'v str>,
    ids: UntrustedMap<&'v str, u32>,
}

impl<'v> Names<'v> {
    fn id(&mut self, name: &'v str) -> u32 {
        *self.ids.entry(name).or_insert_with(|| {
            self.all.push(name);
            self.all.len() as u32 - 1
        })
    }
}

/// A JavaScript string within XML: plain ASCII, safe for both.
struct Js<'a>(&'a str);

impl fmt::Display for Js<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("\"")?;
        for c in self.0.chars() {
            match c {
                '<' | '>' | '&' | '"' | '\\' | '\'' => write!(f, "\\u{:04x}", c as u32)?,
                ' '..='~' => write!(f, "{c}")?,
                c => {
                    for unit in c.encode_utf16(&mut [0; 2]) {
                        write!(f, "\\u{unit:04x}")?;
                    }
                }
            }
        }
        f.write_str("\"")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_ends_the_script() {
        let rude = "]]></script><b>&\"'\\\u{1}é";
        assert_eq!(
            Js(rude).to_string(),
            r#""]]\u003e\u003c/script\u003e\u003cb\u003e\u0026\u0022\u0027\u005c\u0001\u00e9""#
        );
    }
}
