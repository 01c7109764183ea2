//! One case: loads its inputs in the order of the original's API, asks its question and compares the answer.

use crate::{advise, chrome, message, outputs, serialize};
use serde_json::Value;
use std::collections::HashMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use tfprof::internal::render;
use tfprof::{Checkpoint, Error, Options, Profiler, Quirks, Source, ViewKind};

pub struct Case<'a> {
    pub dir: &'a Path,
    pub case: &'a Value,
}

pub enum Verdict {
    Same,
    /// The question is wrong, and we say so.
    Refused,
    /// The original crashed or answered nothing; we answer or say why not.
    OursAlone,
    Different(String),
}

/// Models that were loaded, by the inputs they came from: many cases share theirs.
#[derive(Default)]
pub struct Loaded(HashMap<String, Rc<Result<Profiler, Error>>>);

impl<'a> Case<'a> {
    pub fn new(dir: &'a Path, case: &'a Value) -> Self {
        Case { dir, case }
    }

    pub fn name(&self) -> String {
        let model = self.dir.file_name().unwrap_or_default().to_string_lossy();
        format!("{model}/{}", self.str("name"))
    }

    fn str(&self, key: &str) -> &str {
        self.case[key].as_str().unwrap_or_default()
    }

    fn output(&self) -> &str {
        self.case["options"]["output"].as_str().unwrap_or_default()
    }

    fn has_tag(&self, tag: &str) -> bool {
        self.case["tags"].as_array().is_some_and(|tags| tags.iter().any(|t| t == tag))
    }

    pub fn run(&self, loaded: &mut Loaded) -> Verdict {
        if self.str("cmd") == "chrome" {
            return chrome::compare(self);
        }
        let expect = &self.case["expect"];
        let died = expect["exit"] != 0;
        let files = outputs::files(expect);
        let no_answer = expect.get("text").is_none() && expect.get("proto").is_none() && files.is_empty();
        // The original says no on standard error and answers all the same, but writes no file.
        let no_file = ["timeline", "pprof"].contains(&self.output()) && files.is_empty();
        let error_is_fine = |error: &Error| {
            assert!(!error.to_string().is_empty() && !error.to_string().contains('\n'), "{error}");
            if died || no_answer {
                Verdict::OursAlone
            } else if (no_file || self.has_tag("rude")) && error.is_wrong_question() {
                Verdict::Refused
            } else {
                Verdict::Different(format!("refused: {error}"))
            }
        };
        if ["advise", "serialize"].contains(&self.str("cmd")) {
            return match loaded.get(self).as_ref() {
                Ok(profiler) if self.str("cmd") == "serialize" => serialize::compare(self, profiler),
                Ok(profiler) => advise::compare(self, profiler).unwrap_or_else(|error| error_is_fine(&error)),
                Err(error) => error_is_fine(error),
            };
        }
        let (kind, options) = match self.question() {
            Ok(question) => question,
            Err(error) => return error_is_fine(&error),
        };
        let profiler = loaded.get(self);
        let profiler = match profiler.as_ref() {
            Ok(profiler) => profiler,
            Err(error) => return error_is_fine(error),
        };
        if matches!(options.output.form.as_str(), "timeline" | "pprof") {
            match outputs::compare(self.dir, expect, profiler, kind, &options) {
                Ok(None) if expect.get("proto").is_none() => return Verdict::Same,
                Ok(None) if died => return Verdict::OursAlone,
                Ok(None) => {}
                Ok(Some(difference)) => return Verdict::Different(difference),
                Err(error) => return error_is_fine(&error),
            }
        }
        let view = match profiler.view(kind, &options) {
            Ok(view) => view,
            Err(error) => return error_is_fine(&error),
        };
        if died || no_answer {
            return Verdict::OursAlone;
        }
        let mut text = Vec::new();
        render::text::write_report(&view, &mut text).expect("memory takes all");
        let file = expect.as_object().and_then(|expect| expect.iter().find(|(key, _)| key.starts_with("file:")));
        let golden_text = expect["text"].as_str().or_else(|| file.and_then(|(_, path)| path.as_str()));
        if let Some(path) = golden_text {
            let golden = read_maybe_gzipped(&self.dir.join(path)).expect("a golden file");
            let start = find(&golden, b"Profile:\n").unwrap_or(0);
            if golden[start..] != text[..] {
                return Verdict::Different(first_difference(&golden[start..], &text));
            }
        }
        let Some(path) = expect["proto"].as_str() else {
            return Verdict::Different("an answer without a message".into());
        };
        let golden = read_maybe_gzipped(&self.dir.join(path)).expect("a golden file");
        let mut options = options.clone();
        "proto".clone_into(&mut options.output.form);
        let mut proto = Vec::new();
        render::proto::write(&profiler.view(kind, &options).expect("the same question"), &mut proto)
            .expect("memory takes all");
        let multi = matches!(kind, ViewKind::Op | ViewKind::Code);
        if proto == message::with_sorted_maps(&golden, multi) {
            Verdict::Same
        } else {
            Verdict::Different(format!("message of {} bytes instead of {}", proto.len(), golden.len()))
        }
    }

    /// The view and its options: those that a case does not name are zero or empty, with three exceptions.
    fn question(&self) -> Result<(ViewKind, Options), Error> {
        let kind = ViewKind::parse(self.str("cmd")).ok_or_else(|| Error::Question("unknown command".into()))?;
        let given = &self.case["options"];
        let list = |key: &str| -> Vec<String> {
            let list = given[key].as_array().into_iter().flatten();
            list.map(|item| item.as_str().unwrap_or_default().to_owned()).collect()
        };
        let mut options = Options { quirks: Quirks::ORIGINAL, ..Options::default() };
        options.account_type_regexes = list("account_type_regexes");
        options.start_name_regexes = list("start_name_regexes");
        options.trim_name_regexes = list("trim_name_regexes");
        options.show_name_regexes = list("show_name_regexes");
        options.hide_name_regexes = list("hide_name_regexes");
        options.set("select", &list("select").join(","))?;
        for (key, value) in given.as_object().into_iter().flatten() {
            match (key.as_str(), value) {
                ("output", Value::String(output)) => match output.as_str() {
                    "file" | "stdout" | "none" => {}
                    "timeline" | "pprof" => options.set("output", &format!("{output}:outfile=F"))?,
                    output => options.set("output", output)?,
                },
                ("order_by", Value::String(order)) => options.set("order_by", order)?,
                (key, Value::Number(number)) => options.set(key, &number.to_string())?,
                ("account_displayed_op_only", Value::Bool(on)) => options.account_displayed_op_only = *on,
                _ => {}
            }
        }
        Ok((kind, options))
    }

    /// Loads the inputs in the order in which the interface takes them.
    fn load(&self) -> Result<Profiler, Error> {
        let inputs = &self.case["inputs"];
        let mut profiler = Profiler::default();
        let graph = inputs["graph"].as_str();
        let log = inputs["op_log"].as_str();
        let runs: Vec<_> = inputs["run_meta"].as_array().cloned().unwrap_or_default();
        let file = |run: &Value| run["file"].as_str().unwrap_or_default().to_owned();
        match self.str("api") {
            // As the original: what this interface cannot read it passes over.
            "one_shot" => {
                let _ = graph.map(|graph| profiler.add_graph(self.source(graph)?));
                for run in &runs {
                    let _ = self.source(&file(run)).and_then(|source| profiler.add_step(0, source));
                }
                let _ = log.map(|log| profiler.add_op_log(self.source(log)?));
            }
            "from_profile" => {
                let profile = inputs["profile"].as_str().unwrap_or_default();
                let _ = self.source(profile).and_then(|source| profiler.add_profile(source));
                // As the original: a profile that is damaged anywhere counts for nothing.
                if profiler.warnings().iter().any(|warning| warning.damage) {
                    profiler = Profiler::default();
                }
            }
            _ => {
                if let Some(graph) = graph {
                    profiler.add_graph(self.source(graph)?)?;
                }
                if let Some(log) = log {
                    profiler.add_op_log(self.source(log)?)?;
                }
                for run in &runs {
                    let step = run["step"].as_i64().unwrap_or_default();
                    let _ = profiler.add_step(step, self.source(&file(run))?);
                }
            }
        }
        if let Some(checkpoint) = inputs["checkpoint"].as_str() {
            profiler.add_checkpoint(self.checkpoint(checkpoint)?);
        }
        Ok(profiler)
    }

    /// A checkpoint, its files unpacked: they are read by offset, which a gzipped file does not allow.
    fn checkpoint(&self, name: &str) -> Result<Checkpoint, Error> {
        let unpacked = unpacked(self.dir);
        std::fs::create_dir_all(&unpacked).expect("a directory for temporary files");
        for entry in std::fs::read_dir(self.dir).expect("a directory of the corpus").flatten() {
            let file = entry.file_name().to_string_lossy().trim_end_matches(".gz").to_owned();
            if file.starts_with(name) {
                let bytes = read_maybe_gzipped(&entry.path()).expect("a file of the corpus");
                std::fs::write(unpacked.join(&file), bytes).expect("room for temporary files");
            }
        }
        Checkpoint::open(&unpacked.join(name))
    }

    /// An input, plain or gzipped.
    pub fn source(&self, file: &str) -> Result<Source<'static>, Error> {
        Source::open(&existing(&self.dir.join(file)))
    }
}

/// Where the checkpoints of a model are unpacked.
pub fn unpacked(model: &Path) -> PathBuf {
    let model = model.file_name().unwrap_or_default().to_string_lossy();
    std::env::temp_dir().join(format!("tfprof-golden-{}-{model}", std::process::id()))
}

impl Loaded {
    fn get(&mut self, case: &Case<'_>) -> Rc<Result<Profiler, Error>> {
        let key = format!("{} {}", case.str("api"), case.case["inputs"]);
        Rc::clone(self.0.entry(key).or_insert_with(|| Rc::new(case.load())))
    }
}

/// `path`, or `path.gz` if that is what there is.
fn existing(path: &Path) -> PathBuf {
    let gzipped = PathBuf::from(format!("{}.gz", path.display()));
    if !path.exists() && gzipped.exists() { gzipped } else { path.to_owned() }
}

/// The bytes of a file; `path` may stand for `path.gz`, and a path that ends in `.gz` is unpacked too.
pub fn read_maybe_gzipped(path: &Path) -> std::io::Result<Vec<u8>> {
    let bytes = std::fs::read(existing(path))?;
    if !bytes.starts_with(&[0x1f, 0x8b]) {
        return Ok(bytes);
    }
    let mut plain = Vec::new();
    flate2::read::MultiGzDecoder::new(&bytes[..]).read_to_end(&mut plain)?;
    Ok(plain)
}

fn find(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    haystack.windows(needle.len()).position(|window| window == needle)
}

pub fn first_difference(golden: &[u8], ours: &[u8]) -> String {
    let (golden, ours) = (String::from_utf8_lossy(golden), String::from_utf8_lossy(ours));
    let (mut a, mut b) = (golden.lines(), ours.lines());
    for line in 1.. {
        match (a.next(), b.next()) {
            (None, None) => break,
            (a, b) if a != b => return format!("line {line}\n    expected {a:?}\n    found    {b:?}"),
            _ => {}
        }
    }
    "line ends differ".to_owned()
}
