//! An overview as HTML.

use super::Overview;
use super::render::{Fact, facts, share, title};
use crate::render::html::{Container, bar, begin, colour, end, write_command};
use crate::render::markup::{Xml, fit};
use crate::units;
use std::io::{self, Write};

/// Length limit of a name, a value or a line, in characters.
const TEXT: usize = 400;

/// Writes the overview. `ask` turns a question into a command to type.
pub fn write(
    overview: &Overview,
    ask: &dyn Fn(&str) -> String,
    container: Container<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    begin("overview", container, out)?;
    out.write_all(b"<table class=\"facts\"><tbody>\n")?;
    for Fact { name, value } in facts(overview) {
        writeln!(out, "<tr><td>{}</td><td>{}</td></tr>", Xml(&name), Xml(&fit(&value, TEXT)))?;
    }
    out.write_all(b"</tbody></table>\n")?;
    let info = overview.metric.info();
    for top in &overview.top {
        writeln!(
            out,
            "<div class=\"title part\">{}</div>\n<div class=\"tree\" style=\"--columns:118px 72px\">",
            Xml(&title(overview, top))
        )?;
        for (name, number) in &top.rows {
            write!(out, "<div class=\"r\"><span class=\"n\">{}</span>", Xml(&fit(name, TEXT)))?;
            bar(colour(info.unit), &units::text(info.unit, *number), share(overview, *number), out)?;
            writeln!(out, "<span class=\"c s\">{:.2}%</span></div>", 100.0 * share(overview, *number))?;
        }
        out.write_all(b"</div>\n")?;
    }
    if !overview.deeper.is_empty() {
        out.write_all(b"<div class=\"title part\">to look deeper</div>\n<pre>")?;
        for next in &overview.deeper {
            write_command(&ask(&next.words), container, out)?;
            writeln!(out, "  <span class=\"s\"># {}</span>", Xml(next.about))?;
        }
        out.write_all(b"</pre>\n")?;
    }
    for missing in &overview.missing {
        writeln!(out, "<div class=\"note\">no {}: {}; to record it:</div>\n<pre>", missing.what, Xml(&missing.why))?;
        missing.how.iter().try_for_each(|line| writeln!(out, "{}", Xml(line)))?;
        out.write_all(b"</pre>\n")?;
    }
    end(container, out)
}
