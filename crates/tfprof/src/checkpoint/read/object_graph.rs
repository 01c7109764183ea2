//! Variable names of TensorFlow 2: translates keys such as `layer_with_weights-0/kernel/.ATTRIBUTES/VARIABLE_VALUE` to
//! `dense/kernel`, and puts the slots of an optimizer below their variable.

use crate::hash::UntrustedMap;
use std::collections::BTreeMap;
use tfprof_proto::fields::trackable_object_graph as graph;
use tfprof_proto::fields::trackable_object_graph::trackable_object::{
    self, serialized_tensor, slot_variable_reference as slot_reference,
};
use tfprof_proto::wire::{Fields, Value, WireError};

/// The names of variables, by key.
#[derive(Debug, Default)]
pub struct ObjectNames {
    names: BTreeMap<String, Names>,
}

#[derive(Debug, Default)]
struct Names {
    /// The name in the program that saved the variable.
    full: String,
    /// The name to show.
    readable: String,
}

/// A node of the object graph; only what names need.
#[derive(Debug, Default)]
struct Object {
    attributes: Vec<Attribute>,
    slots: Vec<Slot>,
}

#[derive(Debug, Default)]
struct Attribute {
    full: String,
    key: String,
}

/// A slot variable: state of an optimizer for a variable. Both are nodes of the graph.
#[derive(Debug, Default)]
struct Slot {
    variable: usize,
    name: String,
    value: usize,
}

impl ObjectNames {
    /// Reads a `TrackableObjectGraph`. Objects after damage keep their keys as names.
    pub fn read(bytes: &[u8]) -> ObjectNames {
        let mut objects = Vec::new();
        // Reading the tensor itself reports damage.
        let _ = read_objects(Fields::new(bytes, 0), &mut objects);
        let mut names = ObjectNames::default();
        for attribute in objects.iter().flat_map(|object| &object.attributes) {
            let readable = if attribute.full.contains('/') { attribute.full.clone() } else { path(&attribute.key) };
            names.names.insert(attribute.key.clone(), Names { full: attribute.full.clone(), readable });
        }
        names.put_slots_under_variables(&objects);
        names.put_flat_slots_under_variables();
        names.keep_unique();
        names
    }

    /// Optimizers before Keras 3 refer to the variable of a slot.
    fn put_slots_under_variables(&mut self, objects: &[Object]) {
        for slot in objects.iter().flat_map(|object| &object.slots) {
            let key = |object: usize| objects.get(object)?.attributes.first().map(|attribute| &attribute.key);
            let (Some(variable), Some(value)) = (key(slot.variable), key(slot.value)) else { continue };
            let Some(parent) = self.names.get(variable).map(|names| names.readable.clone()) else { continue };
            if let Some(names) = self.names.get_mut(value) {
                names.readable = format!("{parent}/{}", slot.name);
            }
        }
    }

    /// Optimizers of Keras 3 only name it: `adam/sequential_dense_kernel_momentum`.
    fn put_flat_slots_under_variables(&mut self) {
        let (slots, variables): (Vec<_>, Vec<_>) = self
            .names
            .iter()
            .partition(|(key, _)| key.contains("/_variables/") && !key.contains("/_trainable_variables/"));
        let variables: UntrustedMap<String, &str> =
            variables.into_iter().map(|(_, names)| (names.full.replace('/', "_"), names.full.as_str())).collect();
        let mut moved = Vec::new();
        for (key, names) in slots {
            let flat = names.full.rsplit('/').next().unwrap_or_default();
            let underscores = flat.match_indices('_').map(|(at, _)| at);
            let found = underscores.rev().find_map(|at| Some((*variables.get(&flat[..at])?, &flat[at + 1..])));
            if let Some((variable, slot)) = found.filter(|(variable, slot)| variable.contains('/') && !slot.is_empty())
            {
                moved.push((key.clone(), format!("{variable}/{slot}")));
            }
        }
        for (key, readable) in moved {
            self.names.entry(key).and_modify(|names| names.readable = readable);
        }
    }

    /// Falls back to the path of the key if two tensors share a name.
    fn keep_unique(&mut self) {
        let mut seen: UntrustedMap<String, u32> = UntrustedMap::default();
        for names in self.names.values() {
            *seen.entry(names.readable.clone()).or_default() += 1;
        }
        for (key, names) in &mut self.names {
            if seen.get(&names.readable).is_some_and(|count| *count > 1) {
                names.readable = path(key);
            }
        }
    }

    /// The name to show for a key, if it differs.
    pub fn readable(&self, key: &str) -> Option<&str> {
        self.names.get(key).map(|names| names.readable.as_str()).filter(|name| !name.is_empty() && *name != key)
    }

    /// The name of the variable in the graph that saved it.
    pub fn full_name(&self, key: &str) -> Option<&str> {
        self.names.get(key).map(|names| names.full.as_str()).filter(|name| !name.is_empty())
    }
}

/// The path of an object in the graph: a key without the suffixes that TensorFlow adds.
fn path(key: &str) -> String {
    let path = key.split("/.ATTRIBUTES/").next().unwrap_or(key).replace("/.OPTIMIZER_SLOT/", "/");
    // TensorFlow escapes a slash in local names as `.S` and a dot as `..`.
    let mut plain = String::with_capacity(path.len());
    let mut rest = path.as_str();
    while let Some(dot) = rest.find('.') {
        plain.push_str(&rest[..dot]);
        let (text, length) = match rest.as_bytes().get(dot + 1) {
            Some(b'.') => (".", 2),
            Some(b'S') => ("/", 2),
            _ => (".", 1),
        };
        plain.push_str(text);
        rest = &rest[dot + length..];
    }
    plain + rest
}

fn read_objects(mut fields: Fields<'_>, objects: &mut Vec<Object>) -> Result<(), WireError> {
    while let Some(field) = fields.next_field()? {
        if let (graph::NODES, Value::Bytes(object)) = (field.number, field.value) {
            objects.push(read_object(fields.nested(object))?);
        }
    }
    Ok(())
}

/// Reads a `TrackableObject`.
fn read_object(mut fields: Fields<'_>) -> Result<Object, WireError> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let mut object = Object::default();
    while let Some(field) = fields.next_field()? {
        let Value::Bytes(bytes) = field.value else { continue };
        let mut inner = fields.nested(bytes);
        match field.number {
            trackable_object::ATTRIBUTES => {
                let mut attribute = Attribute::default();
                while let Some(field) = inner.next_field()? {
                    match (field.number, field.value) {
                        (serialized_tensor::FULL_NAME, Value::Bytes(name)) => attribute.full = text(name),
                        (serialized_tensor::CHECKPOINT_KEY, Value::Bytes(key)) => attribute.key = text(key),
                        _ => {}
                    }
                }
                object.attributes.push(attribute);
            }
            trackable_object::SLOT_VARIABLES => {
                let mut slot = Slot::default();
                while let Some(field) = inner.next_field()? {
                    match (field.number, field.value) {
                        (slot_reference::ORIGINAL_VARIABLE_NODE_ID, Value::Varint(n)) => slot.variable = n as usize,
                        (slot_reference::SLOT_NAME, Value::Bytes(name)) => slot.name = text(name),
                        (slot_reference::SLOT_VARIABLE_NODE_ID, Value::Varint(n)) => slot.value = n as usize,
                        _ => {}
                    }
                }
                object.slots.push(slot);
            }
            _ => {}
        }
    }
    Ok(object)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tfprof_proto::write;

    fn names_of(variables: &[(&str, &str)], slots: &[(usize, &str, usize)]) -> ObjectNames {
        let mut out = Vec::new();
        for (full, key) in variables {
            write::message(&mut out, 1, |object| {
                write::message(object, 2, |attribute| {
                    write::bytes(attribute, 2, full.as_bytes());
                    write::bytes(attribute, 3, key.as_bytes());
                });
            });
        }
        write::message(&mut out, 1, |object| {
            for (variable, name, value) in slots {
                write::message(object, 3, |slot| {
                    write::int(slot, 1, *variable as i64);
                    write::bytes(slot, 2, name.as_bytes());
                    write::int(slot, 3, *value as i64);
                });
            }
        });
        ObjectNames::read(&out)
    }

    const VALUE: &str = "/.ATTRIBUTES/VARIABLE_VALUE";

    #[test]
    fn variables_keep_their_names_and_others_their_paths() {
        let [a, b, c] = ["model/layer-1/kernel", "step", "list/0"].map(|path| format!("{path}{VALUE}"));
        let names = names_of(&[("dense/kernel", &a), ("Variable", &b), ("Variable", &c)], &[]);
        assert_eq!(names.readable(&a), Some("dense/kernel"));
        assert_eq!(names.readable(&b), Some("step"));
        assert_eq!(names.readable(&c), Some("list/0"));
        assert_eq!(names.full_name(&c), Some("Variable"));
        assert_eq!(names.readable("else"), None);
    }

    #[test]
    fn slots_come_under_their_variable() {
        let kernel = format!("model/kernel{VALUE}");
        let m = format!("model/kernel/.OPTIMIZER_SLOT/optimizer/m{VALUE}");
        let names = names_of(&[("dense/kernel", &kernel), ("Adam/dense/kernel/m", &m)], &[(0, "m", 1), (7, "v", 0)]);
        assert_eq!(names.readable(&m), Some("dense/kernel/m"));
        let kernel = format!("optimizer/_trainable_variables/0{VALUE}");
        let m = format!("optimizer/_variables/2{VALUE}");
        let names = names_of(&[("net/dense/kernel", &kernel), ("adam/net_dense_kernel_momentum", &m)], &[]);
        assert_eq!(names.readable(&m), Some("net/dense/kernel/momentum"));
    }

    #[test]
    fn shared_names_fall_back_to_paths() {
        let [a, b] = ["a/w", "b/w"].map(|path| format!("{path}{VALUE}"));
        let names = names_of(&[("net/w", &a), ("net/w", &b)], &[]);
        assert_eq!((names.readable(&a), names.readable(&b)), (Some("a/w"), Some("b/w")));
    }

    #[test]
    fn dots_and_slashes_of_local_names() {
        assert_eq!(path(&format!("a.Sb/c..d{VALUE}")), "a/b/c.d");
    }
}
