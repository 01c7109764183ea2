//! Words of a command line become a request.
//!
//! Every flag takes `-x v`, `--x v` and `--x=v`; `-` and `_` are the same in its name. All flags are rows of tables:
//! those of views in the library, those of this program here.

use std::ffi::OsString;
use std::path::PathBuf;
use tfprof::error::Error;
use tfprof::inputs::Inputs;
use tfprof::options::{self, OPTIONS, OptionInfo, Options, ValueKind, ViewKind};
use tfprof::words;

/// What to do, with what.
#[derive(Debug)]
pub struct Request {
    pub command: Command,
    pub options: Options,
    pub load: LoadFlags,
    /// Files and directories whose format is guessed.
    pub paths: Vec<PathBuf>,
}

#[derive(Debug, PartialEq, Eq)]
pub enum Command {
    View(ViewKind),
    /// All of the help, or that of a command or an option.
    Help(Option<String>),
    Version,
}

/// What is loaded, and how strictly.
#[derive(Debug, Default)]
pub struct LoadFlags {
    pub inputs: Inputs,
    pub strict: bool,
    format: String,
    outfile: String,
}

macro_rules! path_flag {
    ($name:literal, $field:ident, $about:literal) => {
        OptionInfo {
            name: $name,
            value: ValueKind::Path,
            about: $about,
            original: true,
            set: |load, path| {
                load.inputs.$field.push(PathBuf::from(path));
                Ok(())
            },
            show: |_| String::new(),
        }
    };
}

/// The flags that are not about a view.
pub const LOAD_FLAGS: &[OptionInfo<LoadFlags>] = &[
    path_flag!("graph_path", graphs, "a GraphDef or MetaGraphDef, binary or text"),
    OptionInfo {
        name: "run_meta_path",
        value: ValueKind::Paths,
        about: "RunMetadata files, [STEP=]FILE,...; without STEP the first is step 0, the next step 1",
        original: true,
        set: |load, list| {
            load.inputs.add_runs(list);
            Ok(())
        },
        show: |_| String::new(),
    },
    path_flag!("op_log_path", op_logs, "an OpLogProto: types, float operations and code traces"),
    path_flag!("profile_path", profiles, "a ProfileProto, which holds all of the above"),
    OptionInfo {
        name: "strict",
        value: ValueKind::Flag,
        about: "refuse damaged files instead of answering from what is left of them",
        original: false,
        set: |load, value| options::boolean(value).map(|on| load.strict = on),
        show: |load| load.strict.to_string(),
    },
    OptionInfo {
        name: "format",
        value: ValueKind::Word,
        about: "the form of -output: file, proto, json or csv",
        original: false,
        set: |load, value| {
            value.clone_into(&mut load.format);
            Ok(())
        },
        show: |load| load.format.clone(),
    },
    OptionInfo {
        name: "outfile",
        value: ValueKind::Path,
        about: "the file of -output; - is standard output",
        original: false,
        set: |load, value| {
            value.clone_into(&mut load.outfile);
            Ok(())
        },
        show: |load| load.outfile.clone(),
    },
];

/// Words that are commands, views among them.
pub const COMMANDS: [(&str, &str); 2] =
    [("help", "what can be asked, and how; help WORD tells of one command or option"), ("version", "the version")];

pub fn parse(words: impl IntoIterator<Item = OsString>) -> Result<Request, Error> {
    let mut parser = Parser {
        request: Request {
            command: Command::Help(None),
            options: Options::default(),
            load: LoadFlags::default(),
            paths: Vec::new(),
        },
        command: None,
        lists: Vec::new(),
    };
    let mut words = words.into_iter().peekable();
    let mut flags_end = false;
    while let Some(word) = words.next() {
        let text = word.to_str().map(str::to_owned);
        match text.as_deref() {
            Some("--") if !flags_end => flags_end = true,
            Some("-h" | "--help" | "-help") if !flags_end => parser.help_asked(),
            Some("-V" | "--version") if !flags_end => parser.command = Some("version".to_owned()),
            Some(text) if !flags_end && text.len() > 1 && text.starts_with('-') => {
                let (name, value) = split_flag(text);
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
                parser.flag(&name, kind, value)?;
            }
            Some(text) if parser.command.is_none() => parser.command = Some(text.to_owned()),
            _ => parser.request.paths.push(PathBuf::from(word)),
        }
    }
    parser.finish()
}

struct Parser {
    request: Request,
    command: Option<String>,
    /// Lists that were given so far: naming one again adds to it.
    lists: Vec<(String, String)>,
}

impl Parser {
    fn help_asked(&mut self) {
        let topic = self.command.replace("help".to_owned()).filter(|command| command != "help");
        self.request.paths.splice(0..0, topic.map(PathBuf::from));
    }

    fn flag(&mut self, name: &str, kind: ValueKind, value: String) -> Result<(), Error> {
        if let Some(option) = LOAD_FLAGS.iter().find(|option| option.name == name) {
            return option.apply(&mut self.request.load, &value);
        }
        let value = match kind {
            ValueKind::Patterns | ValueKind::Words => {
                if let Some((_, values)) = self.lists.iter_mut().find(|(list, _)| list == name) {
                    *values = format!("{values},{value}");
                    values.clone()
                } else {
                    self.lists.push((name.to_owned(), value.clone()));
                    value
                }
            }
            _ => value,
        };
        self.request.options.set(name, &value)
    }

    fn finish(mut self) -> Result<Request, Error> {
        let LoadFlags { format, outfile, .. } = &self.request.load;
        if !format.is_empty() || !outfile.is_empty() {
            let form = if format.is_empty() { "file" } else { format };
            let file = if outfile.is_empty() { "-" } else { outfile };
            let takes_file = !matches!(form, "stdout" | "none");
            let output = if takes_file { format!("{form}:outfile={file}") } else { form.to_owned() };
            self.request.options.set("output", &output)?;
        }
        self.request.command = match self.command.as_deref() {
            None | Some("help") => {
                Command::Help(self.request.paths.first().map(|topic| topic.to_string_lossy().into_owned()))
            }
            Some("version") => Command::Version,
            Some(word) => Command::View(ViewKind::parse(word).ok_or_else(|| unknown_command(word))?),
        };
        if let Command::View(kind) = self.request.command {
            for path in std::mem::take(&mut self.request.paths) {
                self.request.load.inputs.add_path(&path)?;
            }
            if self.request.load.inputs.is_empty() {
                let example = format!("tfprof {} graph.pb run_meta_0", kind.word());
                return Err(Error::Question(format!("nothing to read; name files or a directory, as in `{example}`")));
            }
        }
        Ok(self.request)
    }
}

fn text_of(word: OsString) -> String {
    word.into_string().unwrap_or_else(|word| word.to_string_lossy().into_owned())
}

fn unknown_command(word: &str) -> Error {
    let views = ViewKind::ALL.map(ViewKind::word);
    let known: Vec<_> = views.into_iter().chain(COMMANDS.map(|(word, _)| word)).collect();
    Error::Question(format!("{} (tfprof help)", words::unknown("command", word, &known)))
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
    let load = LOAD_FLAGS.iter().find(|option| option.name == name).map(|option| option.value);
    view.or(load).ok_or_else(|| {
        let known: Vec<_> = OPTIONS.iter().map(|o| o.name).chain(LOAD_FLAGS.iter().map(|o| o.name)).collect();
        let near = words::nearest(name, known).map(|near| format!("; did you mean `-{near}`?")).unwrap_or_default();
        Error::Question(format!("unknown option `-{name}`{near} (tfprof help)"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use tfprof::options::{Form, Step};

    fn parsed(line: &str) -> Result<Request, String> {
        parse(line.split_whitespace().map(OsString::from)).map_err(|error| error.to_string())
    }

    #[test]
    fn flags_come_in_three_spellings() {
        for line in
            ["op --max_depth=3 --graph_path=g", "op -max-depth 3 -graph_path g", "--max_depth 3 op --graph-path g"]
        {
            let request = parsed(line).unwrap();
            assert_eq!((request.command, request.options.max_depth), (Command::View(ViewKind::Op), 3), "{line}");
            assert_eq!(request.load.inputs.graphs, [PathBuf::from("g")]);
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
