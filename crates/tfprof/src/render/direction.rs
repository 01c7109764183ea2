//! Forward or gradient: pages and flame graphs draw the two in two families of hues.

use crate::options::ViewKind;
use crate::view::{View, VisibleRow};

/// Whether a row stands for gradients: a scope or node by its name, an op type by its name, a line by its mark.
pub fn is_gradient(view: &View, row: &VisibleRow) -> bool {
    match view.kind {
        ViewKind::Code => view.line(row).is_some_and(|line| line.is_gradient),
        ViewKind::Op => is_gradient_type(view.name(row)),
        ViewKind::Scope | ViewKind::Graph => is_gradient_scope(view.name(row)),
    }
}

/// The scopes of `tf.gradients`, of Keras and of JAX: `gradients/`, `gradients_1/`, `gradient_tape/`, `transpose(jvp(f))/`.
pub fn is_gradient_scope(name: &str) -> bool {
    name.split('/').any(|scope| {
        scope.starts_with("gradient_tape")
            || scope.starts_with("transpose(")
            || scope.strip_prefix("gradients").is_some_and(|rest| rest.is_empty() || rest.starts_with(['_', '-']))
            || scope.ends_with("_grad")
            || is_torch_gradient(scope)
    })
}

/// PyTorch's `autograd::engine::evaluate_function: AddmmBackward0` and the `AddmmBackward0` in it.
fn is_torch_gradient(scope: &str) -> bool {
    scope.starts_with("autograd::engine::")
        || scope.trim_end_matches(|c: char| c.is_ascii_digit()).ends_with("Backward")
}

fn is_gradient_type(op: &str) -> bool {
    is_torch_gradient(op)
        || op.contains("Backprop")
        || op.contains("Grad")
        || op.contains("_grad")
        || op.contains("backward")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gradients_are_told_by_their_scope() {
        for name in [
            "gradients",
            "gradients/a_grad/mul",
            "tower_0/gradients_1/x",
            "gradient_tape/model/dense/MatMul",
            "jit(step)/transpose(jvp(dense))/dot_general",
            "ProfilerStep*/autograd::engine::evaluate_function: AddmmBackward0/AddmmBackward0/aten::mm",
        ] {
            assert!(is_gradient_scope(name), "{name}");
        }
        for name in ["", "a/transpose", "a/gradientsum", "grade/x", "jit(f)/transpose/transpose_1"] {
            assert!(!is_gradient_scope(name), "{name}");
        }
    }

    #[test]
    fn gradients_are_told_by_their_type() {
        assert!(["Conv2DBackpropInput", "ReluGrad", "FusedBatchNormGradV3"].into_iter().all(is_gradient_type));
        assert!(!["Conv2D", "Relu", "transpose"].into_iter().any(is_gradient_type));
    }
}
