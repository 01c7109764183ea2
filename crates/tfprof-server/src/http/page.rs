//! The files of the page, and the policy that lets a browser load nothing else.

use super::Answer;
use hyper::header::{self, HeaderValue};

/// A file of the page.
#[derive(Clone, Copy, Debug)]
pub struct Asset {
    pub kind: &'static str,
    pub bytes: &'static [u8],
}

/// The page: its files by path.
#[derive(Clone, Copy, Debug)]
pub struct Page {
    pub index: &'static [u8],
    pub script: &'static [u8],
    pub style: &'static [u8],
}

/// The page that is built from `web/`.
pub const PAGE: Page = Page {
    index: include_bytes!("../../page/index.html"),
    script: include_bytes!("../../page/app.js"),
    style: include_bytes!("../../page/app.css"),
};

/// The Content-Security-Policy: nothing from elsewhere, no inline script, no framing, no forms.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

impl Page {
    pub fn asset(&self, path: &str) -> Option<Asset> {
        let (kind, bytes) = match path {
            "/" | "/index.html" => ("text/html; charset=utf-8", self.index),
            "/app.js" => ("text/javascript; charset=utf-8", self.script),
            "/app.css" => ("text/css; charset=utf-8", self.style),
            _ => return None,
        };
        Some(Asset { kind, bytes })
    }
}

/// Adds the headers that every answer has.
pub fn with_policy(mut answer: Answer) -> Answer {
    let headers = answer.headers_mut();
    let mut set = |name, value| headers.insert(name, HeaderValue::from_static(value));
    set(header::CONTENT_SECURITY_POLICY, POLICY);
    set(header::X_CONTENT_TYPE_OPTIONS, "nosniff");
    set(header::X_FRAME_OPTIONS, "DENY");
    set(header::REFERRER_POLICY, "no-referrer");
    set(header::HeaderName::from_static("cross-origin-resource-policy"), "same-origin");
    set(header::HeaderName::from_static("cross-origin-opener-policy"), "same-origin");
    set(header::HeaderName::from_static("permissions-policy"), "camera=(), geolocation=(), microphone=()");
    answer
}
