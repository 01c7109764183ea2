//! Access: only for the browser that opened the link, from the page itself.

use crate::params::Params;
use hyper::StatusCode;
use hyper::header::{self, HeaderMap};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

/// 256 random bits as hexadecimal digits.
#[derive(Clone)]
pub struct Token(String);

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token")
    }
}

impl Token {
    pub fn new() -> io::Result<Token> {
        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes).map_err(|error| io::Error::other(error.to_string()))?;
        let digit = |n: u8| char::from_digit(n.into(), 16).unwrap_or_default();
        Ok(Token(bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()))
    }

    /// Compares in constant time.
    fn is(&self, text: &str) -> bool {
        let (own, other) = (self.0.as_bytes(), text.as_bytes());
        let different = own.iter().zip(other.iter().chain(std::iter::repeat(&0))).fold(0, |sum, (a, b)| sum | (a ^ b));
        std::hint::black_box(different) == 0 && own.len() == other.len()
    }
}

/// Why a request is refused.
#[derive(Debug, PartialEq)]
pub struct Refusal {
    pub status: StatusCode,
    pub message: &'static str,
}

#[derive(Debug)]
pub struct Guard {
    /// Both spellings of our own address.
    hosts: [String; 2],
    port: u16,
    /// The token in the address that is opened; valid once.
    link: Token,
    used: AtomicBool,
    cookie: Token,
}

/// The cookie's name contains the port: cookies ignore ports, and two servers may run on one machine.
fn cookie_name(port: u16) -> String {
    format!("tfprof-{port}")
}

impl Guard {
    pub fn new(port: u16, link: Token, cookie: Token) -> Guard {
        let hosts = [format!("127.0.0.1:{port}"), format!("localhost:{port}")];
        Guard { hosts, port, link, used: AtomicBool::new(false), cookie }
    }

    pub fn link(&self) -> String {
        format!("http://{}/?token={}", self.hosts[0], self.link.0)
    }

    /// Admits a request, or answers with the cookie of one that brings the token; it is empty if the browser has it.
    pub fn check(&self, headers: &HeaderMap, path: &str, query: &str) -> Result<Option<String>, Refusal> {
        let refuse = |message| Err(Refusal { status: StatusCode::FORBIDDEN, message });
        let one = |name: header::HeaderName| {
            let mut values = headers.get_all(name).iter();
            let first = values.next().map(|value| value.to_str().unwrap_or("?"));
            if values.next().is_some() { Some("?") } else { first }
        };
        // DNS rebinding: a foreign name may resolve to this machine.
        match one(header::HOST) {
            Some(host) if self.hosts.iter().any(|own| own.eq_ignore_ascii_case(host)) => {}
            _ => return refuse("this server is asked by the address that it printed"),
        }
        if let Some(origin) = one(header::ORIGIN) {
            let own =
                |host: &String| origin.strip_prefix("http://").is_some_and(|rest| rest.eq_ignore_ascii_case(host));
            if !self.hosts.iter().any(own) {
                return refuse("only the page itself may ask");
            }
        }
        let site = headers.get("sec-fetch-site").map(|value| value.to_str().unwrap_or("?"));
        let is_link = path == "/" && query.starts_with("token=");
        match site {
            None | Some("same-origin" | "none") => {}
            // A click on the link in a document or a terminal comes from elsewhere, and brings the token.
            Some("cross-site" | "same-site") if is_link => {}
            Some(_) => return refuse("only the page itself may ask"),
        }
        let has_cookie = self.has_cookie(headers);
        if is_link {
            return if has_cookie { Ok(Some(String::new())) } else { self.enter(query) };
        }
        if has_cookie {
            return Ok(None);
        }
        let message =
            "this page belongs to the browser that opened the printed address; start tfprof web again for another";
        Err(Refusal { status: StatusCode::UNAUTHORIZED, message })
    }

    fn enter(&self, query: &str) -> Result<Option<String>, Refusal> {
        let mut params = Params::parse(query).unwrap_or_default();
        let given = params.text("token");
        let right = self.link.is(&given);
        if !right || self.used.swap(true, Ordering::SeqCst) {
            let message = "this link is wrong or was used before; start tfprof web again";
            return Err(Refusal { status: StatusCode::FORBIDDEN, message });
        }
        let name = cookie_name(self.port);
        Ok(Some(format!("{name}={}; Path=/; HttpOnly; SameSite=Strict", self.cookie.0)))
    }

    fn has_cookie(&self, headers: &HeaderMap) -> bool {
        let name = cookie_name(self.port);
        let texts = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
        let mut pairs = texts.flat_map(|text| text.split(';')).filter_map(|pair| pair.trim().split_once('='));
        pairs.any(|(key, value)| key == name && self.cookie.is(value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_differ_and_compare() {
        let (a, b) = (Token::new().unwrap(), Token::new().unwrap());
        assert!(a.0.len() == 64 && a.0 != b.0);
        assert!(a.is(&a.0) && !a.is(&b.0) && !a.is("") && !a.is(&a.0[1..]) && !a.is(&format!("{}0", a.0)));
        assert_eq!(format!("{a:?}"), "Token");
    }
}
