//! Parses parameters into a question, and writes a question as a command line and as Python.

use crate::params::Params;
use crate::reply::{Problem, SHORT};
use tfprof::internal::words;
use tfprof::{Metric, OPTIONS, Options, Step, ViewKind};

/// The parts of a command that name its input files.
#[derive(Clone, Debug)]
pub struct Command {
    /// `tfprof`, or `tfprof demo`.
    pub program: String,
    /// The inputs as they were typed.
    pub inputs: Vec<String>,
    /// The lines of Python that open the same files as `p`.
    pub python: String,
}

impl Command {
    /// A command about these files.
    pub fn line(&self, command: &str, options: &[(String, String)]) -> String {
        let mut words = vec![self.program.clone(), command.to_owned()];
        words.extend(self.inputs.iter().map(|input| words::quoted(input)));
        words.extend(spelled(options));
        words.join(" ")
    }

    /// A command that compares these files with others: a view of both sides.
    pub fn compare(&self, view: &str, sides: [&str; 2], options: &[(String, String)]) -> String {
        let mut words = vec![self.program.clone(), "diff".to_owned(), view.to_owned()];
        words.extend(sides.map(words::quoted));
        words.extend(self.inputs.iter().filter(|input| input.starts_with('-')).map(|input| words::quoted(input)));
        words.extend(spelled(options));
        words.join(" ")
    }

    /// The paths as one side of a comparison.
    pub fn side(&self) -> String {
        let paths = self.inputs.iter().filter(|input| !input.starts_with('-'));
        paths.map(String::as_str).collect::<Vec<_>>().join(",")
    }

    /// The same in Python.
    pub fn python(&self, call: &str, options: &[(String, String)]) -> String {
        format!("{}\np.{call}({})", self.python, keywords(options))
    }
}

/// Options as words of a command.
fn spelled(options: &[(String, String)]) -> impl Iterator<Item = String> + '_ {
    options.iter().flat_map(|(name, value)| {
        let value = (value != "true").then(|| words::quoted(value));
        [Some(format!("-{name}")), value].into_iter().flatten()
    })
}

/// Options as keywords of a call in Python.
pub fn keywords(options: &[(String, String)]) -> String {
    let keyword = |(name, value): &(String, String)| {
        let is_plain = value.parse::<i64>().is_ok() && name != "run";
        let value = if value == "true" {
            "True".to_owned()
        } else if is_plain {
            value.clone()
        } else {
            python_string(value)
        };
        format!("{name}={value}")
    };
    options.iter().map(keyword).collect::<Vec<_>>().join(", ")
}

/// A text as Python writes it.
pub fn python_string(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            c if c.is_control() => out.push_str(&format!("\\x{:02x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// A question as the page asks it: the whole tree of a view.
#[derive(Clone, Debug)]
pub struct ViewQuestion {
    pub kind: ViewKind,
    /// The first is the one that boxes and shares are about.
    pub metrics: Vec<Metric>,
    pub options: Options,
    /// The options that differ from their defaults, in the order of a command.
    pub given: Vec<(String, String)>,
    /// The cache key: equal for equal questions.
    pub key: String,
}

/// Options that a page may not set.
const FIXED: &[&str] =
    &["output", "select", "order_by", "max_depth", "original_quirks", "source_lines", "run", "step_marker", "devices"];

impl ViewQuestion {
    /// Takes the parameters of a question; `defaults` are options that hold unless it has others.
    pub fn take(params: &mut Params, default: Metric, defaults: &[(String, String)]) -> Result<ViewQuestion, Problem> {
        let view = params.take("view");
        let kind = match view.as_deref() {
            None => ViewKind::Scope,
            Some(word) => {
                ViewKind::parse(word).ok_or_else(|| Problem::parameter("view", "is scope, graph, op or code"))?
            }
        };
        let metric = params.take("metric").unwrap_or_else(|| default.info().word.unwrap_or("micros").to_owned());
        let cols = params.text("cols");
        let mut words: Vec<&str> = vec![&metric];
        words.extend(cols.split(',').filter(|word| !word.is_empty() && *word != metric));
        let sort = params.take("sort");
        let mut given = Vec::new();
        for name in OPTIONS.iter().map(|option| option.name).filter(|name| !FIXED.contains(name)) {
            let short = SHORT.iter().find(|(_, long)| *long == name).map(|(short, _)| *short);
            let value = short.and_then(|short| params.take(short)).or_else(|| params.take(name));
            given.extend(value.filter(|value| !value.is_empty()).map(|value| (name.to_owned(), value)));
        }
        let is_given = |name: &str| given.iter().any(|(known, _): &(String, String)| known == name);
        let more: Vec<_> = defaults.iter().filter(|(name, _)| !is_given(name)).cloned().collect();
        given.extend(more);
        ViewQuestion::new(kind, &words, sort.as_deref(), given)
    }

    /// A question by words: metrics, order, and other options.
    pub fn new(
        kind: ViewKind,
        words: &[&str],
        sort: Option<&str>,
        others: Vec<(String, String)>,
    ) -> Result<ViewQuestion, Problem> {
        let mut options = Options::default();
        let mut metrics = Vec::new();
        for word in words {
            metrics.extend(Metric::of_word(word).filter(|metric| !metrics.contains(metric)));
        }
        let mut given = vec![("select".to_owned(), words.join(","))];
        given.push(("order_by".to_owned(), sort.unwrap_or(words.first().copied().unwrap_or("name")).to_owned()));
        given.extend(others);
        if kind == ViewKind::Code && !given.iter().any(|(name, _)| name == "frames") {
            given.push(("frames".to_owned(), "user".to_owned()));
        }
        for (name, value) in &given {
            options.set(name, value)?;
        }
        options.max_depth = Some(i64::from(i32::MAX));
        if metrics.is_empty() {
            return Err(Problem::parameter("metric", "must be a metric"));
        }
        let key = format!("{} {given:?}", kind.word());
        Ok(ViewQuestion { kind, metrics, options, given, key })
    }

    /// The same question about another view, metric or step.
    pub fn with(&self, kind: ViewKind, words: &[&str]) -> Result<ViewQuestion, Problem> {
        let kept = |name: &str| match kind {
            ViewKind::Code => true,
            _ => !matches!(name, "frames" | "stacks"),
        };
        let others = self.given.iter().filter(|(name, _)| name != "select" && name != "order_by" && kept(name));
        ViewQuestion::new(kind, words, None, others.cloned().collect())
    }

    /// The same question without patterns of names, which belong to one view.
    pub fn unfiltered(&self, kind: ViewKind, words: &[&str]) -> Result<ViewQuestion, Problem> {
        let kept = ["step", "account_type_regexes", "events", "group_by"];
        let others = self.given.iter().filter(|(name, _)| kept.contains(&name.as_str()));
        ViewQuestion::new(kind, words, None, others.cloned().collect())
    }

    pub fn at_steps(&self, steps: Step) -> Result<ViewQuestion, Problem> {
        let words: Vec<&str> = self.words();
        let mut others: Vec<_> = self.others();
        let options = Options { step: steps, ..Options::default() };
        let name = "step".to_owned();
        let value = OPTIONS.iter().find(|option| option.name == name).map(|option| option.show(&options));
        others.extend(value.map(|value| (name, value)));
        ViewQuestion::new(self.kind, &words, None, others)
    }

    /// The options besides metrics, order and step.
    fn others(&self) -> Vec<(String, String)> {
        let skipped = ["select", "order_by", "step"];
        self.given.iter().filter(|(name, _)| !skipped.contains(&name.as_str())).cloned().collect()
    }

    pub fn words(&self) -> Vec<&'static str> {
        self.metrics.iter().filter_map(|metric| metric.info().word).collect()
    }

    pub fn metric(&self) -> Metric {
        self.metrics[0]
    }

    pub fn step(&self) -> Step {
        self.options.step
    }

    /// The options of the command that shows as many levels, or in op view rows, as the tree has.
    pub fn command_options(&self, levels: usize) -> Vec<(String, String)> {
        let mut options = self.given.clone();
        if levels > 10 {
            options.push(("max_depth".to_owned(), levels.to_string()));
        }
        options
    }
}
