//! Entries of an op log: a caller's own, merged with ours.

use crate::hash::UntrustedMap;
use tfprof_proto::fields::{op_log, op_log_entry};
use tfprof_proto::wire::{Fields, Value, each_field};
use tfprof_proto::write as pb;

/// An `OpLogEntry`.
#[derive(Debug, Default)]
pub struct Entry {
    pub name: Vec<u8>,
    pub float_ops: i64,
    pub types: Vec<Vec<u8>>,
    /// The bytes of a `CodeDef`; empty if there is no trace.
    pub code: Vec<u8>,
}

impl Entry {
    fn write(&self, out: &mut Vec<u8>) {
        pb::message(out, op_log::LOG_ENTRIES, |out| {
            pb::bytes(out, op_log_entry::NAME, &self.name);
            pb::int(out, op_log_entry::FLOAT_OPS, self.float_ops);
            self.types.iter().for_each(|ty| pb::element(out, op_log_entry::TYPES, ty));
            pb::bytes(out, op_log_entry::CODE_DEF, &self.code);
        });
    }
}

/// Entries in order, one for each name.
#[derive(Default)]
pub struct Entries {
    pub list: Vec<Entry>,
    by_name: UntrustedMap<Vec<u8>, usize>,
}

impl Entries {
    /// Reads a caller's log. As the original: of two entries of one name the later wins, at the position of the first.
    pub fn read(&mut self, log: &[u8]) {
        each_field(Fields::new(log, 0), |all, number, value| {
            let (op_log::LOG_ENTRIES, Value::Bytes(bytes)) = (number, value) else { return };
            let mut entry = Entry::default();
            each_field(all.nested(bytes), |_, number, value| match (number, value) {
                (op_log_entry::NAME, Value::Bytes(name)) => entry.name = name.to_vec(),
                (op_log_entry::FLOAT_OPS, Value::Varint(n)) => entry.float_ops = n as i64,
                (op_log_entry::TYPES, Value::Bytes(ty)) => entry.types.push(ty.to_vec()),
                (op_log_entry::CODE_DEF, Value::Bytes(code)) => entry.code.extend_from_slice(code),
                _ => {}
            });
            match self.by_name.get(&entry.name) {
                Some(at) => self.list[*at] = entry,
                None => {
                    self.by_name.insert(entry.name.clone(), self.list.len());
                    self.list.push(entry);
                }
            }
        });
    }

    /// Adds an entry, or completes the caller's entry of that name.
    pub fn merge(&mut self, made: Entry, has_caller: bool) {
        let known = if has_caller { self.by_name.get(&made.name) } else { None };
        let Some(at) = known else { return self.list.push(made) };
        let entry = &mut self.list[*at];
        entry.types.extend(made.types);
        if entry.float_ops == 0 && made.float_ops > 0 {
            entry.float_ops = made.float_ops;
        }
        if entry.code.is_empty() {
            entry.code = made.code;
        }
    }

    pub fn write(&self, out: &mut Vec<u8>) {
        self.list.iter().for_each(|entry| entry.write(out));
    }
}
