//! Everything that only inference needs, gathered while files are read.

use super::body::{Body, UnresolvedBody};
use super::debug_info::DebugInfo;
use super::functions::FunctionDefs;
use super::observed::ObservedShapes;
use super::settings::Settings;
use std::sync::Arc;

/// The program that the files describe: its graph, its functions, and facts about both.
#[derive(Debug, Default)]
pub struct ProgramBuilder {
    pub settings: Settings,
    /// The graph of a `GraphDef`.
    pub graph: UnresolvedBody,
    /// The part of a `SavedModel`'s graph that its signature needs.
    pub served: Body,
    /// The name of that signature; `None` if the whole graph counts.
    pub signature: Option<String>,
    pub functions: FunctionDefs,
    /// The functions of a file of another dialect, by name.
    pub lowered: Vec<(String, Body)>,
    pub observed_shapes: Arc<ObservedShapes>,
    pub debug_info: DebugInfo,
}

impl ProgramBuilder {
    /// Adds the shapes that another builder observed in later runs.
    pub fn merge_observed_shapes(&mut self, later: &ObservedShapes) {
        if later.is_empty() {
            return;
        }
        Arc::make_mut(&mut self.observed_shapes).merge(later);
    }

    /// Adds the shape of an output in a run, a `TensorShapeProto`. A placeholder that was fed ran as `_arg_NAME_0_0`.
    pub fn observe_shape(&mut self, name: &str, output: usize, shape: &[u8]) {
        let name = placeholder_name(name).unwrap_or(name);
        Arc::make_mut(&mut self.observed_shapes).add(name, output, shape);
    }
}

/// `NAME` of `_arg_NAME_0_0`.
fn placeholder_name(argument: &str) -> Option<&str> {
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let (rest, last) = argument.strip_prefix("_arg_")?.rsplit_once('_')?;
    let (name, first) = rest.rsplit_once('_')?;
    (is_number(last) && is_number(first)).then_some(name)
}
