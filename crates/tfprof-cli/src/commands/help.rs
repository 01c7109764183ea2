//! Help, made of the tables of commands and options.

use super::COMMANDS;
use crate::flags::{FLAGS, Request};
use crate::{Exit, target};
use std::io::Write;
use tfprof::error::Error;
use tfprof::metric::{DETAILS, METRICS};
use tfprof::options::{Form, OPTIONS, OptionInfo, Options, OrderBy, ValueKind};
use tfprof::words;

/// Writes all of the help, or that of one command or option.
pub fn run(request: &Request, out: &mut dyn Write) -> Result<Exit, Error> {
    let topic = request.paths.first().map(|topic| topic.to_string_lossy().trim_start_matches('-').replace('-', "_"));
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
    COMMANDS.iter().for_each(|command| text += &entry(command.word, command.about));
    text += "\ninputs, if you would rather say what they are, and what is not about a view\n";
    FLAGS.iter().for_each(|flag| text += &entry(&spelled(&flag.info), flag.info.about));
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
    if let Some(command) = super::find(topic) {
        let mut text = format!("{0}: {1}\n\nusage: tfprof {0} {2}\n", command.word, command.about, command.usage);
        let own: Vec<_> = FLAGS.iter().filter(|flag| flag.commands.contains(&command.word)).collect();
        if !own.is_empty() {
            text += "\noptions of this command\n";
            own.iter().for_each(|flag| text += &entry(&spelled(&flag.info), flag.info.about));
        }
        return Ok(text);
    }
    if let Some(flag) = FLAGS.iter().find(|flag| flag.info.name == topic) {
        return Ok(format!("--{}{}\n  {}\n", flag.info.name, value(flag.info.value), flag.info.about));
    }
    let Some(option) = OPTIONS.iter().find(|option| option.name == topic) else {
        let names = OPTIONS.iter().map(|option| option.name).chain(FLAGS.iter().map(|flag| flag.info.name));
        let known: Vec<_> = super::words().into_iter().chain(names).collect();
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
        "output" => {
            text += "\n";
            Form::ALL.iter().for_each(|form| text += &entry(form.word(), form.about()));
        }
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
