//! Names and types of ops: `scope/name:Type` and the paths of XLA, as opposed to other names with a colon.

/// The name and the type of an op from an event's name or its `tf_op` stat; `None` if it is not an op.
pub fn framework_op(full: &str) -> Option<(&str, String)> {
    let Some((head, tail)) = full.split_once(':') else {
        return memory_copy(full).map(|kind| (full, kind));
    };
    if head == "Iterator" {
        return Some((full, "Dataset".to_owned()));
    }
    if is_tensorflow_name(head) && is_tensorflow_type(tail) {
        return Some((head, tail.to_owned()));
    }
    let kind = if tail.is_empty() { last_part_type(head) } else { tail };
    if is_jax_type(kind) {
        return Some((head, kind.split('[').next().unwrap_or_default().to_owned()));
    }
    tail.is_empty().then(|| (head, kind.to_owned()))
}

/// `model/layer/MatMul_1` is a `MatMul`, `a/b/dot.12` a `dot`, `a/transpose[x]` a `transpose`.
pub fn last_part_type(name: &str) -> &str {
    let part = name.rsplit('/').next().unwrap_or_default();
    let part = part.split('[').next().unwrap_or_default();
    let bare = part.trim_end_matches(|c: char| c.is_ascii_digit());
    if bare.len() == part.len() {
        return part;
    }
    let cut = bare.strip_suffix('-').unwrap_or(bare);
    match cut.strip_suffix(['.', '_']).or_else(|| bare.strip_suffix(['.', '_'])) {
        Some("") | None => part,
        Some(cut) => cut,
    }
}

/// The path of scopes in the name of an XLA op, and whether a part was dropped: an instruction that combines several has
/// a part in parentheses with a colon.
pub fn scope_path(op_name: &str) -> (String, bool) {
    let mut parts = Vec::new();
    let (mut depth, mut from) = (0_i64, 0);
    for (i, byte) in op_name.bytes().enumerate() {
        match byte {
            b'(' => depth += 1,
            b')' => depth -= 1,
            b'/' if depth == 0 => {
                parts.push(&op_name[from..i]);
                from = i + 1;
            }
            _ => {}
        }
    }
    parts.push(&op_name[from..]);
    let all = parts.len();
    parts.retain(|part| !(part.starts_with('(') && part.contains(':')));
    (parts.join("/"), parts.len() < all)
}

/// `MemcpyH2D` and `memcpyHToD` are `MemcpyHToD`.
fn memory_copy(name: &str) -> Option<String> {
    let bytes = name.as_bytes();
    let place = |at: usize| {
        let place = bytes.get(at)?.to_ascii_uppercase();
        matches!(place, b'H' | b'D' | b'P').then_some(place as char)
    };
    if !bytes.get(..6)?.eq_ignore_ascii_case(b"memcpy") {
        return None;
    }
    let from = place(6)?;
    let rest = &bytes[7..];
    let to = match rest {
        [b'2', ..] => 8,
        [a, b, ..] if [*a, *b].eq_ignore_ascii_case(b"to") => 9,
        _ => return None,
    };
    Some(format!("Memcpy{from}To{}", place(to)?))
}

fn is_tensorflow_name(name: &str) -> bool {
    let mut bytes = name.bytes();
    let first = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'.';
    let later = |byte: u8| byte.is_ascii_alphanumeric() || b"_./>-".contains(&byte);
    bytes.next().is_some_and(first) && bytes.all(later)
}

fn is_tensorflow_type(kind: &str) -> bool {
    let mut bytes = kind.bytes();
    let first = |byte: u8| byte.is_ascii_uppercase() || byte == b'_';
    bytes.next().is_some_and(first) && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// A lower-case word, optionally followed by brackets.
fn is_jax_type(kind: &str) -> bool {
    let word = match kind.split_once('[') {
        Some((word, rest)) if rest.ends_with(']') => word,
        Some(_) => return false,
        None => kind,
    };
    let mut bytes = word.bytes();
    let first = |byte: u8| byte.is_ascii_lowercase() || byte == b'_';
    bytes.next().is_some_and(first)
        && bytes.all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ops_are_told_from_what_looks_like_them() {
        let check = |full: &str, expect: Option<(&str, &str)>| {
            let found = framework_op(full);
            assert_eq!(found.as_ref().map(|(name, kind)| (*name, kind.as_str())), expect, "{full}");
        };
        check("encoder/Relu:Relu", Some(("encoder/Relu", "Relu")));
        check("a/b>c:_Send", Some(("a/b>c", "_Send")));
        check("Iterator::Root::Map", Some(("Iterator::Root::Map", "Dataset")));
        check("jit(f)/layer/dot_general:", Some(("jit(f)/layer/dot_general", "dot_general")));
        check("jit(f)/transpose[x=1]:", Some(("jit(f)/transpose[x=1]", "transpose")));
        check("jit(f)/add:add[a:b]", Some(("jit(f)/add", "add")));
        check("foo:bar", Some(("foo", "bar")));
        check("jit(f)/Odd Name:", Some(("jit(f)/Odd Name", "Odd Name")));
        check("MemcpyH2D", Some(("MemcpyH2D", "MemcpyHToD")));
        check("memcpydtoh_async", Some(("memcpydtoh_async", "MemcpyDToH")));
        for none in ["EagerLocalExecute: X", "end: fusion.1", "A::B", "", "Memcpy", "MemcpyX2D", "MemcpyH"] {
            check(none, None);
        }
    }

    #[test]
    fn types_are_last_parts_without_numbers() {
        let check = |name: &str, kind: &str| assert_eq!(last_part_type(name), kind, "{name}");
        check("model/layer/MatMul_1", "MatMul");
        check("a/b/dot.12", "dot");
        check("a/transpose[x/y]", "y]");
        check("fusion.-3", "fusion");
        check("x_1_2", "x_1");
        check("_12", "_12");
        check("conv2d", "conv2d");
        check("a/", "");
    }

    #[test]
    fn combined_parts_are_left_out() {
        assert_eq!(scope_path("jit(f)/(a/dot:b/sum)"), ("jit(f)".to_owned(), true));
        assert_eq!(scope_path("jit(f)/jvp(a/b)/c"), ("jit(f)/jvp(a/b)/c".to_owned(), false));
        assert_eq!(scope_path(""), (String::new(), false));
    }
}
