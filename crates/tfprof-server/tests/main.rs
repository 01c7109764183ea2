//! The tests of the server, as one binary.

#![allow(clippy::unwrap_used)]

mod common;
mod compare;
mod screens;
mod security;
