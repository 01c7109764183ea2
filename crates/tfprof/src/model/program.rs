//! Everything that only inference needs, gathered while files are read.

use super::body::{Body, UnresolvedBody};
use super::debug_info::DebugInfo;
use super::functions::FunctionDefs;
use super::settings::Settings;
use super::shape::Shape;
use crate::hash::UntrustedMap;
use std::sync::Arc;

/// Shapes of outputs as runs recorded them, by the names of nodes; unknown where no run recorded one.
pub type ObservedShapes = UntrustedMap<String, Vec<Shape>>;

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
    /// If several runs recorded a shape, the first one wins.
    pub observed_shapes: Arc<ObservedShapes>,
    pub debug_info: DebugInfo,
}

impl ProgramBuilder {
    /// Adds the shapes that another builder observed in later runs.
    pub fn merge_observed_shapes(&mut self, later: &ObservedShapes) {
        if later.is_empty() {
            return;
        }
        let mut names: Vec<&String> = later.keys().collect();
        names.sort_unstable();
        let observed = Arc::make_mut(&mut self.observed_shapes);
        for name in names {
            let shapes = observed.entry(name.clone()).or_default();
            for (at, shape) in later[name].iter().enumerate() {
                if shapes.len() <= at {
                    shapes.push(shape.clone());
                } else if shapes[at] == Shape::UNKNOWN {
                    shapes[at] = shape.clone();
                }
            }
        }
    }

    /// Adds the shape of an output in a run. A placeholder that was fed ran as `_arg_NAME_0_0`.
    pub fn observe_shape(&mut self, name: &str, output: usize, shape: Shape) {
        let name = placeholder_name(name).unwrap_or(name);
        let observed = Arc::make_mut(&mut self.observed_shapes);
        if !observed.contains_key(name) {
            observed.insert(name.to_owned(), Vec::new());
        }
        let Some(shapes) = observed.get_mut(name) else { return };
        if shapes.len() <= output {
            shapes.resize(output + 1, Shape::UNKNOWN);
        }
        if shapes[output] == Shape::UNKNOWN {
            shapes[output] = shape;
        }
    }
}

/// `NAME` of `_arg_NAME_0_0`.
fn placeholder_name(argument: &str) -> Option<&str> {
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let (rest, last) = argument.strip_prefix("_arg_")?.rsplit_once('_')?;
    let (name, first) = rest.rsplit_once('_')?;
    (is_number(last) && is_number(first)).then_some(name)
}
