//! [`LAYERS`]: the lowering function of each layer class; `ops.rs` has those of ops. A class without one
//! has an unknown cost, and its parameters come from the weights.

use super::config::Layer;
use super::lowering::{Lowering, Value, Values};
use super::{
    attention, convolution, dense, elementwise, network, normalization, ops, recurrent, reshaping, tensorflow,
};

/// Lowers a call of a layer; `None` if its config is not supported.
pub type Lower = fn(&Layer<'_>, &mut Lowering, &[Value]) -> Option<Values>;

/// The tables of all families.
const LAYERS: &[&[(&[&str], Lower)]] = &[
    dense::LAYERS,
    convolution::LAYERS,
    elementwise::LAYERS,
    normalization::LAYERS,
    recurrent::LAYERS,
    attention::LAYERS,
    reshaping::LAYERS,
    tensorflow::LAYERS,
];

/// Lowers one call of a layer.
pub fn lower(layer: &Layer<'_>, lowering: &mut Lowering, inputs: &[Value]) -> Values {
    // The config states the input shape that the layer was built for if it differs from the actual one.
    let known = if layer.is_own() { find(layer) } else { None };
    let lowered = known.filter(|_| !inputs.is_empty()).and_then(|lower| lower(layer, lowering, inputs));
    lowered.unwrap_or_else(|| {
        let keeps = ["Lambda", "Masking"].contains(&layer.class);
        let stated = super::config::dims(layer.config.get("output_shape")).filter(|_| keeps);
        let stated = stated.map(|mut dims| {
            dims.insert(0, -1);
            dims
        });
        lowering.unknown(inputs, stated)
    })
}

fn find(layer: &Layer<'_>) -> Option<Lower> {
    let (first, second) = if layer.is_op() { (ops::OPS, LAYERS) } else { (LAYERS, ops::OPS) };
    find_in(first, layer.class).or_else(|| find_in(second, layer.class))
}

/// The function of a class in tables.
pub fn find_in(tables: &[&[(&[&str], Lower)]], class: &str) -> Option<Lower> {
    let mut rows = tables.iter().copied().flatten();
    rows.find(|(classes, _)| classes.contains(&class)).map(|(_, lower)| *lower)
}

/// Lowers the layer within a wrapper, in a scope of its own. Keras 3 stores its weights in a group of the attribute.
pub fn lower_inner(layer: &Layer<'_>, group: &str, lowering: &mut Lowering, inputs: &[Value]) -> Values {
    let outer = lowering.enter_inner(layer, group);
    let values = if layer.is_network() {
        network::lower_network(layer, lowering, Some(inputs)).unwrap_or_else(|_| lowering.unknown(inputs, None))
    } else {
        lower(layer, lowering, inputs)
    };
    lowering.leave(outer, true);
    values
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::dialects::keras::KERAS;

    /// Lowered to the ops of other layers, or by the function that was called.
    const WRAPPERS: &[&str] =
        &["Bidirectional", "RNN", "SlicingOpLambda", "SpectralNormalization", "TFOpLambda", "TimeDistributed"];

    #[test]
    fn the_documentation_lists_all_classes() {
        let all = LAYERS.iter().chain(ops::OPS).copied().flatten().flat_map(|(classes, _)| classes.iter());
        let is_listed = |class: &&&str| !KERAS.lowered(class).is_empty() || WRAPPERS.contains(class);
        let missing: Vec<_> = all.filter(|class| !is_listed(class)).collect();
        assert!(missing.is_empty(), "{missing:?}");
    }

    #[test]
    fn a_class_has_one_function() {
        for tables in [LAYERS, ops::OPS] {
            let mut classes: Vec<&str> =
                tables.iter().copied().flatten().flat_map(|(classes, _)| classes.iter().copied()).collect();
            classes.sort_unstable();
            let twice: Vec<_> = classes.windows(2).filter(|pair| pair[0] == pair[1]).collect();
            assert!(twice.is_empty(), "{twice:?}");
        }
    }
}
