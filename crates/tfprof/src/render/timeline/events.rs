//! Single trace events. Keys are in ascending order and nothing is spaced, as in the original.

use std::fmt;
use std::io::{self, Write};

/// Where and when something happens.
#[derive(Clone, Copy, Debug)]
pub struct At {
    pub process: usize,
    pub lane: usize,
    pub micros: i64,
}

pub struct Events<'w> {
    out: &'w mut dyn Write,
    is_first: bool,
}

impl<'w> Events<'w> {
    pub fn begin(out: &'w mut dyn Write) -> io::Result<Self> {
        out.write_all(b"{\"traceEvents\":[")?;
        Ok(Events { out, is_first: true })
    }

    pub fn end(self) -> io::Result<()> {
        self.out.write_all(b"]}\n")
    }

    pub fn process(&mut self, process: usize, name: &str) -> io::Result<()> {
        self.separate()?;
        let name = Text(name);
        write!(self.out, r#"{{"args":{{"name":{name}}},"name":"process_name","ph":"M","pid":{process}}}"#)
    }

    /// Something that takes time. With `twice`, the name stands in the arguments as the op, too.
    pub fn region(&mut self, at: At, length: i64, name: &str, twice: bool) -> io::Result<()> {
        self.separate()?;
        let At { process, lane, micros } = at;
        let name = Text(name);
        write!(self.out, r#"{{"args":{{"name":{name}"#)?;
        if twice {
            write!(self.out, r#","op":{name}"#)?;
        }
        write!(
            self.out,
            r#"}},"cat":"Op","dur":{length},"name":{name},"ph":"X","pid":{process},"tid":{lane},"ts":{micros}}}"#
        )
    }

    /// An arrow from the end of what was made to the start of what reads it.
    pub fn arrow(&mut self, id: u64, name: &str, from: At, to: At) -> io::Result<()> {
        for (phase, At { process, lane, micros }) in [("s", from), ("t", to)] {
            self.separate()?;
            let name = Pair(name, "_flow");
            write!(
                self.out,
                r#"{{"cat":"DataFlow","id":{id},"name":{name},"ph":"{phase}","pid":{process},"tid":{lane},"ts":{micros}}}"#
            )?;
        }
        Ok(())
    }

    /// Figures at a time. `args` writes what stands between the braces.
    pub fn counter(
        &mut self,
        process: usize,
        micros: i64,
        name: &str,
        args: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> io::Result<()> {
        self.separate()?;
        self.out.write_all(br#"{"args":{"#)?;
        args(self.out)?;
        let name = Text(name);
        write!(self.out, r#"}},"cat":"Memory","name":{name},"ph":"C","pid":{process},"tid":0,"ts":{micros}}}"#)
    }

    fn separate(&mut self) -> io::Result<()> {
        if std::mem::replace(&mut self.is_first, false) { Ok(()) } else { self.out.write_all(b",") }
    }
}

/// A string in quotes. As the original: what is not ASCII is escaped.
pub struct Text<'a>(pub &'a str);

struct Pair<'a>(&'a str, &'a str);

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Pair(self.0, "").fmt(f)
    }
}

impl fmt::Display for Pair<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("\"")?;
        for text in [self.0, self.1] {
            let mut from = 0;
            for (i, c) in text.char_indices() {
                if matches!(c, ' '..='~') && c != '"' && c != '\\' {
                    continue;
                }
                f.write_str(&text[from..i])?;
                from = i + c.len_utf8();
                match c {
                    '"' => f.write_str("\\\"")?,
                    '\\' => f.write_str("\\\\")?,
                    '\n' => f.write_str("\\n")?,
                    '\r' => f.write_str("\\r")?,
                    '\t' => f.write_str("\\t")?,
                    c => {
                        for unit in c.encode_utf16(&mut [0; 2]) {
                            write!(f, "\\u{unit:04x}")?;
                        }
                    }
                }
            }
            f.write_str(&text[from..])?;
        }
        f.write_str("\"")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_ascii() {
        let check = |text: &str, expect: &str| assert_eq!(Text(text).to_string(), expect);
        check("a/b<c>", r#""a/b<c>""#);
        check("\"\\\t\u{1}", r#""\"\\\t\u0001""#);
        check("é𝄞", r#""\u00e9\ud834\udd1e""#);
    }
}
