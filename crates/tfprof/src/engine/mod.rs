//! Loads files and answers questions: the one caller of formats, inference, views, reports and renderers.

pub mod compare;
mod facts;
pub mod inputs;
pub mod needs;
pub mod parts;
pub mod profiler;
pub mod question;
mod torch_costs;
