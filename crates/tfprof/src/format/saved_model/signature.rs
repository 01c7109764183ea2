//! Signatures of a `SavedModel`: its entry points, and their nodes.

use crate::error::{Fix, FixOption, Refusal};
use crate::words;
use tfprof_proto::fields::{signature_def, tensor_info};
use tfprof_proto::wire::{Fields, Value, each_field, map_entry};

/// `TensorInfo.CompositeTensor.components`.
const COMPONENTS: u32 = 2;
/// The maximum number of signatures that a message names.
const SHOWN: usize = 20;

/// The default signature.
const DEFAULT: &str = "serving_default";

/// A signature, with the names of its input and output nodes.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Signature {
    pub name: String,
    pub inputs: Vec<String>,
    pub outputs: Vec<String>,
}

impl Signature {
    /// A `SignatureDef`.
    pub fn read(name: &[u8], signature: &[u8]) -> Signature {
        let mut read = Signature { name: String::from_utf8_lossy(name).into_owned(), ..Signature::default() };
        each_field(Fields::new(signature, 0), |_, number, value| {
            let Value::Bytes(entry) = value else { return };
            let list = match number {
                signature_def::INPUTS => &mut read.inputs,
                signature_def::OUTPUTS => &mut read.outputs,
                _ => return,
            };
            tensors(map_entry(entry).1.unwrap_or_default(), list);
        });
        read
    }

    /// Whether it initializes or trains the model instead of running it.
    fn is_preparation(&self) -> bool {
        matches!(self.name.as_str(), "__saved_model_init_op" | "__saved_model_train_op")
    }
}

/// The nodes of a `TensorInfo`: a plain tensor, the three of a sparse one, or those of a composite one.
fn tensors(info: &[u8], nodes: &mut Vec<String>) {
    let mut waiting = vec![info];
    while let Some(info) = waiting.pop() {
        each_field(Fields::new(info, 0), |all, number, value| match (number, value) {
            (tensor_info::NAME, Value::Bytes(tensor)) => push(tensor, nodes),
            (tensor_info::COO_SPARSE, Value::Bytes(sparse)) => each_field(all.nested(sparse), |_, _, value| {
                value.bytes().into_iter().for_each(|tensor| push(tensor, nodes));
            }),
            (tensor_info::COMPOSITE_TENSOR, Value::Bytes(composite)) => {
                each_field(all.nested(composite), |_, number, value| {
                    if number == COMPONENTS {
                        waiting.extend(value.bytes());
                    }
                });
            }
            _ => {}
        });
    }
}

fn push(tensor: &[u8], nodes: &mut Vec<String>) {
    let tensor = String::from_utf8_lossy(tensor);
    let node = tensor.split(':').next().unwrap_or_default();
    nodes.push(node.trim_start_matches('^').to_owned());
}

/// The signature to use; `None` for the whole graph.
pub fn choose<'a>(
    all: &'a [Signature],
    asked: Option<&str>,
    everything: bool,
) -> Result<Option<&'a Signature>, Refusal> {
    if everything && asked.is_none() {
        return Ok(None);
    }
    let useful: Vec<&Signature> = all.iter().filter(|signature| !signature.is_preparation()).collect();
    let mut names: Vec<&str> = useful.iter().map(|signature| signature.name.as_str()).collect();
    names.sort_unstable();
    let find = |name: &str| all.iter().find(|signature| signature.name == name);
    match (asked, &useful[..]) {
        (Some(name), _) => match find(name) {
            Some(signature) => Ok(Some(signature)),
            None if names.is_empty() => {
                let why = format!("there is no signature `{name}`; the model has none");
                Err(Refusal::new(why, Fix::new("leave out", "signature")))
            }
            None => Err(words::unknown("signature", name, &names).into()),
        },
        (None, []) => Ok(None),
        (None, [only]) => Ok(Some(only)),
        (None, _) => find(DEFAULT).map(Some).ok_or_else(|| {
            let more = names.len().saturating_sub(SHOWN);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            let names = names.iter().take(SHOWN).map(|name| words::cut(name)).collect::<Vec<_>>().join("`, `");
            let mut fix = Fix::with_value("choose one with", "signature", "NAME");
            fix.options.push(FixOption { name: "all", value: "".into() });
            Refusal::new(format!("the model has several signatures, `{names}`{more}"), fix)
        }),
    }
}
