//! Splits a line of the shell into words. Quotes protect blanks; they stay in the words, because in a list they
//! protect commas as well.

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
    fn quotes_are_taken_away() {
        let check = |word, plain| assert_eq!(unquoted(word), plain);
        check("\"a b\"", "a b");
        check("'it\"s'", "it\"s");
        check("a'b'c", "abc");
        check("plain", "plain");
    }
}
