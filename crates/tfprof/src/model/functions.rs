//! Definitions of functions as a file has them: inputs of nodes are still names, and which output of a node a name
//! means is known once all functions are there. `infer` resolves them.

use super::body::UnresolvedBody;
use crate::hash::UntrustedMap;

/// Ops that call the functions that an attribute names. An op whose name is that of a function calls it, too.
pub const CALL_OPS: &[&str] = &[
    "PartitionedCall",
    "StatefulPartitionedCall",
    "TPUPartitionedCall",
    "RemoteCall",
    "If",
    "StatelessIf",
    "_If",
    "Case",
    "StatelessCase",
    "While",
    "StatelessWhile",
    "_While",
    "For",
    "MapDefun",
    "SymbolicGradient",
];

/// The functions of a file, and the ops that it defines.
#[derive(Clone, Debug, Default)]
pub struct FunctionDefs {
    pub functions: Vec<FunctionDef>,
    pub by_name: UntrustedMap<Box<str>, u32>,
    /// By op.
    pub op_outputs: UntrustedMap<Box<str>, Vec<OutputDef>>,
}

#[derive(Clone, Debug, Default)]
pub struct FunctionDef {
    pub name: String,
    pub outputs: Vec<OutputDef>,
    pub body: UnresolvedBody,
    /// By output, the tensor that is returned.
    pub returns: UntrustedMap<String, String>,
    /// Nodes that have to run although nothing reads them.
    pub control_returns: Vec<String>,
}

/// An output of an op or function: one tensor, or a list as long as an attribute of the node says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OutputDef {
    pub name: String,
    pub length: OutputLength,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum OutputLength {
    #[default]
    One,
    /// The attribute holds the number of tensors.
    Number(String),
    /// The attribute lists the types of the tensors.
    Types(String),
}

impl FunctionDefs {
    pub fn is_empty(&self) -> bool {
        self.functions.is_empty()
    }

    /// Adds a function unless there is one of that name.
    pub fn push(&mut self, function: FunctionDef) {
        if !self.by_name.contains_key(&*function.name) {
            self.by_name.insert(function.name.as_str().into(), self.functions.len() as u32);
            self.functions.push(function);
        }
    }
}
