//! A view as a gzipped pprof profile: one sample per node, with the path in the tree as its call stack.
//!
//! Under the original's quirks it is the original's profile of the code view. Otherwise every view has one, with all
//! selected metrics, and samples add up to the totals of the root: hidden rows are part of their visible parent.

mod profile;

use crate::error::{Fix, Refusal};
use crate::metric::Metric;
use crate::model::TimeUnit;
use crate::model::nodes::NodeId;
use crate::options::ViewKind;
use crate::view::{Demand, View};
use flate2::{Compression, GzBuilder};
use profile::{Frame, Profile, Stack};
use std::io::{self, Write};

pub const DEMAND: Demand = Demand {
    nodes_by_name: true,
    sums: true,
    check: |kind, options, selection| {
        let words = selection.words();
        if !options.quirks.fewer_outputs {
            return Ok(());
        }
        if kind != ViewKind::Code {
            return Err(Refusal::new(
                "only the code view has it",
                Fix::new("ask that, or leave out", "original_quirks"),
            ));
        }
        if selection.given().count() != 1 || selection.has(Metric::Runs) || words.len() != 1 {
            let found = words.join(",");
            let why = format!("one metric must be selected, and not occurrence; found `{found}`");
            return Err(Refusal::new(why, Fix::with_value("try", "select", "micros")));
        }
        Ok(())
    },
    ..Demand::ROWS
};

/// The operating system in the gzip header: always Unix, so that equal profiles are equal files.
const UNIX: u8 = 3;

pub fn write(view: &View, out: &mut dyn Write) -> io::Result<()> {
    let profile = if view.options.quirks.pprof_has_callees_only && view.compared().is_none() {
        callees(view)
    } else {
        rows(view)
    };
    let mut gzip = GzBuilder::new().operating_system(UNIX).write(out, Compression::default());
    profile.write(&mut gzip)?;
    gzip.finish().map(drop)
}

/// A sample for each node of each row, and one for the rest of the row's total that is in no child.
fn rows(view: &View) -> Profile<'_> {
    let metrics: Vec<Metric> = known(view);
    let time_unit = if view.parts(Metric::Micros) > 1 { TimeUnit::Picos } else { TimeUnit::Micros };
    let mut profile = Profile::new(&metrics, time_unit);
    let mut own = own_numbers(view, &metrics);
    let mut stacks: Vec<Stack> = Vec::with_capacity(view.rows().len());
    for (i, row) in view.rows().iter().enumerate() {
        let stack = if i == 0 {
            Stack::EMPTY
        } else {
            let location = match view.line(row) {
                Some(line) => profile.location(line.file, line.number, Frame::of_line(&line)),
                None => profile.only_location(view.name(row)),
            };
            profile.stack(stacks[row.parent], location)
        };
        stacks.push(stack);
        let left = &mut own[i * metrics.len()..][..metrics.len()];
        // A difference belongs to no node.
        let is_one_side = view.compared().is_none();
        let nodes: Vec<NodeId> = view.node(row).into_iter().chain(view.bag(row)).filter(|_| is_one_side).collect();
        for node in nodes {
            let numbers = view.values().row(node);
            let values: Vec<i64> = metrics.iter().map(|metric| numbers[*metric as usize]).collect();
            left.iter_mut().zip(&values).for_each(|(left, value)| *left = left.wrapping_sub(*value));
            profile.sample(stack, Some(view.model.name(node)), 1, &values);
        }
        if left.iter().any(|value| *value != 0) {
            profile.sample(stack, None, 0, left);
        }
    }
    profile
}

/// The selected metrics that the files know.
fn known(view: &View) -> Vec<Metric> {
    view.selection.given().filter(|metric| view.knows(*metric)).collect()
}

/// The totals of each row minus those of its children, by row and metric.
fn own_numbers(view: &View, metrics: &[Metric]) -> Vec<i64> {
    let rows = view.rows();
    let mut own: Vec<i64> = Vec::with_capacity(rows.len() * metrics.len());
    for (i, row) in rows.iter().enumerate() {
        // Of a comparison the difference, which may be negative.
        let whole = |metric: &Metric| match view.compared() {
            None => view.exact_total(*metric, row).n,
            Some(_) => view.side_total(*metric, row, false).saturating_sub(view.side_total(*metric, row, true)),
        };
        own.extend(metrics.iter().map(whole));
        for (k, metric) in metrics.iter().enumerate().filter(|_| i > 0) {
            let parent = &mut own[row.parent * metrics.len() + k];
            *parent = parent.wrapping_sub(whole(metric));
        }
    }
    own
}

/// As the original: a location for each call between visible rows, and samples for the nodes of innermost lines.
fn callees(view: &View) -> Profile<'_> {
    let metrics: Vec<Metric> = known(view);
    let mut profile = Profile::new(&metrics, view.model.time_unit);
    let rows = view.rows();
    let mut stacks: Vec<Stack> = vec![Stack::EMPTY];
    for (i, row) in rows.iter().enumerate().skip(1) {
        let mut stack = stacks[row.parent];
        if let (Some(callee), Some(caller)) = (view.line(row), view.line(&rows[row.parent])) {
            let location = profile.location(caller.file, caller.number, Frame::of_line(&callee));
            stack = profile.stack(stack, location);
        }
        stacks.push(stack);
        if rows.get(i + 1).is_some_and(|next| next.parent == i) {
            continue;
        }
        for node in view.innermost_nodes(row) {
            let numbers = view.values().row(node);
            let values: Vec<i64> = metrics.iter().map(|metric| numbers[*metric as usize]).collect();
            profile.sample(stack, Some(view.model.name(node)), 1, &values);
        }
    }
    profile.sort();
    profile
}
