//! The report: the page in one file, with precomputed answers embedded.

mod encode;
mod plan;

use crate::http::Page;
use crate::reply::Body;
use crate::site::Site;
use encode::{base64, sha256};
use flate2::Compression;
use flate2::write::GzEncoder;
use plan::Part;
use serde_json::{Value, json};
use std::io::{self, Write};
use tfprof::Error;

/// How a report is written.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The size limit of the file in bytes.
    pub max_size: u64,
    /// The metrics besides the most important one; empty for all that the files have.
    pub metrics: Vec<String>,
}

/// The size that mail and issue trackers take.
pub const MAX_SIZE: u64 = 20_000_000;

impl Default for Settings {
    fn default() -> Settings {
        Settings { max_size: MAX_SIZE, metrics: Vec::new() }
    }
}

/// A report, and the answers that it leaves out.
#[derive(Clone, Debug)]
pub struct Report {
    pub html: Vec<u8>,
    pub left_out: Vec<String>,
}

/// Room for the description and the end of the file.
const RESERVE: usize = 64 << 10;
/// Limits of the uncompressed size, so that a browser can hold it: a multiple of the compressed size, and of the input files.
const UNPACKED_PER_BYTE: usize = 16;
const LEAST_UNPACKED: usize = 32 << 20;
const UNPACKED_PER_INPUT: u64 = 1000;
/// Give up after this many answers that did not fit.
const MISSES_BEFORE_GIVING_UP: usize = 8;
/// The placeholder that the data replaces.
const MARK: &str = "<!--tfprof:data-->";
const SCRIPT: &str = "<script src=\"app.js\"></script>";
const STYLE: &str = "<link rel=\"stylesheet\" href=\"app.css\">";

/// The answers while they are gathered.
struct Answers {
    packed: GzEncoder<Vec<u8>>,
    /// The size limit of the compressed data in bytes.
    room: usize,
    /// The limit of the uncompressed size in bytes, and the size so far.
    most_unpacked: usize,
    unpacked: usize,
    /// Bytes that were given to the encoder since it was last flushed.
    pending: usize,
    count: usize,
}

impl Answers {
    fn new(room: usize, most_unpacked: usize) -> io::Result<Answers> {
        let mut packed = GzEncoder::new(Vec::new(), Compression::new(8));
        packed.write_all(b"{\"version\":1,\"answers\":{")?;
        Ok(Answers { packed, room, most_unpacked, unpacked: 0, pending: 0, count: 0 })
    }

    /// Adds an answer if there is room for it.
    fn add(&mut self, key: &str, body: &Body) -> io::Result<bool> {
        let mut text = Vec::new();
        if self.count > 0 {
            text.push(b',');
        }
        text.extend(Value::from(key).to_string().as_bytes());
        text.push(b':');
        match body {
            Body::Json(json) => text.extend_from_slice(json),
            Body::Bytes(bytes) => text.extend(json!({ "base64": base64(bytes) }).to_string().as_bytes()),
        }
        if self.unpacked + text.len() > self.most_unpacked {
            return Ok(false);
        }
        // Flushing costs time, so the compressed size is only measured near the limit.
        if self.packed.get_ref().len() + self.pending + text.len() > self.room {
            self.packed.flush()?;
            self.pending = 0;
            let mut alone = GzEncoder::new(Vec::new(), Compression::new(8));
            alone.write_all(&text)?;
            if self.packed.get_ref().len() + alone.finish()?.len() > self.room {
                return Ok(false);
            }
        }
        self.packed.write_all(&text)?;
        self.pending += text.len();
        self.unpacked += text.len();
        self.count += 1;
        Ok(true)
    }

    fn finish(mut self, meta: &str) -> io::Result<Vec<u8>> {
        let comma = if self.count > 0 { "," } else { "" };
        self.packed.write_all(format!("{comma}\"meta\":{meta}}}}}").as_bytes())?;
        self.packed.finish()
    }
}

impl Site {
    /// Writes the page with its answers as one file.
    pub fn report(&self, page: &Page, settings: &Settings) -> Result<Report, Error> {
        let write = || {
            let io_error = |source| Error::Io { file: "the report".to_owned(), action: "cannot write", source };
            self.write_report(page, settings).map_err(io_error)
        };
        self.account.another(write)
    }

    fn write_report(&self, page: &Page, settings: &Settings) -> io::Result<Report> {
        let frame = Frame::new(page)?;
        let fixed = frame.before.len() + frame.after.len() + RESERVE;
        let room = usize::try_from(settings.max_size).unwrap_or(usize::MAX).saturating_sub(fixed) / 4 * 3;
        if room == 0 {
            return Err(io::Error::other(format!("a report has at least {fixed} bytes")));
        }
        let by_input = self.account.input().saturating_mul(UNPACKED_PER_INPUT);
        let by_input = usize::try_from(by_input).unwrap_or(usize::MAX).saturating_add(LEAST_UNPACKED);
        let by_room = room.saturating_mul(UNPACKED_PER_BYTE);
        // The limit can be raised by the user.
        let most_unpacked = if settings.max_size > MAX_SIZE { by_room } else { by_room.min(by_input) };
        let mut answers = Answers::new(room, most_unpacked)?;
        // For each group, the number of answers left out, and the total.
        let mut missed: Vec<(String, usize, usize)> = Vec::new();
        for part in plan::parts(self, settings) {
            let Part { what, keys, fits_partly } = part;
            let (keys, count) = keys.spelled(self);
            let gone = self.add_part(keys, count, fits_partly, &mut answers)?;
            match missed.iter_mut().find(|(known, ..)| *known == what) {
                Some((_, of_kind, all)) => (*of_kind, *all) = (*of_kind + gone, *all + count),
                None => missed.push((what, gone, count)),
            }
        }
        let told = missed.into_iter().filter(|(_, missed, _)| *missed > 0);
        let left_out: Vec<String> = told.map(|(what, missed, all)| format!("{what}: {missed} of {all}")).collect();
        let meta = self.meta_of_report(&left_out);
        let data = base64(&answers.finish(&meta)?);
        let mut html = frame.before;
        html.extend_from_slice(data.as_bytes());
        html.extend_from_slice(&frame.after);
        Ok(Report { html, left_out })
    }

    /// Adds the answers of `count` keys, and counts those without room.
    fn add_part(
        &self,
        keys: impl Iterator<Item = String>,
        count: usize,
        fits_partly: bool,
        answers: &mut Answers,
    ) -> io::Result<usize> {
        let (mut missed, mut in_a_row) = (0, 0);
        for (at, key) in keys.enumerate() {
            // The file is full.
            if in_a_row > MISSES_BEFORE_GIVING_UP || (missed > 0 && !fits_partly) {
                return Ok(missed + count - at);
            }
            let reply = self.answer_whole(&key);
            if reply.status == 200 && answers.add(&key, &reply.body)? {
                in_a_row = 0;
            } else if reply.status == 200 || reply.is_limit {
                (missed, in_a_row) = (missed + 1, in_a_row + 1);
            }
        }
        Ok(missed)
    }

    fn meta_of_report(&self, left_out: &[String]) -> String {
        let Body::Json(meta) = self.answer("meta").body else { return "{}".to_owned() };
        let mut meta: Value = serde_json::from_slice(&meta).unwrap_or_default();
        meta["is_report"] = true.into();
        meta["report"] = json!({ "command": self.setup.command.line("web", &[]), "left_out": left_out });
        meta.to_string()
    }
}

/// The page around the data.
struct Frame {
    before: Vec<u8>,
    after: Vec<u8>,
}

impl Frame {
    fn new(page: &Page) -> io::Result<Frame> {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let index = text(page.index);
        // A text within the script must not end it.
        let script = text(page.script).replace("</script", "<\\/script").replace("<!--", "\\x3c!--");
        let style = text(page.style).replace("</style", "<\\/style");
        for part in [MARK, SCRIPT, STYLE, "<meta charset=\"utf-8\">"] {
            if !index.contains(part) {
                return Err(io::Error::other(format!("the page has no `{part}`")));
            }
        }
        let hash = |text: &str| format!("'sha256-{}'", base64(&sha256(text.as_bytes())));
        let policy = format!(
            "default-src 'none'; script-src {}; style-src {}; img-src data:; base-uri 'none'; form-action 'none'",
            hash(&script),
            hash(&style)
        );
        let head =
            format!("<meta charset=\"utf-8\">\n<meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">");
        let index = index.replace("<meta charset=\"utf-8\">", &head);
        let index = index.replacen(STYLE, &format!("<style>{style}</style>"), 1);
        let data = "<script type=\"application/octet-stream;base64\" id=\"tfprof-data\">";
        let (before, after) = index.split_once(MARK).unwrap_or((&index, ""));
        let after = after.replacen(SCRIPT, &format!("<script>{script}</script>"), 1);
        Ok(Frame { before: format!("{before}{data}").into_bytes(), after: format!("</script>{after}").into_bytes() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_is_whole_and_allows_nothing_else() {
        let index = format!("<meta charset=\"utf-8\">{STYLE}<body>{MARK}\n{SCRIPT}</body>");
        let script = "let a = '</script><!-- $1';";
        let page = Page { index: index.leak().as_bytes(), script: script.as_bytes(), style: b"a { b: c }" };
        let Frame { before, after } = Frame::new(&page).unwrap();
        let (before, after) = (String::from_utf8(before).unwrap(), String::from_utf8(after).unwrap());
        assert!(before.contains("<style>a { b: c }</style>") && before.ends_with("id=\"tfprof-data\">"), "{before}");
        assert_eq!(after, "</script>\n<script>let a = '<\\/script>\\x3c!-- $1';</script></body>");
        let hash = base64(&sha256(b"let a = '<\\/script>\\x3c!-- $1';"));
        assert!(before.contains(&format!("script-src 'sha256-{hash}';")), "{before}");
        let other = Page { index: b"<html>", ..page };
        assert!(Frame::new(&other).is_err());
    }
}
