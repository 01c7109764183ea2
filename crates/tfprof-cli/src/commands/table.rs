//! The table of commands: help, completion, the man page and the parser read it.

use super::Takes::{All, Only};
#[cfg(feature = "sql")]
use super::sql;
use super::{
    CommandInfo, Exit, Takes, advise, checkpoint, completions, cost, demo, diff, fleet, help, info, layers, man, merge,
    peak, save, tables, trace, view, web, what_if, write_text,
};
use crate::flags::{Group, Request};
use crate::shell;
use std::io::Write;
use tfprof::{Error, ViewKind};

/// The options of views, and of commands that ask views.
const VIEW: &[Takes] = &[
    All(Group::Counted),
    All(Group::Rows),
    All(Group::Traces),
    All(Group::Limits),
    All(Group::Output),
    All(Group::Inputs),
    All(Group::Model),
    All(Group::Reading),
    All(Group::Quirks),
];

const TARGET: Takes = Only(&["output", "format", "outfile"]);

const fn view(kind: ViewKind, run: fn(&Request, &mut dyn Write, &mut dyn Write) -> Result<Exit, Error>) -> CommandInfo {
    CommandInfo { word: kind.word(), about: kind.about(), usage: "[PATH...] [options]", reads: true, takes: VIEW, run }
}

/// All commands, in the order of the help.
pub const COMMANDS: &[CommandInfo] = &[
    view(ViewKind::Scope, |request, out, err| view::run(ViewKind::Scope, request, out, err)),
    view(ViewKind::Graph, |request, out, err| view::run(ViewKind::Graph, request, out, err)),
    view(ViewKind::Op, |request, out, err| view::run(ViewKind::Op, request, out, err)),
    view(ViewKind::Code, |request, out, err| view::run(ViewKind::Code, request, out, err)),
    CommandInfo {
        word: "cost",
        about: "parameters, FLOPs and bytes of a model, by layer, and the nodes of unknown cost",
        usage: "MODEL [--budget=FILE.toml] [--fail_on_unknown] [--baseline=OLD] [options]",
        reads: true,
        takes: &[All(Group::Output), All(Group::Inputs), All(Group::Model), All(Group::Reading)],
        run: cost::run,
    },
    CommandInfo {
        word: "layers",
        about: "the layers of a model: shapes, parameters, FLOPs, bytes, activations and, with a run, time and share of the peak",
        usage: "MODEL [RUN] [-max_depth N] [-peak_flops RATE] [-output FILE.html] [options]",
        reads: true,
        takes: &[
            Only(&["max_depth", "step_marker", "run", "hosts"]),
            All(Group::Limits),
            All(Group::Output),
            All(Group::Inputs),
            All(Group::Model),
            All(Group::Reading),
        ],
        run: layers::run,
    },
    CommandInfo {
        word: "whatif",
        about: "the least step time, and the memory, at other batch sizes, precisions, lengths or devices",
        usage: "MODEL [--batch 1,8,32] [--dtype bf16] [-device h100,mi300x] [--seq 8192] [-output FILE.html]",
        reads: true,
        takes: &[All(Group::Limits), All(Group::Output), All(Group::Inputs), All(Group::Model), All(Group::Reading)],
        run: what_if::run,
    },
    CommandInfo {
        word: "advise",
        about: "problems in the loaded data, and how to fix them",
        usage: "[PATH...] [--checkers=NAME,...] [-output FILE.html]",
        reads: true,
        takes: &[
            Only(&["step_marker", "run", "hosts"]),
            All(Group::Output),
            All(Group::Inputs),
            All(Group::Model),
            All(Group::Reading),
            All(Group::Quirks),
        ],
        run: advise::run,
    },
    CommandInfo {
        word: "save",
        about: "all loaded data as one ProfileProto, which --profile_path reads; with --partial, the sums of any input",
        usage: "[PATH...] [--partial] --outfile=FILE",
        reads: true,
        takes: &[TARGET, All(Group::Inputs), All(Group::Model), All(Group::Reading), All(Group::Quirks)],
        run: save::run,
    },
    CommandInfo {
        word: "merge",
        about: "partials of `save --partial` as one, the same whatever their order; a damaged one is named in it",
        usage: "PART... --outfile=FILE",
        reads: false,
        takes: &[TARGET, Only(&["strict", "max_memory", "max_work", "max_unpacked"])],
        run: merge::run,
    },
    CommandInfo {
        word: "fleet",
        about: "many recordings at once: step time by host, skew, slow hosts and what they do differently, a heat map",
        usage: "PATH... [--cache=DIR] [--part=I/N] [--save=FILE.part] [--require_hosts=N] [-output FILE.html]",
        reads: false,
        takes: &[
            Only(&["step_marker", "run", "hosts", "strict", "max_memory", "max_work", "max_unpacked"]),
            All(Group::Output),
            All(Group::Model),
        ],
        run: fleet::run,
    },
    CommandInfo {
        word: "trace",
        about: "runs and profiles as a trace for Perfetto (https://ui.perfetto.dev)",
        usage: "FILE... [--outfile=FILE] [options]",
        reads: true,
        takes: &[Only(&["run", "hosts"]), TARGET, All(Group::Inputs), All(Group::Reading)],
        run: trace::run,
    },
    CommandInfo {
        word: "tables",
        about: "everything that is loaded as tables for DuckDB, pandas, polars, Spark or SQLite",
        usage: "[PATH...] [-output DIR/ | -output FILE.sqlite | --table=NAME [-output FILE.parquet]]",
        reads: true,
        takes: &[
            Only(&["step_marker", "run", "hosts"]),
            TARGET,
            All(Group::Inputs),
            All(Group::Model),
            All(Group::Reading),
        ],
        run: tables::run,
    },
    #[cfg(feature = "sql")]
    CommandInfo {
        word: "sql",
        about: "answers to SQL about these tables; without a statement, a prompt or a script",
        usage: "[PATH...] ['select ...' | .tables | '.schema TABLE'] [-output FILE]",
        reads: true,
        takes: &[
            Only(&["step_marker", "run", "hosts"]),
            TARGET,
            All(Group::Inputs),
            All(Group::Model),
            All(Group::Reading),
        ],
        run: sql::run,
    },
    CommandInfo {
        word: "diff",
        about: "what changed between two runs or models, in any view; with -budget, whether that is too much",
        usage: "[scope|graph|op|code|cost|checkpoint|info] BEFORE AFTER [options] | --save=FILE RUN",
        reads: false,
        takes: &[
            All(Group::Counted),
            All(Group::Rows),
            All(Group::Traces),
            All(Group::Limits),
            All(Group::Output),
            All(Group::Model),
            All(Group::Reading),
        ],
        run: diff::run,
    },
    CommandInfo {
        word: "checkpoint",
        about: "the tensors of a checkpoint: shapes, sizes, statistics, values; of two checkpoints, the differences",
        usage: "P [Q] [--stats] [--values NAME[0:2,:]] [--verify] [options]",
        reads: false,
        takes: &[
            Only(&["order_by", "show_name_regexes", "hide_name_regexes", "min_params", "min_bytes"]),
            All(Group::Output),
            Only(&["checkpoint_path", "strict", "follow", "max_memory", "max_work"]),
        ],
        run: checkpoint::run,
    },
    CommandInfo {
        word: "info",
        about: "an overview of the files, and questions to ask next",
        usage: "[PATH...] [-output FILE.html | -output DIR/]",
        reads: true,
        takes: VIEW,
        run: info::run,
    },
    CommandInfo {
        word: "peak",
        about: "what this machine's CPU can do at the most, measured, and saved for other questions",
        usage: "[--threads=N] [--no_save] [-output FILE.json]",
        reads: false,
        takes: &[TARGET],
        run: peak::run,
    },
    CommandInfo {
        word: "web",
        about: "all of it as a page in the browser: overview, flame graph, timeline, graph, memory, code, roofline, SQL",
        usage: "[PATH...] [--baseline=OTHER] [--port=N] [--no_open] [--source_root=DIR] | -output report:outfile=FILE",
        reads: true,
        takes: &[
            Only(&["step_marker", "run", "hosts", "output", "device", "devices", "peak_flops", "peak_bandwidth"]),
            All(Group::Inputs),
            All(Group::Model),
            All(Group::Reading),
        ],
        run: web::run,
    },
    CommandInfo {
        word: "run",
        about: "record some steps of a Python script, unedited, and print the first lines of the answer",
        usage: "[--outdir=DIR] [--steps=N] [--warmup=N] [--no_stacks] SCRIPT [argument...]",
        reads: false,
        takes: &[],
        run: |_, _, _| Err(Error::Question("run comes first: tfprof run SCRIPT [argument...]".to_owned())),
    },
    CommandInfo {
        word: "shell",
        about: "an interactive session; on a terminal, PATH without a command starts it",
        usage: "[PATH...] [options]",
        reads: true,
        takes: VIEW,
        run: shell::run,
    },
    CommandInfo {
        word: "demo",
        about: "any command on the built-in sample, a ResNet-32; alone, its overview and the shell",
        usage: "[COMMAND] [options] | --write DIR",
        reads: false,
        takes: VIEW,
        run: demo::run,
    },
    CommandInfo {
        word: "help",
        about: "commands and options; help WORD describes one",
        usage: "[COMMAND|OPTION|inputs|options]",
        reads: false,
        takes: &[],
        run: |request, out, _| help::run(request, out),
    },
    CommandInfo {
        word: "completions",
        about: "a completion script for your shell",
        usage: "bash|zsh|fish",
        reads: false,
        takes: &[],
        run: |request, out, _| completions::run(request, out),
    },
    CommandInfo {
        word: "man",
        about: "the manual page; `man markdown` for the web, `man flops` for how FLOPs are counted",
        usage: "[roff|markdown|flops]",
        reads: false,
        takes: &[],
        run: |request, out, _| man::run(request, out),
    },
    CommandInfo {
        word: "version",
        about: "the version",
        usage: "",
        reads: false,
        takes: &[],
        run: |_, out, _| write_text(out, concat!("tfprof ", env!("CARGO_PKG_VERSION"), "\n")),
    },
];

/// The commands that only the shell has.
pub const SHELL_COMMANDS: &[CommandInfo] = &[
    CommandInfo {
        takes: &[
            All(Group::Counted),
            All(Group::Rows),
            All(Group::Traces),
            All(Group::Limits),
            All(Group::Output),
            All(Group::Model),
            All(Group::Quirks),
        ],
        ..in_shell("set", "[options]", "keep options for the lines that follow; alone, show them as Enter does")
    },
    in_shell("reset", "", "take back every `set`"),
    CommandInfo {
        takes: &[All(Group::Inputs), Only(&["max_memory", "max_work", "max_unpacked"])],
        ..in_shell("load", "PATH...", "add a step, an op log or another file to what is loaded")
    },
    in_shell("quit", "", "leave; so do exit and Ctrl-D"),
    in_shell("exit", "", "leave"),
];

const fn in_shell(word: &'static str, usage: &'static str, about: &'static str) -> CommandInfo {
    CommandInfo {
        word,
        about,
        usage,
        reads: false,
        takes: &[],
        run: |request, _, _| {
            let word = request.command.word;
            let message = format!("{word} is a command of the shell, which `tfprof shell PATH` starts (tfprof help)");
            Err(Error::Question(message))
        },
    }
}
