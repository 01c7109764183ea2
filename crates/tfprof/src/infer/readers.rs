//! Which variable a tensor holds: it is followed back through reads, casts and arguments of functions. So each op that
//! computes with a variable is known, whatever the names of both.

use crate::hash::TrustedMap;
use crate::model::body::{Body, Tensor};
use crate::model::lowered::PARAMETER;
use std::rc::Rc;

/// Longer chains of reads and casts are not followed, which bounds the work per input.
const LONGEST_CHAIN: usize = 16;

/// The listed name of a variable.
pub type Variable = Rc<str>;

/// The role of an op between a variable and the ops that compute with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    Variable,
    /// Its output is its first input.
    Passes,
    /// It sets, saves or measures a variable.
    Manages,
    Computes,
}

/// The roles of all ops of a body, by number of the op.
pub type Roles = Rc<[Role]>;

/// The roles of the bodies seen so far.
#[derive(Debug)]
pub struct Readers {
    by_body: TrustedMap<Option<u32>, Roles>,
    constants: bool,
}

impl Readers {
    /// `constants` may be variables of a frozen graph.
    pub fn new(constants: bool) -> Readers {
        Readers { by_body: TrustedMap::default(), constants }
    }

    pub fn roles(&mut self, function: Option<u32>, body: &Body) -> Roles {
        let constants = self.constants;
        let find = || body.ops().0.map(|op| role(op, constants)).collect();
        Rc::clone(self.by_body.entry(function).or_insert_with(find))
    }
}

fn role(op: &str, constants: bool) -> Role {
    match op {
        "VarHandleOp" | "Variable" | "VariableV2" | PARAMETER => Role::Variable,
        "Const" if constants => Role::Variable,
        "ReadVariableOp" | "Identity" | "Cast" | "Enter" | "RefEnter" | "Switch" | "RefSwitch" | "Merge"
        | "NextIteration" | "Exit" | "StopGradient" | "Dequantize" | "CheckNumerics" => Role::Passes,
        "VarIsInitializedOp" | "IsVariableInitialized" | "VariableShape" | "DestroyResourceOp" | "NoOp" => {
            Role::Manages
        }
        _ if [
            "Assign",
            "ResourceApply",
            "ResourceSparseApply",
            "ResourceScatter",
            "Apply",
            "SparseApply",
            "Save",
            "Scatter",
        ]
        .iter()
        .any(|start| op.starts_with(start)) =>
        {
            Role::Manages
        }
        _ => Role::Computes,
    }
}

/// Whether a node of this op computes with its inputs.
pub fn computes(body: &Body, roles: &Roles, node: u32) -> bool {
    roles[body.ops().1[node as usize] as usize] == Role::Computes
}

/// The variable behind a tensor. `args` are those behind the arguments of the body, `name` lists a node of it.
pub fn variable(
    body: &Body,
    roles: &Roles,
    mut tensor: Tensor,
    args: &[Option<Variable>],
    name: impl Fn(u32) -> String,
) -> Option<Variable> {
    for _ in 0..LONGEST_CHAIN {
        let op = *body.ops().1.get(tensor.node as usize)?;
        match roles[op as usize] {
            Role::Variable => return Some(name(tensor.node).into()),
            Role::Passes => tensor = *body.inputs(tensor.node).first()?,
            Role::Computes if !args.is_empty() => return args.get(body.arg(tensor.node)?)?.clone(),
            Role::Computes | Role::Manages => return None,
        }
    }
    None
}
