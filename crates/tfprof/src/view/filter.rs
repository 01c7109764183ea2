//! Patterns of names and types, with RE2's semantics: the whole text must match.

use crate::error::Error;
use regex::bytes::Regex;

/// A list of patterns, one of which must match.
#[derive(Debug)]
pub struct Patterns {
    list: Vec<Pattern>,
    everything: bool,
}

#[derive(Debug)]
enum Pattern {
    /// `.*`: any text on one line.
    AnyLine,
    Literal(String),
    Regex(Regex),
}

impl Patterns {
    /// Compiles the patterns of an option.
    pub fn new(option: &str, patterns: &[String]) -> Result<Patterns, Error> {
        // As the original: `.*` alone lets everything through, names with newlines too.
        let everything = patterns.len() == 1 && patterns[0] == ".*";
        let list = patterns.iter().map(|pattern| Pattern::new(option, pattern)).collect::<Result<_, _>>()?;
        Ok(Patterns { list, everything })
    }

    /// The list is `.*` alone.
    pub fn is_everything(&self) -> bool {
        self.everything
    }

    pub fn len(&self) -> usize {
        self.list.len()
    }

    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    #[inline]
    pub fn matches(&self, text: &str) -> bool {
        self.everything || self.matches_one(text)
    }

    /// As [`matches`](Self::matches), but `.*` alone is a pattern like any other.
    // As the original: `.*` neither hides nor trims names with newlines.
    #[inline]
    pub fn matches_one(&self, text: &str) -> bool {
        self.list.iter().any(|pattern| pattern.matches(text))
    }

    /// The number of patterns that match at least one of the strings.
    pub fn count(&self, texts: &[&str]) -> usize {
        if self.everything {
            return 1;
        }
        self.list.iter().filter(|pattern| texts.iter().any(|text| pattern.matches(text))).count()
    }
}

/// The pattern that matches just this text.
pub fn escaped(text: &str) -> String {
    regex::escape(text)
}

impl Pattern {
    fn new(option: &str, text: &str) -> Result<Pattern, Error> {
        if text == ".*" {
            return Ok(Pattern::AnyLine);
        }
        if !text.contains(['\\', '.', '+', '*', '?', '(', ')', '|', '[', ']', '{', '}', '^', '$']) {
            return Ok(Pattern::Literal(text.to_owned()));
        }
        let wrong = |error: &regex::Error| {
            let why = error.to_string();
            // The last line says what is wrong; those before it draw the pattern.
            let why = why.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned();
            Error::option(option, format!("`{text}` is not a valid pattern: {why}"))
        };
        let translated = from_re2(text);
        if translated.contains(')') {
            // `a)(b` is invalid, but would become valid between our parentheses.
            Regex::new(&translated).map_err(|error| wrong(&error))?;
        }
        let regex = Regex::new(&format!(r"\A(?:{translated})\z")).map_err(|error| wrong(&error))?;
        Ok(Pattern::Regex(regex))
    }

    #[inline]
    fn matches(&self, text: &str) -> bool {
        match self {
            Pattern::AnyLine => memchr::memchr(b'\n', text.as_bytes()).is_none(),
            Pattern::Literal(literal) => literal == text,
            Pattern::Regex(regex) => regex.is_match(text.as_bytes()),
        }
    }
}

/// Translates a pattern from RE2 to the `regex` crate. They differ in classes, which are ASCII in RE2, and in a few
/// escapes.
fn from_re2(pattern: &str) -> String {
    let mut out = String::with_capacity(pattern.len() + 16);
    let mut chars = pattern.chars().peekable();
    let mut in_class = false;
    while let Some(c) = chars.next() {
        match c {
            '\\' => escape(&mut chars, in_class, &mut out),
            '[' if !in_class => {
                in_class = true;
                out.push('[');
                // A bracket right after the opening one stands for itself.
                if chars.next_if_eq(&'^').is_some() {
                    out.push('^');
                }
                if chars.next_if_eq(&']').is_some() {
                    out.push_str("\\]");
                }
            }
            '[' if chars.peek() == Some(&':') => {
                out.push_str("[:");
                chars.next();
                for c in chars.by_ref() {
                    out.push(c);
                    if c == ']' {
                        break;
                    }
                }
            }
            // Set operations that RE2 does not have.
            '[' | '&' | '~' if in_class => {
                out.push('\\');
                out.push(c);
            }
            ']' => {
                in_class = false;
                out.push(']');
            }
            c => out.push(c),
        }
    }
    out
}

fn escape(chars: &mut std::iter::Peekable<std::str::Chars<'_>>, in_class: bool, out: &mut String) {
    let Some(c) = chars.next() else {
        out.push('\\');
        return;
    };
    let class = |positive: &str| if in_class { positive.to_owned() } else { format!("[{positive}]") };
    match c {
        'd' => out.push_str(&class("0-9")),
        'w' => out.push_str(&class("0-9A-Za-z_")),
        's' => out.push_str(&class(r"\t\n\f\r ")),
        'D' => out.push_str("[^0-9]"),
        'W' => out.push_str("[^0-9A-Za-z_]"),
        'S' => out.push_str(r"[^\t\n\f\r ]"),
        'b' if !in_class => out.push_str(r"(?-u:\b)"),
        'B' if !in_class => out.push_str(r"(?-u:\B)"),
        'C' if !in_class => out.push_str("(?s-u:.)"),
        '<' | '>' => out.push(c),
        'Q' => {
            let mut quoted = String::new();
            while let Some(c) = chars.next() {
                if c == '\\' && chars.next_if_eq(&'E').is_some() {
                    break;
                }
                quoted.push(c);
            }
            out.push_str(&regex::escape(&quoted));
        }
        '0'..='7' if c == '0' || chars.peek().is_some_and(|next| ('0'..='7').contains(next)) => {
            let mut code = c as u32 - '0' as u32;
            for _ in 0..2 {
                match chars.next_if(|next| ('0'..='7').contains(next)) {
                    Some(digit) => code = code * 8 + (digit as u32 - '0' as u32),
                    None => break,
                }
            }
            out.push_str(&format!("\\x{{{code:x}}}"));
        }
        c => {
            out.push('\\');
            out.push(c);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_as_in_re2() {
        let check = |pattern: &str, text: &str, expect: bool| {
            let patterns = Patterns::new("x", &[pattern.to_owned()]).unwrap();
            assert_eq!(patterns.matches(text), expect, "{pattern} on {text:?}");
        };
        check("ab", "abc", false);
        check("ab", "ab", true);
        check("^abc$", "abc", true);
        check("a.*", "a\nb", false);
        check(".*", "a\nb", true);
        check(r"a\w", "a1", true);
        check(r"a\w", "aé", false);
        check("a.", "aé", true);
        check(r"[\w/]+", "a/b_1", true);
        check(r"[\w/]+", "a/é", false);
        check(r"[^\d]", "é", true);
        check(r"\pL+", "éa", true);
        check(r"\Qa.b\E.*", "a.bcd", true);
        check(r"\Qa.b\E.*", "axbcd", false);
        check("[a&&b]", "&", true);
        check("[[a]", "[", true);
        check("[]a]+", "]a", true);
        check("[[:digit:]x]+", "1x2", true);
        check(r"save\/.*", "save/x", true);
        check("(?i)ABC", "abc", true);
        check("a|b", "b", true);
        check(r"\x61", "a", true);
        check(r"\141", "a", true);
        check(r"a\b.*", "a/b", true);
        check(r"a\b.*", "ab", false);
    }

    #[test]
    fn wrong_patterns_are_refused() {
        for pattern in ["(unclosed", "*x", "a)(b", "[z-a]", r"(a)\1"] {
            let error = Patterns::new("show_name_regexes", &[pattern.to_owned()]).unwrap_err().to_string();
            assert!(error.starts_with(&format!("-show_name_regexes: `{pattern}` is not a valid pattern: ")), "{error}");
        }
    }

    #[test]
    fn several_patterns_are_counted_once_each() {
        let patterns = ["a.*", "b", ".*c"].map(str::to_owned);
        let patterns = Patterns::new("x", &patterns).unwrap();
        assert_eq!(patterns.count(&["abc", "xc"]), 2);
    }
}
