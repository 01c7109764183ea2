//! Splits a line of the shell into words, and its answer's way to a command or a file from the question. Quotes protect
//! blanks, `|` and `>`.

/// Where the answer to a line goes instead of the screen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Redirect {
    /// To a command of the system's shell.
    Pipe(String),
    File(String),
    /// Behind the text that a file has.
    Append(String),
}

/// The question of a line, and where its answer goes.
pub fn redirected(line: &str) -> Result<(&str, Option<Redirect>), String> {
    let Some(at) = redirect_at(line) else { return Ok((line, None)) };
    let (question, rest) = (line[..at].trim(), &line[at..]);
    if question.is_empty() {
        return Err(format!("nothing to send; a question comes first, as in `op {}`", line.trim()));
    }
    if let Some(command) = rest.strip_prefix('|') {
        let command = command.trim();
        let missing = || "`|` needs a command, as in `op | less`".to_owned();
        return (!command.is_empty()).then(|| (question, Some(Redirect::Pipe(command.to_owned())))).ok_or_else(missing);
    }
    let (file, append) = match rest.strip_prefix(">>") {
        Some(file) => (file, true),
        None => (&rest[1..], false),
    };
    match &split(file)?[..] {
        [file] if redirect_at(file).is_none() => {
            let file = home(&unquoted(file));
            Ok((question, Some(if append { Redirect::Append(file) } else { Redirect::File(file) })))
        }
        [] => Err("`>` needs the name of a file, as in `op > ops.txt`".to_owned()),
        _ => Err(format!("`>` takes one file, found `{}`; quotes protect blanks", file.trim())),
    }
}

/// Where a word begins with `|` or `>`. Inside a word they belong to it: `a|b` is a pattern.
fn redirect_at(line: &str) -> Option<usize> {
    let mut quote = None;
    let mut before = ' ';
    for (at, c) in line.char_indices() {
        match (c, quote) {
            ('|' | '>', None) if before.is_ascii_whitespace() => return Some(at),
            ('"' | '\'', None) => quote = Some(c),
            (c, Some(open)) if c == open => quote = None,
            _ => {}
        }
        before = c;
    }
    None
}

/// The path with the user's home for `~`.
fn home(file: &str) -> String {
    match (file.strip_prefix("~/"), std::env::var("HOME")) {
        (Some(rest), Ok(home)) => format!("{home}/{rest}"),
        _ => file.to_owned(),
    }
}

/// Splits at unquoted blanks.
pub fn split(line: &str) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for c in line.chars() {
        match (c, quote) {
            (' ' | '\t' | '\r' | '\n', None) => words.extend(word.take()),
            (c, _) => {
                word.get_or_insert_default().push(c);
                quote = match (c, quote) {
                    ('"' | '\'', None) => Some(c),
                    (c, Some(open)) if c == open => None,
                    _ => quote,
                };
            }
        }
    }
    match quote {
        Some(open) => Err(format!("the quote {open} is not closed; add another {open} where it should end")),
        None => {
            words.extend(word);
            Ok(words)
        }
    }
}

/// The word without its quotes.
pub fn unquoted(word: &str) -> String {
    let mut text = String::new();
    let mut quote = None;
    for c in word.chars() {
        match (c, quote) {
            ('"' | '\'', None) => quote = Some(c),
            (c, Some(open)) if c == open => quote = None,
            (c, _) => text.push(c),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_protect_blanks() {
        let check = |line: &str, words: &[&str]| assert_eq!(split(line).unwrap(), words, "{line}");
        check("", &[]);
        check("   \t", &[]);
        check("  scope   -max_depth\t4 ", &["scope", "-max_depth", "4"]);
        check("op -show \"a b\",'c d'", &["op", "-show", "\"a b\",'c d'"]);
        check("op -show \"\"", &["op", "-show", "\"\""]);
        check("load \"it's\"", &["load", "\"it's\""]);
        assert!(split("op 'a").unwrap_err().starts_with("the quote ' is not closed"));
    }

    #[test]
    fn answers_are_redirected() {
        let check = |line: &str, question: &str, to: Option<Redirect>| {
            assert_eq!(redirected(line).unwrap(), (question, to), "{line}");
        };
        let pipe = |command: &str| Some(Redirect::Pipe(command.to_owned()));
        let file = |name: &str| Some(Redirect::File(name.to_owned()));
        check("op -select micros", "op -select micros", None);
        check("op | less -S", "op", pipe("less -S"));
        check("op |head -3 | tail -1 > x", "op", pipe("head -3 | tail -1 > x"));
        check("op > out.txt", "op", file("out.txt"));
        check("op >'my answers.txt'", "op", file("my answers.txt"));
        check("op >> out.txt ", "op", Some(Redirect::Append("out.txt".to_owned())));
        // Patterns.
        check("scope -show_name_regexes a|b", "scope -show_name_regexes a|b", None);
        check("scope -show_name_regexes '| a' | wc", "scope -show_name_regexes '| a'", pipe("wc"));
        check("scope -show_name_regexes a>b", "scope -show_name_regexes a>b", None);
        for (line, words) in [
            ("| less", "nothing to send"),
            ("op |", "needs a command"),
            ("op >", "needs the name of a file"),
            ("op > a b", "takes one file, found `a b`"),
            ("op > a | wc", "takes one file"),
            ("op > 'a", "is not closed"),
        ] {
            assert!(redirected(line).unwrap_err().contains(words), "{line}");
        }
    }

    #[test]
    fn quotes_are_taken_away() {
        let check = |word, plain| assert_eq!(unquoted(word), plain);
        check("\"a b\"", "a b");
        check("'it\"s'", "it\"s");
        check("a'b'c", "abc");
        check("plain", "plain");
    }
}
