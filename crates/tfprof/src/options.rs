//! What a user can ask: the options of a view, their defaults, and how words become them.
//!
//! [`OPTIONS`] is the one list of them. Patterns stay text here; a view compiles them.

use crate::error::Error;
use crate::metric::{DETAILS, Detail, METRICS, Metric, MetricSet};
use crate::quirks::Quirks;
use crate::words;

/// Which view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ViewKind {
    Scope,
    Graph,
    Op,
    Code,
}

impl ViewKind {
    pub const ALL: [ViewKind; 4] = [ViewKind::Scope, ViewKind::Graph, ViewKind::Op, ViewKind::Code];

    pub const fn word(self) -> &'static str {
        match self {
            ViewKind::Scope => "scope",
            ViewKind::Graph => "graph",
            ViewKind::Op => "op",
            ViewKind::Code => "code",
        }
    }

    pub const fn about(self) -> &'static str {
        match self {
            ViewKind::Scope => "nodes by name scope; a/b lies within a",
            ViewKind::Graph => "nodes by what they read; the inputs of a node lie below it",
            ViewKind::Op => "nodes by operation type; one row for each type",
            ViewKind::Code => "nodes by the line of Python that made them; what a line calls lies below it",
        }
    }

    pub fn parse(word: &str) -> Option<ViewKind> {
        ViewKind::ALL.into_iter().find(|kind| kind.word() == word)
    }
}

/// Which step a question is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// For each node, the average of the steps that have it.
    Average,
    At(i64),
    /// The sum of everything, what lies in no step included.
    All,
}

/// Which events of a profile are nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Events {
    #[default]
    Ops,
    /// What the runtime did, too.
    All,
}

/// What the code view of a profile is made of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CodeStacks {
    /// Lines of source if there are any, else Python calls.
    #[default]
    Auto,
    /// The lines of source that ops were made by.
    Source,
    /// The Python calls of the host.
    Python,
}

impl Events {
    const WORDS: [(&'static str, Events); 2] = [("ops", Events::Ops), ("all", Events::All)];
}

impl CodeStacks {
    const WORDS: [(&'static str, CodeStacks); 3] =
        [("auto", CodeStacks::Auto), ("source", CodeStacks::Source), ("python", CodeStacks::Python)];
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OrderBy {
    Name,
    /// How deep a row lies in its tree, then its name.
    Depth,
    Metric(Metric),
    /// As the tree has it.
    Unordered,
}

/// What `-select` asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    metrics: MetricSet,
    details: u32,
}

/// Where an answer goes, and in which form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    pub form: Form,
    /// Empty for standard output and for nothing at all.
    pub outfile: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    Stdout,
    File,
    None,
    Proto,
    Json,
    Csv,
    /// When things ran, or how they nest: trace events for Chrome and Perfetto.
    Timeline,
    Pprof,
    /// Collapsed stacks, one line each.
    Folded,
    Speedscope,
    /// A picture that a browser opens.
    Flamegraph,
    /// A tree that a browser opens and closes.
    Html,
}

/// A question to a view.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    pub max_depth: i64,
    /// By metric; 0 where nothing was asked.
    pub min: [i64; Metric::COUNT],
    pub step: Step,
    pub order_by: OrderBy,
    pub account_type_regexes: Vec<String>,
    pub start_name_regexes: Vec<String>,
    pub trim_name_regexes: Vec<String>,
    pub show_name_regexes: Vec<String>,
    pub hide_name_regexes: Vec<String>,
    pub account_displayed_op_only: bool,
    /// None: the most telling metric of what is loaded.
    pub select: Option<Selection>,
    pub output: Output,
    pub ops_only: bool,
    pub source_lines: bool,
    pub events: Events,
    pub stacks: CodeStacks,
    /// A pattern of the events that mark steps; empty to find them by rule.
    pub step_marker: String,
    /// The run of a log directory; empty for the newest.
    pub run: String,
    pub quirks: Quirks,
}

impl Default for Options {
    fn default() -> Self {
        let all = || vec![".*".to_owned()];
        Options {
            max_depth: 10,
            min: [0; Metric::COUNT],
            step: Step::Average,
            order_by: OrderBy::Name,
            account_type_regexes: all(),
            start_name_regexes: all(),
            trim_name_regexes: Vec::new(),
            show_name_regexes: all(),
            hide_name_regexes: Vec::new(),
            account_displayed_op_only: false,
            select: None,
            output: Output { form: Form::Stdout, outfile: String::new() },
            ops_only: false,
            source_lines: false,
            events: Events::Ops,
            stacks: CodeStacks::Auto,
            step_marker: String::new(),
            run: String::new(),
            quirks: Quirks::NONE,
        }
    }
}

/// One option of a set of options `T`.
pub struct OptionInfo<T: 'static> {
    pub name: &'static str,
    pub value: ValueKind,
    pub about: &'static str,
    /// The original has it, so its dump of options does too.
    pub original: bool,
    pub set: fn(&mut T, &str) -> Result<(), String>,
    /// The value as it is typed.
    pub show: fn(&T) -> String,
}

impl<T> std::fmt::Debug for OptionInfo<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OptionInfo").field("name", &self.name).finish_non_exhaustive()
    }
}

/// What is typed behind an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueKind {
    Number,
    /// A word of a list.
    Word,
    /// Words, separated by commas.
    Words,
    /// Patterns, separated by commas.
    Patterns,
    /// Nothing, or true or false.
    Flag,
    Output,
    Path,
    /// Paths, separated by commas.
    Paths,
}

macro_rules! minimum {
    ($name:literal, $metric:ident, $about:literal) => {
        minimum!($name, $metric, true, $about)
    };
    ($name:literal, $metric:ident, $original:literal, $about:literal) => {
        OptionInfo {
            name: $name,
            value: ValueKind::Number,
            about: $about,
            original: $original,
            set: |o, v| number(v).map(|n| o.min[Metric::$metric as usize] = n),
            show: |o| o.min[Metric::$metric as usize].to_string(),
        }
    };
}

macro_rules! patterns {
    ($name:ident, $about:literal) => {
        OptionInfo {
            name: stringify!($name),
            value: ValueKind::Patterns,
            about: $about,
            original: true,
            set: |o, v| {
                o.$name = words::split_list(v);
                Ok(())
            },
            show: |o| o.$name.join(","),
        }
    };
}

/// A word of a list.
macro_rules! word {
    ($name:ident, $words:ident, $about:literal) => {
        OptionInfo {
            name: stringify!($name),
            value: ValueKind::Word,
            about: $about,
            original: false,
            set: |o, v| {
                let found = $words::WORDS.iter().find(|(word, _)| *word == v);
                let unknown = || words::unknown("word", v, &$words::WORDS.map(|(word, _)| word));
                found.map(|(_, value)| o.$name = *value).ok_or_else(unknown)
            },
            show: |o| {
                let found = $words::WORDS.iter().find(|(_, value)| *value == o.$name);
                found.map_or("", |(word, _)| word).to_owned()
            },
        }
    };
}

macro_rules! text {
    ($name:ident, $about:literal) => {
        OptionInfo {
            name: stringify!($name),
            value: ValueKind::Word,
            about: $about,
            original: false,
            set: |o, v| {
                v.clone_into(&mut o.$name);
                Ok(())
            },
            show: |o| o.$name.clone(),
        }
    };
}

macro_rules! flag {
    ($name:ident, $original:literal, $about:literal) => {
        OptionInfo {
            name: stringify!($name),
            value: ValueKind::Flag,
            about: $about,
            original: $original,
            set: |o, v| boolean(v).map(|on| o.$name = on),
            show: |o| o.$name.to_string(),
        }
    };
}

/// All options of a view, in the order of the original's dump, ours behind them.
pub const OPTIONS: &[OptionInfo<Options>] = &[
    OptionInfo {
        name: "max_depth",
        value: ValueKind::Number,
        about: "how many levels of the tree to show, the root being the first; in op view, how many rows",
        original: true,
        set: |o, v| {
            let n = number(v)?;
            i32::try_from(n).map_err(|_| format!("{n} is too large; the most is {}", i32::MAX))?;
            o.max_depth = n;
            Ok(())
        },
        show: |o| o.max_depth.to_string(),
    },
    minimum!("min_bytes", RequestedBytes, "hide rows whose total of requested bytes is less"),
    minimum!("min_peak_bytes", PeakBytes, "hide rows whose total of peak bytes is less"),
    minimum!("min_residual_bytes", ResidualBytes, "hide rows whose total of residual bytes is less"),
    minimum!("min_output_bytes", OutputBytes, "hide rows whose total of output bytes is less"),
    minimum!("min_micros", Micros, "hide rows whose total time is less, in microseconds"),
    minimum!("min_accelerator_micros", AcceleratorMicros, "hide rows whose total of accelerator time is less"),
    minimum!("min_cpu_micros", CpuMicros, "hide rows whose total of cpu time is less"),
    minimum!("min_params", Parameters, "hide rows with fewer parameters (of their own in scope and graph view)"),
    minimum!("min_float_ops", FloatOps, "hide rows with fewer float operations (of their own in scope and graph view)"),
    minimum!("min_occurrence", Runs, "hide rows that ran less often; in op view, that have fewer nodes"),
    OptionInfo {
        name: "step",
        value: ValueKind::Number,
        about: "the step to show; -1 is the average of the steps that have a node, all the sum of everything",
        original: true,
        set: |o, v| {
            o.step = match v.trim() {
                "all" => Step::All,
                text => match text.parse::<i64>() {
                    Ok(n) if n < 0 => Step::Average,
                    Ok(n) => Step::At(n),
                    Err(_) => return Err(format!("expected a whole number or `all`, found `{v}`")),
                },
            };
            Ok(())
        },
        show: |o| match o.step {
            Step::All => "all".to_owned(),
            Step::Average => "-1".to_owned(),
            Step::At(step) => step.to_string(),
        },
    },
    OptionInfo {
        name: "order_by",
        value: ValueKind::Word,
        about: "what rows are sorted by: name upwards, a metric downwards, or depth",
        original: true,
        set: |o, v| OrderBy::parse(v).map(|order| o.order_by = order),
        show: |o| o.order_by.word().to_owned(),
    },
    patterns!(account_type_regexes, "count only nodes with a type (op, device, custom type) that matches one of these"),
    patterns!(start_name_regexes, "begin at the rows whose name matches one of these"),
    patterns!(trim_name_regexes, "do not go below rows whose name matches one of these"),
    patterns!(show_name_regexes, "show only rows whose name matches one of these"),
    patterns!(hide_name_regexes, "hide rows whose name matches one of these"),
    flag!(account_displayed_op_only, true, "sum only what is shown"),
    OptionInfo {
        name: "select",
        value: ValueKind::Words,
        about: "what to show of each row; by default micros if steps are loaded, else params",
        original: true,
        set: |o, v| Selection::parse(&words::split_list(v)).map(|selection| o.select = Some(selection)),
        show: |o| o.select.map_or_else(|| "micros".to_owned(), |selection| selection.words().join(",")),
    },
    OptionInfo {
        name: "output",
        value: ValueKind::Output,
        about: "where the answer goes: stdout, none, or FORM:outfile=FILE (tfprof help output lists the forms)",
        original: true,
        set: |o, v| Output::parse(v, &o.output.outfile).map(|output| o.output = output),
        show: |o| o.output.show(),
    },
    minimum!("min_macs", Macs, false, "hide rows whose total of multiply-adds is less"),
    minimum!("min_io_bytes", IoBytes, false, "hide rows whose total of bytes read and written is less"),
    minimum!("min_unknown_ops", UnknownOps, false, "hide rows with fewer nodes of unknown cost"),
    flag!(ops_only, false, "leave out rows that are only name scopes and lift what lies below them"),
    flag!(source_lines, false, "in code view, append the text of the source line, cut at 20 characters"),
    word!(events, Events, "which events of an XSpace are nodes: ops, or all, with what the runtime did around them"),
    word!(stacks, CodeStacks, "code view of an XSpace: source lines, python calls, or auto: the first that is there"),
    text!(
        step_marker,
        "the events of an XSpace that mark steps, by a pattern of their names; else they are found by rule"
    ),
    text!(run, "which run of a log directory to read; the newest if not given"),
    OptionInfo {
        name: "original_quirks",
        value: ValueKind::Flag,
        about: "play back the faults of the original, figure by figure",
        original: false,
        set: |o, v| boolean(v).map(|on| o.quirks = if on { Quirks::ORIGINAL } else { Quirks::NONE }),
        show: |o| (o.quirks == Quirks::ORIGINAL).to_string(),
    },
];

impl Options {
    /// Sets an option by its name, without dashes.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), Error> {
        let option = OPTIONS.iter().find(|option| option.name == name).ok_or_else(|| {
            let names: Vec<_> = OPTIONS.iter().map(|option| option.name).collect();
            Error::Question(words::unknown("option", name, &names))
        })?;
        option.apply(self, value)
    }

    /// What to show: what was asked for, else the most telling metric.
    pub fn selection(&self, has_steps: bool) -> Selection {
        self.select.unwrap_or_else(|| {
            let metric = if has_steps || self.quirks.micros_by_default { Metric::Micros } else { Metric::Parameters };
            let mut selection = Selection::default();
            selection.add_metric(metric);
            selection
        })
    }
}

impl<T> OptionInfo<T> {
    /// Sets the option from its text.
    pub fn apply(&self, options: &mut T, value: &str) -> Result<(), Error> {
        (self.set)(options, value).map_err(|why| {
            // An unknown word is named before the option: that is what a user looks for.
            let unknown = why.strip_prefix("unknown ").and_then(|rest| rest.split_once("; "));
            Error::Question(match unknown {
                Some((what, rest)) => format!("unknown {what} in -{}; {rest}", self.name),
                None => format!("-{}: {why}", self.name),
            })
        })
    }
}

impl OrderBy {
    /// `name`, `depth`, or the word of a metric.
    pub fn words() -> Vec<&'static str> {
        let metrics = METRICS.iter().filter_map(|info| info.word);
        ["name"].into_iter().chain(metrics).chain(["depth"]).collect()
    }

    pub fn word(self) -> &'static str {
        match self {
            OrderBy::Name => "name",
            OrderBy::Depth => "depth",
            OrderBy::Metric(metric) => metric.info().word.unwrap_or_default(),
            OrderBy::Unordered => "",
        }
    }

    fn parse(word: &str) -> Result<OrderBy, String> {
        match word {
            "name" => Ok(OrderBy::Name),
            "depth" => Ok(OrderBy::Depth),
            "" => Ok(OrderBy::Unordered),
            word => match METRICS.iter().find(|info| info.word == Some(word)) {
                Some(info) => Ok(OrderBy::Metric(info.metric)),
                None => Err(words::unknown("order", word, &OrderBy::words())),
            },
        }
    }
}

impl Selection {
    /// All words, in ascending order.
    pub fn all_words() -> Vec<&'static str> {
        let mut words: Vec<_> = METRICS.iter().filter_map(|info| info.word).collect();
        words.extend(DETAILS.iter().map(|info| info.word));
        words.sort_unstable();
        words
    }

    pub fn parse<S: AsRef<str>>(words: &[S]) -> Result<Selection, String> {
        let mut selection = Selection::default();
        for word in words.iter().map(AsRef::as_ref) {
            if let Some(info) = METRICS.iter().find(|info| info.word == Some(word)) {
                selection.add_metric(info.metric);
            } else if let Some(info) = DETAILS.iter().find(|info| info.word == word) {
                selection.details |= 1 << info.detail as u32;
            } else {
                return Err(words::unknown("metric", word, &Selection::all_words()));
            }
        }
        Ok(selection)
    }

    pub fn add_metric(&mut self, metric: Metric) {
        self.metrics.add(metric);
    }

    /// Whether the word of this metric was given.
    pub fn has(self, metric: Metric) -> bool {
        self.metrics.has(metric)
    }

    /// The metrics whose words were given, in the order of [`METRICS`].
    pub fn given(self) -> impl Iterator<Item = Metric> {
        self.metrics.iter()
    }

    pub fn has_detail(self, detail: Detail) -> bool {
        self.details & 1 << detail as u32 != 0
    }

    /// The words that were given, in ascending order.
    pub fn words(self) -> Vec<&'static str> {
        let mut words: Vec<_> = self.metrics.iter().filter_map(|metric| metric.info().word).collect();
        words.extend(DETAILS.iter().filter(|info| self.has_detail(info.detail)).map(|info| info.word));
        words.sort_unstable();
        words
    }

    /// The metrics that these words show, in the order of [`METRICS`].
    pub fn metrics(self) -> MetricSet {
        let mut all = self.metrics;
        for metric in self.metrics.iter() {
            metric.info().with.iter().for_each(|metric| all.add(*metric));
        }
        all
    }
}

impl Form {
    pub const ALL: [Form; 12] = [
        Form::Stdout,
        Form::File,
        Form::None,
        Form::Timeline,
        Form::Pprof,
        Form::Flamegraph,
        Form::Folded,
        Form::Speedscope,
        Form::Proto,
        Form::Json,
        Form::Csv,
        Form::Html,
    ];

    pub fn word(self) -> &'static str {
        match self {
            Form::Stdout => "stdout",
            Form::File => "file",
            Form::None => "none",
            Form::Proto => "proto",
            Form::Json => "json",
            Form::Csv => "csv",
            Form::Timeline => "timeline",
            Form::Pprof => "pprof",
            Form::Folded => "folded",
            Form::Speedscope => "speedscope",
            Form::Flamegraph => "flamegraph",
            Form::Html => "html",
        }
    }

    pub fn about(self) -> &'static str {
        match self {
            Form::Stdout => "text on standard output",
            Form::File => "text in a file",
            Form::None => "nothing",
            Form::Proto => "a GraphNodeProto or MultiGraphNodeProto",
            Form::Json => "all rows with their numbers",
            Form::Csv => "the same as a table",
            Form::Timeline => "trace events for chrome://tracing and Perfetto, in FILE_<step>",
            Form::Pprof => "a gzipped profile for go tool pprof",
            Form::Folded => "collapsed stacks of one metric",
            Form::Speedscope => "a file of one metric for https://www.speedscope.app",
            Form::Flamegraph => "an SVG of one metric for a browser, with zoom and search",
            Form::Html => "a page for a browser: a tree that opens and closes, with bars",
        }
    }

    /// Whether an answer of this form goes to a file.
    pub fn needs_file(self) -> bool {
        !matches!(self, Form::Stdout | Form::None)
    }
}

impl Output {
    /// `form` or `form:outfile=F`; nothing means standard output.
    // As the original: a file that was named before stays until another one is.
    fn parse(text: &str, before: &str) -> Result<Output, String> {
        let (word, pairs) = text.split_once(':').unwrap_or((text, ""));
        let word = if word.is_empty() { "stdout" } else { word };
        let Some(form) = Form::ALL.into_iter().find(|form| form.word() == word) else {
            return Err(words::unknown("form", word, &Form::ALL.map(Form::word)));
        };
        let mut outfile = if form.needs_file() { before.to_owned() } else { String::new() };
        for pair in pairs.split(',').filter(|pair| !pair.is_empty()) {
            match pair.split_once('=') {
                Some(("outfile", file)) if !file.is_empty() && form.needs_file() => file.clone_into(&mut outfile),
                Some((key, file)) if !file.is_empty() && key != "outfile" => {
                    return Err(format!("unknown key `{key}` for the form `{word}`; expected {word}:outfile=FILE"));
                }
                Some(_) if !form.needs_file() => return Err(format!("the form `{word}` takes no file")),
                _ => return Err(format!("expected {word}:outfile=FILE, found `{text}`")),
            }
        }
        if form.needs_file() && outfile.is_empty() {
            return Err(format!("the form `{word}` needs a file: {word}:outfile=FILE (- is standard output)"));
        }
        Ok(Output { form, outfile })
    }

    fn show(&self) -> String {
        let file = if self.outfile.is_empty() { String::new() } else { format!("outfile={}", self.outfile) };
        format!("{}:{file}", self.form.word())
    }
}

fn number(text: &str) -> Result<i64, String> {
    text.trim().parse().map_err(|_| format!("expected a whole number, found `{text}`"))
}

/// True and false in the spellings of the original.
pub fn boolean(text: &str) -> Result<bool, String> {
    match text.to_ascii_lowercase().as_str() {
        "true" | "t" | "yes" | "y" | "1" => Ok(true),
        "false" | "f" | "no" | "n" | "0" => Ok(false),
        _ => Err(format!("expected true or false, found `{text}`")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(name: &str, value: &str) -> Result<Options, String> {
        let mut options = Options::default();
        options.set(name, value).map(|()| options).map_err(|error| error.to_string())
    }

    #[test]
    fn wrong_words_name_the_nearest() {
        let error = |name, value| set(name, value).unwrap_err();
        assert!(error("select", "micro").starts_with("unknown metric `micro` in -select; did you mean `micros`?"));
        assert!(error("order_by", "time").contains("unknown order `time` in -order_by; expected one of name, bytes"));
        assert!(error("max_dept", "3").contains("unknown option `max_dept`; did you mean `max_depth`?"));
        assert!(error("output", "paper").contains("unknown form `paper`"));
        assert!(error("output", "file").contains("needs a file"));
        assert!(error("output", "stdout:outfile=x").contains("takes no file"));
        assert!(error("max_depth", "3000000000").contains("too large"));
        assert!(error("step", "x").contains("expected a whole number"));
    }

    #[test]
    fn values_come_back_as_typed() {
        for (name, value) in [
            ("select", "bytes,micros,params"),
            ("order_by", "cpu_micros"),
            ("step", "7"),
            ("output", "file:outfile=a=b"),
            ("hide_name_regexes", "a,b"),
            ("min_micros", "-3"),
            ("original_quirks", "true"),
        ] {
            let options = set(name, value).unwrap();
            let info = OPTIONS.iter().find(|info| info.name == name).unwrap();
            assert_eq!((info.show)(&options), value);
        }
    }
}
