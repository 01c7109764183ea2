//! A cost as JSON for programs.

use super::baseline::Change;
use super::render::Report;
use super::{Cost, Figures, OpType, PerBatch, Shared, TypedParameters, UnknownType};
use crate::error::Warning;
use crate::json::{self, Level};
use crate::report::budget::Over;
use serde::{Serialize, Serializer};
use std::borrow::Cow;
use std::cmp::Reverse;
use std::io::{self, Write};

const LINES: &[Level] = &[Level {
    keys: &[
        "warnings",
        "parameters",
        "float_ops",
        "nodes",
        "batch",
        "unknown_op_types",
        "missing_shapes",
        "op_types",
        "prefix",
        "shared_parameters",
        "baseline",
        "over",
    ],
    rows: &[
        "warnings",
        "unknown_op_types",
        "missing_shapes",
        "op_types",
        "scopes",
        "shared_parameters",
        "changes",
        "over",
    ],
}];

/// The report as an object, in the order of its keys.
#[derive(Serialize)]
struct ReportJson<'a> {
    version: u32,
    command: &'static str,
    warnings: &'a [Warning],
    parameters: i64,
    trainable_parameters: Option<i64>,
    optimizer_state: i64,
    #[serde(serialize_with = "bytes_by_type")]
    parameter_bytes: &'a [TypedParameters],
    float_ops: i64,
    macs: i64,
    io_bytes: i64,
    nodes: i64,
    covered_nodes: i64,
    data_dependent_nodes: i64,
    unknown_ops: i64,
    batch: Option<i64>,
    per_batch: PerBatch,
    unknown_op_types: &'a [UnknownType],
    missing_shapes: Vec<MissingJson<'a>>,
    op_types: &'a [OpType],
    /// The part of the names in the graph that `scopes` leave out.
    prefix: &'a str,
    scopes: Vec<ScopeJson<'a>>,
    shared_parameters: &'a [Shared],
    #[serde(skip_serializing_if = "Option::is_none")]
    baseline: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    changes: Option<&'a [Change]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    over: Option<&'a [Over]>,
}

#[derive(Serialize)]
struct MissingJson<'a> {
    node: &'a str,
    why: String,
}

#[derive(Serialize)]
struct ScopeJson<'a> {
    name: Cow<'a, str>,
    #[serde(flatten)]
    total: Figures,
}

/// Writes one object and a newline.
pub fn write_json(report: &Report<'_>, out: &mut dyn Write) -> io::Result<()> {
    let cost = report.cost;
    let object = ReportJson {
        version: 1,
        command: "cost",
        warnings: &cost.warnings,
        parameters: cost.figures.parameters,
        trainable_parameters: cost.trainable,
        optimizer_state: cost.slots,
        parameter_bytes: &cost.by_dtype,
        float_ops: cost.figures.float_ops,
        macs: cost.figures.macs,
        io_bytes: cost.figures.io_bytes,
        nodes: cost.nodes,
        covered_nodes: cost.covered(),
        data_dependent_nodes: cost.data_dependent,
        unknown_ops: cost.figures.unknown_ops,
        batch: cost.batch,
        per_batch: cost.per_batch,
        unknown_op_types: &cost.unknown,
        missing_shapes: cost
            .missing
            .iter()
            .map(|missing| MissingJson { node: &missing.node, why: missing.text(report.spelling) })
            .collect(),
        op_types: &cost.op_types,
        prefix: &cost.prefix,
        scopes: scopes(cost),
        shared_parameters: &cost.shared,
        baseline: report.changes.as_ref().map(|(name, _)| *name),
        changes: report.changes.as_ref().map(|(_, changes)| changes.as_slice()),
        over: report.over.as_deref(),
    };
    json::write_report(&object, LINES, out)
}

/// The scopes of the tables, those with the most FLOPs first.
fn scopes(cost: &Cost) -> Vec<ScopeJson<'_>> {
    let mut parts = cost.parts();
    parts.sort_by_key(|scope| (Reverse(scope.total.float_ops), Reverse(scope.total.parameters)));
    parts.into_iter().map(|scope| ScopeJson { name: scope.name, total: scope.total }).collect()
}

fn bytes_by_type<S: Serializer>(types: &[TypedParameters], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(types.iter().map(|of_type| (&of_type.dtype, of_type.bytes)))
}
