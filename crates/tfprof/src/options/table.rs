//! [`OPTIONS`], the one list of what can be asked of a view: names, defaults, help, and how words become values.

use super::{CodeStacks, Events, Form, Options, OrderBy, Output, Selection, Step};
use crate::error::Error;
use crate::metric::Metric;
use crate::quirks::Quirks;
use crate::words::{self, Choice};

/// One option.
pub struct OptionInfo {
    pub name: &'static str,
    pub value: ValueKind,
    pub about: &'static str,
    /// The original has it, so its dump of options does too.
    pub original: bool,
    /// What its value can be, where that is made of known words.
    pub words: fn() -> Vec<&'static str>,
    pub set: fn(&mut Options, &str) -> Result<(), String>,
    /// The value as it is typed.
    pub show: fn(&Options) -> String,
}

impl std::fmt::Debug for OptionInfo {
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
            words: Vec::new,
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
            words: Vec::new,
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
            words: $words::words,
            set: |o, v| $words::from_word(v).map(|value| o.$name = value),
            show: |o| o.$name.word().to_owned(),
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
            words: Vec::new,
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
            words: Vec::new,
            set: |o, v| boolean(v).map(|on| o.$name = on),
            show: |o| o.$name.to_string(),
        }
    };
}

/// All options of a view, in the order of the original's dump, ours behind them.
pub const OPTIONS: &[OptionInfo] = &[
    OptionInfo {
        name: "max_depth",
        value: ValueKind::Number,
        about: "how many levels of the tree to show, the root being the first; in op view, how many rows",
        original: true,
        words: Vec::new,
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
        words: Vec::new,
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
        words: OrderBy::words,
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
        words: Selection::all_words,
        set: |o, v| Selection::parse(&words::split_list(v)).map(|selection| o.select = Some(selection)),
        show: |o| o.select.map_or_else(|| "micros".to_owned(), |selection| selection.words().join(",")),
    },
    OptionInfo {
        name: "output",
        value: ValueKind::Output,
        about: "where the answer goes: stdout, none, or FORM:outfile=FILE (tfprof help output lists the forms)",
        original: true,
        words: Form::words,
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
        words: Vec::new,
        set: |o, v| boolean(v).map(|on| o.quirks = if on { Quirks::ORIGINAL } else { Quirks::NONE }),
        show: |o| (o.quirks == Quirks::ORIGINAL).to_string(),
    },
];

impl OptionInfo {
    /// Sets the option from its text.
    pub fn apply(&self, options: &mut Options, value: &str) -> Result<(), Error> {
        (self.set)(options, value).map_err(|why| refused(self.name, &why))
    }
}

/// Why the value of an option is not taken.
pub fn refused(name: &str, why: &str) -> Error {
    // An unknown word is named before the option: that is what a user looks for.
    let unknown = why.strip_prefix("unknown ").and_then(|rest| rest.split_once("; "));
    Error::Question(match unknown {
        Some((what, rest)) => format!("unknown {what} in -{name}; {rest}"),
        None => format!("-{name}: {why}"),
    })
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
