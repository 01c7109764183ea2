//! How two runs are compared: which rows are the same, and which steps count.

use crate::pairing::Rename;

/// The options of a comparison, besides those of the view.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Comparing {
    /// Names before, as they are called after.
    pub renames: Vec<Rename>,
    pub warmup: Warmup,
    /// Show rows without any difference. None: only in forms that are read by programs, and on pages.
    pub unchanged: Option<bool>,
    /// List the rows that were paired by structure, and nothing else.
    pub only_guesses: bool,
}

/// Which of the first steps are left out on each side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Warmup {
    /// Those that are slower than the later ones.
    #[default]
    Auto,
    /// None.
    Keep,
    First(usize),
}

impl Warmup {
    pub fn parse(text: &str) -> Result<Warmup, String> {
        match text {
            "auto" => Ok(Warmup::Auto),
            "keep" => Ok(Warmup::Keep),
            n => n.parse().map(Warmup::First).map_err(|_| format!("expected a number, auto or keep, found `{text}`")),
        }
    }
}
