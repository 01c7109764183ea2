//! A finding: a problem, the time a step that solving it could save, the arithmetic, the rows that show it, and how sure
//! it is.

use super::{Advice, micros};
use crate::options::ViewKind;
use serde::{Serialize, Serializer};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::io::{self, Write};

/// The confidence of an estimate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Confidence {
    /// The time is measured, but the cause is a guess, or only part of it can be saved.
    Low,
    /// The cause is measured; how much of it a change saves depends on the program.
    Medium,
    /// Cause and saving are measured.
    High,
}

impl Confidence {
    pub fn word(self) -> &'static str {
        match self {
            Confidence::Low => "low",
            Confidence::Medium => "medium",
            Confidence::High => "high",
        }
    }
}

impl Serialize for Confidence {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.word())
    }
}

/// A row of a view that shows a problem.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct EvidenceRow {
    /// The word of the view that has the row: `op`, `scope`, `graph` or `code`.
    pub view: &'static str,
    pub name: String,
    /// Its share of the problem in microseconds per step.
    pub micros: i64,
}

/// A problem, and what solving it could save.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Finding {
    /// A few words: `the device waits for the host`.
    pub title: &'static str,
    /// The problem and its figures, as a sentence without a full stop.
    pub problem: String,
    /// The arithmetic behind the saving.
    pub arithmetic: String,
    /// The advice in the imperative: `Prefetch the input`.
    pub change: String,
    /// The maximum saving in microseconds per step; none if the figures cannot tell.
    pub saving_micros: Option<i64>,
    pub confidence: Confidence,
    /// The largest first.
    pub evidence: Vec<EvidenceRow>,
}

/// The most rows of evidence.
const ROWS: usize = 5;

impl Finding {
    pub(super) fn new(title: &'static str, problem: String, change: &str, confidence: Confidence) -> Finding {
        let (arithmetic, change) = (String::new(), change.to_owned());
        Finding { title, problem, arithmetic, change, saving_micros: None, confidence, evidence: Vec::new() }
    }

    /// Sets the maximum saving per step in microseconds, and its derivation.
    #[must_use]
    pub(super) fn saves(self, micros: i64, arithmetic: String) -> Finding {
        Finding { saving_micros: Some(micros), arithmetic, ..self }
    }

    /// Sets the rows that show it; rows of one name add up, and the largest are kept.
    #[must_use]
    pub(super) fn shown_by(self, view: ViewKind, rows: impl IntoIterator<Item = (String, i64)>) -> Finding {
        let mut by_name: BTreeMap<String, i64> = BTreeMap::new();
        for (name, micros) in rows {
            let sum = by_name.entry(name).or_default();
            *sum = sum.saturating_add(micros);
        }
        let proof = |(name, micros)| EvidenceRow { view: view.word(), name, micros };
        let mut evidence: Vec<EvidenceRow> = by_name.into_iter().map(proof).collect();
        evidence.sort_by(|a, b| (Reverse(a.micros), &a.name).cmp(&(Reverse(b.micros), &b.name)));
        evidence.truncate(ROWS);
        Finding { evidence, ..self }
    }

    /// The finding as one paragraph.
    pub fn text(&self) -> String {
        let Finding { problem, arithmetic, change, saving_micros, confidence, evidence, .. } = self;
        let mut text = format!("{problem}. {change}.");
        if let Some(saving) = saving_micros {
            let why = if arithmetic.is_empty() { String::new() } else { format!(": {arithmetic}") };
            text += &format!(" Saves up to {} a step ({} confidence){why}.", micros(*saving), confidence.word());
        }
        if let Some(first) = evidence.first() {
            let row = |proof: &EvidenceRow| format!("{} {}", proof.name, micros(proof.micros));
            let rows: Vec<_> = evidence.iter().map(row).collect();
            text += &format!(" Largest in {} view: {}", first.view, rows.join(", "));
        }
        text
    }
}

/// The findings of all checkers, those that could save most first.
pub(super) fn ranked(advice: &[Advice]) -> Vec<(&Advice, &Finding)> {
    let each = advice.iter().flat_map(|advice| advice.findings.iter().map(move |finding| (advice, finding)));
    let mut ranked: Vec<_> = each.filter(|(_, finding)| finding.saving_micros.is_some()).collect();
    ranked.sort_by_key(|(_, finding)| Reverse((finding.saving_micros, finding.confidence)));
    ranked
}

/// Ranks the findings. Savings may overlap, so they are not added up.
pub(super) fn write_ranking(advice: &[Advice], out: &mut dyn Write) -> io::Result<()> {
    let ranked = ranked(advice);
    if ranked.is_empty() {
        return Ok(());
    }
    writeln!(out, "\nby the time a step that each could save (they overlap, so do not add them up):")?;
    for (at, (advice, finding)) in ranked.iter().enumerate() {
        let saving = micros(finding.saving_micros.unwrap_or_default());
        let sure = finding.confidence.word();
        writeln!(out, "{:3}. {saving:>9}  {} ({}, {sure} confidence)", at + 1, finding.title, advice.checker)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_saving_comes_first_and_unknown_ones_are_not_ranked() {
        let finding = |title, saving| {
            let finding = Finding::new(title, "it waits".to_owned(), "Do less", Confidence::High);
            if let Some(micros) = saving { finding.saves(micros, "all of it".to_owned()) } else { finding }
        };
        let findings = vec![finding("small", Some(10)), finding("unknown", None), finding("large", Some(2000))];
        let advice = Advice { checker: "C", original: false, reports: Vec::new(), findings, notes: Vec::new() };
        let mut text = Vec::new();
        write_ranking(&[advice], &mut text).expect("memory");
        let text = String::from_utf8(text).expect("text");
        assert!(text.contains("  1.    2.00ms  large (C, high confidence)\n  2.      10us  small"), "{text}");
        assert!(!text.contains("unknown"), "{text}");
    }

    #[test]
    fn rows_of_one_name_add_up() {
        let finding = Finding::new("t", "p".to_owned(), "c", Confidence::Low);
        let rows = [("b", 2), ("a", 1), ("b", 3)].map(|(name, micros)| (name.to_owned(), micros));
        let shown = finding.shown_by(ViewKind::Op, rows);
        let rows: Vec<_> = shown.evidence.iter().map(|proof| (proof.name.as_str(), proof.micros)).collect();
        assert_eq!(rows, [("b", 5), ("a", 1)]);
        assert_eq!(shown.text(), "p. c. Largest in op view: b 5us, a 1us");
    }
}
