//! Text helpers: the nearest known word to a mistyped one, choices, escapes of invalid UTF-8,
//! tables as text.

use std::borrow::Cow;

/// The known word closest to a mistyped one, if any is close enough.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = word.to_lowercase();
    let close = (word.chars().count() / 3).max(1);
    known
        .into_iter()
        .map(|candidate| {
            let starts = !word.is_empty() && candidate.starts_with(&word);
            (if starts { 1 } else { distance(&word, candidate) }, candidate)
        })
        .filter(|(distance, _)| *distance <= close)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// "unknown KIND `WORD` …; did you mean `NEAREST`?", or the allowed words if none is close.
pub fn unknown(kind: &str, word: &str, known: &[&str]) -> String {
    match nearest(word, known.iter().copied()) {
        Some(near) => unknown_but(kind, word, near, known),
        None => format!("unknown {kind} `{word}`; expected one of {}", known.join(", ")),
    }
}

/// The same, with the word that was meant.
pub fn unknown_but(kind: &str, word: &str, meant: &str, known: &[&str]) -> String {
    format!("unknown {kind} `{word}`; did you mean `{meant}`? (one of {})", known.join(", "))
}

/// A name with its article: an `XSpace`, a `GraphDef`.
pub fn with_article(name: &str) -> String {
    let article = if name.starts_with(['A', 'E', 'I', 'O', 'X']) { "an" } else { "a" };
    format!("{article} {name}")
}

/// An option value with a fixed set of words.
pub trait Choice: Copy + PartialEq + 'static {
    /// The noun for an unknown word in error messages.
    const KIND: &'static str = "word";
    const WORDS: &'static [(&'static str, Self)];

    fn words() -> Vec<&'static str> {
        Self::WORDS.iter().map(|(word, _)| *word).collect()
    }

    fn from_word(word: &str) -> Result<Self, String> {
        let found = Self::WORDS.iter().find(|(known, _)| *known == word);
        found.map(|(_, value)| *value).ok_or_else(|| unknown(Self::KIND, word, &Self::words()))
    }

    fn word(self) -> &'static str {
        Self::WORDS.iter().find(|(_, value)| *value == self).map_or("", |(word, _)| word)
    }
}

/// The edit distance: letters changed, added, dropped or swapped with a neighbour.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    if a.len() > 100 || b.len() > 100 {
        return usize::MAX;
    }
    let mut rows = vec![(0..=b.len()).collect::<Vec<_>>()];
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let same = usize::from(a[i - 1] != b[j - 1]);
            let mut best = (rows[i - 1][j] + 1).min(row[j - 1] + 1).min(rows[i - 1][j - 1] + same);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            row.push(best);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}

/// Quotes the word if a shell would split or expand it.
pub fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./=:,@+".contains(c);
    if !word.is_empty() && word.chars().all(plain) { word.to_owned() } else { format!("'{word}'") }
}

/// The last part of a path. A recording may come from another system: paths with a drive or a server are those of
/// Windows, which divide at backslashes, too.
pub fn base_name(path: &str) -> &str {
    let bytes = path.as_bytes();
    let has_drive =
        bytes.len() > 2 && bytes[0].is_ascii_alphabetic() && bytes[1] == b':' && matches!(bytes[2], b'/' | b'\\');
    let is_windows = cfg!(windows) || has_drive || path.starts_with(r"\\");
    path.rsplit(|c| c == '/' || is_windows && c == '\\').next().unwrap_or(path)
}

/// Names of devices, files and facts are repeated for each op that has them; no real one is this long, in bytes.
const LONGEST: usize = 1000;

/// A name that is repeated often, cut if it is absurdly long.
pub fn cut(name: &str) -> Cow<'_, str> {
    if name.len() <= LONGEST {
        return Cow::Borrowed(name);
    }
    let end = (0..=LONGEST).rev().find(|at| name.is_char_boundary(*at)).unwrap_or(0);
    Cow::Owned(format!("{}…", &name[..end]))
}

/// Whether a character can make text look other than it is: marks of direction, separators of lines, C1 controls.
pub fn is_deceptive(c: char) -> bool {
    matches!(c, '\u{80}'..='\u{9f}' | '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// `String::from_utf8_lossy`, faster for text that is UTF-8.
#[inline]
pub fn lossy(bytes: &[u8]) -> Cow<'_, str> {
    std::str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed)
}

/// Bytes as text, with each byte that is not UTF-8 written as `\xNN`.
pub fn escape_invalid(mut bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() + 8);
    while !bytes.is_empty() {
        let (valid, bad) = match std::str::from_utf8(bytes) {
            Ok(valid) => (valid, 0),
            Err(error) => {
                let (valid, _) = bytes.split_at(error.valid_up_to());
                let bad = error.error_len().unwrap_or(bytes.len() - error.valid_up_to());
                (std::str::from_utf8(valid).unwrap_or_default(), bad)
            }
        };
        text.push_str(valid);
        for byte in &bytes[valid.len()..valid.len() + bad] {
            text.push_str(&format!("\\x{byte:02x}"));
        }
        bytes = &bytes[valid.len() + bad..];
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_word() {
        let known = ["micros", "params", "peak_bytes", "float_ops"];
        assert_eq!(nearest("micro", known), Some("micros"));
        assert_eq!(nearest("parmas", known), Some("params"));
        assert_eq!(nearest("flops", known), None);
        assert_eq!(nearest("beauty", known), None);
        assert_eq!(nearest("peak", known), Some("peak_bytes"));
    }

    #[test]
    fn the_last_part_of_a_path_of_any_system() {
        for path in ["a/b/train.py", "train.py", r"C:\Users\a b\train.py", "C:/a/train.py", r"\\server\share\train.py"]
        {
            assert_eq!(base_name(path), "train.py", "{path}");
        }
        for path in ["", "a/"] {
            assert_eq!(base_name(path), "");
        }
        if !cfg!(windows) {
            assert_eq!(base_name(r"a/odd\name"), r"odd\name", "a backslash is a letter elsewhere");
        }
    }

    #[test]
    fn quotes_only_where_they_are_needed() {
        assert_eq!(["a/b-1.pb", "a b", ".*", ""].map(quoted), ["a/b-1.pb", "'a b'", "'.*'", "''"]);
    }
}
