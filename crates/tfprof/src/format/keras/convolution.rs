//! Convolutions and pooling, of one, two and three dimensions. One dimension becomes two of which one has the size 1, as in
//! Keras.

use super::config::{Config, Layer};
use super::dense::{adapted, add_bias};
use super::elementwise::{activate, joined};
use super::layers::Lower;
use super::lowering::{Lowering, Value, Values};
use crate::model::attr_value::AttrValue;
use crate::model::body::Tensor;

pub const LAYERS: &[(&[&str], Lower)] = &[
    (&["Conv1D", "Conv2D", "Conv3D", "Convolution1D", "Convolution2D", "Convolution3D"], convolution),
    (&["DepthwiseConv1D", "DepthwiseConv2D"], depthwise),
    (&["SeparableConv1D", "SeparableConv2D"], separable),
    (&["Conv1DTranspose", "Conv2DTranspose", "Conv3DTranspose"], transposed),
    (&["MaxPooling1D", "MaxPooling2D", "MaxPooling3D"], |layer, lowering, inputs| {
        pool(layer, lowering, inputs, "MaxPool")
    }),
    (&["AveragePooling1D", "AveragePooling2D", "AveragePooling3D"], |layer, lowering, inputs| {
        pool(layer, lowering, inputs, "AvgPool")
    }),
    (&["AdaptiveMaxPooling1D", "AdaptiveMaxPooling2D", "AdaptiveMaxPooling3D"], |layer, lowering, inputs| {
        adaptive(layer, lowering, inputs, "MaxPool")
    }),
    (
        &["AdaptiveAveragePooling1D", "AdaptiveAveragePooling2D", "AdaptiveAveragePooling3D"],
        |layer, lowering, inputs| adaptive(layer, lowering, inputs, "AvgPool"),
    ),
    (&["GlobalAveragePooling1D", "GlobalAveragePooling2D", "GlobalAveragePooling3D"], |layer, lowering, inputs| {
        Some(global(layer, lowering, inputs, "Mean"))
    }),
    (&["GlobalMaxPooling1D", "GlobalMaxPooling2D", "GlobalMaxPooling3D"], |layer, lowering, inputs| {
        Some(global(layer, lowering, inputs, "Max"))
    }),
];

/// Sizes of windows, without batch and channels.
#[derive(Clone, Debug)]
pub struct Window {
    pub size: Vec<i64>,
    pub strides: Vec<i64>,
    pub dilations: Vec<i64>,
    pub same: bool,
    pub first: bool,
}

impl Window {
    fn of(config: Config<'_>, spatial: usize) -> Window {
        Window {
            size: config.sizes("kernel_size", spatial, 1),
            strides: config.sizes("strides", spatial, 1),
            dilations: config.sizes("dilation_rate", spatial, 1),
            same: config.text_or("padding", "valid").eq_ignore_ascii_case("same"),
            first: channels_first(config),
        }
    }

    /// The spatial sizes of the result.
    pub fn results(&self, sizes: &[i64]) -> Vec<i64> {
        let result = |at: usize, size: i64| {
            let reach = (self.size[at] - 1).saturating_mul(self.dilations[at]).saturating_add(1);
            match size {
                size if size < 0 => -1,
                size if self.same => size.saturating_add(self.strides[at] - 1) / self.strides[at].max(1),
                size => ((size - reach).max(-1) / self.strides[at].max(1) + i64::from(size >= reach)).max(0),
            }
        };
        sizes.iter().enumerate().map(|(at, size)| result(at, *size)).collect()
    }

    /// For all four or five dimensions of an image; one dimension gets a second one of size 1.
    fn all(&self, sizes: &[i64]) -> Vec<i64> {
        let spatial = if sizes.len() == 1 { vec![1, sizes[0]] } else { sizes.to_vec() };
        if self.first { [&[1, 1][..], &spatial].concat() } else { [&[1][..], &spatial, &[1]].concat() }
    }

    fn format(&self) -> &'static str {
        match (self.size.len(), self.first) {
            (3, true) => "NCDHW",
            (3, false) => "NDHWC",
            (_, true) => "NCHW",
            (_, false) => "NHWC",
        }
    }

    /// An op over windows.
    fn op(&self, op: &str, lowering: &mut Lowering, inputs: &[Tensor], pools: bool) -> Tensor {
        let (strides, dilations, sizes) = (self.all(&self.strides), self.all(&self.dilations), self.all(&self.size));
        let mut attributes = vec![
            ("strides", AttrValue::Ints(&strides)),
            ("padding", AttrValue::Text(if self.same { "SAME" } else { "VALID" })),
            ("data_format", AttrValue::Text(self.format())),
        ];
        attributes.push(if pools {
            ("ksize", AttrValue::Ints(&sizes))
        } else {
            ("dilations", AttrValue::Ints(&dilations))
        });
        lowering.op(op, inputs, &attributes)
    }

    /// The shape of an image: batch, spatial sizes, channels.
    fn image(&self, batch: i64, spatial: &[i64], channels: i64) -> Vec<i64> {
        if self.first {
            [&[batch, channels][..], spatial].concat()
        } else {
            [&[batch][..], spatial, &[channels]].concat()
        }
    }
}

pub fn channels_first(config: Config<'_>) -> bool {
    config.text("data_format") == "channels_first"
}

/// Batch, spatial sizes and channels.
fn parts(x: &Value, spatial: usize, first: bool) -> Option<(i64, Vec<i64>, i64)> {
    let dims = x.dims.as_ref().filter(|dims| dims.len() == spatial + 2)?;
    let (channels, from) = if first { (dims[1], 2) } else { (dims[spatial + 1], 1) };
    Some((dims[0], dims[from..from + spatial].to_vec(), channels))
}

/// Gives a sequence a second spatial dimension; images stay as they are.
fn widened(lowering: &mut Lowering, x: &Value, spatial: usize, first: bool) -> Value {
    if spatial != 1 {
        return x.clone();
    }
    let at = if first { 2 } else { 1 };
    let axis = lowering.scalar(at);
    let dims = x.dims.clone().map(|mut dims| {
        dims.insert(at as usize, 1);
        dims
    });
    Value::new(lowering.op("ExpandDims", &[x.tensor, axis], &[]), dims)
}

/// Removes the second spatial dimension.
fn narrowed(lowering: &mut Lowering, x: Tensor, spatial: usize, first: bool, dims: Vec<i64>) -> Value {
    if spatial != 1 {
        return Value::new(x, Some(dims));
    }
    let at = if first { 2 } else { 1 };
    let tensor = lowering.op("Squeeze", &[x], &[("squeeze_dims", AttrValue::Ints(&[at]))]);
    Value::new(tensor, Some(dims))
}

/// A kernel in the op's layout: a 1-D kernel gets a second dimension.
fn wide_kernel(lowering: &mut Lowering, kernel: &Value, spatial: usize) -> Value {
    if spatial != 1 {
        return kernel.clone();
    }
    let axis = lowering.scalar(0);
    let dims = kernel.dims.clone().map(|dims| [&[1], &dims[..]].concat());
    Value::new(lowering.op("ExpandDims", &[kernel.tensor, axis], &[]), dims)
}

/// Convolves with a kernel.
pub fn convolve(lowering: &mut Lowering, x: &Value, kernel: &Value, window: &Window) -> Option<Value> {
    let spatial = window.size.len();
    let (batch, sizes, _) = parts(x, spatial, window.first)?;
    let dims = window.image(batch, &window.results(&sizes), kernel.dim(-1));
    let (wide, filter) = (widened(lowering, x, spatial, window.first), wide_kernel(lowering, kernel, spatial));
    let op = if spatial == 3 { "Conv3D" } else { "Conv2D" };
    let tensor = window.op(op, lowering, &[wide.tensor, filter.tensor], false);
    Some(narrowed(lowering, tensor, spatial, window.first, dims))
}

/// The number of spatial dimensions, from the name of a class.
pub fn spatial(class: &str) -> usize {
    class.bytes().find(u8::is_ascii_digit).map_or(2, |digit| usize::from(digit - b'0')).clamp(1, 3)
}

fn convolution(layer: &Layer<'_>, lowering: &mut Lowering, inputs: &[Value]) -> Option<Values> {
    let (config, spatial) = (layer.config, spatial(layer.class));
    let window = Window::of(config, spatial);
    let filters = config.int("filters").or_else(|| config.int("nb_filter"))?;
    let groups = config.int("groups").unwrap_or(1).max(1);
    let mut x = inputs[0].clone();
    if config.text("padding") == "causal" {
        x = causal(lowering, &x, &window)?;
    }
    let (_, _, channels) = parts(&x, spatial, window.first)?;
    let inner = if channels < 0 { -1 } else { channels / groups };
    let kernel = lowering.parameter("kernel", &[&window.size[..], &[inner, filters]].concat(), true);
    let kernel = adapted(config, lowering, kernel);
    let product = convolve(lowering, &x, &kernel, &window)?;
    Some(vec![finish(config, lowering, product, filters, window.first)])
}

fn finish(config: Config<'_>, lowering: &mut Lowering, x: Value, filters: i64, first: bool) -> Value {
    let biased = if first && config.flag("use_bias", true) {
        let bias = lowering.parameter("bias", &[filters], true);
        Value::new(
            lowering.op("BiasAdd", &[x.tensor, bias.tensor], &[("data_format", AttrValue::Text("NCHW"))]),
            x.dims,
        )
    } else {
        add_bias(config, lowering, x, filters)
    };
    activate(config.activation("activation"), lowering, biased)
}

/// Pads a sequence at its start.
fn causal(lowering: &mut Lowering, x: &Value, window: &Window) -> Option<Value> {
    let before = (window.size.first()? - 1).saturating_mul(*window.dilations.first()?);
    super::reshaping::padded(lowering, x, &[(0, 0), (before, 0), (0, 0)])
}

fn depthwise(layer: &Layer<'_>, lowering: &mut Lowering, inputs: &[Value]) -> Option<Values> {
    let (config, spatial) = (layer.config, spatial(layer.class));
    let window = Window::of(config, spatial);
    let (product, channels) = depthwise_product(config, lowering, &inputs[0], &window, "kernel")?;
    Some(vec![finish(config, lowering, product, channels, window.first)])
}

/// The depthwise product, and its number of channels.
fn depthwise_product(
    config: Config<'_>,
    lowering: &mut Lowering,
    x: &Value,
    window: &Window,
    name: &str,
) -> Option<(Value, i64)> {
    let spatial = window.size.len();
    let (batch, sizes, channels) = parts(x, spatial, window.first)?;
    let multiplier = config.int("depth_multiplier").unwrap_or(1);
    let kernel = lowering.parameter(name, &[&window.size[..], &[channels, multiplier]].concat(), true);
    let results = kernel.dim(-1).saturating_mul(kernel.dim(-2)).max(-1);
    let dims = window.image(batch, &window.results(&sizes), results);
    let (wide, filter) = (widened(lowering, x, spatial, window.first), wide_kernel(lowering, &kernel, spatial));
    let tensor = window.op("DepthwiseConv2dNative", lowering, &[wide.tensor, filter.tensor], false);
    Some((narrowed(lowering, tensor, spatial, window.first, dims), results))
}

fn separable(layer: &Layer<'_>, lowering: &mut Lowering, inputs: &[Value]) -> Option<Values> {
    let (config, spatial) = (layer.config, spatial(layer.class));
    let window = Window::of(config, spatial);
    let filters = config.int("filters")?;
    let mut x = inputs[0].clone();
    if config.text("padding") == "causal" {
        x = causal(lowering, &x, &window)?;
    }
    let (product, channels) = depthwise_product(config, lowering, &x, &window, "depthwise_kernel")?;
    let ones = vec![1; spatial];
    let kernel = lowering.parameter("pointwise_kernel", &[&ones[..], &[channels, filters]].concat(), true);
    let point = Window { size: ones.clone(), strides: ones.clone(), dilations: ones, same: false, first: window.first };
    let product = convolve(lowering, &product, &kernel, &point)?;
    Some(vec![finish(config, lowering, product, filters, window.first)])
}

fn transposed(layer: &Layer<'_>, lowering: &mut Lowering, inputs: &[Value]) -> Option<Values> {
    let (config, x, spatial) = (layer.config, &inputs[0], spatial(layer.class));
    let window = Window::of(config, spatial);
    let filters = config.int("filters")?;
    let (batch, sizes, channels) = parts(x, spatial, window.first)?;
    let more = config.get("output_padding");
    let more = if more.is_null() { None } else { Some(config.sizes("output_padding", spatial, 0)) };
    let result = |(at, size): (usize, &i64)| {
        let (stride, reach) = (window.strides[at], (window.size[at] - 1) * window.dilations[at] + 1);
        match (&more, *size) {
            (_, size) if size < 0 => -1,
            (None, size) if window.same => size.saturating_mul(stride),
            (None, size) => size.saturating_mul(stride).saturating_add((reach - stride).max(0)),
            (Some(more), size) => {
                let pad = if window.same { reach / 2 } else { 0 };
                (size - 1).saturating_mul(stride).saturating_add(reach - 2 * pad + more[at])
            }
        }
    };
    let results: Vec<i64> = sizes.iter().enumerate().map(result).collect();
    let kernel = lowering.parameter("kernel", &[&window.size[..], &[filters, channels]].concat(), true);
    let dims = window.image(batch, &results, filters);
    let (wide, filter) = (widened(lowering, x, spatial, window.first), wide_kernel(lowering, &kernel, spatial));
    let mut wanted = dims.clone();
    if spatial == 1 {
        wanted.insert(if window.first { 2 } else { 1 }, 1);
    }
    let wanted = lowering.sizes(&wanted, wide.tensor);
    let op = if spatial == 3 { "Conv3DBackpropInputV2" } else { "Conv2DBackpropInput" };
    let tensor = window.op(op, lowering, &[wanted, filter.tensor, wide.tensor], false);
    let product = narrowed(lowering, tensor, spatial, window.first, dims);
    Some(vec![finish(config, lowering, product, filters, window.first)])
}

fn pool(layer: &Layer<'_>, lowering: &mut Lowering, inputs: &[Value], op: &str) -> Option<Values> {
    pool_of_rank(layer.config, lowering, &inputs[0], spatial(layer.class), op)
}

/// A pool with windows of so many dimensions.
pub fn pool_of_rank(
    config: Config<'_>,
    lowering: &mut Lowering,
    x: &Value,
    spatial: usize,
    op: &str,
) -> Option<Values> {
    if !(1..=3).contains(&spatial) {
        return None;
    }
    let old = config.sizes("pool_length", spatial, 2);
    let size = if config.get("pool_size").is_null() { old } else { config.sizes("pool_size", spatial, 2) };
    let strides = if config.get("strides").is_null() { size.clone() } else { config.sizes("strides", spatial, 1) };
    let window = Window { strides, dilations: vec![1; spatial], size, ..Window::of(config, spatial) };
    pooled(lowering, x, &window, op)
}

/// A pool whose result has given sizes. As Keras runs it with TensorFlow: along one axis after the other, windows of two sizes
/// at all places, of which some are chosen.
fn adaptive(layer: &Layer<'_>, lowering: &mut Lowering, inputs: &[Value], op: &str) -> Option<Values> {
    let (config, spatial) = (layer.config, spatial(layer.class));
    let first = channels_first(config);
    let mut x = inputs[0].clone();
    parts(&x, spatial, first)?;
    for (axis, wanted) in config.sizes("output_size", spatial, -1).into_iter().enumerate() {
        let place = (axis + if first { 2 } else { 1 }) as i64;
        let length = x.dim(place);
        if length <= 0 || !(1..=4096).contains(&wanted) {
            return None;
        }
        let small = (length - 1) / wanted + 1;
        let mut pools = Vec::new();
        for reach in [small, small + 1].into_iter().filter(|reach| *reach <= length) {
            let ones = vec![1; spatial];
            let mut size = ones.clone();
            size[axis] = reach;
            let window = Window { size, strides: ones.clone(), dilations: ones, same: false, first };
            pools.extend(pooled(lowering, &x, &window, op)?);
        }
        let all = joined(lowering, &pools, place);
        // Places do not matter, only how many they are.
        let (places, at) = (lowering.constant(&vec![0; usize::try_from(wanted).ok()?]), lowering.scalar(place));
        let mut dims = all.dims.clone()?;
        dims[usize::try_from(place).ok()?] = wanted;
        x = Value::new(lowering.op("GatherV2", &[all.tensor, places, at], &[]), Some(dims));
    }
    Some(vec![x])
}

fn pooled(lowering: &mut Lowering, x: &Value, window: &Window, op: &str) -> Option<Values> {
    let spatial = window.size.len();
    let (batch, sizes, channels) = parts(x, spatial, window.first)?;
    let dims = window.image(batch, &window.results(&sizes), channels);
    let wide = widened(lowering, x, spatial, window.first);
    let op = if spatial == 3 { format!("{op}3D") } else { op.to_owned() };
    let tensor = window.op(&op, lowering, &[wide.tensor], true);
    Some(vec![narrowed(lowering, tensor, spatial, window.first, dims)])
}

fn global(layer: &Layer<'_>, lowering: &mut Lowering, inputs: &[Value], op: &str) -> Values {
    let spatial = spatial(layer.class) as i64;
    let first = if channels_first(layer.config) { 2 } else { 1 };
    let axes: Vec<i64> = (first..first + spatial).collect();
    vec![lowering.reduce(op, &inputs[0], &axes, layer.config.flag("keepdims", false))]
}
