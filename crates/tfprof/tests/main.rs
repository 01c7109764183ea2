//! The tests of the library from outside, as one binary: a dozen would each link the whole library.

#[path = "common/attribute_keys.rs"]
mod attribute_keys;
#[path = "common/sources.rs"]
mod sources;

mod advise;
mod formats;
mod inference;
mod layers;
mod lengths;
mod models;
mod outputs;
mod profiles;
mod public_api;
mod quirks;
mod trace_costs;
mod xspace;
mod xspace_devices;
