//! Text in SVG, HTML and Markdown: escaped and shortened.

use crate::words::is_deceptive;
use std::fmt;

/// Escaped text for XML and HTML, also in a quoted attribute. Characters that XML forbids become U+FFFD.
pub struct Xml<'a>(pub &'a str);

impl fmt::Display for Xml<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for c in self.0.chars() {
            match c {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => f.write_str("\u{fffd}")?,
                c if is_deceptive(c) => write!(f, "{}", c.escape_unicode())?,
                c => write!(f, "{c}")?,
            }
        }
        Ok(())
    }
}

/// Shortens a text to this many characters.
pub fn fit(text: &str, letters: usize) -> String {
    if text.chars().count() <= letters {
        return text.to_owned();
    }
    text.chars().take(letters - 1).chain(['…']).collect()
}

/// Text in a cell of Markdown: nothing in it ends the cell or the row, or is markup.
pub(crate) fn cell(text: &str) -> String {
    let mut cell = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => cell.push_str("&amp;"),
            '<' => cell.push_str("&lt;"),
            '|' | '[' | '`' => cell.extend(['\\', c]),
            c if c.is_control() || is_deceptive(c) => cell.push(' '),
            c => cell.push(c),
        }
    }
    cell
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_ends_the_text() {
        let rude = "]]></script><b>&\"'\\\u{1}é\u{202e}";
        assert_eq!(Xml(rude).to_string(), "]]&gt;&lt;/script&gt;&lt;b&gt;&amp;&quot;'\\\u{fffd}é\\u{202e}");
    }

    #[test]
    fn a_text_stays_in_its_cell() {
        assert_eq!(cell("a|b`<i>\n\u{202e}[x](y)"), "a\\|b\\`&lt;i>  \\[x](y)");
    }

    #[test]
    fn long_names_are_cut_to_fit() {
        assert_eq!(fit("MatMul", 6), "MatMul");
        assert_eq!(fit("MatMul_1", 4), "Mat…");
    }
}
