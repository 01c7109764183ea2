//! [`OPTIONS`], the one list of the options of a view: names, defaults, help, and how to parse and print a value.

use super::{CodeStacks, DEFAULT_DEPTH, Events, Frames, GroupBy, Options, OrderBy, Output, Selection, Step};
use crate::comma_list;
use crate::error::Error;
use crate::hardware::Ceiling;
use crate::metric::{METRICS, Metric, MetricInfo};
use crate::quirks::Quirks;
use crate::words::Choice;
use std::sync::LazyLock;

/// One option.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct OptionInfo {
    pub name: &'static str,
    pub value: ValueKind,
    pub about: &'static str,
    /// The original has it, so its dump of options does too.
    pub original: bool,
    /// The words that its value may consist of; none if it takes anything else.
    pub words: fn() -> Vec<&'static str>,
    access: Access,
}

/// How an option is set and printed.
#[derive(Clone, Copy)]
enum Access {
    Field { set: fn(&mut Options, &str) -> Result<(), String>, show: fn(&Options) -> String },
    Minimum(Metric),
}

impl std::fmt::Debug for OptionInfo {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OptionInfo").field("name", &self.name).finish_non_exhaustive()
    }
}

/// The kind of value that an option takes.
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

macro_rules! patterns {
    ($name:ident, $about:literal) => {
        OptionInfo {
            name: stringify!($name),
            value: ValueKind::Patterns,
            about: $about,
            original: true,
            words: Vec::new,
            access: Access::Field {
                set: |o, v| {
                    o.$name = comma_list::split_list(v);
                    Ok(())
                },
                show: |o| o.$name.join(","),
            },
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
            access: Access::Field {
                set: |o, v| $words::from_word(v).map(|value| o.$name = value),
                show: |o| o.$name.word().to_owned(),
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
            words: Vec::new,
            access: Access::Field {
                set: |o, v| {
                    v.clone_into(&mut o.$name);
                    Ok(())
                },
                show: |o| o.$name.clone(),
            },
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
            access: Access::Field { set: |o, v| boolean(v).map(|on| o.$name = on), show: |o| o.$name.to_string() },
        }
    };
}

/// All options of a view, in the order of the original's dump, followed by ours.
pub static OPTIONS: LazyLock<Vec<OptionInfo>> =
    LazyLock::new(|| [vec![MAX_DEPTH], minimums(true), ORIGINAL.to_vec(), minimums(false), OURS.to_vec()].concat());

/// The options of [`METRICS`] that hide rows below a minimum.
fn minimums(original: bool) -> Vec<OptionInfo> {
    let metrics = METRICS.iter().filter(|info| info.original == original);
    let option = |info: &MetricInfo| {
        let min = info.min?;
        Some(OptionInfo {
            name: min.option,
            value: ValueKind::Number,
            about: min.about,
            original,
            words: Vec::new,
            access: Access::Minimum(info.metric),
        })
    };
    metrics.filter_map(option).collect()
}

const MAX_DEPTH: OptionInfo = OptionInfo {
    name: "max_depth",
    value: ValueKind::Number,
    about: "how many levels of the tree to show, the root being the first; in op view, how many rows; 10 by default, and \
            no limit for pictures and pages",
    original: true,
    words: Vec::new,
    access: Access::Field {
        set: |o, v| {
            let n = number(v)?;
            i32::try_from(n).map_err(|_| format!("{n} is too large; the most is {}", i32::MAX))?;
            o.max_depth = Some(n);
            Ok(())
        },
        show: |o| o.max_depth.unwrap_or(DEFAULT_DEPTH).to_string(),
    },
};

const ORIGINAL: &[OptionInfo] = &[
    OptionInfo {
        name: "step",
        value: ValueKind::Number,
        about: "the step to show; -1 is the average over the steps in which a node ran, 5: that of step 5 and later ones, all \
                the sum of everything",
        original: true,
        words: Vec::new,
        access: Access::Field {
            set: |o, v| {
                o.step = match v.trim() {
                    "all" => Step::All,
                    text => match (text.parse::<i64>(), text.strip_suffix(':').map(str::parse::<u32>)) {
                        (Ok(n), _) if n < 0 => Step::Average,
                        (Ok(n), _) => Step::At(n),
                        (_, Some(Ok(first))) => Step::From(first.into()),
                        _ => {
                            let expected = "a whole number, one with a colon for it and all later steps, or `all`";
                            return Err(format!("expected {expected}, found `{v}`"));
                        }
                    },
                };
                Ok(())
            },
            show: |o| match o.step {
                Step::All => "all".to_owned(),
                Step::Average => "-1".to_owned(),
                Step::At(step) => step.to_string(),
                Step::From(first) => format!("{first}:"),
            },
        },
    },
    OptionInfo {
        name: "order_by",
        value: ValueKind::Word,
        about: "the order of rows: by name (ascending), a metric (descending), or depth; by default the name, in op view the \
                first selected metric",
        original: true,
        words: OrderBy::words,
        access: Access::Field {
            set: |o, v| OrderBy::parse(v).map(|order| o.order_by = order),
            show: |o| o.order_by.word().to_owned(),
        },
    },
    patterns!(account_type_regexes, "count only nodes with a type (op, device, custom type) that matches one of these"),
    patterns!(start_name_regexes, "start at rows whose name matches one of these"),
    patterns!(trim_name_regexes, "stop at rows whose name matches one of these"),
    patterns!(show_name_regexes, "show only rows whose name matches one of these"),
    patterns!(hide_name_regexes, "hide rows whose name matches one of these"),
    flag!(account_displayed_op_only, true, "sum only shown rows"),
    OptionInfo {
        name: "select",
        value: ValueKind::Words,
        about: "metrics and details to show; by default micros if steps are loaded, else params",
        original: true,
        words: Selection::all_words,
        access: Access::Field {
            set: |o, v| Selection::parse(&comma_list::split_list(v)).map(|selection| o.select = Some(selection)),
            show: |o| o.select.map_or_else(|| "micros".to_owned(), |selection| selection.words().join(",")),
        },
    },
    OptionInfo {
        name: "output",
        value: ValueKind::Output,
        about: "where the answer goes: a file whose ending tells the form, such as x.html, x.svg, x.json or x.csv; or \
                FORM:outfile=FILE, stdout, none (tfprof help output lists the forms)",
        original: true,
        words: Vec::new,
        access: Access::Field {
            set: |o, v| Output::parse(v, &o.output.outfile).map(|output| o.output = output),
            show: |o| o.output.show(),
        },
    },
];

const OURS: &[OptionInfo] = &[
    flag!(ops_only, false, "leave out rows that are only name scopes; their children move up"),
    flag!(
        source_lines,
        false,
        "in code view, append the text of the source line, cut at 20 characters; read from disk if the profile lacks it"
    ),
    word!(
        frames,
        Frames,
        "code view: all frames; user folds those of TensorFlow, Keras, JAX, PyTorch and the standard library into the user's \
         frame around them; auto folds on terminals and pages"
    ),
    word!(
        events,
        Events,
        "the events of a profile to show as nodes: ops, kernels (apart from their ops), or all, events of the runtime included"
    ),
    word!(stacks, CodeStacks, "code view of an XSpace: source lines, python calls, or auto: the first that is there"),
    word!(
        group_by,
        GroupBy,
        "what rows stand for: view (as the view has them); in op view, shapes (of inputs); of a profile, program (the compiled \
         program is the outermost level) or category"
    ),
    text!(
        step_marker,
        "the events of a profile that mark steps, by a pattern of their names; else they are found by rule"
    ),
    text!(run, "which run of a log directory to read; the newest if not given"),
    OptionInfo {
        name: "peak_flops",
        value: ValueKind::Word,
        about: "the FLOP/s that the device can do at the most, to compare with: 312T, or by precision f32=19.5T,bf16=312T; if \
                not given, what the profile records, what is published for its device, or what tfprof peak measured",
        original: false,
        words: Vec::new,
        access: Access::Field {
            set: |o, v| {
                Ceiling::default().parse_flops(v)?;
                v.clone_into(&mut o.peak_flops);
                Ok(())
            },
            show: |o| o.peak_flops.clone(),
        },
    },
    OptionInfo {
        name: "peak_bandwidth",
        value: ValueKind::Word,
        about: "the bytes a second that the device's memory can move at the most, as 900G or 2.04TB/s; if not given, as peak_flops",
        original: false,
        words: Vec::new,
        access: Access::Field {
            set: |o, v| {
                if !v.is_empty() {
                    Ceiling::default().parse_bandwidth(v)?;
                }
                v.clone_into(&mut o.peak_bandwidth);
                Ok(())
            },
            show: |o| o.peak_bandwidth.clone(),
        },
    },
    text!(device, "the device whose published peaks to compare with, as h100, or a CPU as cpu:avx2:16x3.0GHz"),
    text!(devices, "a file with devices of your own, in the form of devices.toml (docs/limits.md)"),
    OptionInfo {
        name: "original_quirks",
        value: ValueKind::Flag,
        about: "reproduce the bugs of the original, figure by figure",
        original: false,
        words: Vec::new,
        access: Access::Field {
            set: |o, v| boolean(v).map(|on| o.quirks = if on { Quirks::ORIGINAL } else { Quirks::NONE }),
            show: |o| (o.quirks == Quirks::ORIGINAL).to_string(),
        },
    },
];

impl OptionInfo {
    /// Sets the option from its text.
    pub fn apply(&self, options: &mut Options, value: &str) -> Result<(), Error> {
        let set = match self.access {
            Access::Field { set, .. } => set(options, value),
            Access::Minimum(metric) => number(value).map(|n| options.min[metric as usize] = n),
        };
        set.map_err(|why| refused(self.name, &why))
    }

    /// The value as a user would type it.
    pub fn show(&self, options: &Options) -> String {
        match self.access {
            Access::Field { show, .. } => show(options),
            Access::Minimum(metric) => options.min[metric as usize].to_string(),
        }
    }
}

/// The error for a value that an option does not accept.
pub fn refused(name: &str, why: &str) -> Error {
    Error::option(name, why)
}

fn number(text: &str) -> Result<i64, String> {
    text.trim().parse().map_err(|_| format!("expected a whole number, found `{text}`"))
}

/// True or false, in any spelling of the original.
pub fn boolean(text: &str) -> Result<bool, String> {
    match text.to_ascii_lowercase().as_str() {
        "true" | "t" | "yes" | "y" | "1" => Ok(true),
        "false" | "f" | "no" | "n" | "0" => Ok(false),
        _ => Err(format!("expected true or false, found `{text}`")),
    }
}
