//! Words of a command line, or of a line in the shell, become a request.
//!
//! Every flag takes `-x v`, `--x v` and `--x=v`; `-` and `_` are the same in its name. All flags are rows of tables:
//! those of views in the library, those of this program here.

use crate::commands::demo::Sample;
use crate::commands::{self, CommandInfo};
use crate::shell::line;
use crate::terminal::Terminal;
use std::ffi::OsString;
use std::path::PathBuf;
use tfprof::error::Error;
use tfprof::infer::settings::Settings;
use tfprof::inputs::Inputs;
use tfprof::options::{self, OPTIONS, OptionInfo, Options, ValueKind};
use tfprof::trace::{OpTime, TraceOptions};
use tfprof::{units, words};

/// What to do, with what.
#[derive(Debug)]
pub struct Request {
    pub command: &'static CommandInfo,
    pub options: Options,
    pub flags: Flags,
    /// Words that are no flags. Commands that read files have theirs in `flags.inputs`.
    pub paths: Vec<PathBuf>,
    /// The files that a user named, as they were typed: for commands that we suggest.
    pub named: Vec<String>,
    /// The sample, if the request is about it; its files are there as long as the request is.
    pub sample: Option<Sample>,
    pub terminal: Terminal,
}

/// Everything that is not about a view: what is loaded, and what single commands take.
#[derive(Debug, Default)]
pub struct Flags {
    pub inputs: Inputs,
    pub strict: bool,
    pub trace: TraceOptions,
    /// Which checkers to run; none means all.
    pub checkers: Vec<String>,
    /// Of the command `cost`.
    pub budget: String,
    pub baseline: String,
    pub fail_on_unknown: bool,
    pub markdown: bool,
    /// Of the command `checkpoint`.
    pub stats: bool,
    pub verify: bool,
    pub values: String,
    /// Where `demo` writes its files.
    pub write: String,
    format: String,
    outfile: String,
}

/// A flag, and the commands that take it; none means all.
#[derive(Debug)]
pub struct Flag {
    pub commands: &'static [&'static str],
    pub info: OptionInfo<Flags>,
}

/// Says something of a model beyond its files.
macro_rules! setting {
    ($name:literal, $value:ident, $about:literal, $set:expr) => {
        everywhere(OptionInfo {
            name: $name,
            value: ValueKind::$value,
            about: $about,
            original: false,
            set: |flags, value| {
                let set: fn(&mut Settings, &str) -> Result<(), String> = $set;
                set(&mut flags.inputs.settings, value)
            },
            show: |_| String::new(),
        })
    };
}

const fn everywhere(info: OptionInfo<Flags>) -> Flag {
    Flag { commands: &[], info }
}

macro_rules! path_flag {
    ($name:literal, $field:ident, $about:literal) => {
        everywhere(OptionInfo {
            name: $name,
            value: ValueKind::Path,
            about: $about,
            original: true,
            set: |flags, path| {
                flags.inputs.$field.push(PathBuf::from(path));
                Ok(())
            },
            show: |_| String::new(),
        })
    };
}

macro_rules! limit {
    ($name:literal, $field:ident, $about:literal) => {
        everywhere(OptionInfo {
            name: $name,
            value: ValueKind::Word,
            about: $about,
            original: false,
            set: |flags, size| {
                let bytes = units::parse_bytes(size);
                let wrong = || format!("expected a size, such as 500MB or 4GB, found `{size}`");
                flags.inputs.limits.$field = Some(bytes.ok_or_else(wrong)?);
                Ok(())
            },
            show: |_| String::new(),
        })
    };
}

/// The flags that are not about a view.
pub const FLAGS: &[Flag] = &[
    path_flag!("graph_path", graphs, "a GraphDef, MetaGraphDef or SavedModel, binary or text"),
    everywhere(OptionInfo {
        name: "run_meta_path",
        value: ValueKind::Paths,
        about: "RunMetadata files, [STEP=]FILE,...; without STEP the first is step 0, the next step 1",
        original: true,
        set: |flags, list| {
            flags.inputs.add_runs(list);
            Ok(())
        },
        show: |_| String::new(),
    }),
    path_flag!("op_log_path", op_logs, "an OpLogProto: types, float operations and code traces"),
    path_flag!("profile_path", profiles, "a ProfileProto, which holds all of the above"),
    path_flag!("checkpoint_path", checkpoints, "a checkpoint: what its files' names begin with, or its directory"),
    setting!("signature", Word, "the signature of a SavedModel that counts; serving_default if not given", |s, v| {
        s.signature = Some(v.to_owned());
        Ok(())
    }),
    setting!("all", Flag, "count all of a SavedModel, not only what a signature needs", |s, v| {
        options::boolean(v).map(|on| s.all = on)
    }),
    setting!("batch", Number, "the size of leading dimensions that a graph leaves open; 1 if not given", |s, v| {
        let batch = v.parse().ok().filter(|batch| *batch >= 0);
        s.batch = Some(batch.ok_or_else(|| format!("expected a number of examples, such as 32, found `{v}`"))?);
        Ok(())
    }),
    setting!("input", Word, "the shape of what is fed, as in NAME=1x224x224x3; may be repeated", |s, v| {
        s.inputs.push(Settings::parse_input(v)?);
        Ok(())
    }),
    setting!("trip_count", Word, "how often a loop runs, NAME=N; may be repeated", |s, v| {
        let expected = || format!("expected NAME=N, the name of a loop and a number, found `{v}`");
        let (name, count) = v.rsplit_once('=').filter(|(name, _)| !name.is_empty()).ok_or_else(expected)?;
        let count: i64 = count.parse().ok().filter(|count| *count >= 0).ok_or_else(expected)?;
        s.trip_counts.push((name.to_owned(), count));
        Ok(())
    }),
    setting!("const_params", Flag, "count constants as parameters: the weights of a frozen graph", |s, v| {
        options::boolean(v).map(|on| s.const_params = on)
    }),
    path_flag!("xspace_path", xspaces, "an XSpace of TensorFlow 2 or JAX (HOST.xplane.pb); may be given for each host"),
    everywhere(OptionInfo {
        name: "strict",
        value: ValueKind::Flag,
        about: "refuse damaged files instead of answering from what is left of them",
        original: false,
        set: |flags, value| options::boolean(value).map(|on| flags.strict = on),
        show: |flags| flags.strict.to_string(),
    }),
    limit!("max_memory", memory, "stop with a sentence rather than hold more memory than this, as in 4GB"),
    limit!("max_unpacked", unpacked, "how large a gzipped file may become; if not given, 250 times its size"),
    everywhere(OptionInfo {
        name: "format",
        value: ValueKind::Word,
        about: "the form of -output, such as json, timeline or flamegraph",
        original: false,
        set: |flags, value| {
            value.clone_into(&mut flags.format);
            Ok(())
        },
        show: |flags| flags.format.clone(),
    }),
    everywhere(OptionInfo {
        name: "outfile",
        value: ValueKind::Path,
        about: "the file of -output; - is standard output",
        original: false,
        set: |flags, value| {
            value.clone_into(&mut flags.outfile);
            Ok(())
        },
        show: |flags| flags.outfile.clone(),
    }),
    Flag {
        commands: &["demo"],
        info: OptionInfo {
            name: "write",
            value: ValueKind::Path,
            about: "a directory to write the sample's files to",
            original: false,
            set: |flags, value| {
                value.clone_into(&mut flags.write);
                Ok(())
            },
            show: |flags| flags.write.clone(),
        },
    },
    Flag {
        commands: &["trace"],
        info: OptionInfo {
            name: "show_dataflow",
            value: ValueKind::Flag,
            about: "draw arrows from the op that makes a tensor to the ops that read it",
            original: true,
            set: |flags, value| options::boolean(value).map(|on| flags.trace.show_dataflow = on),
            show: |flags| flags.trace.show_dataflow.to_string(),
        },
    },
    Flag {
        commands: &["trace"],
        info: OptionInfo {
            name: "show_memory",
            value: ValueKind::Flag,
            about: "show the life of each tensor, and what each allocator holds",
            original: true,
            set: |flags, value| options::boolean(value).map(|on| flags.trace.show_memory = on),
            show: |flags| flags.trace.show_memory.to_string(),
        },
    },
    Flag {
        commands: &["trace"],
        info: OptionInfo {
            name: "op_time",
            value: ValueKind::Word,
            about: "when an op with GPU kernels is drawn: schedule (its launch), gpu (its kernels) or all (both)",
            original: true,
            set: |flags, value| {
                let unknown = || words::unknown("time", value, &OpTime::WORDS.map(|(word, _)| word));
                OpTime::parse(value).map(|time| flags.trace.op_time = time).ok_or_else(unknown)
            },
            show: |flags| flags.trace.op_time.word().to_owned(),
        },
    },
    Flag {
        commands: &["advise"],
        info: OptionInfo {
            name: "checkers",
            value: ValueKind::Words,
            about: "which checkers to run, by name; all if not given",
            original: false,
            set: |flags, value| {
                flags.checkers.extend(words::split_list(value));
                Ok(())
            },
            show: |flags| flags.checkers.join(","),
        },
    },
    only(
        &["cost"],
        "budget",
        ValueKind::Path,
        "a TOML file with limits: max_params, max_flops, max_unknown_ops; exit code 3 if one is not kept",
        |flags, value| {
            value.clone_into(&mut flags.budget);
            Ok(())
        },
    ),
    only(
        &["cost"],
        "fail_on_unknown",
        ValueKind::Flag,
        "exit code 3 if the cost of any node is not known",
        |flags, value| options::boolean(value).map(|on| flags.fail_on_unknown = on),
    ),
    only(&["cost"], "baseline", ValueKind::Path, "another model to compare with, scope by scope", |flags, value| {
        value.clone_into(&mut flags.baseline);
        Ok(())
    }),
    checkpoint(
        "stats",
        ValueKind::Flag,
        "what the numbers look like: extremes, mean, spread, zeros, NaN",
        |flags, value| options::boolean(value).map(|on| flags.stats = on),
    ),
    checkpoint(
        "verify",
        ValueKind::Flag,
        "check every checksum and every length; exit code 3 on damage",
        |flags, value| options::boolean(value).map(|on| flags.verify = on),
    ),
    checkpoint("values", ValueKind::Word, "print a tensor, or a part of it: NAME or NAME[0:2,:]", |flags, value| {
        value.clone_into(&mut flags.values);
        Ok(())
    }),
];

/// The flags of the command `checkpoint`.
const fn checkpoint(
    name: &'static str,
    value: ValueKind,
    about: &'static str,
    set: fn(&mut Flags, &str) -> Result<(), String>,
) -> Flag {
    only(&["checkpoint"], name, value, about, set)
}

/// A flag that some commands take.
const fn only(
    commands: &'static [&'static str],
    name: &'static str,
    value: ValueKind,
    about: &'static str,
    set: fn(&mut Flags, &str) -> Result<(), String>,
) -> Flag {
    Flag { commands, info: OptionInfo { name, value, about, original: false, set, show: |_| String::new() } }
}

/// Reads the words behind the program's name.
pub fn parse(words: impl IntoIterator<Item = OsString>, terminal: Terminal) -> Result<Request, Error> {
    let mut parser = Parser::new(Origin::Arguments, Options::default());
    parser.read(words)?;
    parser.finish(terminal)
}

/// Reads a line of the shell. Its options begin with `options` and hold for this line.
pub fn parse_line(text: &str, options: &Options, terminal: Terminal) -> Result<Request, Error> {
    let words = line::split(text).map_err(Error::Question)?;
    let mut parser = Parser::new(Origin::Line, options.clone());
    parser.read(words.into_iter().map(OsString::from))?;
    parser.finish_line(terminal)
}

/// Where words come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Origin {
    /// The system's shell has taken its quotes away; naming a list again adds to it.
    Arguments,
    /// Quotes are ours to take away. As the original: a later option replaces an earlier one.
    Line,
}

struct Parser {
    origin: Origin,
    options: Options,
    flags: Flags,
    paths: Vec<PathBuf>,
    command: Option<String>,
    /// `demo` came first: the command is about the sample.
    demo: bool,
    /// Lists that were given so far.
    lists: Vec<(String, String)>,
    /// Files that flags named, as they were typed.
    named: Vec<String>,
    /// Flags that only some commands take.
    used: Vec<&'static Flag>,
}

impl Parser {
    fn new(origin: Origin, options: Options) -> Parser {
        Parser {
            origin,
            options,
            flags: Flags::default(),
            paths: Vec::new(),
            command: None,
            demo: false,
            lists: Vec::new(),
            named: Vec::new(),
            used: Vec::new(),
        }
    }

    fn read(&mut self, words: impl IntoIterator<Item = OsString>) -> Result<(), Error> {
        let mut words = words.into_iter().peekable();
        let mut flags_end = false;
        while let Some(word) = words.next() {
            let text = word.to_str().map(str::to_owned);
            match text.as_deref() {
                Some("--") if !flags_end => flags_end = true,
                Some("-h" | "--help" | "-help") if !flags_end => self.help_asked(),
                Some("-V" | "--version") if !flags_end => self.command = Some("version".to_owned()),
                Some(text) if !flags_end && text.len() > 1 && text.starts_with('-') => {
                    let (name, value) = split_flag(text);
                    if value.is_none() && self.command.as_deref() == Some("help") && words.peek().is_none() {
                        // Help about an option may be asked for with its dash.
                        self.paths.push(PathBuf::from(name));
                        break;
                    }
                    let kind = kind_of(&name)?;
                    let value = match (value, kind) {
                        (Some(value), _) => value,
                        (None, ValueKind::Flag) => {
                            let is_word =
                                |word: &OsString| word.to_str().is_some_and(|word| options::boolean(word).is_ok());
                            words.next_if(is_word).map_or_else(|| "true".to_owned(), text_of)
                        }
                        (None, _) => words
                            .next()
                            .map(text_of)
                            .ok_or_else(|| Error::Question(format!("-{name} needs a value (tfprof help {name})")))?,
                    };
                    self.flag(&name, kind, value)?;
                }
                Some("demo") if self.origin == Origin::Arguments && self.command.is_none() && !self.demo => {
                    self.demo = true;
                }
                Some(text) if self.command.is_none() => self.command = Some(self.unquoted(text)),
                Some(text) => self.paths.push(PathBuf::from(self.unquoted(text))),
                None => self.paths.push(PathBuf::from(word)),
            }
        }
        Ok(())
    }

    fn unquoted(&self, word: &str) -> String {
        if self.origin == Origin::Line { line::unquoted(word) } else { word.to_owned() }
    }

    fn help_asked(&mut self) {
        let demo = std::mem::take(&mut self.demo).then(|| "demo".to_owned());
        let topic = self.command.replace("help".to_owned()).filter(|command| command != "help");
        self.paths.splice(0..0, topic.or(demo).map(PathBuf::from));
    }

    fn flag(&mut self, name: &str, kind: ValueKind, value: String) -> Result<(), Error> {
        // Quotes protect the commas of a pattern, so those stay until the list is split.
        let value = if kind == ValueKind::Patterns { value } else { self.unquoted(&value) };
        if let Some(flag) = FLAGS.iter().find(|flag| flag.info.name == name) {
            if !flag.commands.is_empty() {
                self.used.push(flag);
            }
            if flag.info.original && matches!(kind, ValueKind::Path | ValueKind::Paths) {
                self.named.push(format!("--{name}={value}"));
            }
            return flag.info.apply(&mut self.flags, &value);
        }
        let is_list = matches!(kind, ValueKind::Patterns | ValueKind::Words);
        let value = match self.lists.iter_mut().find(|(list, _)| list == name) {
            Some((_, values)) if is_list && self.origin == Origin::Arguments => {
                *values = format!("{values},{value}");
                values.clone()
            }
            _ => {
                self.lists.push((name.to_owned(), value.clone()));
                value
            }
        };
        self.options.set(name, &value)
    }

    fn finish(mut self, terminal: Terminal) -> Result<Request, Error> {
        self.set_output()?;
        self.flags.inputs.run.clone_from(&self.options.run);
        self.flags.inputs.step_marker.clone_from(&self.options.step_marker);
        let word = match self.command.take() {
            Some(word) => self.command_or_path(word)?,
            None if self.demo => "demo".to_owned(),
            None if self.flags.inputs.is_empty() => "help".to_owned(),
            None => "shell".to_owned(),
        };
        let command = commands::find(&word).ok_or_else(|| unknown_command(&word, "tfprof help"))?;
        self.check_used(&word)?;
        let mut sample = None;
        let demo_of_more = self.demo && word == "checkpoint";
        if command.reads || demo_of_more || (word == "demo" && self.flags.write.is_empty()) {
            if self.demo && !self.paths.is_empty() {
                return Err(Error::Question("demo is about its own files; leave out the names of others".to_owned()));
            }
            if self.demo {
                let files = Sample::unpack()?;
                self.flags.inputs.add_path(files.dir())?;
                self.flags.inputs.checkpoints.push(files.checkpoint());
                sample = Some(files);
            }
            for path in std::mem::take(&mut self.paths) {
                self.flags.inputs.add_path(&path)?;
                self.named.push(path.display().to_string());
            }
            if self.flags.inputs.is_empty() {
                let files = if word == "cost" { "saved_model" } else { "graph.pb run_meta_0" };
                let example = format!("tfprof {word} {files}");
                return Err(Error::Question(format!("nothing to read; name files or a directory, as in `{example}`")));
            }
        }
        let Parser { options, flags, paths, named, .. } = self;
        Ok(Request { command, options, flags, paths, named, sample, terminal })
    }

    fn finish_line(mut self, terminal: Terminal) -> Result<Request, Error> {
        self.set_output()?;
        let word = self.command.take().unwrap_or_default();
        let command = commands::find_in_shell(&word).ok_or_else(|| unknown_command(&word, "help"))?;
        self.check_used(&word)?;
        if command.reads
            && let Some(path) = self.paths.first()
        {
            let path = path.display();
            return Err(Error::Question(format!("{word} takes options only, and `{path}` is none (help {word})")));
        }
        if word != "load" && !self.flags.inputs.is_empty() {
            let files = self.named.join(" ");
            return Err(Error::Question(format!("{word} is about what is loaded; use `load {files}` to add to it")));
        }
        let Parser { options, flags, paths, named, .. } = self;
        Ok(Request { command, options, flags, paths, named, sample: None, terminal })
    }

    /// A first word that is no command may be the name of a file.
    fn command_or_path(&mut self, word: String) -> Result<String, Error> {
        let is_path = !self.demo && (word == "-" || std::path::Path::new(&word).exists());
        if commands::find(&word).is_some() || !is_path {
            let looks_like_path = word.contains(['/', '.']);
            if looks_like_path && commands::find(&word).is_none() {
                let message = format!("{word}: no such file or directory, and not a command either (tfprof help)");
                return Err(Error::Missing(message));
            }
            return Ok(word);
        }
        self.paths.insert(0, PathBuf::from(word));
        Ok("shell".to_owned())
    }

    fn set_output(&mut self) -> Result<(), Error> {
        if self.command.as_deref() == Some("cost") {
            // Its tables come in two styles; what is left is text, which is the default.
            self.flags.markdown = self.flags.format == "markdown";
            if matches!(self.flags.format.as_str(), "table" | "markdown") {
                self.flags.format.clear();
            }
        }
        let Flags { format, outfile, .. } = &self.flags;
        if !format.is_empty() || !outfile.is_empty() {
            let form = if format.is_empty() { "file" } else { format };
            let file = if outfile.is_empty() { "-" } else { outfile };
            let takes_file = !matches!(form, "stdout" | "none");
            let output = if takes_file { format!("{form}:outfile={file}") } else { form.to_owned() };
            self.options.set("output", &output)?;
        }
        Ok(())
    }

    fn check_used(&self, word: &str) -> Result<(), Error> {
        let asked = |flag: &&Flag| flag.commands.contains(&word) || (self.demo && flag.commands.contains(&"demo"));
        if let Some(flag) = self.used.iter().find(|flag| !asked(flag)) {
            let commands = flag.commands.join(", ");
            return Err(Error::Question(format!("-{} is not for {word}; it is for {commands}", flag.info.name)));
        }
        Ok(())
    }
}

fn unknown_command(word: &str, help: &str) -> Error {
    let known = if help == "help" { commands::words_in_shell() } else { commands::words() };
    Error::Question(format!("{} ({help})", words::unknown("command", word, &known)))
}

fn text_of(word: OsString) -> String {
    word.into_string().unwrap_or_else(|word| word.to_string_lossy().into_owned())
}

/// The name of a flag in the spelling of the tables, and its value if it is part of the word.
fn split_flag(word: &str) -> (String, Option<String>) {
    let word = word.strip_prefix("--").or_else(|| word.strip_prefix('-')).unwrap_or(word);
    match word.split_once('=') {
        Some((name, value)) => (name.replace('-', "_"), Some(value.to_owned())),
        None => (word.replace('-', "_"), None),
    }
}

fn kind_of(name: &str) -> Result<ValueKind, Error> {
    let view = OPTIONS.iter().find(|option| option.name == name).map(|option| option.value);
    let flag = FLAGS.iter().find(|flag| flag.info.name == name).map(|flag| flag.info.value);
    view.or(flag).ok_or_else(|| {
        let known: Vec<_> = OPTIONS.iter().map(|o| o.name).chain(FLAGS.iter().map(|f| f.info.name)).collect();
        let near = words::nearest(name, known).map(|near| format!("; did you mean `-{near}`?")).unwrap_or_default();
        Error::Question(format!("unknown option `-{name}`{near} (tfprof help)"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use tfprof::options::{Form, Step};

    fn parsed(line: &str) -> Result<Request, String> {
        parse(line.split_whitespace().map(OsString::from), Terminal::default()).map_err(|error| error.to_string())
    }

    #[test]
    fn flags_come_in_three_spellings() {
        for line in
            ["op --max_depth=3 --graph_path=g", "op -max-depth 3 -graph_path g", "--max_depth 3 op --graph-path g"]
        {
            let request = parsed(line).unwrap();
            assert_eq!((request.command.word, request.options.max_depth), ("op", 3), "{line}");
            assert_eq!(request.flags.inputs.graphs, [PathBuf::from("g")]);
        }
    }

    #[test]
    fn a_boolean_takes_the_next_word_only_if_it_is_one() {
        let request = parsed("op -account_displayed_op_only -step 4 --graph_path=g -ops_only no").unwrap();
        assert!(request.options.account_displayed_op_only && !request.options.ops_only);
        assert_eq!(request.options.step, Step::At(4));
    }

    #[test]
    fn lists_may_be_repeated() {
        let request = parsed("op --graph_path=g -hide_name_regexes a -hide_name_regexes b,c").unwrap();
        assert_eq!(request.options.hide_name_regexes, ["a", "b", "c"]);
    }

    #[test]
    fn format_and_outfile_are_an_output() {
        let output = parsed("op --graph_path=g --format=json").unwrap().options.output;
        assert_eq!((output.form, output.outfile.as_str()), (Form::Json, "-"));
        let output = parsed("op --graph_path=g --outfile=x").unwrap().options.output;
        assert_eq!((output.form, output.outfile.as_str()), (Form::File, "x"));
    }

    #[test]
    fn wrong_words_are_refused_with_the_nearest() {
        let error = |line| parsed(line).unwrap_err();
        assert!(error("scop g").starts_with("unknown command `scop`; did you mean `scope`?"));
        assert!(error("op -max_dept 3").starts_with("unknown option `-max_dept`; did you mean `-max_depth`?"));
        assert!(error("op -max_depth").starts_with("-max_depth needs a value"));
        assert!(error("op").starts_with("nothing to read"));
        assert!(error("op -select beauty --graph_path=g").contains("unknown metric `beauty`"));
    }
}
