//! The object graph of a TensorFlow 2 `SavedModel`: its variables, which are trainable, and which are optimizer slots.

use crate::hash::{UntrustedMap, UntrustedSet};
use tfprof_proto::fields::trackable_object_graph::trackable_object::{object_reference, slot_variable_reference};
use tfprof_proto::fields::{attr_value, name_attr_list, saved_concrete_function, saved_object, saved_variable};
use tfprof_proto::shape::shape_dims;
use tfprof_proto::wire::{Fields, Value, each_field, each_int};

#[derive(Debug, Default)]
pub struct Objects {
    all: Vec<Object>,
    /// By the name of a function, its captured objects.
    functions: UntrustedMap<Vec<u8>, Vec<u32>>,
    by_name: UntrustedMap<String, u32>,
    slots: UntrustedSet<u32>,
    /// Names of the trainable variables, if a Keras model lists them.
    trainable: Option<UntrustedSet<String>>,
}

#[derive(Debug, Default)]
struct Object {
    children: Vec<(String, u32)>,
    /// Optimizer slots, by the ids of their objects.
    slots: Vec<u32>,
    variable: Option<Variable>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Variable {
    pub name: String,
    pub trainable: bool,
    /// `None` if a size is unknown.
    pub dims: Option<Vec<i64>>,
}

impl Objects {
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Adds a `SavedObject`.
    pub fn push(&mut self, object: &[u8]) {
        let mut read = Object::default();
        each_field(Fields::new(object, 0), |all, number, value| {
            let Value::Bytes(bytes) = value else { return };
            match number {
                saved_object::CHILDREN => {
                    let (mut child, mut name) = (0, String::new());
                    each_field(all.nested(bytes), |_, number, value| match (number, value) {
                        (object_reference::NODE_ID, Value::Varint(n)) => child = n as u32,
                        (object_reference::LOCAL_NAME, Value::Bytes(bytes)) => {
                            name = String::from_utf8_lossy(bytes).into_owned();
                        }
                        _ => {}
                    });
                    read.children.push((name, child));
                }
                saved_object::SLOT_VARIABLES => each_field(all.nested(bytes), |_, number, value| {
                    if let (slot_variable_reference::SLOT_VARIABLE_NODE_ID, Value::Varint(n)) = (number, value) {
                        read.slots.push(n as u32);
                    }
                }),
                saved_object::VARIABLE => read.variable = Some(variable(bytes)),
                _ => {}
            }
        });
        self.all.push(read);
    }

    /// Adds a `SavedConcreteFunction`.
    pub fn push_function(&mut self, name: &[u8], function: &[u8]) {
        let mut bound = Vec::new();
        each_field(Fields::new(function, 0), |_, number, value| {
            if number == saved_concrete_function::BOUND_INPUTS {
                // Damaged numbers are ignored.
                let _ = each_int(value, |n| bound.push(n as u32));
            }
        });
        self.functions.insert(name.to_vec(), bound);
    }

    /// Completes the data once all objects are read.
    pub fn finish(&mut self) {
        for (at, object) in self.all.iter().enumerate() {
            self.slots.extend(&object.slots);
            if let Some(variable) = &object.variable {
                self.by_name.entry(variable.name.clone()).or_insert(at as u32);
            }
        }
        let names = |list: Vec<u32>| list.iter().filter_map(|at| self.name(*at)).map(str::to_owned).collect();
        self.trainable = self.listed("variables").and_then(|_| self.listed("trainable_variables")).map(names);
        // A variable that is not trainable and belongs to an optimizer alone is a slot.
        let (anywhere, elsewhere) = (self.reached(true), self.reached(false));
        for (at, object) in self.all.iter().enumerate() {
            let trainable = object.variable.as_ref().is_none_or(|variable| variable.trainable);
            if !trainable && anywhere[at] && !elsewhere[at] {
                self.slots.insert(at as u32);
            }
        }
    }

    /// The variables in a list of the root object, by name.
    fn listed(&self, list: &str) -> Option<Vec<u32>> {
        let child = |at: u32, name: &str| {
            let object = self.all.get(at as usize)?;
            object.children.iter().find(|(own, _)| own == name).map(|(_, child)| *child)
        };
        let list = self.all.get(child(0, list)? as usize)?;
        Some(list.children.iter().map(|(_, child)| *child).filter(|child| self.variable(*child).is_some()).collect())
    }

    /// Names of variables of a Keras model that no function reads, such as statistics of an adapted normalization.
    pub fn unread(&self) -> Vec<&str> {
        let read: UntrustedSet<&str> = self.functions.values().flatten().filter_map(|at| self.name(*at)).collect();
        let own = match (self.listed("variables"), self.all.first()) {
            (Some(listed), _) if self.trainable.is_some() => listed,
            // Saved, not exported: its layers hold them.
            (_, Some(root)) if root.children.iter().any(|(name, _)| name == "_inbound_nodes") => {
                let reached = self.reached(false);
                (0..self.all.len() as u32).filter(|at| reached[*at as usize]).collect()
            }
            _ => Vec::new(),
        };
        let is_unread = |at: &u32| {
            self.name(*at).is_some_and(|name| !read.contains(name) && !is_seed(name)) && !self.slots.contains(at)
        };
        own.iter().filter(|at| is_unread(at)).filter_map(|at| self.name(*at)).collect()
    }

    fn name(&self, object: u32) -> Option<&str> {
        self.variable(object).map(|variable| variable.name.as_str())
    }

    /// Whether a variable is trainable: by the list of a Keras model if there is one, else by its own flag.
    pub fn is_trainable(&self, object: u32) -> bool {
        let listed = |variable: &Variable| self.trainable.as_ref().map(|names| names.contains(&variable.name));
        self.variable(object).is_some_and(|variable| listed(variable).unwrap_or(variable.trainable))
    }

    /// The objects that are reachable from the root, through optimizers or without them.
    fn reached(&self, optimizers: bool) -> Vec<bool> {
        let mut reached = vec![false; self.all.len()];
        // By object, whether it looks like an optimizer: many edges may lead to it.
        let mut counts = vec![None; self.all.len()];
        let mut is_counter = |at: u32| match counts.get_mut(at as usize) {
            Some(known) => *known.get_or_insert_with(|| self.counts_iterations(at)),
            None => false,
        };
        let mut waiting = vec![0];
        while let Some(at) = waiting.pop() {
            let Some(seen) = reached.get_mut(at as usize) else { continue };
            if std::mem::replace(seen, true) {
                continue;
            }
            let object = &self.all[at as usize];
            for (name, child) in &object.children {
                if optimizers || !(is_optimizer(name) || is_counter(*child)) {
                    waiting.push(*child);
                }
            }
        }
        reached
    }

    /// Whether an object looks like an optimizer, by its children.
    fn counts_iterations(&self, at: u32) -> bool {
        let children = self.all.get(at as usize).map_or(&[][..], |object| &object.children);
        let has = |names: &[&str]| children.iter().any(|(name, _)| names.contains(&name.as_str()));
        has(&["iter", "iterations", "_iterations"]) && has(&["learning_rate", "_learning_rate", "_variables", "decay"])
    }

    /// The captured objects of the function that an attribute names.
    pub fn bound_to(&self, attribute: &[u8]) -> Option<&[u32]> {
        let mut name = None;
        each_field(Fields::new(attribute, 0), |all, number, value| {
            if let (attr_value::FUNC, Value::Bytes(function)) = (number, value) {
                each_field(all.nested(function), |_, number, value| {
                    if number == name_attr_list::NAME {
                        name = value.bytes();
                    }
                });
            }
        });
        self.functions.get(name?).map(Vec::as_slice)
    }

    pub fn variable(&self, object: u32) -> Option<&Variable> {
        self.all.get(object as usize)?.variable.as_ref()
    }

    /// A variable by the name of its handle, which may have a number appended.
    pub fn named(&self, name: &str) -> Option<u32> {
        let plain = name.trim_end_matches(|c: char| c.is_ascii_digit()).trim_end_matches('_');
        self.by_name.get(name).or_else(|| self.by_name.get(plain)).copied()
    }

    pub fn is_slot(&self, object: u32) -> bool {
        self.slots.contains(&object)
    }
}

/// Whether a variable is the state of a random number generator.
pub fn is_seed(name: &str) -> bool {
    let name = name.trim_end_matches(|c: char| c.is_ascii_digit()).trim_end_matches('_');
    name.ends_with("seed_generator_state")
}

fn is_optimizer(name: &str) -> bool {
    name == "optimizer" || name == "_optimizer" || name.ends_with("_optimizer")
}

/// A `SavedVariable`.
fn variable(bytes: &[u8]) -> Variable {
    let mut variable = Variable::default();
    let mut dims = Vec::new();
    each_field(Fields::new(bytes, 0), |_, number, value| match (number, value) {
        (saved_variable::SHAPE, Value::Bytes(shape)) => {
            shape_dims(shape, &mut dims);
            variable.dims = Some(dims.clone()).filter(|dims| !dims.is_empty() && dims.iter().all(|dim| *dim >= 0));
        }
        (saved_variable::TRAINABLE, Value::Varint(n)) => variable.trainable = n != 0,
        (saved_variable::NAME, Value::Bytes(name)) => variable.name = String::from_utf8_lossy(name).into_owned(),
        _ => {}
    });
    variable
}
