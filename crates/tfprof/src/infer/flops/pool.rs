//! Pooling and its gradients.

use super::{Count, Flops, Formula, Op, UnknownReason, Work, elements, formula, original};

#[rustfmt::skip]
pub const FORMULAS: &[Formula] = &[
    original(&["AvgPool", "MaxPool"], Count::By(pool, "window · N(out)")),
    original(&["AvgPoolGrad"], Count::By(average_gradient, "2 · window · N(in1)")),
    original(&["MaxPoolGrad"], Count::By(max_gradient, "(window + 1) · N(in1)")),
    formula(&["AvgPool3D", "MaxPool3D", "MaxPoolWithArgmax", "QuantizedAvgPool", "QuantizedMaxPool"], Count::By(pool, "window · N(out)")),
    formula(&["MaxPoolV2"], Count::By(|op| {
        let window = op.facts.get(1).and_then(|fact| fact.known_integers()).ok_or(UnknownReason::Shape)?;
        Ok(Work::plain(elements(window).saturating_mul(elements(op.output()?))))
    }, "window · N(out)")),
    formula(&["MaxPoolGradV2", "MaxPoolGradGradV2"], Count::By(|op| {
        let window = op.facts.get(3).and_then(|fact| fact.known_integers()).ok_or(UnknownReason::Shape)?;
        Ok(Work::plain(elements(window).saturating_add(1).saturating_mul(elements(op.input(1)?))))
    }, "(window + 1) · N(in1)")),
    formula(&["AvgPool3DGrad"], Count::By(average_gradient, "2 · window · N(in1)")),
    formula(&["MaxPool3DGrad", "MaxPoolGradGrad", "MaxPool3DGradGrad"], Count::By(max_gradient, "(window + 1) · N(in1)")),
    formula(&["MaxPoolGradWithArgmax"], Count::By(|op| Ok(Work::plain(elements(op.input(1)?))), "N(in1)")),
    formula(&["FractionalMaxPool", "FractionalAvgPool"], Count::In(1)),
];

fn pool(op: &Op<'_>) -> Flops {
    Ok(Work::plain(window(op)?.saturating_mul(elements(op.output()?))))
}

fn average_gradient(op: &Op<'_>) -> Flops {
    Ok(Work::plain(window(op)?.saturating_mul(elements(op.input(1)?)).saturating_mul(2)))
}

fn max_gradient(op: &Op<'_>) -> Flops {
    let outputs = elements(op.input(1)?);
    Ok(Work::plain(window(op)?.saturating_mul(outputs).saturating_add(outputs)))
}

/// The number of elements in the window.
fn window(op: &Op<'_>) -> Result<i64, UnknownReason> {
    // These ops have no data format.
    if !op.name.starts_with("Quantized") && op.name != "MaxPoolWithArgmax" {
        op.channels_first()?;
    }
    Ok(elements(&op.integers("ksize")?))
}
