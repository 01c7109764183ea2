//! [`Lowered`]: the graph of a model file that is not TensorFlow's. The reader of a dialect pushes its nodes, each lowered
//! to an op that rules and formulas know and to that op's attributes; the op's name in the dialect is kept for the views.

use super::attr_value::{AttrValue, Elements};
use super::body::{Body, Symbol, Tensor};
use super::dtype::DType;
use super::shape::Shape;
use crate::budget;
use crate::hash::UntrustedMap;

/// The op of a node that holds a parameter: attributes `dtype`, `shape` and, if the file says so, `trainable`.
pub const PARAMETER: &str = "Parameter";

/// A graph and its functions.
#[derive(Debug, Default)]
pub struct Lowered {
    pub graph: Body,
    /// The functions that nodes call, by name.
    pub functions: Vec<(String, Body)>,
    /// The description of the model in its file, by topic.
    pub stated: Vec<(&'static str, String)>,
    names: UniqueNames,
}

impl Lowered {
    /// A name that no other node of the graph has: the wanted one, if it is free.
    pub fn unique(&mut self, wanted: &str) -> String {
        self.names.take(wanted)
    }
}

/// Names of nodes, each taken once.
#[derive(Debug, Default)]
pub struct UniqueNames {
    /// How often a name was taken.
    taken: UntrustedMap<String, u32>,
}

impl UniqueNames {
    /// The wanted name if it is free, else the name with a number appended.
    pub fn take(&mut self, wanted: &str) -> String {
        if !self.taken.contains_key(wanted) {
            self.taken.insert(wanted.to_owned(), 1);
            return wanted.to_owned();
        }
        loop {
            let Some(count) = self.taken.get_mut(wanted) else { return wanted.to_owned() };
            *count += 1;
            // Nodes may share one long name, at a few bytes each.
            budget::work(wanted.len() as u64);
            let name = format!("{wanted}_{count}");
            if !self.taken.contains_key(&name) {
                self.taken.insert(name.clone(), 1);
                return name;
            }
        }
    }
}

/// The pushes of a dialect. Inputs and further attributes are pushed to the last node.
impl Body {
    /// An input of the model. Sizes that the file leaves open are unknown; the leading one is the batch.
    pub fn push_model_input(&mut self, name: &str, shown: &str, dtype: DType, shape: &Shape) -> Tensor {
        let node = self.push_lowered(name, "Placeholder", shown);
        self.push_value("dtype", AttrValue::Type(dtype));
        self.push_value("shape", AttrValue::Shape(shape));
        Tensor { node, output: 0 }
    }

    /// Names an open size of an input.
    pub fn push_symbol(&mut self, input: Tensor, axis: u32, name: &str) {
        self.symbols.push(Symbol { name: name.to_owned(), node: input.node, axis });
    }

    /// A parameter. `trainable` if the file says so.
    pub fn push_parameter(
        &mut self,
        name: &str,
        shown: &str,
        dtype: DType,
        shape: &Shape,
        trainable: Option<bool>,
    ) -> Tensor {
        let node = self.push_lowered(name, PARAMETER, shown);
        self.push_value("dtype", AttrValue::Type(dtype));
        self.push_value("shape", AttrValue::Shape(shape));
        if let Some(trainable) = trainable {
            self.push_value("trainable", AttrValue::Flag(trainable));
        }
        Tensor { node, output: 0 }
    }

    /// A constant that is not a parameter: sizes, axes, tables.
    pub fn push_constant(
        &mut self,
        name: &str,
        shown: &str,
        dtype: DType,
        shape: &Shape,
        elements: Elements<'_>,
    ) -> Tensor {
        let node = self.push_lowered(name, "Const", shown);
        self.push_value("value", AttrValue::Tensor(dtype, shape, elements));
        Tensor { node, output: 0 }
    }

    /// An argument of a function.
    pub fn push_argument(&mut self, name: &str, shown: &str) -> Tensor {
        let node = self.push_lowered(name, "_Arg", shown);
        self.args.push(node);
        Tensor { node, output: 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_made_unique() {
        let mut lowered = Lowered::default();
        let mut name = |wanted: &str| lowered.unique(wanted);
        assert_eq!([name("a"), name("a_2"), name("a"), name("a"), name("b")], ["a", "a_2", "a_3", "a_4", "b"]);
    }

    #[test]
    fn a_lowered_node_has_the_op_of_the_rules_and_the_op_of_its_file() {
        let mut body = Body::default();
        body.push_node("x", "Placeholder");
        body.push_lowered("y", "Conv2D", "CONV_2D");
        body.push_node("z", "Relu");
        let ops: Vec<_> = (0..3).map(|node| (body.op(node), body.shown_op(node))).collect();
        assert_eq!(ops, [("Placeholder", "Placeholder"), ("Conv2D", "CONV_2D"), ("Relu", "Relu")]);
        let pruned = body.pruned([1].into_iter());
        assert_eq!((pruned.len(), pruned.op(0), pruned.shown_op(0)), (1, "Conv2D", "CONV_2D"));
    }
}
