//! The facts in which the four views differ, as data.

use crate::options::ViewKind;

/// How the four views differ. Everything else is the same for all.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// Remove a row that is not accounted and move its children up; otherwise keep it for its children.
    pub unaccounted_vanish: bool,
    /// `min_params` and `min_float_ops` compare a row's total instead of its self value.
    pub minimums_of_totals: bool,
    /// `min_occurrence` compares the runs of a row.
    pub minimum_of_runs: bool,
    /// Hide a row that is trimmed or too deep; otherwise show it without its children.
    pub trimmed_are_dropped: bool,
    /// `account_displayed_op_only` has an effect.
    pub can_recount: bool,
    /// A row stands for many nodes rather than for one.
    pub bags: bool,
    /// Each row is the only child of the row above it.
    pub chain: bool,
    /// The type of rows without a node, which `-account_type_regexes` may match.
    pub scope_type: Option<&'static str>,
    pub root_type: &'static str,
    /// Parameters and FLOPs are the first columns.
    pub parameters_first: bool,
}

impl Rules {
    pub fn of(kind: ViewKind) -> &'static Rules {
        match kind {
            ViewKind::Scope => &SCOPE,
            ViewKind::Graph => &GRAPH,
            ViewKind::Op => &OP,
            ViewKind::Code => &CODE,
        }
    }
}

const SCOPE: Rules = Rules {
    unaccounted_vanish: false,
    minimums_of_totals: false,
    minimum_of_runs: true,
    trimmed_are_dropped: false,
    can_recount: true,
    bags: false,
    chain: false,
    scope_type: Some("_kTFScopeParent"),
    root_type: "_kTFScopeParent",
    parameters_first: true,
};

const GRAPH: Rules = Rules { unaccounted_vanish: true, scope_type: None, root_type: "_TFGraphParent", ..SCOPE };

const CODE: Rules = Rules {
    minimums_of_totals: true,
    minimum_of_runs: false,
    trimmed_are_dropped: true,
    can_recount: false,
    bags: true,
    scope_type: None,
    root_type: "",
    parameters_first: false,
    ..SCOPE
};

const OP: Rules = Rules { can_recount: true, chain: true, ..CODE };
