//! The state of the shell (loaded files, options kept by `set`), and how a line changes or queries it.

use crate::commands::{Exit, diff, help, info, load, load_into, to_stdout, view, warn};
use crate::flags::{self, Request};
use crate::terminal::Terminal;
use std::io::Write;
use std::path::PathBuf;
use tfprof::internal::budget::Account;
use tfprof::internal::engine::needs;
use tfprof::internal::model::Model;
use tfprof::internal::words;
use tfprof::{Error, Inputs, OPTIONS, Options, Profiler, Role, Settings, ViewKind};

pub struct Session {
    profiler: Profiler,
    inputs: Inputs,
    /// The options that `reset` restores.
    start: Options,
    options: Options,
    /// The settings that `reset` restores.
    start_settings: Settings,
    terminal: Terminal,
    exit: Exit,
}

/// Whether the shell continues after a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    GoOn,
    Leave,
}

impl Session {
    /// Loads the inputs of the request.
    pub fn new(request: &Request, err: &mut dyn Write) -> Result<Session, Error> {
        let (profiler, exit) = load(request, needs::ANY_VIEW, err)?;
        Ok(Session {
            profiler,
            inputs: request.flags.inputs.clone(),
            start: request.options.clone(),
            options: request.options.clone(),
            start_settings: request.flags.inputs.settings.clone(),
            terminal: request.terminal,
            exit,
        })
    }

    pub fn exit(&self) -> Exit {
        self.exit
    }

    pub fn model(&self) -> &Model {
        self.profiler.model()
    }

    /// The first line that a user sees.
    pub fn greeting(&self) -> String {
        let steps: Vec<_> = self.model().runs.steps().map(|step| step.to_string()).collect();
        let steps = match steps.len() {
            0 => "no steps".to_owned(),
            1 => format!("step {}", steps[0]),
            2..=6 => format!("steps {}", steps.join(", ")),
            n => format!("{n} steps"),
        };
        let nodes = self.model().ops().count();
        format!("{nodes} nodes, {steps}; `?` is help, Tab completes, Ctrl-D leaves")
    }

    /// All files that are loaded, which no answer may overwrite.
    pub fn files(&self) -> Vec<PathBuf> {
        self.inputs.files()
    }

    /// Runs something whose answer goes to a file or a pipe: without colour and width, and with all explanations.
    pub fn without_terminal<T>(&mut self, run: impl FnOnce(&mut Session) -> T) -> T {
        let terminal = Terminal { stdout: false, colour: false, width: None, explained: false, ..self.terminal };
        let before = std::mem::replace(&mut self.terminal, terminal);
        let outcome = run(self);
        self.terminal = before;
        outcome
    }

    /// Runs one line. On an error, nothing changes.
    pub fn execute(&mut self, line: &str, out: &mut dyn Write, err: &mut dyn Write) -> Result<Next, Error> {
        Account::again(self.inputs.limits).guard(|| self.execute_line(line, out, err))
    }

    fn execute_line(&mut self, line: &str, out: &mut dyn Write, err: &mut dyn Write) -> Result<Next, Error> {
        let asked = line.trim().strip_prefix('?').map(|topic| format!("help {topic}"));
        let line = asked.as_deref().unwrap_or(line).trim();
        if line.is_empty() {
            return self.show_options(out);
        }
        if line.starts_with('#') {
            return Ok(Next::GoOn);
        }
        let mut request = flags::parse_line(line, &self.options, self.terminal)?;
        match request.command.word {
            "load" => return self.load(request, err),
            "set" | "reset" | "quit" | "exit" | "info" => no_words(&request)?,
            _ => {}
        }
        let said = std::mem::take(&mut request.flags.inputs.settings);
        let before = self.inputs.settings.clone();
        if said != Settings::default() {
            self.infer_anew(&before.and(&said).map_err(Error::Question)?)?;
        }
        request.flags.inputs = self.inputs.clone();
        let keeps = matches!(request.command.word, "set" | "reset");
        let outcome = self.answer(line, request, out, err);
        // Like options, settings apply to their line only, unless `set` keeps them.
        if self.inputs.settings != before && (outcome.is_err() || !keeps) {
            self.infer_anew(&before)?;
        }
        outcome
    }

    /// Computes the costs of nodes with other settings. On an error, nothing changes.
    fn infer_anew(&mut self, settings: &Settings) -> Result<(), Error> {
        self.profiler.set(settings);
        if let Err(error) = self.profiler.infer() {
            self.profiler.set(&self.inputs.settings);
            return Err(error);
        }
        self.inputs.settings = settings.clone();
        Ok(())
    }

    /// A question as it is typed here. Another run takes another session.
    fn spelled(&self, question: &str) -> String {
        match (question.strip_prefix("info "), self.inputs.log_dirs.last()) {
            (Some(options), Some(dir)) => {
                format!("tfprof info {} {options}", words::quoted(&dir.display().to_string()))
            }
            _ => question.to_owned(),
        }
    }

    /// Runs a parsed line.
    fn answer(
        &mut self,
        line: &str,
        request: Request,
        out: &mut dyn Write,
        err: &mut dyn Write,
    ) -> Result<Next, Error> {
        match request.command.word {
            "quit" | "exit" => return Ok(Next::Leave),
            "reset" => {
                self.options = self.start.clone();
                if self.inputs.settings != self.start_settings {
                    self.infer_anew(&self.start_settings.clone())?;
                }
            }
            "set" if line == "set" => return self.show_options(out),
            "set" => self.options = request.options,
            "info" => info::answer(&self.profiler, &request, &|question| self.spelled(question), out, err)?,
            "help" => drop(help::run_in_shell(&request, out)?),
            "diff" => drop(diff::run_in_shell(request, out, err)?),
            word => match ViewKind::parse(word).map(|kind| view::question(kind, &request)).transpose()? {
                Some(question) if !question.needs_records()? => {
                    if view::answer(&question, &self.profiler, &request, out, err)? == Exit::Damaged {
                        self.exit = Exit::Damaged;
                    }
                    self.terminal.explained |= self.terminal.stdout && question.options.output.to_screen();
                }
                // Single executions are not kept: read the files again.
                _ => drop((request.command.run)(&request, out, err)?),
            },
        }
        Ok(Next::GoOn)
    }

    fn show_options(&self, out: &mut dyn Write) -> Result<Next, Error> {
        let text = dump(&self.options, !self.model().runs.is_empty());
        to_stdout(out, |out| out.write_all(text.as_bytes()))?;
        Ok(Next::GoOn)
    }

    /// Loads more files.
    fn load(&mut self, request: Request, err: &mut dyn Write) -> Result<Next, Error> {
        let mut more = request.flags.inputs;
        for path in &request.paths {
            more.add_path(path)?;
        }
        if more.is_empty() {
            return Err(Error::Question("nothing to load; name a file or a directory, as in `load run_meta_7`".into()));
        }
        let told = self.profiler.warnings().len();
        // Op logs refer to nodes that must be there, so a graph that comes late means to begin anew.
        let adds = more.list.iter().all(|input| input.format.role.adds_to_loaded());
        let mut all = self.inputs.clone();
        all.extend(&more);
        if adds {
            let first = self.inputs.runs().count();
            let steps: Vec<i64> = all.runs().skip(first).map(|(step, _)| step).collect();
            let runs = more.list.iter_mut().filter(|input| input.format.role == Role::Run);
            runs.zip(steps).for_each(|(run, step)| run.step = Some(step));
            let loaded = load_into(&mut self.profiler, &more, self.terminal, err);
            warn(&self.profiler.warnings()[told..], err);
            loaded?;
        } else {
            let mut profiler = Profiler::new(needs::ANY_VIEW);
            let loaded = load_into(&mut profiler, &all, self.terminal, err);
            warn(profiler.warnings(), err);
            loaded?;
            self.profiler = profiler;
        }
        self.inputs = all;
        if self.profiler.warnings().iter().any(|warning| warning.damage) {
            self.exit = Exit::Damaged;
        }
        Ok(Next::GoOn)
    }
}

fn no_words(request: &Request) -> Result<(), Error> {
    match request.paths.first() {
        None => Ok(()),
        Some(path) => {
            let (word, path) = (request.command.word, path.display());
            Err(Error::Question(format!("{word} takes no `{path}` (help {word})")))
        }
    }
}

/// The options in the original's format, without those that it lacks.
pub fn dump(options: &Options, has_steps: bool) -> String {
    let mut text = String::new();
    for option in OPTIONS.iter().filter(|option| option.original) {
        let value = match option.name {
            "select" => options.selection(has_steps).words().join(","),
            _ => option.show(options),
        };
        text += &format!("{:28}{value}\n", format!("-{}", option.name));
    }
    text
}

#[cfg(test)]
mod tests;
