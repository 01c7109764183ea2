//! Converts a Python dict to the options of a view.

use crate::raise;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBoolMethods, PyDict, PyString};
use tfprof::internal::render;
use tfprof::{OPTIONS, Options, Output, Quirks, Selection, ValueKind};

/// Reads options. Missing ones have the defaults of the command line or, if `original`, of the original's messages, where
/// a missing list is empty and matches nothing.
pub fn options(given: &Bound<'_, PyDict>, original: bool) -> PyResult<Options> {
    let mut options = Options::default();
    if original {
        options.quirks = Quirks::ORIGINAL;
        options.account_type_regexes.clear();
        options.start_name_regexes.clear();
        options.show_name_regexes.clear();
        options.select = Some(Selection::default());
    }
    for option in OPTIONS.iter() {
        let Some(value) = given.get_item(option.name)? else { continue };
        let wrong = |expected: &str| {
            let found = value.get_type().name().map_or_else(|_| "something else".to_owned(), |name| name.to_string());
            PyTypeError::new_err(format!("option `{}`: expected {expected}, found {found}", option.name))
        };
        let words = || -> PyResult<Vec<String>> {
            if value.is_instance_of::<PyString>() {
                return Err(wrong("a list of strings"));
            }
            let items = value.try_iter().map_err(|_| wrong("a list of strings"))?;
            items.map(|item| item?.extract::<String>().map_err(|_| wrong("a list of strings"))).collect()
        };
        let list = match option.name {
            "account_type_regexes" => Some(&mut options.account_type_regexes),
            "start_name_regexes" => Some(&mut options.start_name_regexes),
            "trim_name_regexes" => Some(&mut options.trim_name_regexes),
            "show_name_regexes" => Some(&mut options.show_name_regexes),
            "hide_name_regexes" => Some(&mut options.hide_name_regexes),
            _ => None,
        };
        if let Some(list) = list {
            *list = words()?;
            continue;
        }
        let text = match option.value {
            // A number, or a text: `all`, or `5:` for a step and all later ones.
            ValueKind::Number if option.name == "step" && value.extract::<&str>().is_ok() => {
                value.extract::<String>()?
            }
            ValueKind::Number => {
                value.extract::<i64>().map_err(|_| wrong("a whole number that 64 bits hold"))?.to_string()
            }
            ValueKind::Flag => {
                let number = || value.extract::<i64>().ok().map(|number| number != 0);
                let flag = value.cast::<PyBool>().ok().map(PyBoolMethods::is_true).or_else(number);
                flag.ok_or_else(|| wrong("True or False"))?.to_string()
            }
            ValueKind::Words | ValueKind::Patterns | ValueKind::Paths => words()?.join(","),
            ValueKind::Word | ValueKind::Output | ValueKind::Path => {
                value.extract::<String>().map_err(|_| wrong("a string"))?
            }
        };
        if option.name == "select" && text.is_empty() {
            options.select = original.then(Selection::default);
            continue;
        }
        // Differs from the original: a path may contain commas.
        let target = text.split_once(":outfile=").filter(|(_, file)| option.name == "output" && file.contains(','));
        if let Some((word, file)) = target.filter(|(word, _)| Output::takes_file(word)) {
            render::form_of(word).map_err(|error| raise(&error))?;
            options.output = Output { form: word.to_owned(), outfile: file.to_owned() };
            continue;
        }
        options.set(option.name, &text).map_err(|error| raise(&error))?;
    }
    Ok(options)
}

/// Converts a question from the command line to a call in Python: `op -select bytes,micros` is
/// `p.op(select='bytes,micros')`.
pub fn call(words: &str) -> String {
    let mut words = shell_words(words).into_iter().peekable();
    // Another run of the same directory is another profile.
    let function = match words.next().unwrap_or_default().as_str() {
        "info" => "tfprof.open".to_owned(),
        command => format!("p.{command}"),
    };
    let mut arguments = Vec::from_iter((function == "tfprof.open").then(|| "…".to_owned()));
    while let Some(flag) = words.next() {
        let name = flag.trim_start_matches('-');
        let option = OPTIONS.iter().find(|option| option.name == name);
        let value = words.next_if(|word| !word.starts_with('-') || word.parse::<i64>().is_ok());
        let text = match (option.map(|option| option.value), value) {
            (Some(ValueKind::Number), Some(number)) if number.parse::<i64>().is_ok() => number,
            (Some(ValueKind::Flag), None) => "True".to_owned(),
            (_, value) => {
                let value = value.unwrap_or_default();
                // A raw string if there are backslashes.
                let raw = if value.contains('\\') { "r" } else { "" };
                format!("{raw}'{value}'")
            }
        };
        arguments.push(format!("{name}={text}"));
    }
    format!("{function}({})", arguments.join(", "))
}

/// Splits at blanks outside quotes.
fn shell_words(text: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quoted = false;
    for c in text.chars() {
        match c {
            '\'' => quoted = !quoted,
            ' ' if !quoted => words.push(String::new()),
            c => {
                if let Some(word) = words.last_mut() {
                    word.push(c);
                }
            }
        }
    }
    words
}
