//! Shapes that runs tell of, which fill in what a graph leaves open.

use super::Builder;
use crate::infer::fact::Shape;
use crate::infer::known::RanShapes;
use std::sync::Arc;

impl Builder {
    /// Adds what another builder noted of shapes in runs that come later.
    pub fn add_ran_shapes(&mut self, later: &RanShapes) {
        if later.is_empty() {
            return;
        }
        let mut names: Vec<&String> = later.keys().collect();
        names.sort_unstable();
        let ran = Arc::make_mut(&mut self.ran);
        for name in names {
            let shapes = ran.entry(name.clone()).or_default();
            for (at, shape) in later[name].iter().enumerate() {
                if shapes.len() <= at {
                    shapes.push(shape.clone());
                } else if shapes[at] == Shape::UNKNOWN {
                    shapes[at] = shape.clone();
                }
            }
        }
    }

    /// Notes the shape of an output in a run. A placeholder that was fed ran as `_arg_NAME_0_0`.
    pub fn add_ran_shape(&mut self, name: &str, output: usize, shape: Shape) {
        let fed = name.strip_prefix("_arg_").and_then(|rest| {
            let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
            let (rest, last) = rest.rsplit_once('_')?;
            let (fed, first) = rest.rsplit_once('_')?;
            (is_number(last) && is_number(first)).then_some(fed)
        });
        let name = fed.unwrap_or(name);
        let ran = Arc::make_mut(&mut self.ran);
        if !ran.contains_key(name) {
            ran.insert(name.to_owned(), Vec::new());
        }
        let Some(shapes) = ran.get_mut(name) else { return };
        if shapes.len() <= output {
            shapes.resize(output + 1, Shape::UNKNOWN);
        }
        if shapes[output] == Shape::UNKNOWN {
            shapes[output] = shape;
        }
    }
}
