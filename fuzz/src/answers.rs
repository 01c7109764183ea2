//! Profilers loaded with made files, and checks of the answers: JSON is JSON, rows stay rows, and no name reaches a
//! terminal or a page as anything but text.

use crate::files::{graph, message, trace_json, xspace};
use crate::make::Make;
use tfprof::internal::format::xspace::ProfileFile;
use tfprof::{Error, FORMS, Format, Keep, Options, Profiler, Question, Role, Selection, Source, ViewKind};
use tfprof_proto::schema;

/// Files of one profile, in load order.
pub struct Files(Vec<(&'static str, Vec<u8>)>);

impl Files {
    /// Files of a kind that the first byte chooses.
    pub fn made(bytes: &[u8]) -> Files {
        let Some((choice, bytes)) = bytes.split_first() else { return Files(Vec::new()) };
        let (third, two) = (bytes.len() / 3, 2 * bytes.len() / 3);
        let [mut first, mut second, mut last] = [&bytes[..third], &bytes[third..two], &bytes[two..]].map(Make::new);
        let mut whole = Make::new(bytes);
        Files(match choice % 9 {
            0 | 1 => vec![("GraphDef", graph::graph(&mut whole))],
            2 | 3 => vec![
                ("GraphDef", graph::graph(&mut first)),
                ("OpLogProto", graph::op_log(&mut second)),
                ("RunMetadata", graph::run(&mut last)),
            ],
            4 => vec![("ProfileProto", message::any(&schema::PROFILE, &mut whole))],
            5 => vec![("SavedModel", graph::saved_model(&mut whole))],
            6 => vec![("XSpace", xspace::space(&mut whole))],
            7 => vec![("trace", trace_json::trace(&mut whole))],
            _ => vec![
                ("MetaGraphDef", message::any(&schema::META_GRAPH_DEF, &mut first)),
                ("RunMetadata", message::any(&schema::RUN_METADATA, &mut second)),
                ("OpLogProto", message::any(&schema::OP_LOG, &mut last)),
            ],
        })
    }

    /// A graph with runs and code.
    pub fn run(bytes: &[u8]) -> Files {
        Files::made(&[&[2], bytes].concat())
    }

    pub fn of(name: &'static str, content: Vec<u8>) -> Files {
        Files(vec![(name, content)])
    }

    /// The bytes of all files.
    pub fn size(&self) -> usize {
        self.0.iter().map(|(_, content)| content.len()).sum()
    }

    /// Loads them. Files that are refused leave the others.
    pub fn load(&self, keep: Keep) -> Result<Profiler, Error> {
        let mut profiler = Profiler::new(keep);
        let mut outcome = Ok(());
        for (name, content) in &self.0 {
            let format = Format::named(name).expect("a format");
            let added = match format.role {
                Role::Host if *name == "XSpace" => {
                    profiler.add_profiles(&[ProfileFile::memory("fuzz", content.clone())], None, &|_, _| {})
                }
                _ => Source::memory("fuzz", content).and_then(|source| profiler.add(source, format, 0)),
            };
            outcome = outcome.and(added);
        }
        if self.0.len() == 1 {
            outcome?;
        }
        profiler.infer()?;
        Ok(profiler)
    }
}

/// Some options of a view.
pub fn options(make: &mut Make<'_>) -> (ViewKind, Options) {
    let mut options = Options { max_depth: Some(make.pick(&[0, 3, 50, 100_000])), ..Options::default() };
    options.select = Selection::parse(&Selection::all_words()).ok();
    let others = [
        ("step", "0"), ("step", "all"), ("trim_name_regexes", "n1.*"), ("show_name_regexes", ".*0"), ("account_type_regexes", ".*a.*"),
        ("min_micros", "1"), ("group_by", "shapes"), ("group_by", "category"), ("events", "all"), ("order_by", "name"),
        ("account_displayed_op_only", "true"), ("frames", "all"), ("code_stacks", "all"), ("original_quirks", "true"),
    ];
    for _ in 0..make.below(4) {
        let (name, value) = make.pick(&others);
        let _ = options.set(name, value);
    }
    (ViewKind::ALL[make.below(ViewKind::ALL.len())], options)
}

/// Asks in a form, writes all parts, and checks each.
pub fn ask(profiler: &Profiler, kind: ViewKind, options: &Options, form: &str) -> Result<(), Error> {
    let mut options = options.clone();
    options.set("output", &format!("{form}:outfile=x"))?;
    if matches!(form, "flamegraph" | "folded" | "speedscope" | "pprof") {
        options.select = None;
    }
    let question = Question::new(kind, &options);
    let answer = profiler.ask(&question)?;
    let mut out = Vec::new();
    if answer.write(&mut out).is_ok() {
        check(form, &options, &out);
    }
    Ok(())
}

/// All forms but the ones that have targets of their own.
pub fn plain_forms() -> Vec<&'static str> {
    let own = ["html", "timeline", "pprof"];
    FORMS.iter().map(|form| form.word).filter(|word| !own.contains(word)).collect()
}

/// Checks an answer by its form.
pub fn check(form: &str, options: &Options, out: &[u8]) {
    match form {
        "json" | "speedscope" | "timeline" => check_json(out),
        "html" | "flamegraph" => check_page(out),
        "csv" => check_csv(out),
        // The original's text is kept byte for byte.
        "file" | "text" if options.quirks == tfprof::Quirks::NONE => check_text(out),
        _ => {}
    }
}

pub fn check_json(out: &[u8]) {
    let text = std::str::from_utf8(out).expect("UTF-8");
    if let Err(error) = serde_json::from_str::<serde::de::IgnoredAny>(text) {
        // Depth is no error of ours.
        assert!(error.to_string().contains("recursion limit"), "{error}: {}", text.chars().take(2000).collect::<String>());
    }
    assert!(!text.contains(odd), "a control code in JSON: {:?}", around(text));
}

/// Text has lines and no control codes.
pub fn check_text(out: &[u8]) {
    let text = String::from_utf8_lossy(out);
    assert!(!text.contains(odd), "a control code in text: {:?}", around(&text));
}

fn odd(c: char) -> bool {
    (c.is_control() && c != '\n' && c != '\t') || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{2028}' | '\u{2029}')
}

fn around(text: &str) -> String {
    let at = text.find(odd).unwrap_or(0);
    text[..at].chars().rev().take(80).collect::<Vec<_>>().into_iter().rev().chain(text[at..].chars().take(20)).collect()
}

/// No name is markup.
pub fn check_page(out: &[u8]) {
    let text = String::from_utf8_lossy(out);
    for evil in ["<script>alert", "<img src", "onerror=alert(1)>", "]]>x"] {
        assert!(!text.contains(evil), "{evil} is in the page");
    }
    assert!(!text.contains(|c| odd(c) && c != '\t' && c != '\r'), "a control code in a page: {:?}", around(&text));
}

/// Every record has the same number of fields, and none is a formula.
pub fn check_csv(out: &[u8]) {
    let text = String::from_utf8_lossy(out);
    let (mut widths, mut fields, mut quoted, mut start) = (Vec::new(), 0, false, true);
    for c in text.chars() {
        assert!(!start || !matches!(c, '=' | '@' | '\t' | '\r'), "a formula in {}", text.chars().take(400).collect::<String>());
        start = false;
        match c {
            '"' => {
                start = !quoted;
                quoted = !quoted;
            }
            ',' if !quoted => {
                fields += 1;
                start = true;
            }
            '\n' if !quoted => {
                widths.push(std::mem::take(&mut fields));
                start = true;
            }
            _ => {}
        }
    }
    assert!(widths.windows(2).all(|pair| pair[0] == pair[1]), "rows of {widths:?}");
}

