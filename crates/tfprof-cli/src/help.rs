//! Help, made of the tables of commands and options.

use crate::flags::{COMMANDS, LOAD_FLAGS};
use crate::{Exit, target};
use std::io::Write;
use tfprof::error::Error;
use tfprof::metric::{DETAILS, METRICS};
use tfprof::options::{Form, OPTIONS, OptionInfo, Options, OrderBy, ValueKind, ViewKind};
use tfprof::words;

/// Writes all of the help, or that of one command or option.
pub fn write(topic: Option<&str>, out: &mut dyn Write) -> Result<Exit, Error> {
    let topic = topic.map(|topic| topic.trim_start_matches('-').replace('-', "_"));
    let text = match &topic {
        None => overview(),
        Some(topic) => about(topic)?,
    };
    target::to_stdout(out, |out| out.write_all(text.as_bytes())).map(|()| Exit::Answered)
}

fn overview() -> String {
    let mut text = String::from(
        "tfprof: where a model's parameters, float operations, time and memory go\n\n\
         usage: tfprof COMMAND [PATH...] [options]\n\n\
         A PATH is a GraphDef, MetaGraphDef, RunMetadata, OpLogProto or ProfileProto, binary or text, plain or\n\
         gzipped, or a directory that holds them; - is standard input.\n\n",
    );
    text += "commands\n";
    let views = ViewKind::ALL.map(|kind| (kind.word(), kind.about()));
    for (word, about) in views.into_iter().chain(COMMANDS) {
        text += &entry(word, about);
    }
    text += "\ninputs, if you would rather say what they are\n";
    LOAD_FLAGS.iter().for_each(|flag| text += &entry(&spelled(flag), flag.about));
    text += "\noptions of the views\n";
    OPTIONS.iter().for_each(|option| text += &entry(&spelled(option), option.about));
    text += "\nexamples\n\
             \x20 tfprof op dump/ -select micros,bytes,occurrence -order_by micros\n\
             \x20 tfprof scope graph.pbtxt -account_type_regexes VariableV2 -select params -max_depth 4\n\
             \x20 tfprof code dump/ -show_name_regexes '.*my_model.*py.*' -order_by micros -max_depth 100\n\
             \x20 tfprof graph dump/ -start_name_regexes 'cost.*' -min_micros 10000 -max_depth 100\n\
             \x20 tfprof op dump/ -output json:outfile=-\n";
    text
}

fn about(topic: &str) -> Result<String, Error> {
    if let Some(kind) = ViewKind::parse(topic) {
        return Ok(format!("{}: {}\n\nusage: tfprof {0} [PATH...] [options]\n", kind.word(), kind.about()));
    }
    if let Some((word, about)) = COMMANDS.into_iter().find(|(word, _)| *word == topic) {
        return Ok(format!("{word}: {about}\n"));
    }
    if let Some(flag) = LOAD_FLAGS.iter().find(|flag| flag.name == topic) {
        return Ok(format!("--{}{}\n  {}\n", flag.name, value(flag.value), flag.about));
    }
    let Some(option) = OPTIONS.iter().find(|option| option.name == topic) else {
        let views = ViewKind::ALL.map(ViewKind::word);
        let names = OPTIONS.iter().map(|option| option.name).chain(LOAD_FLAGS.iter().map(|flag| flag.name));
        let known: Vec<_> = views.into_iter().chain(COMMANDS.map(|(word, _)| word)).chain(names).collect();
        return Err(Error::Question(words::unknown("topic", topic, &known)));
    };
    let default = (option.show)(&Options::default());
    let mut text = format!("-{}{}\n  {}\n", option.name, value(option.value), option.about);
    if !default.is_empty() && topic != "select" {
        text += &format!("  default: {default}\n");
    }
    match topic {
        "select" => {
            text += "\n";
            for info in METRICS.iter().filter(|info| info.word.is_some()) {
                text += &entry(info.word.unwrap_or_default(), info.about);
            }
            DETAILS.iter().for_each(|info| text += &entry(info.word, info.about));
        }
        "order_by" => text += &format!("\n  one of {}\n", OrderBy::words().join(", ")),
        "output" => text += &format!("\n  forms: {}\n", Form::ALL.map(Form::word).join(", ")),
        _ => {}
    }
    Ok(text)
}

fn spelled<T>(option: &OptionInfo<T>) -> String {
    format!("-{}{}", option.name, value(option.value))
}

fn value(kind: ValueKind) -> &'static str {
    match kind {
        ValueKind::Number => " N",
        ValueKind::Word => " WORD",
        ValueKind::Words => " WORD,...",
        ValueKind::Patterns => " REGEX,...",
        ValueKind::Flag => "",
        ValueKind::Output => " FORM[:outfile=FILE]",
        ValueKind::Path => " FILE",
        ValueKind::Paths => " [STEP=]FILE,...",
    }
}

fn entry(word: &str, about: &str) -> String {
    if word.len() > 30 { format!("  {word}\n  {:30}  {about}\n", "") } else { format!("  {word:30}  {about}\n") }
}
