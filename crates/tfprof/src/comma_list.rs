//! Lists that are given as text: the one splitter of the command line, the shell and Python.

/// Splits at commas, except inside braces (`a{1,3}`) and after a backslash. Quotes around the list or a piece are dropped,
/// and so are empty pieces.
pub fn split_list(text: &str) -> Vec<String> {
    let text = without_quotes(text);
    let (mut commas, mut open, mut escaped) = (Vec::new(), Vec::new(), false);
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            ',' => commas.push(at),
            '{' => open.push(at),
            // A brace that nothing closes protects nothing.
            '}' => {
                let start = open.pop().unwrap_or(at);
                while commas.pop_if(|comma| *comma > start).is_some() {}
            }
            _ => {}
        }
    }
    let starts = std::iter::once(0).chain(commas.iter().map(|comma| comma + 1));
    let pieces = starts.zip(commas.iter().copied().chain([text.len()])).map(|(start, end)| &text[start..end]);
    pieces.map(without_quotes).filter(|piece| !piece.is_empty()).map(str::to_owned).collect()
}

/// A text without the quotes around it, unless there are more of them inside.
fn without_quotes(text: &str) -> &str {
    let inside = |quote: char| text.strip_prefix(quote)?.strip_suffix(quote).filter(|inside| !inside.contains(quote));
    inside('"').or_else(|| inside('\'')).unwrap_or(text)
}

/// The piece of a list of names, in which a backslash only protects a comma.
pub fn unescaped_commas(piece: &str) -> String {
    piece.replace("\\,", ",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists() {
        let check = |text, pieces: &[&str]| assert_eq!(split_list(text), pieces, "{text}");
        check("a,b,,c", &["a", "b", "c"]);
        check("\"a{1,2}\",'b'", &["a{1,2}", "b"]);
        check("\"\"", &[]);
        check("\"a b,c d\"", &["a b", "c d"]);
        check("x{1,3}y{,2},z", &["x{1,3}y{,2}", "z"]);
        check("(a{1,2}){3,4},{b,{c,d}},e", &["(a{1,2}){3,4}", "{b,{c,d}}", "e"]);
        // A brace that is escaped or never closed protects nothing.
        check("a\\{1,b}", &["a\\{1", "b}"]);
        check("a{1,b{2,3}", &["a{1", "b{2,3}"]);
        check("a\\,b,c\\\\,d", &["a\\,b", "c\\\\", "d"]);
        check("it's,don't", &["it's", "don't"]);
        check(&"{".repeat(1000), &[&"{".repeat(1000)]);
        assert_eq!(unescaped_commas("a\\,b"), "a,b");
    }
}
