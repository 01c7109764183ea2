//! The text reader: its grammar, real files, and properties of any text.
// Helpers of tests, which are tests too.
#![allow(clippy::unwrap_used)]

mod files;
mod grammar;
mod properties;
mod support;
