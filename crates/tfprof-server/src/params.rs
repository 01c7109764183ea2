//! The query parameters of a request. Each must be consumed, so that unknown ones are errors.

use crate::reply::Problem;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// The parameters that are left.
#[derive(Debug, Default)]
pub struct Params {
    pairs: Vec<(String, String)>,
    /// Whether answers are complete instead of paged.
    pub whole: bool,
    /// Set when the client no longer waits for the answer.
    pub stop: Arc<AtomicBool>,
}

/// The maximum number of parameters in a request.
const MOST: usize = 100;

impl Params {
    /// Parses `name=value&…`. A repeated name is an error.
    pub fn parse(query: &str) -> Result<Params, Problem> {
        let mut pairs: Vec<(String, String)> = Vec::new();
        for part in query.split('&').filter(|part| !part.is_empty()) {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            let (name, value) = (decoded(name)?, decoded(value)?);
            if pairs.len() == MOST {
                return Err(Problem::request("the address has too many parameters"));
            }
            if pairs.iter().any(|(known, _)| *known == name) {
                return Err(Problem::parameter(&name, "is given twice"));
            }
            pairs.push((name, value));
        }
        Ok(Params { pairs, ..Params::default() })
    }

    pub fn push(&mut self, name: &str, value: &str) {
        self.pairs.push((name.to_owned(), value.to_owned()));
    }

    /// Takes a parameter.
    pub fn take(&mut self, name: &str) -> Option<String> {
        let at = self.pairs.iter().position(|(known, _)| known == name)?;
        Some(self.pairs.swap_remove(at).1)
    }

    /// Takes a text; empty if it was not given.
    pub fn text(&mut self, name: &str) -> String {
        self.take(name).unwrap_or_default()
    }

    /// Takes a number.
    pub fn number<N: std::str::FromStr>(&mut self, name: &str) -> Result<Option<N>, Problem> {
        match self.take(name) {
            None => Ok(None),
            Some(text) => match text.parse() {
                Ok(number) => Ok(Some(number)),
                Err(_) => Err(Problem::parameter(name, &format!("expects a number, found `{text}`"))),
            },
        }
    }

    pub fn flag(&mut self, name: &str) -> bool {
        self.take(name).is_some_and(|value| value == "1" || value == "true")
    }

    /// Takes all remaining parameters.
    pub fn rest(&mut self) -> Vec<(String, String)> {
        let mut rest = std::mem::take(&mut self.pairs);
        rest.sort_unstable();
        rest
    }

    /// Rejects parameters that were not consumed.
    pub fn finish(&self) -> Result<(), Problem> {
        match self.pairs.first() {
            Some((name, _)) => Err(Problem::parameter(name, "is not a parameter of this request")),
            None => Ok(()),
        }
    }
}

/// A text without `%XX` and `+`.
pub fn decoded(text: &str) -> Result<String, Problem> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let digit = |byte: Option<u8>| byte.and_then(|byte| char::from(byte).to_digit(16));
                match (digit(rest.next()), digit(rest.next())) {
                    (Some(high), Some(low)) => (high * 16 + low) as u8,
                    _ => return Err(Problem::request("a `%` in the address must be followed by two hex digits")),
                }
            }
            byte => byte,
        });
    }
    String::from_utf8(bytes).map_err(|_| Problem::request("the address is not UTF-8"))
}

/// A text with everything escaped that JavaScript's `encodeURIComponent` escapes.
pub fn encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            byte if byte.is_ascii_alphanumeric() || b"-_.!~*'()".contains(&byte) => out.push(char::from(byte)),
            byte => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

/// The key of a request: its route, and its parameters by name.
pub fn key(route: &str, parameters: &[(&str, &str)]) -> String {
    let mut sorted: Vec<_> = parameters.to_vec();
    sorted.sort_unstable();
    let pairs: Vec<_> = sorted.iter().map(|(name, value)| format!("{name}={}", encoded(value))).collect();
    if pairs.is_empty() { route.to_owned() } else { format!("{route}?{}", pairs.join("&")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_survive_encoding() {
        for text in ["", "a b+c", "jit(f)/é%", "a=b&c", "\u{1F600}\n"] {
            assert_eq!(decoded(&encoded(text)).unwrap(), text);
        }
        assert_eq!(encoded("a/b c:(1)!"), "a%2Fb%20c%3A(1)!");
        assert!(decoded("%").is_err() && decoded("%4").is_err() && decoded("%zz").is_err() && decoded("%ff").is_err());
    }

    #[test]
    fn each_parameter_must_be_taken_once() {
        let mut params = Params::parse("b=2&a=%2F&c").unwrap();
        assert_eq!((params.text("a").as_str(), params.number::<u32>("b").unwrap()), ("/", Some(2)));
        assert!(params.finish().is_err());
        assert_eq!(params.take("c").as_deref(), Some(""));
        assert!(params.finish().is_ok());
        assert!(Params::parse("a=1&a=2").is_err());
        let many: Vec<_> = (0..20_000).map(|i| format!("p{i}")).collect();
        assert!(Params::parse(&many.join("&")).is_err());
    }

    #[test]
    fn keys_are_sorted() {
        assert_eq!(key("flame", &[("px", "1200"), ("metric", "bytes")]), "flame?metric=bytes&px=1200");
        assert_eq!(key("meta", &[]), "meta");
    }
}
