//! [`FLAGS`], the only list of flags that are not options of views: input files by format, settings that complete a
//! model, and flags of single commands.

use super::Flags;
use std::sync::LazyLock;
use tfprof::internal::comma_list;
use tfprof::internal::options::{boolean, refused};
use tfprof::internal::report::advise;
use tfprof::internal::tables::TABLES;
use tfprof::internal::trace::OpTime;
use tfprof::internal::words::Choice;
use tfprof::internal::{hardware, render, units};
use tfprof::{
    CHECKERS, Error, FORMATS, Format, InputFlag, OPTIONS, OptionInfo, Rename, Role, Settings, ValueKind, Warmup,
};

/// One flag.
#[derive(Debug)]
pub struct Flag {
    pub name: &'static str,
    pub value: ValueKind,
    pub about: &'static str,
    /// The commands that take it; empty means all.
    pub commands: &'static [&'static str],
    /// The format of its files, if it names inputs.
    pub input: Option<&'static Format>,
    /// Its allowed values, if they are a fixed list.
    pub words: fn() -> Vec<&'static str>,
    set: Set,
}

/// How a flag is set.
#[derive(Debug)]
enum Set {
    Switch(fn(&mut Flags) -> &mut bool),
    Text(fn(&mut Flags) -> &mut String),
    /// A number of bytes.
    Size(fn(&mut Flags) -> &mut Option<u64>),
    Other(fn(&mut Flags, &str) -> Result<(), String>),
}

impl Set {
    fn apply(&self, flags: &mut Flags, value: &str) -> Result<(), String> {
        match self {
            Set::Switch(field) => *field(flags) = boolean(value)?,
            Set::Text(field) => value.clone_into(field(flags)),
            Set::Size(field) => {
                let wrong = || format!("expected a size, such as 500MB or 4GB, found `{value}`");
                *field(flags) = Some(units::parse_bytes(value).ok_or_else(wrong)?);
            }
            Set::Other(set) => set(flags, value)?,
        }
        Ok(())
    }
}

impl Flag {
    /// Sets the flag from its text.
    pub fn apply(&self, flags: &mut Flags, value: &str) -> Result<(), Error> {
        if let Some(format) = self.input {
            flags.inputs.add_flag(format, value);
            return Ok(());
        }
        self.set.apply(flags, value).map_err(|why| refused(self.name, &why))
    }

    pub fn spelling(&self) -> Spelling {
        Spelling { name: self.name, value: self.value, about: self.about, words: self.words }
    }

    const fn only(self, commands: &'static [&'static str]) -> Flag {
        Flag { commands, ..self }
    }

    const fn one_of(self, words: fn() -> Vec<&'static str>) -> Flag {
        Flag { words, ..self }
    }
}

const fn flag(
    name: &'static str,
    value: ValueKind,
    about: &'static str,
    set: fn(&mut Flags, &str) -> Result<(), String>,
) -> Flag {
    Flag { name, value, about, commands: &[], input: None, words: Vec::new, set: Set::Other(set) }
}

const fn switch(name: &'static str, about: &'static str, field: fn(&mut Flags) -> &mut bool) -> Flag {
    Flag { set: Set::Switch(field), ..flag(name, ValueKind::Flag, about, |_, _| Ok(())) }
}

const fn text(name: &'static str, value: ValueKind, about: &'static str, field: fn(&mut Flags) -> &mut String) -> Flag {
    Flag { set: Set::Text(field), ..flag(name, value, about, |_, _| Ok(())) }
}

const fn size(name: &'static str, about: &'static str, field: fn(&mut Flags) -> &mut Option<u64>) -> Flag {
    Flag { set: Set::Size(field), ..flag(name, ValueKind::Word, about, |_, _| Ok(())) }
}

/// Groups of options: help lists them under these titles, and a command takes some of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// Flags of single commands.
    Own,
    Counted,
    Rows,
    Traces,
    Limits,
    Output,
    Inputs,
    Model,
    Reading,
    Quirks,
}

impl Group {
    /// All groups with their titles, in the order of the help.
    pub const ALL: [(Group, &'static str); 10] = [
        (Group::Own, "options of this command"),
        (Group::Counted, "what is counted"),
        (Group::Rows, "which rows are shown"),
        (Group::Traces, "profiles of TensorFlow 2 and JAX (XSpace)"),
        (Group::Limits, "what the device can do at the most"),
        (Group::Output, "where the answer goes"),
        (Group::Inputs, "inputs, if you would rather say what they are"),
        (Group::Model, "what a model leaves open"),
        (Group::Reading, "damaged and large files"),
        (Group::Quirks, "as the original"),
    ];

    /// The group of an option or a flag.
    pub fn of(name: &str) -> Group {
        let flag = FLAGS.iter().find(|flag| flag.name == name);
        match name {
            _ if flag.is_some_and(|flag| flag.input.is_some()) => Group::Inputs,
            _ if flag.is_some_and(|flag| !flag.commands.is_empty()) => Group::Own,
            "select" | "order_by" | "step" | "account_type_regexes" | "account_displayed_op_only" => Group::Counted,
            "events" | "stacks" | "group_by" | "step_marker" | "run" | "hosts" => Group::Traces,
            "peak_flops" | "peak_bandwidth" | "device" | "devices" => Group::Limits,
            "output" | "format" | "outfile" | "open" => Group::Output,
            "signature" | "all" | "batch" | "seq" | "input" | "trip_count" | "const_params" => Group::Model,
            "original_quirks" => Group::Quirks,
            _ if flag.is_some() => Group::Reading,
            _ => Group::Rows,
        }
    }
}

/// An option or flag as help, completion and the parser see it.
#[derive(Clone, Copy, Debug)]
pub struct Spelling {
    pub name: &'static str,
    pub value: ValueKind,
    pub about: &'static str,
    pub words: fn() -> Vec<&'static str>,
}

/// The options of the views, then the flags.
pub fn spellings() -> impl Iterator<Item = Spelling> {
    let words = |o: &OptionInfo| if o.value == ValueKind::Output { render::output_words } else { o.words };
    let options =
        OPTIONS.iter().map(move |o| Spelling { name: o.name, value: o.value, about: o.about, words: words(o) });
    options.chain(FLAGS.iter().map(Flag::spelling))
}

/// The option or flag with this name.
pub fn find(name: &str) -> Option<Spelling> {
    spellings().find(|known| known.name == name)
}

/// The flags that are not options of views; inputs first.
pub static FLAGS: LazyLock<Vec<Flag>> = LazyLock::new(|| {
    let inputs = Format::flags().filter_map(|InputFlag { name, about, .. }| {
        let format = FORMATS.iter().find(|format| format.flag.name == name)?;
        let value = if format.role == Role::Run { ValueKind::Paths } else { ValueKind::Path };
        Some(Flag { input: Some(format), ..flag(name, value, about, |_, _| Ok(())) })
    });
    inputs.chain(OTHER_FLAGS).collect()
});

const OTHER_FLAGS: [Flag; 48] = [
    flag(
        "signature",
        ValueKind::Word,
        "the signature of a SavedModel that counts; serving_default if not given",
        |flags, name| {
            flags.inputs.settings.signature = Some(name.to_owned());
            Ok(())
        },
    ),
    switch("all", "count all of a SavedModel, not only what a signature needs", |flags| &mut flags.inputs.settings.all),
    flag(
        "batch",
        ValueKind::Number,
        "the size of leading dimensions that a graph leaves open; 1 if not given; for whatif, several as 1,8,32",
        |flags, value| {
            let wrong = || format!("expected a number of examples, such as 32, found `{value}`");
            let batch = |text: &str| text.trim().parse().ok().filter(|batch| *batch >= 0).ok_or_else(wrong);
            flags.batches = value.split(',').map(batch).collect::<Result<Vec<i64>, String>>()?;
            flags.inputs.settings.batch = flags.batches.first().copied();
            Ok(())
        },
    ),
    flag(
        "seq",
        ValueKind::Number,
        "the size of other dimensions that inputs leave open, such as the length of sequences",
        |flags, value| {
            let wrong = || format!("expected a length, such as 2048, found `{value}`");
            flags.inputs.settings.seq = Some(value.parse().ok().filter(|seq| *seq >= 0).ok_or_else(wrong)?);
            Ok(())
        },
    ),
    flag(
        "input",
        ValueKind::Word,
        "the shape of what is fed, as in NAME=1x224x224x3 or NAME=scalar; may be repeated",
        |flags, value| {
            flags.inputs.settings.inputs.push(Settings::parse_input(value)?);
            Ok(())
        },
    ),
    flag("trip_count", ValueKind::Word, "how often a loop runs, NAME=N; may be repeated", |flags, value| {
        let expected = || format!("expected NAME=N, the name of a loop and a number, found `{value}`");
        let (name, count) = value.rsplit_once('=').filter(|(name, _)| !name.is_empty()).ok_or_else(expected)?;
        let count: i64 = count.parse().ok().filter(|count| *count >= 0).ok_or_else(expected)?;
        flags.inputs.settings.trip_counts.push((name.to_owned(), count));
        Ok(())
    }),
    switch("const_params", "count constants as parameters: the weights of a frozen graph", |flags| {
        &mut flags.inputs.settings.const_params
    }),
    switch("hosts", "read several log directories as the hosts of one run", |flags| &mut flags.inputs.hosts),
    switch("strict", "refuse damaged files instead of answering from what is left of them", |flags| &mut flags.strict),
    switch("follow", "follow a checkpoint's state file out of its directory", |flags| &mut flags.follow),
    size(
        "max_memory",
        "the memory that an answer may take, as in 4GB; if not given, 48MB and 40 times its files",
        |flags| &mut flags.inputs.limits.memory,
    ),
    flag(
        "max_work",
        ValueKind::Number,
        "the nodes and rows that an answer may compute; if not given, a multiple of the size of its files",
        |flags, value| {
            let wrong = || format!("expected a number, found `{value}`");
            flags.inputs.limits.work = Some(value.parse().map_err(|_| wrong())?);
            Ok(())
        },
    ),
    size("max_unpacked", "how large a gzipped file may become; if not given, 500 times its size", |flags| {
        &mut flags.inputs.limits.unpacked
    }),
    text("format", ValueKind::Word, "the form of -output, such as json, timeline or flamegraph", |flags| {
        &mut flags.format
    })
    .one_of(render::output_words),
    text("outfile", ValueKind::Path, "the file of -output; - is standard output", |flags| &mut flags.outfile),
    switch("open", "open the written answer in a browser or viewer; without -output, as a page", |flags| {
        &mut flags.open
    }),
    flag("port", ValueKind::Number, "the port of the page; any free one if not given", |flags, text| {
        flags.port = text.parse().map_err(|_| format!("expected a port, such as 8080, found `{text}`"))?;
        Ok(())
    })
    .only(&["web"]),
    switch("no_open", "print the address of the page, and open no browser", |flags| &mut flags.no_open).only(&["web"]),
    text(
        "source_root",
        ValueKind::Path,
        "the directory whose Python files the page may show; the current one if not given",
        |flags| &mut flags.source_root,
    )
    .only(&["web"]),
    size("max_size", "how large a report (-output report:outfile=FILE) may be; 20MB if not given", |flags| {
        &mut flags.max_size
    })
    .only(&["scope", "graph", "op", "code", "info", "web", "diff"]),
    text("table", ValueKind::Word, "one table instead of all of them", |flags| &mut flags.table)
        .one_of(|| TABLES.iter().map(|table| table.name).collect())
        .only(&["tables"]),
    switch("partition", "write totals and executions to directories by host and step (-output DIR/)", |flags| {
        &mut flags.partition
    })
    .only(&["tables"]),
    text("write", ValueKind::Path, "a directory to write the sample's files to", |flags| &mut flags.write)
        .only(&["demo"]),
    switch("show_dataflow", "draw arrows from the op that makes a tensor to the ops that read it", |flags| {
        &mut flags.trace.show_dataflow
    })
    .only(&["trace"]),
    switch("show_memory", "show the life of each tensor, and what each allocator holds", |flags| {
        &mut flags.trace.show_memory
    })
    .only(&["trace"]),
    flag(
        "op_time",
        ValueKind::Word,
        "when an op with GPU kernels is drawn: schedule (its launch), gpu (its kernels) or all (both)",
        |flags, word| OpTime::from_word(word).map(|time| flags.trace.op_time = time),
    )
    .one_of(OpTime::words)
    .only(&["trace"]),
    text("steps", ValueKind::Word, "only these steps of a trace of PyTorch, as 3 or 3-5,8", |flags| &mut flags.steps)
        .only(&["trace"]),
    text("min_dur", ValueKind::Word, "leave out events that are shorter, in microseconds", |flags| &mut flags.min_dur)
        .only(&["trace"]),
    text(
        "lanes",
        ValueKind::Word,
        "only threads and streams whose description matches, such as `GPU 0` or `stream 7`",
        |flags| &mut flags.lanes,
    )
    .only(&["trace"]),
    flag("checkers", ValueKind::Words, "which checkers to run, by name; all if not given", |flags, list| {
        flags.checkers.extend(comma_list::split_list(list));
        advise::check_names(&flags.checkers).map_err(|why| format!("{why} (tfprof help checkers)"))
    })
    .one_of(|| CHECKERS.iter().map(|checker| checker.name).collect())
    .only(&["advise"]),
    flag(
        "threads",
        ValueKind::Number,
        "how many threads measure at once; all processors if not given",
        |flags, text| {
            let threads = text.parse().ok().filter(|threads| (1..=4096).contains(threads));
            flags.threads =
                Some(threads.ok_or_else(|| format!("expected a number of threads, such as 8, found `{text}`"))?);
            Ok(())
        },
    )
    .only(&["peak"]),
    flag("dtype", ValueKind::Word, "the precision of all numbers: f32, tf32, bf16, f16, f8 or i8", |flags, word| {
        hardware::of_word(word)?;
        word.clone_into(&mut flags.dtype);
        Ok(())
    })
    .one_of(hardware::Precision::words)
    .only(&["whatif"]),
    switch("no_save", "print the measurement, and leave the saved one as it is", |flags| &mut flags.no_save)
        .only(&["peak"]),
    text(
        "budget",
        ValueKind::Path,
        "a TOML file with limits, such as max_params, max_flops or max_step_micros; exit code 3 if one is not kept",
        |flags| &mut flags.budget,
    )
    .only(&["cost", "diff"]),
    switch("fail_on_unknown", "exit code 3 if the cost of any node is not known", |flags| &mut flags.fail_on_unknown)
        .only(&["cost"]),
    text("baseline", ValueKind::Path, "another model or run to compare with", |flags| &mut flags.baseline)
        .only(&["cost", "web"]),
    flag(
        "rename",
        ValueKind::Word,
        "names of BEFORE as AFTER has them: s/PATTERN/REPLACEMENT/ with a regular expression; may be repeated",
        |flags, value| {
            flags.comparing.renames.push(Rename::parse(value).map_err(|error| why(&error))?);
            Ok(())
        },
    )
    .only(&["diff"]),
    flag(
        "warmup",
        ValueKind::Word,
        "first steps of each side to leave out: a number, auto (those slower than the rest) or keep; auto if not given",
        |flags, value| Warmup::parse(value).map(|warmup| flags.comparing.warmup = warmup),
    )
    .only(&["diff"]),
    flag("unchanged", ValueKind::Flag, "show rows without any difference, too", |flags, value| {
        flags.comparing.unchanged = Some(boolean(value)?);
        Ok(())
    })
    .only(&["diff"]),
    switch("list_guesses", "list the rows that were paired by structure rather than by name", |flags| {
        &mut flags.comparing.only_guesses
    })
    .only(&["diff"]),
    text("save", ValueKind::Path, "keep a run in this file, to compare later ones with", |flags| &mut flags.save)
        .only(&["diff", "fleet"]),
    text("cache", ValueKind::Path, "keep partials in this directory, so that a second run resumes", |flags| {
        &mut flags.cache
    })
    .only(&["fleet"]),
    flag(
        "part",
        ValueKind::Word,
        "read the share I of N of all recordings, as in 1/8, and keep it with -save",
        |flags, text| {
            let share = text.split_once('/').and_then(|(part, of)| Some((part.parse().ok()?, of.parse().ok()?)));
            let share = share.filter(|(part, of)| (1..=*of).contains(part));
            flags.share = Some(share.ok_or_else(|| format!("expected a share, such as 1/8, found `{text}`"))?);
            Ok(())
        },
    )
    .only(&["fleet"]),
    flag("require_hosts", ValueKind::Number, "exit code 3 if fewer hosts could be read", |flags, text| {
        let hosts = text.parse().map_err(|_| format!("expected a number of hosts, such as 64, found `{text}`"))?;
        flags.require_hosts = Some(hosts);
        Ok(())
    })
    .only(&["fleet"]),
    switch("partial", "save sums that `tfprof merge` can add up, of any input", |flags| &mut flags.partial)
        .only(&["save"]),
    switch("stats", "what the numbers look like: extremes, mean, spread, zeros, NaN", |flags| &mut flags.stats)
        .only(&["checkpoint", "diff"]),
    switch("verify", "check every checksum and every length; exit code 3 on damage", |flags| &mut flags.verify)
        .only(&["checkpoint"]),
    text("values", ValueKind::Word, "print a tensor, or a part of it: NAME or NAME[0:2,:]", |flags| &mut flags.values)
        .only(&["checkpoint"]),
];

/// The reason of a refused value, without the option's name, which the caller adds.
fn why(error: &Error) -> String {
    if let Error::Option { why, .. } = error { why.clone() } else { error.to_string() }
}
