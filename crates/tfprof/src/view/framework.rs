//! Which frames of a call stack belong to a framework or to the standard library, so that the code view can fold them
//! into the user's frame around them.

use super::code;
use crate::hash::TrustedMap;
use crate::model::Model;
use crate::model::names::NameId;
use crate::model::stacks::{FrameText, StackId};
use crate::quirks::Quirks;

/// Installed packages whose frames are folded.
const PACKAGES: &str = "tensorflow tensorflow_core tensorflow_estimator tensorflow_probability tf_keras tf_slim keras keras_core jax \
    jaxlib flax haiku optax torch numpy absl wrapt decorator IPython ipykernel ipykernel_launcher traitlets \
    tornado";

/// Files of frameworks and of the standard library, for profiles that leave out directories.
const FILES: &str = "_iinfo abc abstract_arrays ad_util api_util array_constructors array_methods array_ops ast base_events \
    base_layer codecs compilation_cache concurrent contextlib control_flow_ops copyreg custom_derivatives \
    dataclasses def_function dtypes enum fromnumeric func_graph functools getlimits heapq importlib inspect \
    keras_tensor lax_numpy linear_util math_ops mlir nn_ops op_def_library op_shardings partial_eval pjit \
    polymorphic_function prng pxla reprlib resource_variable_ops runpy selectors shard_map sharding_impls \
    socketserver source_info_util tensor_conversion threading threefry2x32 traceback traceback_util \
    traceback_utils tracing_compilation tree_util typing ufunc_api ufuncs warnings weakref xla_bridge";

/// Files of frameworks whose names users like, too: folded where a framework calls them.
const COMMON_FILES: &str = "__init__ api array base basearray batching compiler conditionals config context core dispatch execute function \
    functions indexing lax layer linalg literals loops mesh module nn ops profiler random reductions slicing \
    stages tensor types util utils";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Owner {
    User,
    Framework,
    /// Whoever calls it.
    Caller,
}

/// By call path: where it is folded.
pub struct Folding {
    /// Its innermost frame is one of a framework.
    framework: Vec<bool>,
    /// A frame of it is the user's.
    has_user: Vec<bool>,
    outermost: Vec<StackId>,
}

impl Folding {
    pub fn new(model: &Model, quirks: &Quirks) -> Folding {
        let mut owners = TrustedMap::default();
        let mut folding = Folding::by(&mut owners, model, quirks);
        // A function that a framework calls once belongs to it everywhere.
        let mut learned = false;
        for path in (0..model.stacks.len() as u32).map(StackId).filter(|path| folding.folds(*path)) {
            let Some((_, frame)) = model.stacks.last(path) else { continue };
            let owner = owners.get_mut(&model.stacks.frame(frame).file).filter(|owner| **owner == Owner::Caller);
            owner.into_iter().for_each(|owner| (*owner, learned) = (Owner::Framework, true));
        }
        if learned {
            folding = Folding::by(&mut owners, model, quirks);
        }
        folding
    }

    fn by(owners: &mut TrustedMap<NameId, Owner>, model: &Model, quirks: &Quirks) -> Folding {
        let paths = model.stacks.len();
        let mut folding = Folding {
            framework: vec![false; paths],
            has_user: vec![false; paths],
            outermost: vec![StackId::NONE; paths],
        };
        // Outer paths come before inner ones.
        for path in (0..paths as u32).map(StackId) {
            let Some((outer, frame)) = model.stacks.last(path) else { continue };
            let frame = model.stacks.frame(frame);
            let file = code::string(model, quirks, frame, FrameText::File);
            let is_module = !file.contains(['/', '\\', '<']) && file.strip_suffix(".py").is_none();
            let owner = if model.is_trace && frame.lineno < 0 && is_module {
                // A function in C, of which only the module is known.
                Owner::Framework
            } else {
                *owners.entry(frame.file).or_insert_with(|| owner(file, model.is_trace))
            };
            let (at, outer) = (path.0 as usize, outer.0 as usize);
            folding.framework[at] = match owner {
                Owner::User => false,
                Owner::Framework => true,
                Owner::Caller => folding.framework[outer],
            };
            folding.has_user[at] = !folding.framework[at] || folding.has_user[outer];
            folding.outermost[at] =
                if folding.outermost[outer] == StackId::NONE { path } else { folding.outermost[outer] };
        }
        folding
    }

    /// Whether the innermost frame of a path is folded into the frames around it.
    pub fn folds(&self, path: StackId) -> bool {
        self.framework[path.0 as usize]
    }

    /// Whether a frame of the path is the user's.
    pub fn has_user(&self, path: StackId) -> bool {
        self.has_user[path.0 as usize]
    }

    /// The path's outermost frame alone.
    pub fn outermost(&self, path: StackId) -> StackId {
        self.outermost[path.0 as usize]
    }
}

/// The owner of a file. A trace may know its name only.
fn owner(file: &str, is_trace: bool) -> Owner {
    if file.starts_with("<frozen ") || matches!(file, "<unknown>" | "<built-in>") {
        return Owner::Framework;
    }
    let parts: Vec<&str> = file.split(['/', '\\']).collect();
    if let [name] = parts[..] {
        let module = name.strip_suffix(".py").unwrap_or(name);
        let generated = module.starts_with("gen_") && module.ends_with("_ops");
        return match is_trace {
            true if generated || has(FILES, module) => Owner::Framework,
            true if has(COMMON_FILES, module) => Owner::Caller,
            _ => Owner::User,
        };
    }
    let installed = parts.iter().rposition(|part| matches!(*part, "site-packages" | "dist-packages"));
    let is_framework = match installed.map(|at| parts.get(at + 1)) {
        Some(package) => package.is_some_and(|package| has(PACKAGES, package.trim_end_matches(".py"))),
        None => is_standard(&parts) || is_checkout(&parts),
    };
    if is_framework { Owner::Framework } else { Owner::User }
}

fn has(words: &str, word: &str) -> bool {
    words.split(' ').any(|known| known == word)
}

/// `lib/python3.12/threading.py`, or `Python312\Lib\threading.py`.
fn is_standard(parts: &[&str]) -> bool {
    let is_python = |part: &str| {
        let version = part.get(..6).filter(|python| python.eq_ignore_ascii_case("python")).map(|_| &part[6..]);
        version.is_some_and(|version| version.starts_with(|c: char| c.is_ascii_digit()))
    };
    parts.windows(3).any(|parts| {
        let is_library = |part: &str| part.eq_ignore_ascii_case("lib") || part == "lib64";
        (is_library(parts[0]) && is_python(parts[1])) || (is_python(parts[0]) && is_library(parts[1]))
    })
}

/// A framework that is run from its sources.
fn is_checkout(parts: &[&str]) -> bool {
    parts.windows(3).any(|parts| matches!(parts[..2], ["tensorflow", "python"] | ["jax", "_src"]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_have_owners() {
        let check = |file: &str, expect: Owner| assert_eq!(owner(file, false), expect, "{file}");
        for file in [
            "/usr/lib/python3/dist-packages/tensorflow/python/ops/math_ops.py",
            "/v/lib/python3.11/site-packages/keras/src/layers/layer.py",
            "/v/lib64/python3.9/site-packages/torch/nn/modules/module.py",
            r"C:\Users\me\venv\Lib\site-packages\jax\_src\pjit.py",
            r"C:\Python312\Lib\threading.py",
            "/opt/conda/lib/python3.10/contextlib.py",
            "/Library/Frameworks/Python.framework/Versions/3.12/lib/python3.12/runpy.py",
            "/home/me/src/tensorflow/python/framework/ops.py",
            "<frozen importlib._bootstrap>",
        ] {
            check(file, Owner::Framework);
        }
        for file in [
            "/home/me/train.py",
            "/home/me/keras/src/model.py",
            "/home/me/lib/model.py",
            "/home/me/python3/train.py",
            "/v/lib/python3.11/site-packages/my_models/resnet.py",
            "/v/lib/python3.11/site-packages/tensorflow_models/resnet.py",
            "<stdin>",
            "<ipython-input-3-5f>",
            "threading.py",
            "",
        ] {
            check(file, Owner::User);
        }
    }

    #[test]
    fn a_trace_knows_names_only() {
        let check = |file: &str, expect: Owner| assert_eq!(owner(file, true), expect, "{file}");
        check("pjit.py", Owner::Framework);
        check("gen_math_ops.py", Owner::Framework);
        check("core.py", Owner::Caller);
        check("train.py", Owner::User);
    }
}
