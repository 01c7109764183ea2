//! Nodes, the edges between them, their costs and kernels, and the call stacks that made them.

use super::{Facts, Writer};
use crate::json::push_string;
use crate::model::costs::UnknownReason;
use crate::model::names::NameId;
use crate::model::nodes::{NO_INPUT, ShapeId};
use crate::model::op_facts::Launch;
use crate::model::stacks::StackId;
use crate::options::Step;
use crate::quirks::Quirks;
use crate::view::values::Values;
use std::io;

pub fn nodes(facts: &Facts<'_>, out: &mut Writer<'_>) -> io::Result<()> {
    let model = facts.model;
    let values = Values::new(model, Step::All, Quirks::NONE);
    let text = |name: NameId| model.names.get(name);
    for node in facts.nodes() {
        let at = node.index();
        let name = model.name(node);
        let scope = name.rsplit_once('/').map(|(scope, _)| scope);
        let types = model.type_sets.get(model.nodes.types[at]);
        let device = values.devices(node).first().map(|device| text(*device));
        let parameters = Some(values.parameters(node)).filter(|n| *n > 0);
        let outputs = model.nodes.output_shapes(node);
        let stack = model.nodes.stack[at];
        let traced = model.op_facts.get(node);
        let list = |names: &[NameId]| texts(names.iter().map(|name| text(*name)));
        out.row()?
            .int(i64::from(node.0))
            .text(name)
            .text(text(model.nodes.op[at]))
            .text(scope)
            .text(list(types).as_deref())
            .text(shape(model.shapes.get(model.nodes.shape[at])).as_deref())
            .text(shapes(outputs, |id| model.shapes.get(id)).as_deref())
            .text(device)
            .int(parameters)
            .bool(model.nodes.inner[at])
            .int(stack.has_frames().then(|| i64::from(stack.0)))
            .text(traced.and_then(|facts| list(&facts.categories)).as_deref())
            .text(traced.and_then(|facts| list(&facts.programs)).as_deref());
    }
    Ok(())
}

/// A list of texts in JSON; `None` if it is empty.
fn texts<'t>(texts: impl Iterator<Item = &'t str>) -> Option<String> {
    let mut list = Vec::new();
    for text in texts {
        list.push(if list.is_empty() { b'[' } else { b',' });
        push_string(text, &mut list);
    }
    if list.is_empty() {
        return None;
    }
    list.push(b']');
    String::from_utf8(list).ok()
}

/// A shape in JSON; `None` if it is unknown.
fn shape(dims: &[i64]) -> Option<String> {
    let size = |size: &i64| if *size < 0 { "null".to_owned() } else { size.to_string() };
    (!dims.is_empty()).then(|| format!("[{}]", dims.iter().map(size).collect::<Vec<_>>().join(",")))
}

fn shapes<'m>(ids: &[ShapeId], dims: impl Fn(ShapeId) -> &'m [i64]) -> Option<String> {
    let one = |id: &ShapeId| shape(dims(*id)).unwrap_or_else(|| "null".to_owned());
    (!ids.is_empty()).then(|| format!("[{}]", ids.iter().map(one).collect::<Vec<_>>().join(",")))
}

pub fn edges(facts: &Facts<'_>, out: &mut Writer<'_>) -> io::Result<()> {
    let model = facts.model;
    for node in facts.nodes() {
        for (input, at) in model.nodes.inputs(node).iter().zip(0..) {
            if *input == NO_INPUT {
                continue;
            }
            let source = model.node(input.source).filter(|source| facts.has(*source));
            out.row()?
                .int(i64::from(node.0))
                .int(at)
                .int(source.map(|source| i64::from(source.0)))
                .keyed(Some(input.source.0), |_| model.names.get(input.source))
                .int(i64::from(input.output));
        }
    }
    Ok(())
}

pub fn costs(facts: &Facts<'_>, out: &mut Writer<'_>) -> io::Result<()> {
    let model = facts.model;
    for node in facts.nodes() {
        let cost = model.costs.get(node);
        if !cost.counted {
            continue;
        }
        let logged = model.nodes.float_ops[node.index()];
        let known = |n: i64| (cost.unknown == 0).then_some(n);
        out.row()?
            .int(i64::from(node.0))
            .text(model.name(node))
            .text(model.names.get(model.nodes.op[node.index()]))
            .int(cost.runs)
            .int(if logged == 0 { known(cost.float_ops) } else { Some(logged) })
            .int(known(cost.macs))
            .int(known(cost.io_bytes))
            .int(cost.unknown)
            .text(cost.why.map(UnknownReason::words));
    }
    Ok(())
}

pub fn kernels(facts: &Facts<'_>, out: &mut Writer<'_>) -> io::Result<()> {
    let model = facts.model;
    let count = |n: Option<u64>| n.map(|n| i64::try_from(n).unwrap_or(i64::MAX));
    let sizes = |sizes: Option<[u64; 3]>| sizes.map(|[x, y, z]| format!("[{x},{y},{z}]"));
    for node in facts.nodes() {
        for kernel in model.op_facts.get(node).into_iter().flat_map(|facts| &facts.kernels) {
            let Launch { registers, shared_bytes, grid, block, occupancy } = kernel.launch;
            out.row()?
                .int(i64::from(node.0))
                .text(model.names.get(model.nodes.op[node.index()]))
                .text(&*kernel.name)
                .int(kernel.runs)
                .int(kernel.time)
                .int(count(registers))
                .int(count(shared_bytes))
                .text(sizes(grid).as_deref())
                .text(sizes(block).as_deref())
                .real(occupancy);
        }
    }
    Ok(())
}

pub fn stacks(facts: &Facts<'_>, out: &mut Writer<'_>) -> io::Result<()> {
    let stacks = &facts.model.stacks;
    for id in 0..stacks.len() as u32 {
        let Some((outer, frame)) = stacks.last(StackId(id)) else { continue };
        let outer = outer.has_frames().then(|| i64::from(outer.0));
        out.row()?.int(i64::from(id)).int(outer).int(i64::from(frame.0));
    }
    Ok(())
}

pub fn frames(facts: &Facts<'_>, out: &mut Writer<'_>) -> io::Result<()> {
    let text = |name: NameId| facts.model.names.get(name);
    for (frame, id) in facts.model.stacks.frames().iter().zip(0..) {
        out.row()?
            .int(id)
            .text(text(frame.file))
            .int((frame.lineno >= 0).then(|| i64::from(frame.lineno)))
            .text(text(frame.function))
            .text(Some(text(frame.line)).filter(|line| !line.is_empty()));
    }
    Ok(())
}
