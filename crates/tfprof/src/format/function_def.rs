//! `FunctionDef` and `OpDef`: functions of a graph's library, and the outputs of ops that a file defines itself.

use crate::hash::UntrustedMap;
use crate::model::functions::{FunctionDef, FunctionDefs, OutputDef, OutputLength};
use tfprof_proto::fields::function_def::{self, arg_attrs};
use tfprof_proto::fields::op_def::{self, arg_def};
use tfprof_proto::node_def::{Attribute, NodeDecoder};
use tfprof_proto::wire::{Fields, Value, each_field, each_message, int_keyed_entry, last_bytes, map_entry};

/// Adds an `OpDef`: the names of its outputs.
pub(super) fn read_op(bytes: &[u8], defs: &mut FunctionDefs) {
    let op = op_def(bytes);
    defs.op_outputs.insert(op.name.into(), op.outputs);
}

/// Adds a `FunctionDef`. The first one of a name wins.
pub(super) fn read_function(bytes: &[u8], defs: &mut FunctionDefs) {
    let signature = op_def(last_bytes(Fields::new(bytes, 0), function_def::SIGNATURE).unwrap_or_default());
    if defs.by_name.contains_key(signature.name.as_str()) {
        return;
    }
    let mut function = FunctionDef { name: signature.name, outputs: signature.outputs, ..FunctionDef::default() };
    let attributes = argument_attributes(bytes);
    for (at, argument) in signature.inputs.iter().enumerate() {
        function.body.push_arg(argument);
        for attribute in attributes.get(&(at as i64)).into_iter().flatten() {
            function.body.push_attribute(attribute);
        }
    }
    let mut decoder = NodeDecoder::default();
    each_field(Fields::new(bytes, 0), |all, number, value| {
        let Value::Bytes(bytes) = value else { return };
        match number {
            function_def::NODE_DEF => {
                let offset = all.nested(bytes).offset();
                decoder.decode(bytes, offset, |node| function.body.push_node(node));
            }
            function_def::RET => {
                let (key, value) = map_entry(bytes);
                function.returns.insert(text(key), text(value.unwrap_or_default()));
            }
            function_def::CONTROL_RET => {
                function.control_returns.push(text(map_entry(bytes).1.unwrap_or_default()));
            }
            _ => {}
        }
    });
    defs.push(function);
}

#[derive(Default)]
struct OpDef {
    name: String,
    inputs: Vec<String>,
    outputs: Vec<OutputDef>,
}

fn op_def(bytes: &[u8]) -> OpDef {
    let mut op = OpDef::default();
    each_field(Fields::new(bytes, 0), |all, number, value| {
        let Value::Bytes(bytes) = value else { return };
        match number {
            op_def::NAME => op.name = text(bytes),
            op_def::INPUT_ARG => op.inputs.push(arg_def(all.nested(bytes)).name),
            op_def::OUTPUT_ARG => op.outputs.push(arg_def(all.nested(bytes))),
            _ => {}
        }
    });
    op
}

fn arg_def(fields: Fields<'_>) -> OutputDef {
    let mut arg = OutputDef::default();
    each_field(fields, |_, number, value| match (number, value) {
        (arg_def::NAME, Value::Bytes(bytes)) => arg.name = text(bytes),
        (arg_def::NUMBER_ATTR, Value::Bytes(bytes)) if !bytes.is_empty() => {
            arg.length = OutputLength::Number(text(bytes));
        }
        (arg_def::TYPE_LIST_ATTR, Value::Bytes(bytes)) if !bytes.is_empty() => {
            arg.length = OutputLength::Types(text(bytes));
        }
        _ => {}
    });
    arg
}

/// Attributes of a function's arguments, such as `_output_shapes`, by their positions.
fn argument_attributes(function: &[u8]) -> UntrustedMap<i64, Vec<Attribute<'_>>> {
    let mut by_position = UntrustedMap::default();
    each_message(Fields::new(function, 0), function_def::ARG_ATTR, |entry| {
        let (position, attributes) = int_keyed_entry(entry);
        let mut list = Vec::new();
        each_message(attributes.unwrap_or(Fields::new(&[], 0)), arg_attrs::ATTR, |entry| {
            if let (key, value @ Some(_)) = map_entry(entry.rest()) {
                list.push(Attribute { key, value });
            }
        });
        by_position.insert(position, list);
    });
    by_position
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
