//! FLOPs of custom calls: products of matrices, convolutions and attention of libraries, by their names, shapes and
//! settings.

use super::convolution;
use super::module::{Array, Instruction, Module, product};

/// The FLOPs of a custom call; `None` if we do not know the function that it calls.
pub fn flops(module: &Module<'_>, call: &Instruction<'_>) -> Option<i64> {
    let target = call.target;
    let has = |words: &[&str]| words.iter().any(|word| target.contains(word));
    if is_free(target) {
        return Some(0);
    }
    if target.starts_with("__cudnn$conv") {
        return convolution_flops(module, call);
    }
    if has(&["fused_attn", "fmha", "flash_attention", "flash_attn"]) {
        return attention(module, call);
    }
    if has(&["gemm", "matmul", "Gemm", "MatMul", "Matmul"]) {
        return matrix_product(module, call);
    }
    None
}

/// Calls that only tell the compiler something.
pub fn is_free(target: &str) -> bool {
    const MARKS: [&str; 7] = [
        "Sharding",
        "SPMDFullToShardShape",
        "SPMDShardToFullShape",
        "AllocateBuffer",
        "AssumeGatherIndicesInBound",
        "annotate_device_placement",
        "LayoutConstraint",
    ];
    MARKS.contains(&target)
}

/// Whether the last result is memory to work in, which a library asks for besides its result.
pub fn has_workspace(target: &str) -> bool {
    target.starts_with("__cublas$") || target.starts_with("__cudnn$")
}

/// The library says which of the three arrays it computes; all three cost the same.
fn convolution_flops(module: &Module<'_>, call: &Instruction<'_>) -> Option<i64> {
    let (first, second, result) = (module.array(call, 0)?, module.array(call, 1)?, call.shape.first()?);
    let (input, kernel, output) = match call.target {
        "__cudnn$convBackwardInput" => (result, second, first),
        "__cudnn$convBackwardFilter" => (first, result, second),
        _ => (first, second, result),
    };
    convolution::flops(call.convolution, call.window, input, kernel, output)
}

fn matrix_product(module: &Module<'_>, call: &Instruction<'_>) -> Option<i64> {
    let (left, right, result) = (module.array(call, 0)?, module.array(call, 1)?, call.shape.first()?);
    let summed = match numbers_after(call.settings, "lhs_contracting_dimensions") {
        Some(dimensions) => product(&sizes(left, &dimensions)?)?,
        // Without settings: two plain matrices, of which both have the size that the result lacks.
        None if left.dims.len() == 2 && right.dims.len() == 2 => {
            let size = left.elements()?.checked_mul(right.elements()?)?.checked_div(result.elements()?)?;
            Some(size.isqrt()).filter(|root| root * root == size)?
        }
        None => return None,
    };
    Some(result.elements()?.saturating_mul(summed).saturating_mul(2))
}

/// Attention, forward or backward: each query meets each key, whatever a mask leaves out.
///
/// Forward are two products of matrices (scores, values), backward five (scores again, and four gradients).
fn attention(module: &Module<'_>, call: &Instruction<'_>) -> Option<i64> {
    let is_backward = ["ackward", "bwd"].iter().any(|word| call.target.contains(word));
    // The multiply-adds of one product over the key's features, and over the value's.
    let (by_key, by_value) = match te_sizes(call.settings) {
        Some(products) => products,
        None => by_shapes(module, call, is_backward)?,
    };
    let (key_products, value_products) = if is_backward { (3, 2) } else { (1, 1) };
    let sum = by_key.checked_mul(key_products)?.checked_add(by_value.checked_mul(value_products)?)?;
    sum.checked_mul(2)
}

/// By the settings of Transformer Engine: `{attn_heads = 16 : i64, …}`.
fn te_sizes(settings: &[u8]) -> Option<(i64, i64)> {
    let get = |name| number_after(settings, name);
    let pairs = product(&[get("input_batch")?, get("attn_heads")?, get("q_max_seqlen")?, get("kv_max_seqlen")?])?;
    let [key, value] = match (get("qk_head_dim"), get("v_head_dim")) {
        (Some(key), Some(value)) => [key, value],
        _ => [get("head_dim")?; 2],
    };
    Some((pairs.checked_mul(key)?, pairs.checked_mul(value)?))
}

/// By shapes: query, key and value are the first operands; the last dimension is that of features.
fn by_shapes(module: &Module<'_>, call: &Instruction<'_>, is_backward: bool) -> Option<(i64, i64)> {
    let [query, key, value] = [module.array(call, 0)?, module.array(call, 1)?, module.array(call, 2)?];
    let [batch, _, _, features] = query.dims[..] else { return None };
    let ([4, 4], true) = ([key.dims.len(), value.dims.len()], key.dims[0] == batch && key.dims[3] == features) else {
        return None;
    };
    // Without settings, the layout is batch, sequence, heads, features.
    let others = |batches: &[i64], summed: &[i64]| {
        let kept = (0..4).filter(|at| !batches.contains(at) && !summed.contains(at));
        sizes(key, &kept.collect::<Vec<_>>()).and_then(|sizes| product(&sizes))
    };
    let settings = call.settings;
    let first_product =
        numbers_after(settings, "rhs_batch_dimensions").zip(numbers_after(settings, "rhs_contracting_dimensions"));
    let keys = match first_product {
        Some((batches, summed)) if !is_backward => others(&batches, &summed)?,
        _ => key.dims[1],
    };
    let queries = query.elements()?.checked_div(features)?;
    let pairs = queries.checked_mul(keys)?;
    Some((pairs.checked_mul(features)?, pairs.checked_mul(value.dims[3])?))
}

fn sizes(array: &Array, dimensions: &[i64]) -> Option<Vec<i64>> {
    dimensions.iter().map(|dimension| array.dims.get(usize::try_from(*dimension).ok()?).copied()).collect()
}

/// The numbers of a list in JSON: `"name":["1","2"]` or `"name":[1,2]`; the first of that name.
fn numbers_after(settings: &[u8], name: &str) -> Option<Vec<i64>> {
    let rest = after(settings, name)?;
    let start = rest.strip_prefix(b"\":[").or_else(|| rest.strip_prefix(b"\": ["))?;
    let list = &start[..memchr::memchr(b']', start)?];
    let numbers = list.split(|byte| *byte == b',').map(|item| {
        let digits = std::str::from_utf8(item).ok()?.trim().trim_matches('"');
        digits.parse().ok()
    });
    if list.is_empty() { Some(Vec::new()) } else { numbers.collect() }
}

/// A number in the text of an MLIR dictionary: `name = 16 : i64`.
fn number_after(settings: &[u8], name: &str) -> Option<i64> {
    let rest = after(settings, name)?.strip_prefix(b" = ")?;
    let end = rest.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(rest.len());
    std::str::from_utf8(&rest[..end]).ok()?.parse().ok()
}

/// The text after a name that is a word of its own.
fn after<'a>(settings: &'a [u8], name: &str) -> Option<&'a [u8]> {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let found = memchr::memmem::find_iter(settings, name).find(|at| {
        let before = at.checked_sub(1).map(|at| settings[at]);
        let behind = settings.get(at + name.len());
        !before.is_some_and(is_word) && !behind.copied().is_some_and(is_word)
    })?;
    Some(&settings[found + name.len()..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_read_from_json_and_from_mlir() {
        let json = br#"{"gemm_backend_config":{"dot_dimension_numbers":{"lhs_contracting_dimensions":["1","2"],"a":[],"b": [3]}}}"#;
        assert_eq!(numbers_after(json, "lhs_contracting_dimensions"), Some(vec![1, 2]));
        assert_eq!((numbers_after(json, "a"), numbers_after(json, "b")), (Some(vec![]), Some(vec![3])));
        assert_eq!(numbers_after(json, "contracting_dimensions"), None);
        let mlir = b"{attn_heads = 16 : i64, input_batch = 2 : i64, kv_max_seqlen = 8 : i64, q_max_seqlen = 4 : i64, qk_head_dim = 3 : i64, v_head_dim = 5 : i64}";
        assert_eq!(te_sizes(mlir), Some((16 * 2 * 8 * 4 * 3, 16 * 2 * 8 * 4 * 5)));
    }
}
