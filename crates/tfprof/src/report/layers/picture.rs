//! The cases of a table as bars: the least time of a step, and its part in ops that are bound by compute.

use super::what_if::Case;
use crate::metric::Unit;
use crate::render::markup::{Xml, fit};
use crate::units::Amount;
use std::fmt::Write as _;

const WIDTH: f64 = 960.0;
/// Room for the names, and for the times behind the bars.
const LEFT: f64 = 260.0;
const RIGHT: f64 = 110.0;
const TOP: f64 = 44.0;
const ROW: f64 = 24.0;
/// The maximum number of bars; a table has all cases.
const MOST: usize = 200;

const STYLE: &str = ".paper{fill:#fff}text{font:12px system-ui,sans-serif;fill:#222}.memory{fill:#2a78c2}.compute{fill:#d0651b}\
@media(prefers-color-scheme:dark){.paper{fill:#16181c}text{fill:#ddd}}";

/// The picture as SVG; empty if no time is known.
pub fn bars(cases: &[Case]) -> String {
    let timed: Vec<(&Case, f64)> = cases.iter().filter_map(|case| Some((case, case.micros?))).take(MOST).collect();
    let longest = timed.iter().map(|(_, micros)| *micros).fold(0.0, f64::max);
    if longest <= 0.0 {
        return String::new();
    }
    let height = TOP + ROW * timed.len() as f64 + 12.0;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" viewBox=\"0 0 {WIDTH} {height}\">\n\
         <title>least step time</title>\n<style>{STYLE}</style>\n<rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n"
    );
    let mut legend = |x: f64, class: &str, text: &str| {
        let _ = writeln!(svg, "<rect class=\"{class}\" x=\"{x}\" y=\"14\" width=\"12\" height=\"12\"/>");
        let _ = writeln!(svg, "<text x=\"{}\" y=\"24\">{text}</text>", x + 18.0);
    };
    legend(LEFT, "compute", "in ops bound by compute");
    legend(LEFT + 190.0, "memory", "in ops bound by memory");
    for (at, (case, micros)) in timed.iter().enumerate() {
        let top = TOP + ROW * at as f64;
        let width = (WIDTH - LEFT - RIGHT) * micros / longest;
        let compute = width * case.compute_bound.unwrap_or(0.0);
        let batch = case.batch.map_or(String::new(), |batch| format!("batch {batch}, "));
        let name = fit(&format!("{batch}{}", case.device), 38);
        let base = top + 14.0;
        let _ = writeln!(svg, "<text x=\"{}\" y=\"{base}\" text-anchor=\"end\">{}</text>", LEFT - 8.0, Xml(&name));
        for (class, x, width) in [("compute", LEFT, compute), ("memory", LEFT + compute, width - compute)] {
            let _ =
                writeln!(svg, "<rect class=\"{class}\" x=\"{x:.1}\" y=\"{top}\" width=\"{width:.1}\" height=\"18\"/>");
        }
        let least = if case.unknown_ops > 0 { "≥ " } else { "" };
        let time = Amount { n: (micros * 1e6) as i64, parts: 1_000_000 }.text(Unit::Micros);
        let _ = writeln!(svg, "<text x=\"{:.1}\" y=\"{base}\">{least}{time}</text>", LEFT + width + 8.0);
    }
    svg.push_str("</svg>\n");
    svg
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::layers::memory::Memory;

    fn case(batch: i64, micros: Option<f64>) -> Case {
        Case {
            batch: Some(batch),
            device: "a <b>".to_owned(),
            float_ops: 1,
            io_bytes: 1,
            unknown_ops: 0,
            micros,
            compute_micros: micros,
            memory_micros: micros,
            compute_bound: Some(0.25),
            per_second: None,
            memory: Memory::default(),
        }
    }

    #[test]
    fn bars_are_as_long_as_steps_and_names_are_no_markup() {
        let svg = bars(&[case(1, Some(50.0)), case(8, Some(100.0)), case(9, None)]);
        let whole = WIDTH - LEFT - RIGHT;
        for width in [whole / 8.0, whole * 3.0 / 8.0, whole / 4.0, whole * 3.0 / 4.0] {
            assert!(svg.contains(&format!("width=\"{width:.1}\"")), "{width} {svg}");
        }
        assert!(svg.contains("batch 8, a &lt;b&gt;") && !svg.contains("batch 9"), "{svg}");
        assert_eq!(bars(&[case(1, None)]), "");
    }
}
