//! The frame around an answer: in a notebook cell a title, on a page of its own a heading, links, search, the command
//! that gives it, and a policy that lets nothing run or load but the page's own script.

use crate::render::markup::{Xml, fit};
use std::io::{self, Write};

const STYLE: &str = include_str!("style.css");
const PAGE_STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");
/// Of the script, for the policy; a test names it anew.
const SCRIPT_HASH: &str = "sha256-ddJBdzDKLfFmgFSEW0SM15pE3OUdhJf77VcCF83CK0I=";

/// Length limits in characters: a title, a command.
const TITLE: usize = 300;
const COMMAND: usize = 2_000;

/// Where the HTML is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Container<'a> {
    /// A page of its own.
    Page(Page<'a>),
    /// Part of another page, such as the output of a notebook cell.
    Cell,
}

/// The place of a page among its neighbours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Page<'a> {
    /// The command that gives this page; empty if there is none.
    pub command: &'a str,
    /// The words of commands whose pages lie beside this one, as `WORD.html` (`index.html` for `info`); its own is
    /// among them.
    pub pages: &'a [&'a str],
}

impl<'a> Page<'a> {
    pub fn new(command: &'a str, pages: &'a [&'a str]) -> Page<'a> {
        Page { command, pages }
    }
}

impl<'a> Container<'a> {
    /// A page by itself.
    pub const PAGE: Container<'static> = Container::Page(Page { command: "", pages: &[] });

    /// The row limit.
    pub(crate) const fn most_rows(self) -> usize {
        match self {
            Container::Page(_) => 10_000,
            Container::Cell => 1_000,
        }
    }

    /// The class of a frame that must not grow.
    pub(crate) const fn bounded(self) -> &'static str {
        if matches!(self, Container::Cell) { " bounded" } else { "" }
    }

    /// The file of a page beside this one that answers a command; its options may differ.
    fn beside(self, command: &str) -> Option<&'a str> {
        let Container::Page(page) = self else { return None };
        let mut words = command.split_whitespace().filter(|word| !matches!(*word, "tfprof" | "demo"));
        let word = words.next()?;
        page.pages.iter().copied().find(|page| *page == word)
    }
}

/// Begins the HTML, with a title.
pub(crate) fn begin(title: &str, container: Container<'_>, out: &mut dyn Write) -> io::Result<()> {
    let title = fit(title, TITLE);
    let Container::Page(page) = container else {
        return writeln!(
            out,
            "<div class=\"tfprof\"><style>\n{STYLE}</style>\n<div class=\"title\">{}</div>",
            Xml(&title)
        );
    };
    // A sentence has a capital; a name stays as it is.
    let mut letters = title.chars();
    let capital: String = letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).collect();
    let first = title.split(' ').next().unwrap_or_default();
    let heading = if first.bytes().all(|byte| byte.is_ascii_lowercase()) { &capital } else { &title };
    write!(
        out,
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; \
         script-src '{SCRIPT_HASH}'; base-uri 'none'; form-action 'none'\">\n\
         <meta name=\"viewport\" content=\"width=device-width\"><meta name=\"referrer\" content=\"no-referrer\">\n\
         <title>{0} · tfprof</title>\n<style>\n{STYLE}{PAGE_STYLE}</style></head><body>\n\
         <div class=\"tfprof page\">\n<header><h1>{0}</h1>\
         <label class=\"find\" hidden><output aria-live=\"polite\"></output>\
         <input type=\"search\" placeholder=\"Find\" aria-label=\"find in this page\"><kbd>/</kbd></label></header>\n",
        Xml(heading)
    )?;
    if !page.pages.is_empty() {
        let own = page.command.split_whitespace().find(|word| page.pages.contains(word));
        out.write_all(b"<nav>")?;
        for word in page.pages {
            let here = if own == Some(*word) { " aria-current=\"page\"" } else { "" };
            let label = if *word == "info" { "overview" } else { word };
            write!(out, "<a href=\"{}.html\"{here}>{}</a>", Xml(file_of(word)), Xml(label))?;
        }
        out.write_all(b"</nav>\n")?;
    }
    Ok(())
}

/// Ends the HTML; a page with the command that gives it.
pub(crate) fn end(container: Container<'_>, out: &mut dyn Write) -> io::Result<()> {
    let Container::Page(page) = container else { return out.write_all(b"</div>\n") };
    out.write_all(b"<footer>")?;
    if !page.command.is_empty() {
        // Its own page is not a link to itself.
        write_command(page.command, Container::PAGE, out)?;
    }
    let version = env!("CARGO_PKG_VERSION");
    write!(out, "<span class=\"s\">tfprof {version}</span></footer>\n</div>\n<script>{SCRIPT}</script></body></html>\n")
}

/// The file of a command's page, without its ending.
fn file_of(word: &str) -> &str {
    if word == "info" { "index" } else { word }
}

/// A command: a link to its page where there is one, and a click copies it.
pub(crate) fn write_command(command: &str, container: Container<'_>, out: &mut dyn Write) -> io::Result<()> {
    let command = fit(command, COMMAND);
    if container == Container::Cell {
        return write!(out, "{}", Xml(&command));
    }
    if let Some(word) = container.beside(&command) {
        let (file, text) = (Xml(file_of(word)), Xml(&command));
        return write!(
            out,
            "<a class=\"to\" href=\"{file}.html\" title=\"to the page of {}\">{text}</a>\
             <a class=\"cmd\" href=\"#\" title=\"copy the command\" data-copy=\"{text}\">copy</a>",
            Xml(word)
        );
    }
    write!(out, "<a class=\"cmd\" href=\"#\" title=\"click to copy\">{}</a>", Xml(&command))
}

/// Text whose `commands` in backticks are links.
pub(crate) fn write_prose(text: &str, container: Container<'_>, out: &mut dyn Write) -> io::Result<()> {
    for (i, part) in text.split('`').enumerate() {
        let closed = i % 2 == 1;
        match part {
            command if closed && command.starts_with("tfprof ") => write_command(command, container, out)?,
            code if closed => write!(out, "<code>{}</code>", Xml(code))?,
            prose => {
                for (i, line) in prose.split('\n').enumerate() {
                    write!(out, "{}{}", if i > 0 { "\n" } else { "" }, Xml(line))?;
                }
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// FIPS 180-4, for the policy of the page.
    fn sha256(bytes: &[u8]) -> Vec<u8> {
        let fraction = |root: f64| (root.fract() * 4_294_967_296.0) as u32;
        let is_prime = |n: &u32| (2..*n).take_while(|d| d * d <= *n).all(|d| !n.is_multiple_of(d));
        let primes: Vec<f64> = (2..).filter(is_prime).take(64).map(f64::from).collect();
        let constants: Vec<u32> = primes.iter().map(|prime| fraction(prime.cbrt())).collect();
        let mut state: Vec<u32> = primes.iter().take(8).map(|prime| fraction(prime.sqrt())).collect();
        let mut padded = bytes.to_vec();
        padded.push(0x80);
        while padded.len() % 64 != 56 {
            padded.push(0);
        }
        padded.extend((8 * bytes.len() as u64).to_be_bytes());
        for block in padded.chunks(64) {
            let mut w: Vec<u32> =
                block.chunks(4).map(|four| u32::from_be_bytes(four.try_into().expect("four bytes"))).collect();
            for t in 16..64 {
                let (a, b): (u32, u32) = (w[t - 15], w[t - 2]);
                let a = a.rotate_right(7) ^ a.rotate_right(18) ^ (a >> 3);
                let b = b.rotate_right(17) ^ b.rotate_right(19) ^ (b >> 10);
                w.push(w[t - 16].wrapping_add(a).wrapping_add(w[t - 7]).wrapping_add(b));
            }
            let mut s = state.clone();
            for t in 0..64 {
                let e = s[4].rotate_right(6) ^ s[4].rotate_right(11) ^ s[4].rotate_right(25);
                let choice = (s[4] & s[5]) ^ (!s[4] & s[6]);
                let first = s[7].wrapping_add(e).wrapping_add(choice).wrapping_add(constants[t]).wrapping_add(w[t]);
                let a = s[0].rotate_right(2) ^ s[0].rotate_right(13) ^ s[0].rotate_right(22);
                let majority = (s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]);
                s.rotate_right(1);
                s[4] = s[4].wrapping_add(first);
                s[0] = first.wrapping_add(a).wrapping_add(majority);
            }
            state.iter_mut().zip(s).for_each(|(sum, more)| *sum = sum.wrapping_add(more));
        }
        state.into_iter().flat_map(u32::to_be_bytes).collect()
    }

    fn base64(bytes: &[u8]) -> String {
        const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let mut text = String::new();
        for three in bytes.chunks(3) {
            let bits = three.iter().fold(0, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - three.len()));
            for i in 0..4 {
                let letter = LETTERS[(bits >> (18 - 6 * i) & 63) as usize] as char;
                text.push(if i > three.len() { '=' } else { letter });
            }
        }
        text
    }

    #[test]
    fn the_policy_names_the_script() {
        assert_eq!(base64(&sha256(b"abc")), "ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=");
        assert_eq!(SCRIPT_HASH, format!("sha256-{}", base64(&sha256(SCRIPT.as_bytes()))));
        assert!(!SCRIPT.contains("</"), "nothing ends the script");
    }

    #[test]
    fn a_command_leads_to_its_page_or_copies_itself() {
        let written = |command: &str, container| {
            let mut out = Vec::new();
            write_command(command, container, &mut out).unwrap();
            String::from_utf8(out).unwrap()
        };
        let pages = ["info", "op"];
        let beside = Container::Page(Page::new("", &pages));
        assert!(written("tfprof op dir -max_depth 3", beside).starts_with("<a class=\"to\" href=\"op.html\""));
        assert!(written("tfprof demo op", beside).starts_with("<a class=\"to\" href=\"op.html\""));
        assert!(written("tfprof code dir", beside).starts_with("<a class=\"cmd\" href=\"#\""));
        assert!(written("tfprof op '<i>'", Container::PAGE).contains("&lt;i&gt;"));
        assert_eq!(written("tfprof op '<i>'", Container::Cell), "tfprof op '&lt;i&gt;'");
    }
}
