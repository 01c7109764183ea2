//! [`LAYERS`]: the function that lowers each class of layers. A class that is not among them counts as unknown: its
//! parameters come from the weights.

use super::config::Layer;
use super::lowering::{Lowering, Value, Values};
use super::{attention, convolution, dense, elementwise, network, normalization, recurrent, reshaping};

/// Lowers a call of a layer; `None` if its config is one that the function does not know.
pub type Lower = fn(&Layer<'_>, &mut Lowering, &[Value]) -> Option<Values>;

/// The families of classes.
const LAYERS: &[&[(&[&str], Lower)]] = &[
    dense::LAYERS,
    convolution::LAYERS,
    elementwise::LAYERS,
    normalization::LAYERS,
    recurrent::LAYERS,
    attention::LAYERS,
    reshaping::LAYERS,
];

/// Lowers one call of a layer.
pub fn lower(layer: &Layer<'_>, lowering: &mut Lowering, inputs: &[Value]) -> Values {
    // A layer that was built for another shape than its input has says so.
    let known = if layer.is_own() { find(layer.class) } else { None };
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

fn find(class: &str) -> Option<Lower> {
    let rows = LAYERS.iter().copied().flatten();
    rows.into_iter().find(|(classes, _)| classes.contains(&class)).map(|(_, lower)| *lower)
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
