//! Pairs the rows of two trees: by name first, then by structure where automatic numbering differs.
//!
//! Comparisons of views, costs and checkpoints all pair through [`pair`]. Rows are in pre-order, the root first; the cost
//! is linear in their number, up to a sort among siblings without a partner.

use crate::error::Error;
use crate::hash::UntrustedMap;
use regex::Regex;
use rustc_hash::FxHasher;
use std::borrow::Cow;
use std::hash::{Hash, Hasher};

/// A row of one side.
#[derive(Clone, Copy, Debug)]
pub struct Row<'a> {
    /// The row around it; the root is its own.
    pub parent: usize,
    /// The whole name.
    pub name: &'a str,
    /// The name among its siblings.
    pub label: &'a str,
}

/// The features of a row besides its name. They are computed only for rows without a partner of the same name.
#[derive(Clone, Copy, Debug, Default)]
pub struct Likeness {
    /// A digest of type and shapes; 0 for a row that has none, such as a scope.
    pub structure: u64,
    /// A digest of the line of source; 0 if it is not known.
    pub line: u64,
}

/// How two rows were paired.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Match {
    Name,
    /// By a name that `--rename` made.
    Rename,
    /// By structure: probably the same, under another number.
    Guess,
}

impl Match {
    pub const fn word(self) -> &'static str {
        match self {
            Match::Name => "name",
            Match::Rename => "rename",
            Match::Guess => "guess",
        }
    }
}

/// The name of a row, marked if its partner is a guess, with the name before if that is another one.
pub fn label(name: &str, before: Option<&str>, is_guess: bool) -> String {
    let guess = if is_guess { " ≈" } else { "" };
    let was = before.map(|before| format!(" (was {before})")).unwrap_or_default();
    format!("{name}{guess}{was}")
}

/// How to pair.
#[derive(Clone, Debug, Default)]
pub struct How<'a> {
    pub renames: &'a [Rename],
    /// A name occurs once in a tree, so rows may be paired wherever they lie.
    pub unique_names: bool,
}

/// `s/PATTERN/REPLACEMENT/`: names of the first side, as the second side has them.
#[derive(Clone, Debug)]
pub struct Rename {
    text: String,
    pattern: Regex,
    replacement: String,
}

impl PartialEq for Rename {
    fn eq(&self, other: &Rename) -> bool {
        self.text == other.text
    }
}

impl Eq for Rename {}

impl Rename {
    /// Parses `s/PATTERN/REPLACEMENT/`; any character may stand for the slash. `\1` or `$1` is the first group.
    pub fn parse(text: &str) -> Result<Rename, Error> {
        let refuse = |why: String| Error::option("rename", why);
        let expected = || refuse(format!("expected s/PATTERN/REPLACEMENT/, found `{text}`"));
        let mut rest = text.strip_prefix('s').ok_or_else(expected)?.chars();
        let separator = rest.next().filter(|c| !c.is_alphanumeric() && !c.is_whitespace()).ok_or_else(expected)?;
        let mut parts = vec![String::new()];
        let mut escaped = false;
        for c in rest {
            let Some(part) = parts.last_mut() else { break };
            match c {
                c if c == separator && escaped => {
                    part.pop();
                    part.push(c);
                }
                c if c == separator => {
                    parts.push(String::new());
                }
                c => part.push(c),
            }
            escaped = c == '\\' && !escaped;
        }
        let [pattern, replacement, end] = parts.try_into().map_err(|_| expected())?;
        if pattern.is_empty() || !["", "g"].contains(&end.as_str()) {
            return Err(expected());
        }
        let pattern = Regex::new(&pattern).map_err(|error| refuse(format!("`{pattern}` is no pattern: {error}")))?;
        Ok(Rename { text: text.to_owned(), pattern, replacement: groups(&replacement) })
    }

    /// As it was typed.
    pub fn text(&self) -> &str {
        &self.text
    }

    fn apply<'n>(&self, name: Cow<'n, str>) -> Cow<'n, str> {
        match self.pattern.replace_all(&name, self.replacement.as_str()) {
            Cow::Borrowed(_) => name,
            Cow::Owned(renamed) => Cow::Owned(renamed),
        }
    }
}

/// A replacement with groups as the library of patterns spells them: `${1}`.
fn groups(replacement: &str) -> String {
    let mut text = String::new();
    let mut chars = replacement.chars().peekable();
    while let Some(c) = chars.next() {
        match (c, chars.peek()) {
            ('\\' | '$', Some(digit)) if digit.is_ascii_digit() => {
                text.push_str("${");
                text.extend(chars.next());
                text.push('}');
            }
            ('\\', Some(_)) => text.extend(chars.next()),
            ('$', next) if next != Some(&'{') => text.push_str("$$"),
            _ => text.push(c),
        }
    }
    text
}

/// The partner of each row, by side.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pairs {
    /// By row of the first side.
    pub before: Vec<Option<(u32, Match)>>,
    /// By row of the second side.
    pub after: Vec<Option<(u32, Match)>>,
}

/// Pairs two trees, each with its root first. `likeness` tells that of a row of the first side (0) or the second (1).
pub fn pair(
    before: &[Row<'_>],
    after: &[Row<'_>],
    how: &How<'_>,
    likeness: impl Fn(usize, usize) -> Likeness,
) -> Pairs {
    let mut pairing = Pairing {
        sides: [Side::new(before), Side::new(after)],
        renamed: renamed(before, how.renames),
        pairs: Pairs { before: vec![None; before.len()], after: vec![None; after.len()] },
        found: Vec::new(),
    };
    if before.is_empty() || after.is_empty() {
        return pairing.pairs;
    }
    pairing.join(0, 0, Match::Name);
    pairing.descend(0);
    if how.unique_names {
        pairing.by_whole_name();
    }
    if pairing.both_have_free() {
        pairing.guess(likeness);
    }
    pairing.pairs
}

/// The names of the first side that `--rename` changes.
fn renamed(rows: &[Row<'_>], renames: &[Rename]) -> UntrustedMap<u32, String> {
    let mut changed = UntrustedMap::default();
    for (i, row) in rows.iter().enumerate().filter(|_| !renames.is_empty()) {
        let name = renames.iter().fold(Cow::Borrowed(row.name), |name, rename| rename.apply(name));
        if let Cow::Owned(name) = name {
            changed.insert(i as u32, name);
        }
    }
    changed
}

/// The rows of a side with their children.
struct Side<'r, 'a> {
    rows: &'r [Row<'a>],
    /// Where the children of each row begin, and the children.
    starts: Vec<u32>,
    children: Vec<u32>,
}

impl<'r, 'a> Side<'r, 'a> {
    fn new(rows: &'r [Row<'a>]) -> Self {
        let mut starts = vec![0_u32; rows.len() + 2];
        rows.iter().skip(1).for_each(|row| starts[row.parent + 2] += 1);
        for i in 2..starts.len() {
            starts[i] += starts[i - 1];
        }
        let mut children = vec![0; rows.len().saturating_sub(1)];
        for (i, row) in rows.iter().enumerate().skip(1) {
            let next = &mut starts[row.parent + 1];
            children[*next as usize] = i as u32;
            *next += 1;
        }
        Side { rows, starts, children }
    }

    fn children(&self, row: usize) -> &[u32] {
        &self.children[self.starts[row] as usize..self.starts[row + 1] as usize]
    }

    /// Of each free row and the rows below it: its likeness, and a digest of it and everything below it, whatever the
    /// numbers in its labels are. The other rows, which most are, cost nothing.
    fn described(
        &self,
        is_free: impl Fn(u32) -> bool,
        likeness: impl Fn(usize) -> Likeness,
    ) -> Vec<Option<(Likeness, u64)>> {
        let mut described: Vec<Option<(Likeness, u64)>> = vec![None; self.rows.len()];
        for (i, row) in self.rows.iter().enumerate() {
            if is_free(i as u32) || described[row.parent].is_some() {
                let likeness = likeness(i);
                described[i] = Some((likeness, likeness.structure));
            }
        }
        for i in (1..self.rows.len()).rev() {
            let Row { parent, label, .. } = self.rows[i];
            if let (Some((_, own)), Some((_, around))) = (described[i], &mut described[parent]) {
                *around = around.wrapping_add(digest(&(stem(label), own)) | 1);
            }
        }
        described
    }
}

struct Pairing<'r, 'a> {
    sides: [Side<'r, 'a>; 2],
    renamed: UntrustedMap<u32, String>,
    pairs: Pairs,
    /// All pairs, in the order in which they were found.
    found: Vec<(u32, u32)>,
}

impl<'a> Pairing<'_, 'a> {
    fn join(&mut self, before: u32, after: u32, by: Match) {
        self.pairs.before[before as usize] = Some((after, by));
        self.pairs.after[after as usize] = Some((before, by));
        self.found.push((before, after));
    }

    fn is_free(&self, side: usize, row: u32) -> bool {
        [&self.pairs.before, &self.pairs.after][side][row as usize].is_none()
    }

    /// Whether there is anything left to pair.
    fn both_have_free(&self) -> bool {
        [&self.pairs.before, &self.pairs.after].iter().all(|pairs| pairs.iter().any(Option::is_none))
    }

    /// Pairs the children of the pairs from one on by their labels, and theirs.
    fn descend(&mut self, first: usize) {
        let mut at = first;
        while at < self.found.len() {
            let (before, after) = self.found[at];
            at += 1;
            self.pair_children(before as usize, after as usize);
        }
    }

    fn pair_children(&mut self, before: usize, after: usize) {
        let (old, new) = (self.sides[0].children(before).to_vec(), self.sides[1].children(after).to_vec());
        // Most trees are alike: as long as both lists agree, no table is needed.
        let same = |(old, new): &(&u32, &u32)| {
            !self.renamed.contains_key(old)
                && self.sides[0].rows[**old as usize].label == self.sides[1].rows[**new as usize].label
                && self.is_free(0, **old)
                && self.is_free(1, **new)
        };
        let alike = old.iter().zip(&new).take_while(same).count();
        for (old, new) in old.iter().zip(&new).take(alike) {
            self.join(*old, *new, Match::Name);
        }
        let (old, new) = (&old[alike..], &new[alike..]);
        if old.is_empty() || new.is_empty() {
            return;
        }
        // Siblings of one label are paired in order.
        let mut by_label: UntrustedMap<&'a str, Vec<u32>> = UntrustedMap::default();
        for row in new.iter().rev().filter(|row| self.is_free(1, **row)) {
            by_label.entry(self.sides[1].rows[*row as usize].label).or_default().push(*row);
        }
        for row in old.iter().copied().filter(|row| self.is_free(0, *row)).collect::<Vec<_>>() {
            let Row { label, name, .. } = self.sides[0].rows[row as usize];
            let (label, by) = match self.renamed.get(&row) {
                // A name that changes within its last part has a new label; otherwise the whole name decides.
                Some(renamed) => match name.strip_suffix(label).and_then(|around| renamed.strip_prefix(around)) {
                    Some(label) => (label.to_owned(), Match::Rename),
                    None => continue,
                },
                None => (label.to_owned(), Match::Name),
            };
            if let Some(partner) = by_label.get_mut(label.as_str()).and_then(Vec::pop) {
                self.join(row, partner, by);
            }
        }
    }

    /// Pairs rows of one name that lie in different places, and the rows below them.
    fn by_whole_name(&mut self) {
        if !self.both_have_free() {
            return;
        }
        let mut by_name: UntrustedMap<&'a str, u32> = UntrustedMap::default();
        for (i, row) in self.sides[1].rows.iter().enumerate().filter(|(i, _)| self.pairs.after[*i].is_none()) {
            by_name.entry(row.name).or_insert(i as u32);
        }
        for row in 0..self.sides[0].rows.len() as u32 {
            if !self.is_free(0, row) {
                continue;
            }
            let renamed = self.renamed.get(&row);
            let by = if renamed.is_some() { Match::Rename } else { Match::Name };
            let name = renamed.map_or(self.sides[0].rows[row as usize].name, String::as_str);
            let partner = by_name.get(name).copied().filter(|partner| self.is_free(1, *partner));
            if let Some(partner) = partner {
                let first = self.found.len();
                self.join(row, partner, by);
                self.descend(first);
            }
        }
    }

    /// Pairs what is left among the children of pairs, and then what lies below.
    fn guess(&mut self, likeness: impl Fn(usize, usize) -> Likeness) {
        let described =
            [0, 1].map(|side| self.sides[side].described(|row| self.is_free(side, row), |row| likeness(side, row)));
        let mut at = 0;
        while at < self.found.len() {
            let (before, after) = self.found[at];
            at += 1;
            let free = |side: usize, row: u32| -> Vec<Candidate<'a>> {
                let Side { rows, .. } = &self.sides[side];
                let children = self.sides[side].children(row as usize).iter();
                let free = children.copied().filter(|row| self.is_free(side, *row));
                let candidate = |row: u32| {
                    let label = rows[row as usize].label;
                    let (Likeness { structure, line }, digest) = described[side][row as usize].unwrap_or_default();
                    Candidate { row, stem: stem(label), numbers: numbers(label), structure, digest, line, label }
                };
                free.map(candidate).collect()
            };
            let (old, new) = (free(0, before), free(1, after));
            if old.is_empty() || new.is_empty() {
                continue;
            }
            let first = self.found.len();
            self.guess_among(old, new);
            self.descend(first);
        }
    }

    /// Pairs siblings by ever weaker likeness. Within one likeness, the order of numbers decides.
    fn guess_among(&mut self, mut old: Vec<Candidate<'a>>, mut new: Vec<Candidate<'a>>) {
        let likeness: [fn(&Candidate<'_>) -> Option<u64>; 5] = [
            |c| (c.line != 0).then(|| digest(&(&c.stem, c.structure, c.digest, c.line))),
            |c| Some(digest(&(&c.stem, c.structure, c.digest))),
            |c| (c.line != 0).then(|| digest(&(&c.stem, c.structure, c.line))),
            |c| Some(digest(&(&c.stem, c.structure))),
            // Possibly renamed: paired only if there is a digest to compare.
            |c| (c.digest != c.structure || c.line != 0).then(|| digest(&(c.digest, c.line))),
        ];
        for key in likeness {
            let list = |side: &[Candidate<'a>]| {
                let keyed = side.iter().enumerate().filter_map(|(i, c)| Some((key(c)?, &c.numbers, c.label, i)));
                let mut list: Vec<_> = keyed.collect();
                list.sort_unstable();
                list.into_iter().map(|(key, _, _, i)| (key, i)).collect::<Vec<_>>()
            };
            let (a, b) = (list(&old), list(&new));
            let (mut i, mut j) = (0, 0);
            let (mut used_old, mut used_new) = (vec![false; old.len()], vec![false; new.len()]);
            while let (Some((x, row)), Some((y, partner))) = (a.get(i), b.get(j)) {
                match x.cmp(y) {
                    std::cmp::Ordering::Less => i += 1,
                    std::cmp::Ordering::Greater => j += 1,
                    std::cmp::Ordering::Equal => {
                        (used_old[*row], used_new[*partner]) = (true, true);
                        self.join(old[*row].row, new[*partner].row, Match::Guess);
                        (i, j) = (i + 1, j + 1);
                    }
                }
            }
            let mut used = used_old.into_iter();
            old.retain(|_| !used.next().unwrap_or(false));
            let mut used = used_new.into_iter();
            new.retain(|_| !used.next().unwrap_or(false));
            if old.is_empty() || new.is_empty() {
                return;
            }
        }
    }
}

/// A row without a partner among its siblings.
struct Candidate<'a> {
    row: u32,
    stem: String,
    numbers: Vec<u64>,
    structure: u64,
    digest: u64,
    line: u64,
    label: &'a str,
}

fn digest(what: &impl Hash) -> u64 {
    let mut hasher = FxHasher::default();
    what.hash(&mut hasher);
    hasher.finish()
}

/// A digest of anything that tells rows apart; never 0.
pub fn digest_of(what: &impl Hash) -> u64 {
    digest(what).max(1)
}

/// A label without its automatic numbers: `dense` of `dense_3`, `fusion` of `fusion.17`, `f.py:main` of `f.py:12:main`.
/// A number within a word, as in `conv2d`, stays.
fn stem(label: &str) -> String {
    let mut stem = String::with_capacity(label.len());
    each_part(label, |text, is_number| {
        if !is_number {
            stem.push_str(text);
        }
    });
    stem
}

/// The automatic numbers of a label.
fn numbers(label: &str) -> Vec<u64> {
    let mut numbers = Vec::new();
    each_part(label, |text, is_number| {
        if is_number {
            numbers.push(text[1..].parse().unwrap_or(u64::MAX));
        }
    });
    numbers
}

/// Splits a label into text and automatic numbers, each with the separator before it.
fn each_part(label: &str, mut take: impl FnMut(&str, bool)) {
    let bytes = label.as_bytes();
    let (mut from, mut at) = (0, 0);
    while at < bytes.len() {
        let is_separator = matches!(bytes[at], b'_' | b'.' | b':' | b'-' | b'(' | b'#');
        let digits = bytes[at + 1..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let end = at + 1 + digits;
        let ends = bytes.get(end).is_none_or(|byte| !byte.is_ascii_alphanumeric());
        if is_separator && digits > 0 && ends {
            take(&label[from..at], false);
            take(&label[at..end], true);
            (from, at) = (end, end);
        } else {
            at += 1;
        }
    }
    take(&label[from..], false);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows of slashed names, with `name=type` for rows that have a structure.
    fn rows(names: &[&'static str]) -> (Vec<Row<'static>>, Vec<Likeness>) {
        let mut rows = vec![Row { parent: 0, name: "", label: "" }];
        let mut likeness = vec![Likeness::default()];
        for text in names {
            let (name, kind) = text.split_once('=').unwrap_or((text, ""));
            let (around, label) = name.rsplit_once('/').unwrap_or(("", name));
            let parent = rows.iter().rposition(|row| row.name == around).unwrap();
            rows.push(Row { parent, name, label });
            likeness.push(Likeness { structure: if kind.is_empty() { 0 } else { digest_of(&kind) }, line: 0 });
        }
        (rows, likeness)
    }

    fn pairs(before: &[&'static str], after: &[&'static str], renames: &[&str]) -> Vec<(String, String, Match)> {
        let renames: Vec<_> = renames.iter().map(|text| Rename::parse(text).unwrap()).collect();
        let ((old, was), (new, is)) = (rows(before), rows(after));
        let how = How { renames: &renames, unique_names: true };
        let pairs = pair(&old, &new, &how, |side, row| if side == 0 { was[row] } else { is[row] });
        let pair = |(i, found): (usize, &Option<(u32, Match)>)| {
            found.map(|(j, by)| (old[i].name.to_owned(), new[j as usize].name.to_owned(), by))
        };
        pairs.before.iter().enumerate().skip(1).filter_map(pair).collect()
    }

    fn own(list: &[(&str, &str, Match)]) -> Vec<(String, String, Match)> {
        list.iter().map(|(a, b, by)| ((*a).to_owned(), (*b).to_owned(), *by)).collect()
    }

    #[test]
    fn names_come_before_guesses() {
        use Match::{Guess, Name};
        assert_eq!(
            pairs(&["dense_1=m", "dense_2=m"], &["dense_2=m", "dense_3=m"], &[]),
            own(&[("dense_1", "dense_3", Guess), ("dense_2", "dense_2", Name)])
        );
    }

    #[test]
    fn numbering_does_not_matter() {
        use Match::{Guess, Name};
        assert_eq!(
            pairs(&["functional_1", "functional_1/d=m"], &["functional_1_1", "functional_1_1/d=m"], &[]),
            own(&[("functional_1", "functional_1_1", Guess), ("functional_1/d", "functional_1_1/d", Name)])
        );
        assert_eq!(
            pairs(&["fusion.9=a", "fusion.10=b"], &["fusion.17=b", "fusion.2=a"], &[]),
            own(&[("fusion.9", "fusion.2", Guess), ("fusion.10", "fusion.17", Guess)])
        );
        assert_eq!(pairs(&["conv2d=a"], &["conv3d=a"], &[]), []);
    }

    #[test]
    fn a_rename_moves_whole_scopes() {
        let (before, after) = (["enc", "enc/block_1", "enc/block_1/w=m"], ["stem", "stem/b1", "stem/b1/w=m"]);
        let found = pairs(&before, &after, &[r"s/^enc\/block_(\d)/stem\/b\1/", "s|^enc$|stem|"]);
        assert_eq!(
            found,
            own(&[("enc", "stem"), ("enc/block_1", "stem/b1"), (before[2], after[2])].map(|(a, b)| (
                a.split('=').next().unwrap(),
                b.split('=').next().unwrap(),
                Match::Rename
            )))
        );
        assert!(
            Rename::parse("s/a/b").is_err() && Rename::parse("y/a/b/").is_err() && Rename::parse("s/(/b/").is_err()
        );
    }

    #[test]
    fn stems_leave_out_automatic_numbers() {
        for (label, expect) in [
            ("dense_3", "dense"),
            ("functional_1_1", "functional"),
            ("while_body_123", "while_body"),
            ("fusion.17", "fusion"),
            ("conv2d_2", "conv2d"),
            ("f.py:12:main", "f.py:main"),
            ("jit_step(123)", "jit_step)"),
            ("é_1", "é"),
            ("v1_x", "v1_x"),
        ] {
            assert_eq!(stem(label), expect, "{label}");
        }
        assert_eq!(numbers("block_10_x.2"), [10, 2]);
    }
}
