//! A roofline as a picture: achieved FLOP/s over FLOPs per byte, both logarithmic, below the peaks of the device. Each row
//! is a dot, whose area is its share of the time. As SVG or, if the name of the file ends in .html, within a page.

use super::html::{self, Container};
use super::markup::{Xml, fit};
use crate::hardware::{Ceiling, rate};
use crate::metric::{Metric, Unit};
use crate::units::Amount;
use crate::view::ceilings::Bound;
use crate::view::{Demand, Side, View, VisibleRow};
use std::fmt::Write as _;
use std::io::{self, Write};
use std::path::Path;

/// Every number that a dot needs.
pub const DEMAND: Demand = Demand {
    whole_tree: true,
    extra_metrics: &[Metric::FlopsPerByte, Metric::FlopsPerSecond, Metric::RooflineShare],
    compares: false,
    ..Demand::ROWS
};

const WIDTH: f64 = 1100.0;
const HEIGHT: f64 = 620.0;
/// Room at the left, top, right and bottom.
const LEFT: f64 = 80.0;
const TOP: f64 = 70.0;
const RIGHT: f64 = 170.0;
const BOTTOM: f64 = 60.0;
/// The radius of a dot that has all of the time.
const RADIUS: f64 = 34.0;
const SMALLEST: f64 = 2.5;
/// Rows with a name beside their dot, if it has room: those that take most time.
const NAMED: usize = 12;
/// The room of a letter.
const LETTER: f64 = 6.8;
const LINE: f64 = 13.0;

const STYLE: &str = ".paper{fill:#fff}text{font:12px system-ui,sans-serif;fill:#222}.title{font-size:16px}.faint{fill:#777}\
.grid{stroke:#e4e4e4}.roof{stroke:#333;stroke-width:2;fill:none}.dot{fill-opacity:.55;stroke:#fff}.memory{fill:#2a78c2}\
.compute{fill:#d0651b}@media(prefers-color-scheme:dark){.paper{fill:#16181c}text{fill:#ddd}.grid{stroke:#2b2f36}\
.roof{stroke:#ccc}.dot{stroke:#16181c}}";

/// A row as a dot.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Dot {
    /// The number of the row in the view.
    pub row: usize,
    /// FLOPs per byte, and FLOP/s.
    pub intensity: f64,
    pub flops_per_second: f64,
    pub micros: f64,
    /// Its share of the time of all rows.
    pub share: f64,
    /// The limit that it runs into, if it stands for itself alone and that is known.
    pub bound: Option<Bound>,
}

/// All dots of a view, the longest first; and the share of time of rows that cannot be drawn: their FLOPs or bytes are 0
/// or unknown.
pub fn dots(view: &View) -> (Vec<Dot>, f64) {
    let whole: f64 = view.rows().iter().map(|row| micros(view, row)).sum();
    let mut left_out = 0.0;
    let mut dots = Vec::new();
    for (at, row) in view.rows().iter().enumerate() {
        let took = micros(view, row);
        if took <= 0.0 {
            continue;
        }
        let own = |metric: Metric| view.real(Side::SelfOnly, metric, row).filter(|x| *x > 0.0);
        match own(Metric::FlopsPerByte).zip(own(Metric::FlopsPerSecond)) {
            Some((intensity, flops_per_second)) => {
                // The bound of a row is about all that it holds.
                let total = view.real(Side::Total, Metric::DeviceMicros, row).unwrap_or(0.0);
                let bound = if total > took { None } else { view.bound_by(row) };
                dots.push(Dot { row: at, intensity, flops_per_second, micros: took, share: took / whole, bound });
            }
            None => left_out += took / whole,
        }
    }
    dots.sort_by(|a, b| b.micros.total_cmp(&a.micros));
    (dots, left_out)
}

/// The device time of a row without those below it.
fn micros(view: &View, row: &VisibleRow) -> f64 {
    view.real(Side::SelfOnly, Metric::DeviceMicros, row).unwrap_or(0.0).max(0.0)
}

/// The peaks to draw: those of the accelerator, if there is one.
pub fn ceiling(view: &View) -> Ceiling {
    let ceilings = view.values().lens.ceilings;
    if ceilings.accelerator.is_known() { ceilings.accelerator } else { ceilings.cpu }
}

pub fn write(view: &View, container: Container<'_>, out: &mut dyn Write) -> io::Result<()> {
    let svg = picture(view);
    let ending = Path::new(&view.options.output.outfile).extension();
    if !ending.is_some_and(|ending| ending.eq_ignore_ascii_case("html")) {
        return out.write_all(svg.as_bytes());
    }
    html::begin("roofline", container, out)?;
    out.write_all(svg.as_bytes())?;
    html::end(container, out)
}

/// A logarithmic axis.
#[derive(Clone, Copy)]
struct Axis {
    low: f64,
    high: f64,
    start: f64,
    end: f64,
}

impl Axis {
    /// Whole powers of ten around the values.
    fn new(values: impl Iterator<Item = f64>, start: f64, end: f64) -> Axis {
        let (low, high) = values.fold((f64::MAX, f64::MIN), |(low, high), x| (low.min(x.log10()), high.max(x.log10())));
        let (low, high) = if low > high { (0.0, 1.0) } else { (low.floor(), high.ceil()) };
        Axis { low, high: if high > low { high } else { low + 1.0 }, start, end }
    }

    fn at(&self, x: f64) -> f64 {
        let share = (x.log10() - self.low) / (self.high - self.low);
        self.start + share * (self.end - self.start)
    }

    /// The powers of ten, at most about a dozen.
    fn ticks(&self) -> impl Iterator<Item = f64> + use<> {
        let step = ((self.high - self.low) / 12.0).ceil().max(1.0) as usize;
        (self.low as i32..=self.high as i32).step_by(step).map(|power| 10_f64.powi(power))
    }
}

fn picture(view: &View) -> String {
    let (dots, left_out) = dots(view);
    let ceiling = ceiling(view);
    let roofs = ceiling.by_precision();
    let ridges = roofs.iter().filter_map(|(_, flops)| Some(flops / ceiling.bandwidth()?));
    let x = Axis::new(dots.iter().map(|dot| dot.intensity).chain(ridges), LEFT, WIDTH - RIGHT);
    let heights = dots.iter().map(|dot| dot.flops_per_second).chain(roofs.iter().map(|(_, flops)| *flops));
    let y = Axis::new(heights, HEIGHT - BOTTOM, TOP);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{HEIGHT}\" viewBox=\"0 0 {WIDTH} {HEIGHT}\">\n\
         <title>roofline by {0}</title>\n<style>{STYLE}</style>\n<rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n\
         <text class=\"title\" x=\"{LEFT}\" y=\"26\">roofline by {0}: each dot a row, its area the share of device time</text>\n",
        view.kind.word()
    );
    push_notes(view, &dots, left_out, &mut svg);
    push_grid(x, y, &mut svg);
    push_roofs(&ceiling, &roofs, x, y, &mut svg);
    push_dots(view, &dots, &ceiling, x, y, &mut svg);
    svg.push_str("</svg>\n");
    svg
}

fn push_notes(view: &View, dots: &[Dot], left_out: f64, svg: &mut String) {
    let peaks = if view.peaks().is_empty() { "no peak is known".to_owned() } else { view.peaks().join("; ") };
    let mut line = |at: f64, text: &str| {
        let _ = writeln!(svg, "<text class=\"faint\" x=\"{LEFT}\" y=\"{at}\">{}</text>", Xml(&fit(text, 150)));
    };
    line(44.0, &peaks);
    if left_out > 0.0 {
        let text = format!(
            "{} rows; {:.1} % of the time is in rows whose FLOPs or bytes are 0 or unknown, which have no place here",
            dots.len(),
            100.0 * left_out
        );
        line(60.0, &text);
    }
}

fn push_grid(x: Axis, y: Axis, svg: &mut String) {
    let (left, right, top, bottom) = (LEFT, WIDTH - RIGHT, TOP, HEIGHT - BOTTOM);
    for tick in x.ticks() {
        let at = x.at(tick);
        let _ = writeln!(svg, "<path class=\"grid\" d=\"M{at:.1} {top}V{bottom}\"/>");
        let _ =
            writeln!(svg, "<text x=\"{at:.1}\" y=\"{}\" text-anchor=\"middle\">{}</text>", bottom + 18.0, plain(tick));
    }
    for tick in y.ticks() {
        let at = y.at(tick);
        let _ = writeln!(svg, "<path class=\"grid\" d=\"M{left} {at:.1}H{right}\"/>");
        let label = rate(tick, "F/s");
        let _ = writeln!(svg, "<text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{label}</text>", left - 6.0, at + 4.0);
    }
    let (middle, low) = (f64::midpoint(left, right), HEIGHT - 14.0);
    let _ =
        writeln!(svg, "<text x=\"{middle}\" y=\"{low}\" text-anchor=\"middle\">FLOPs per byte read or written</text>");
}

/// A power of ten.
fn plain(x: f64) -> String {
    if (0.001..1e6).contains(&x) { format!("{x}") } else { format!("{x:e}") }
}

/// The slope of the memory, and a roof for each precision.
fn push_roofs(ceiling: &Ceiling, roofs: &[(String, f64)], x: Axis, y: Axis, svg: &mut String) {
    let (first, last) = (10_f64.powf(x.low), 10_f64.powf(x.high));
    let lowest = 10_f64.powf(y.low);
    let highest = roofs.iter().map(|(_, flops)| *flops).fold(0.0, f64::max);
    let bandwidth = ceiling.bandwidth();
    if let Some(bandwidth) = bandwidth {
        let from = first.max(lowest / bandwidth);
        let to = if highest > 0.0 { (highest / bandwidth).min(last) } else { last };
        if from < to {
            let [x1, y1, x2, y2] = [x.at(from), y.at(from * bandwidth), x.at(to), y.at(to * bandwidth)];
            let _ = writeln!(svg, "<path class=\"roof\" d=\"M{x1:.1} {y1:.1}L{x2:.1} {y2:.1}\"/>");
            let (mx, my) = (f64::midpoint(x1, x2), f64::midpoint(y1, y2));
            let label = rate(bandwidth, "B/s");
            let _ = writeln!(svg, "<text x=\"{:.1}\" y=\"{my:.1}\" text-anchor=\"end\">{label}</text>", mx - 8.0);
        }
    }
    let mut highest_first: Vec<&(String, f64)> = roofs.iter().collect();
    highest_first.sort_by(|a, b| b.1.total_cmp(&a.1));
    // Labels keep apart where roofs are close.
    let mut lowest_label = f64::MIN;
    for (word, flops) in highest_first {
        let from = bandwidth.map_or(first, |bandwidth| (flops / bandwidth).clamp(first, last));
        let (at, end) = (y.at(*flops), WIDTH - RIGHT);
        let _ = writeln!(svg, "<path class=\"roof\" d=\"M{:.1} {at:.1}H{end}\"/>", x.at(from));
        let label = format!("{} {word}", rate(*flops, "FLOP/s"));
        lowest_label = (at + 4.0).max(lowest_label + LINE);
        let _ = writeln!(svg, "<text x=\"{:.1}\" y=\"{lowest_label:.1}\">{}</text>", end + 6.0, label.trim_end());
    }
}

fn push_dots(view: &View, dots: &[Dot], ceiling: &Ceiling, x: Axis, y: Axis, svg: &mut String) {
    let ridge = ceiling.flops(None).zip(ceiling.bandwidth()).map(|(flops, bandwidth)| flops / bandwidth);
    let mut labels = Labels::default();
    for (at, dot) in dots.iter().enumerate() {
        let row = &view.rows()[dot.row];
        let (cx, cy) = (x.at(dot.intensity), y.at(dot.flops_per_second));
        let radius = (RADIUS * dot.share.sqrt()).max(SMALLEST);
        let class = if ridge.is_some_and(|ridge| dot.intensity > ridge) { "compute" } else { "memory" };
        let took = Amount { n: (dot.micros * 1e6) as i64, parts: 1_000_000 }.text(Unit::Micros);
        let name = view.name(row);
        let of_roofline = view.real(Side::SelfOnly, Metric::RooflineShare, row);
        let of_roofline =
            of_roofline.map_or(String::new(), |share| format!(", {:.1} % of the roofline", 100.0 * share));
        let _ = writeln!(
            svg,
            "<circle class=\"dot {class}\" cx=\"{cx:.1}\" cy=\"{cy:.1}\" r=\"{radius:.1}\"><title>{}: {}, {:.4} FLOPs per byte, \
             {took} ({:.1} % of the time){of_roofline}</title></circle>",
            Xml(name),
            rate(dot.flops_per_second, "FLOP/s"),
            dot.intensity,
            100.0 * dot.share
        );
        if at < NAMED {
            let short = fit(name.rsplit('/').next().unwrap_or(name), 32);
            if let Some((x, y)) = labels.place(cx, cy, radius, short.chars().count()) {
                let _ = writeln!(svg, "<text x=\"{x:.1}\" y=\"{y:.1}\">{}</text>", Xml(&short));
            }
        }
    }
}

/// The names that were written, as boxes: left, top, right and bottom.
#[derive(Default)]
struct Labels {
    taken: Vec<[f64; 4]>,
}

impl Labels {
    /// Where a name of so many letters begins beside its dot without covering another; `None` if there is no room.
    fn place(&mut self, cx: f64, cy: f64, radius: f64, letters: usize) -> Option<(f64, f64)> {
        let width = letters as f64 * LETTER;
        let gap = radius + 3.0;
        let (right, left, middle) = (cx + gap, cx - gap - width, cx - width / 2.0);
        let beside = [(right, cy + 4.0), (left, cy + 4.0), (middle, cy - gap - 2.0), (middle, cy + gap + LINE - 3.0)];
        let box_of = |(x, y): (f64, f64)| [x, y - LINE + 3.0, x + width, y + 3.0];
        let is_free = |[left, top, right, bottom]: [f64; 4]| {
            let inside = left >= LEFT && right <= WIDTH - RIGHT && top >= TOP && bottom <= HEIGHT - BOTTOM;
            let apart =
                |other: &[f64; 4]| right <= other[0] || other[2] <= left || bottom <= other[1] || other[3] <= top;
            inside && self.taken.iter().all(apart)
        };
        let found = beside.into_iter().find(|place| is_free(box_of(*place)))?;
        self.taken.push(box_of(found));
        Some(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_beside_dots_do_not_cover_each_other() {
        let mut labels = Labels::default();
        assert_eq!(labels.place(500.0, 300.0, 5.0, 10), Some((508.0, 304.0)));
        // The same place once more: to the left, above, below, and then nowhere.
        let (x, y) = labels.place(500.0, 300.0, 5.0, 10).expect("room at the left");
        assert!(x + 10.0 * LETTER < 500.0 && y > 300.0, "{x} {y}");
        assert!(labels.place(500.0, 300.0, 5.0, 10).is_some_and(|(_, y)| y < 300.0));
        assert!(labels.place(500.0, 300.0, 5.0, 10).is_some_and(|(_, y)| y > 304.0));
        assert_eq!(labels.place(500.0, 300.0, 5.0, 10), None);
        // At the right edge, to the left.
        assert!(labels.place(WIDTH - RIGHT - 2.0, 100.0, 5.0, 10).is_some_and(|(x, _)| x < WIDTH - RIGHT - 70.0));
    }

    #[test]
    fn an_axis_has_whole_powers_of_ten() {
        let axis = Axis::new([0.125, 300.0].into_iter(), 0.0, 400.0);
        assert_eq!((axis.low, axis.high), (-1.0, 3.0));
        assert!((axis.at(10.0) - 200.0).abs() < 1e-9);
        assert_eq!(axis.ticks().count(), 5);
        // One value, or none, still makes an axis.
        assert!(Axis::new([1.0].into_iter(), 0.0, 1.0).at(1.0).is_finite());
        assert!(Axis::new(std::iter::empty(), 0.0, 1.0).at(5.0).is_finite());
    }
}
