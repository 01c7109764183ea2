//! Collects the words of a command line, and builds a request from them.

use super::table::{FLAGS, Spelling, find, spellings};
use super::{Flags, Request};
use crate::commands::demo::Sample;
use crate::commands::{self, CommandInfo, web};
use crate::shell::line;
use crate::terminal::Terminal;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use tfprof::internal::checkpoint::locate;
use tfprof::internal::options::{boolean, refused};
use tfprof::internal::{render, words};
use tfprof::{Error, Format, OPTIONS, Options, Output, Role, ValueKind};

/// The form of `-output` that is the whole page rather than one answer.
const REPORT: &str = "report:outfile=";

/// The source of words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// The system's shell has removed quotes. Repeating a list option adds to the list.
    Arguments,
    /// We remove quotes. As in the original, a later option replaces an earlier one.
    Line,
}

pub(super) struct Parser {
    origin: Origin,
    options: Options,
    flags: Flags,
    paths: Vec<PathBuf>,
    command: Option<String>,
    /// `demo` came first: the command reads the sample.
    demo: bool,
    /// List options seen so far.
    lists: Vec<(String, String)>,
    /// Files named by flags, as typed.
    named: Vec<String>,
    /// The options and flags so far.
    used: Vec<&'static str>,
    /// All words, to show on pages.
    typed: Vec<String>,
}

impl Parser {
    pub fn new(origin: Origin, options: Options) -> Parser {
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
            typed: Vec::new(),
        }
    }

    pub fn read(&mut self, words: impl IntoIterator<Item = OsString>) -> Result<(), Error> {
        let words: Vec<OsString> = words.into_iter().collect();
        let quote = |word: &OsString| {
            let word = word.to_string_lossy();
            if self.origin == Origin::Line { word.into_owned() } else { words::quoted(&word) }
        };
        self.typed = words.iter().map(quote).collect();
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
                        // `help -select` works like `help select`.
                        self.paths.push(PathBuf::from(name));
                        break;
                    }
                    let Spelling { value: kind, name: known, .. } = known(&name)?;
                    self.used.push(known);
                    if let Some(value) = words.next_if(|word| value.is_none() && word.to_str().is_none()) {
                        self.path_flag(&name, value)?;
                        continue;
                    }
                    let value = match (value, kind) {
                        (Some(value), _) => value,
                        (None, ValueKind::Flag) => {
                            let is_word = |word: &OsString| word.to_str().is_some_and(|word| boolean(word).is_ok());
                            words.next_if(is_word).map_or_else(|| "true".to_owned(), text_of)
                        }
                        (None, _) => words
                            .next()
                            .map(text_of)
                            .ok_or_else(|| Error::Question(format!("-{name} needs a value (tfprof help {name})")))?,
                    };
                    self.flag(&name, kind, &value)?;
                }
                Some("demo") if self.origin == Origin::Arguments && self.command.is_none() && !self.demo => {
                    self.demo = true;
                }
                Some(text) if self.command.is_none() => self.command = Some(self.unquoted(text)),
                Some(text) => self.paths.push(PathBuf::from(self.unquoted(text))),
                None => match split_path_flag(&word).filter(|_| !flags_end) {
                    Some((name, value)) => {
                        self.used.push(known(&name)?.name);
                        self.path_flag(&name, value)?;
                    }
                    None => self.paths.push(PathBuf::from(word)),
                },
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

    fn flag(&mut self, name: &str, kind: ValueKind, value: &str) -> Result<(), Error> {
        let value = self.unquoted(value);
        if let Some(flag) = FLAGS.iter().find(|flag| flag.name == name) {
            if flag.input.is_some() {
                self.named.push(format!("--{name}={value}"));
            }
            return flag.apply(&mut self.flags, &value);
        }
        if let Some(file) = value.strip_prefix(REPORT).filter(|_| name == "output") {
            file.clone_into(&mut self.flags.report);
            return Ok(());
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

    /// A flag with a value that is not UTF-8: the name of an input.
    fn path_flag(&mut self, name: &str, value: OsString) -> Result<(), Error> {
        let format = FLAGS.iter().find(|flag| flag.name == name).and_then(|flag| flag.input);
        let Some(format) = format else {
            let value = value.to_string_lossy();
            return Err(Error::Question(format!("the value of -{name} is not UTF-8: `{value}`; only inputs may be")));
        };
        self.named.push(format!("--{name}={}", value.to_string_lossy()));
        self.flags.inputs.add(PathBuf::from(value), format);
        Ok(())
    }

    pub fn finish(mut self, terminal: Terminal) -> Result<Request, Error> {
        self.set_output()?;
        self.flags.inputs.run.clone_from(&self.options.run);
        self.flags.inputs.step_marker.clone_from(&self.options.step_marker);
        if self.flags.follow {
            let named = self.flags.inputs.list.iter_mut().map(|input| &mut input.path);
            for path in named.chain(&mut self.paths) {
                *path = locate::followed(path);
            }
        }
        let word = match self.command.take() {
            Some(word) => self.command_or_path(word)?,
            None if self.demo => "demo".to_owned(),
            None if self.flags.inputs.is_empty() => {
                self.paths.push(PathBuf::from("start"));
                "help".to_owned()
            }
            None => "shell".to_owned(),
        };
        let command = commands::find(&word).ok_or_else(|| unknown_command(&word, "tfprof help"))?;
        self.check_used(command)?;
        if !self.flags.report.is_empty() && !web::REPORTS.contains(&word.as_str()) {
            let words = web::REPORTS.join(", ");
            return Err(Error::Question(format!("{word} writes no report; expected one of {words}")));
        }
        if word == "sql" {
            self.take_statement();
        }
        let mut sample = None;
        let demo_of_more = self.demo && word == "checkpoint";
        if command.reads || demo_of_more || (word == "demo" && self.flags.write.is_empty()) {
            if self.demo && !self.paths.is_empty() {
                return Err(Error::Question("demo is about its own files; leave out the names of others".to_owned()));
            }
            if self.demo {
                let files = Sample::unpack()?;
                self.flags.inputs.add_path(files.dir())?;
                self.flags.inputs.add(files.checkpoint(), Format::of(Role::Checkpoint));
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
        let Parser { options, flags, paths, named, typed, .. } = self;
        let typed = format!("tfprof {}", typed.join(" "));
        Ok(Request { command, options, flags, paths, named, sample, terminal, typed, pages: Vec::new() })
    }

    pub fn finish_line(mut self, terminal: Terminal) -> Result<Request, Error> {
        self.set_output()?;
        let word = self.command.take().unwrap_or_default();
        if word == "sql" {
            self.take_statement();
        }
        let command = commands::find_in_shell(&word).ok_or_else(|| unknown_command(&word, "help"))?;
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
        self.check_used(command)?;
        if !self.flags.report.is_empty() {
            return Err(Error::Question(
                "a report is written outside of the shell: tfprof web PATH -output report:outfile=FILE".to_owned(),
            ));
        }
        let Parser { options, flags, paths, named, typed, .. } = self;
        let typed = typed.join(" ");
        Ok(Request { command, options, flags, paths, named, sample: None, terminal, typed, pages: Vec::new() })
    }

    /// The last word of `sql` is its statement, unless there is such a file.
    fn take_statement(&mut self) {
        let is_statement = |path: &Path| path.to_str().is_some_and(|text| text != "-") && !path.exists();
        let looks_like_one = |text: &str| text.contains(char::is_whitespace) || text.starts_with('.');
        let last = self.paths.last().filter(|path| is_statement(path)).and_then(|path| path.to_str());
        if let Some(statement) = last.filter(|text| looks_like_one(text)).map(str::to_owned) {
            self.flags.statement = statement;
            self.paths.pop();
        }
    }

    /// A first word that is not a command may be a file.
    fn command_or_path(&mut self, word: String) -> Result<String, Error> {
        if commands::find(&word).is_some() {
            return Ok(word);
        }
        if !self.demo && (word == "-" || Path::new(&word).exists()) {
            let command = self.paths.iter().find_map(|path| path.to_str().filter(|path| !Path::new(path).exists()));
            if let Some(command) = command.and_then(commands::find) {
                let question = format!("tfprof {} {}", command.word, words::quoted(&word));
                let message = format!("`{}` is a command, which comes first: {question}", command.word);
                return Err(Error::Question(message));
            }
            self.paths.insert(0, PathBuf::from(word));
            return Ok("shell".to_owned());
        }
        if word.contains(['/', '.', '\\']) {
            let message = format!("{word}: no such file or directory, and not a command either (tfprof help)");
            return Err(Error::Missing(message));
        }
        if !self.demo && words::nearest(&word, commands::words()).is_none() {
            let known = commands::words().join(", ");
            let message = format!("unknown command `{word}`, and there is no such file; expected one of {known}");
            return Err(Error::Question(format!("{message} (tfprof help)")));
        }
        Ok(word)
    }

    fn set_output(&mut self) -> Result<(), Error> {
        if self.command.as_deref() == Some("cost") {
            // A table is text.
            let forms = ["table", "json", "markdown", "html", "stdout", "file", "none"];
            let format = self.flags.format.as_str();
            if !format.is_empty() && !forms.contains(&format) {
                return Err(refused("format", &words::unknown("form", format, &forms)));
            }
            if format == "table" {
                let form = if self.flags.outfile.is_empty() { Output::SCREEN } else { Output::TEXT };
                form.clone_into(&mut self.flags.format);
            }
        }
        let Flags { format, outfile, .. } = &self.flags;
        if !format.is_empty() || !outfile.is_empty() {
            // Without a form, the name of the file tells it.
            let by_name = || render::form_by_ending(outfile).map_or(Output::TEXT, |form| form.word);
            let form = if format.is_empty() { by_name() } else { format };
            let file = if outfile.is_empty() { "-" } else { outfile };
            let output = if Output::takes_file(form) { format!("{form}:outfile={file}") } else { form.to_owned() };
            self.options.set("output", &output)?;
        }
        Ok(())
    }

    /// Refuses options that the command does not take.
    fn check_used(&self, command: &CommandInfo) -> Result<(), Error> {
        // `op -max_depth 3 --help` asks for help, whatever else was typed.
        if ["help", "version"].contains(&command.word) {
            return Ok(());
        }
        let is_demo = |name: &str| self.demo && commands::find("demo").is_some_and(|demo| demo.takes(name));
        // As the original: a line of its shell may have options of views in any command.
        let is_line = |name: &str| {
            self.origin == Origin::Line && OPTIONS.iter().any(|option| option.name == name && option.original)
        };
        let own = |name: &str| FLAGS.iter().any(|flag| flag.name == name && flag.commands == ["demo"]);
        let taken = |name: &&str| command.takes(name) || is_line(name) || (own(name) && is_demo(name));
        let Some(name) = self.used.iter().find(|name| !taken(name)) else { return Ok(()) };
        let word = command.word;
        let others: Vec<_> =
            commands::words().into_iter().filter(|word| commands::find(word).is_some_and(|c| c.takes(name))).collect();
        Err(Error::Question(format!("-{name} is not for {word}; it is for {} (tfprof help {word})", others.join(", "))))
    }
}

fn unknown_command(word: &str, help: &str) -> Error {
    let known = if help == "help" { commands::words_in_shell() } else { commands::words() };
    Error::Question(format!("{} ({help})", words::unknown("command", word, &known)))
}

fn text_of(word: OsString) -> String {
    word.into_string().unwrap_or_else(|word| word.to_string_lossy().into_owned())
}

/// Splits a word into the name of a flag, as spelled in the tables, and its value, if any.
fn split_flag(word: &str) -> (String, Option<String>) {
    let word = word.strip_prefix("--").or_else(|| word.strip_prefix('-')).unwrap_or(word);
    match word.split_once('=') {
        Some((name, value)) => (name.replace('-', "_"), Some(value.to_owned())),
        None => (word.replace('-', "_"), None),
    }
}

/// Splits a flag whose value is not UTF-8.
#[cfg(unix)]
fn split_path_flag(word: &OsString) -> Option<(String, OsString)> {
    use std::os::unix::ffi::{OsStrExt, OsStringExt};
    let bytes = word.as_bytes();
    let at = bytes.iter().position(|byte| *byte == b'=')?;
    let name = std::str::from_utf8(&bytes[..at]).ok().filter(|name| name.starts_with('-'))?;
    Some((split_flag(name).0, OsString::from_vec(bytes[at + 1..].to_vec())))
}

#[cfg(not(unix))]
fn split_path_flag(_: &OsString) -> Option<(String, OsString)> {
    None
}

fn known(name: &str) -> Result<Spelling, Error> {
    find(name).ok_or_else(|| {
        let near = match name {
            "o" => Some("-outfile".to_owned()),
            "v" => Some("-V".to_owned()),
            form if render::output_words().contains(&form) => Some(format!("--format={form}")),
            _ => words::nearest(name, spellings().map(|known| known.name)).map(|near| format!("-{near}")),
        };
        let near = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
        Error::Question(format!("unknown option `-{name}`{near} (tfprof help)"))
    })
}
