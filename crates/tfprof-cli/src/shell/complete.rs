//! Tab completion: commands, options, and values that occur in the loaded files.

use super::session::Session;
use crate::commands;
use crate::flags;
use rustyline::completion::{Completer, FilenameCompleter, Pair};
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::validate::Validator;
use rustyline::{Context, Helper};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;
use tfprof::internal::model::Model;
use tfprof::internal::render;
use tfprof::{OPTIONS, Output, ValueKind};

/// Completes words of the shell's line.
pub struct Words {
    session: Rc<RefCell<Session>>,
}

impl Words {
    pub fn new(session: Rc<RefCell<Session>>) -> Words {
        Words { session }
    }
}

impl Completer for Words {
    type Candidate = Pair;

    fn complete(&self, line: &str, pos: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<Pair>)> {
        let session = self.session.borrow();
        let Offer { start, words } = offer(line.get(..pos).unwrap_or(line), session.model());
        let pair = |(display, replacement)| Pair { display, replacement };
        Ok((start, words.into_iter().map(pair).collect()))
    }
}

impl Hinter for Words {
    type Hint = String;
}
impl Highlighter for Words {}
impl Validator for Words {}
impl Helper for Words {}

/// Completions from `start` on: the text to show, and the text to insert.
#[derive(Debug, Default, PartialEq, Eq)]
struct Offer {
    start: usize,
    words: Vec<(String, String)>,
}

impl Offer {
    /// The words of `known` that start with the typed text; `end` is appended.
    fn of<'w>(text: &str, start: usize, known: impl IntoIterator<Item = &'w str>, end: &str) -> Offer {
        let typed = &text[start..];
        let matching = known.into_iter().filter(|word| word.starts_with(typed));
        Offer { start, words: matching.map(|word| (word.to_owned(), format!("{word}{end}"))).collect() }
    }

    fn files(text: &str, start: usize) -> Offer {
        let typed = &text[start..];
        let Ok((at, pairs)) = FilenameCompleter::new().complete_path(typed, typed.len()) else {
            return Offer::default();
        };
        let words = pairs.into_iter().map(|pair| (pair.display, pair.replacement)).collect();
        Offer { start: start + at, words }
    }
}

fn offer(text: &str, model: &Model) -> Offer {
    let start = last_word(text);
    let before: Vec<&str> = text[..start].split_whitespace().collect();
    let Some(command) = before.first() else {
        return Offer::of(text, start, commands::words_in_shell(), " ");
    };
    let word = &text[start..];
    if matches!(before.last(), Some(&(">" | ">>"))) {
        return Offer::files(text, start);
    }
    if let Some((name, value)) = word.split_once('=').filter(|(name, _)| name.starts_with('-')) {
        return offer_value(&plain_name(name), text, text.len() - value.len(), model);
    }
    if let Some(last) = before.last().filter(|last| last.starts_with('-')) {
        let name = plain_name(last);
        match flags::find(&name).map(|known| known.value) {
            Some(ValueKind::Flag) if !word.starts_with('-') && !word.is_empty() => {
                return offer_value(&name, text, start, model);
            }
            None | Some(ValueKind::Flag) => {}
            Some(_) => return offer_value(&name, text, start, model),
        }
    }
    match *command {
        "help" => {
            let options = OPTIONS.iter().map(|option| option.name);
            Offer::of(text, start, commands::words_in_shell().into_iter().chain(options), "")
        }
        "load" if !word.starts_with('-') => Offer::files(text, start),
        _ => offer_options(text, start),
    }
}

/// Where the last word begins; a blank in quotes is part of a word.
fn last_word(text: &str) -> usize {
    let mut quote = None;
    let mut start = 0;
    for (i, c) in text.char_indices() {
        match (c, quote) {
            (' ' | '\t', None) => start = i + 1,
            ('"' | '\'', None) => quote = Some(c),
            (c, Some(open)) if c == open => quote = None,
            _ => {}
        }
    }
    start
}

fn plain_name(word: &str) -> String {
    word.trim_start_matches('-').replace('-', "_")
}

fn offer_options(text: &str, start: usize) -> Offer {
    // Keep the number of dashes that was typed.
    let dashes = if text[start..].starts_with("--") { "--" } else { "-" };
    let names: Vec<_> = OPTIONS.iter().map(|option| format!("{dashes}{}", option.name)).collect();
    Offer::of(text, start, names.iter().map(String::as_str), " ")
}

fn offer_value(name: &str, text: &str, start: usize, model: &Model) -> Offer {
    // A list is completed piece by piece.
    let piece = start + text[start..].rfind([',', '"', '\'']).map_or(0, |at| at + 1);
    let Some(known) = flags::find(name) else { return Offer::default() };
    match (name, known.value) {
        ("step", _) => {
            let steps: Vec<_> = model.runs.steps().map(|step| step.to_string()).collect();
            Offer::of(text, start, ["-1"].into_iter().chain(steps.iter().map(String::as_str)), " ")
        }
        ("account_type_regexes", _) => Offer::of(text, piece, types(model), ""),
        (_, ValueKind::Patterns) => names(text, piece, model),
        (_, ValueKind::Flag) => Offer::of(text, start, ["true", "false"], " "),
        (_, ValueKind::Output) => offer_output(text, start),
        (_, ValueKind::Path | ValueKind::Paths) => Offer::files(text, start),
        (_, ValueKind::Words) => Offer::of(text, piece, (known.words)(), ""),
        (_, ValueKind::Word | ValueKind::Number) => Offer::of(text, start, (known.words)(), " "),
    }
}

fn offer_output(text: &str, start: usize) -> Offer {
    if let Some(at) = text[start..].find("outfile=") {
        return Offer::files(text, start + at + "outfile=".len());
    }
    let typed = |word: &str| if Output::takes_file(word) { format!("{word}:outfile=") } else { word.to_owned() };
    let forms: Vec<_> = render::output_words().into_iter().map(typed).collect();
    Offer::of(text, start, forms.iter().map(String::as_str), "")
}

/// All op types, devices and custom types, in the order of their bytes.
fn types(model: &Model) -> BTreeSet<&str> {
    let ops = model.nodes.op.iter().copied().collect::<BTreeSet<_>>();
    let custom = model.type_sets.iter().flatten().copied();
    let devices = model.devices.all().map(|device| model.devices.name(device));
    let all = ops.into_iter().chain(custom).chain(devices);
    all.map(|name| model.names.get(name)).filter(|name| !name.is_empty()).collect()
}

/// Names of nodes, scope by scope.
fn names(text: &str, start: usize, model: &Model) -> Offer {
    let typed = &text[start..];
    let nodes = model.ops_by_name();
    let mut words = Vec::new();
    let mut at = nodes.partition_point(|node| model.name(*node) < typed);
    while let Some(node) = nodes.get(at) {
        let name = model.name(*node);
        if !name.starts_with(typed) {
            break;
        }
        match name[typed.len()..].find('/') {
            None => {
                words.push(name.to_owned());
                at += 1;
            }
            Some(slash) => {
                let scope = &name[..=typed.len() + slash];
                words.push(scope.to_owned());
                // Skip the whole scope at once: graphs have a million nodes.
                at += nodes[at..].partition_point(|node| model.name(*node).starts_with(scope));
            }
        }
    }
    words.dedup();
    Offer { start, words: words.into_iter().map(|word| (word.clone(), word)).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tfprof::{Profiler, Source};

    fn offered(line: &str) -> Vec<String> {
        let graph = br#"
            node { name: "a/b/w" op: "VariableV2" }
            node { name: "a/b/x" op: "Identity" }
            node { name: "a/c" op: "Conv2D" }
            node { name: "loss" op: "Sum" }
        "#;
        let mut profiler = Profiler::default();
        profiler.add_graph(Source::memory("graph", graph).unwrap()).unwrap();
        let offer = offer(line, profiler.model());
        offer.words.into_iter().map(|(_, word)| format!("{}{word}", &line[..offer.start])).collect()
    }

    #[test]
    fn tab_offers_matching_words() {
        let check = |line: &str, expect: &[&str]| assert_eq!(offered(line), expect, "{line}");
        check("sc", &["scope "]);
        check("  gr", &["  graph "]);
        check("scope -max", &["scope -max_depth "]);
        check("scope --max", &["scope --max_depth "]);
        check("op -order_by mic", &["op -order_by micros ", "op -order_by micros_per_run "]);
        check("op -events a", &["op -events all "]);
        check("advise --checkers=Tr", &["advise --checkers=TransferChecker"]);
        check("op -order_by=mic", &["op -order_by=micros ", "op -order_by=micros_per_run "]);
        check("op -select micros,par", &["op -select micros,params"]);
        check("scope -account_type_regexes Con", &["scope -account_type_regexes Conv2D"]);
        check("scope -account_type_regexes 'Sum,Va", &["scope -account_type_regexes 'Sum,VariableV2"]);
        check("scope -start_name_regexes ", &["scope -start_name_regexes a/", "scope -start_name_regexes loss"]);
        check("scope -start_name_regexes a/", &["scope -start_name_regexes a/b/", "scope -start_name_regexes a/c"]);
        check("scope -hide_name_regexes loss,a/b/x", &["scope -hide_name_regexes loss,a/b/x"]);
        check("scope -step ", &["scope -step -1 "]);
        check("scope -ops_only f", &["scope -ops_only false "]);
        check("scope -ops_only -order", &["scope -ops_only -order_by "]);
        check("op -output js", &["op -output json:outfile="]);
        check("help acc", &["help account_type_regexes", "help account_displayed_op_only"]);
    }

    #[test]
    fn files_are_offered_where_files_are_meant() {
        let check = |line: &str, expect: &str| assert!(offered(line).contains(&expect.to_owned()), "{line}");
        check("load Cargo.t", "load Cargo.toml");
        check("op -output file:outfile=Cargo.t", "op -output file:outfile=Cargo.toml");
        check("op -max_depth 3 > Cargo.t", "op -max_depth 3 > Cargo.toml");
    }
}
