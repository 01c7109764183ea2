//! tfprof as a page: a server for the loopback interface, and a report in one file. `API.md` is the contract with the page.

mod answers;
pub mod http;
pub mod params;
pub mod question;
mod remembered;
pub mod reply;
pub mod report;
pub mod site;
pub mod timeline;
mod tree;

pub use question::Command;
pub use site::{Baseline, Setup, Site};
