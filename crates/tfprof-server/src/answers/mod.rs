//! The answers: one file for each family, one row of [`ROUTES`] for each request.

pub mod code;
mod compare;
mod events;
mod flame;
mod graph;
mod lists;
pub mod memory;
pub mod meta;
mod node;
mod overview;
#[cfg(feature = "sql")]
mod query;
mod roofline;
pub mod steps;
mod table;

use crate::params::Params;
use crate::reply::{Problem, Reply};
use crate::site::Site;

type Answer = fn(&Site, &mut Params) -> Result<Reply, Problem>;

/// All requests.
pub const ROUTES: &[(&str, Answer)] = &[
    ("meta", meta::meta),
    ("overview", overview::overview),
    ("rows", table::rows),
    ("path", table::path),
    ("all", table::all),
    ("find", table::find),
    ("flame", flame::flame),
    ("lists", lists::lists),
    ("node", node::node),
    ("timeline", events::timeline),
    ("tile", events::tile),
    ("names", events::names),
    ("at", events::at),
    ("range", events::range),
    ("events", events::events),
    ("memory", memory::memory),
    ("code", code::code),
    ("graph", graph::graph),
    #[cfg(feature = "sql")]
    ("query", query::query),
    ("roofline", roofline::roofline),
    ("compare", compare::compare),
    ("changes", compare::changes),
];

/// Whether an answer is worth caching: tiles and hover cards are quick to compute, and statements are seldom
/// asked twice.
pub fn is_kept(key: &str) -> bool {
    let route = key.split('?').next().unwrap_or(key);
    !matches!(route, "tile" | "at" | "query")
}
