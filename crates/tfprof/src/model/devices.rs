//! Devices of runs, and how records on each kind of device count.

use super::names::{NameId, Names, escape_invalid};
use crate::hash::{TrustedMap, UntrustedMap};

/// How many spellings are found without a hash table.
const RECENT: usize = 16;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DeviceId(pub(crate) u32);

/// How a record on a device counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeviceKind {
    /// `…/cpu:N` or `…/gpu:N`: where an op is placed and scheduled. Its time is cpu time.
    Placement,
    /// `…stream:all`: everything that an accelerator executed.
    AllStreams,
    /// One stream or a copy engine: a part of the work of all streams.
    OneStream,
    /// TPU, XLA and the like: execution on a device of its own.
    Other,
    /// No name, on a node without a placement so far.
    Nameless,
    /// No name, on a node that an earlier record placed.
    NamelessLate,
}

/// Device names in lower case, in the order of their first use.
#[derive(Clone, Debug, Default)]
pub struct Devices {
    names: Vec<NameId>,
    /// Their first spelling.
    spelled: Vec<String>,
    kinds: Vec<DeviceKind>,
    /// The index of the host of a trace that has it.
    hosts: TrustedMap<DeviceId, u32>,
    ids: TrustedMap<NameId, DeviceId>,
    spellings: UntrustedMap<Vec<u8>, DeviceId>,
    /// Spellings that were looked up last, and their devices, by their lengths and letters: files name few devices, again and
    /// again.
    recent: [Option<(Vec<u8>, DeviceId)>; RECENT],
}

impl DeviceId {
    pub const NONE: DeviceId = DeviceId(u32::MAX);

    pub fn is_some(self) -> bool {
        self != DeviceId::NONE
    }

    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl Devices {
    pub fn name(&self, id: DeviceId) -> NameId {
        self.names[id.0 as usize]
    }

    /// The first spelling of the name.
    pub fn spelled(&self, id: DeviceId) -> &str {
        &self.spelled[id.0 as usize]
    }

    /// Sets how records on a device count, if its name does not say so.
    pub fn set_kind(&mut self, id: DeviceId, kind: DeviceKind) {
        self.kinds[id.0 as usize] = kind;
    }

    /// Says which host of a trace has the device.
    pub fn set_host(&mut self, id: DeviceId, host: u32) {
        self.hosts.insert(id, host);
    }

    /// The index of the host of a trace that has the device.
    pub fn host(&self, id: DeviceId) -> Option<u32> {
        self.hosts.get(&id).copied()
    }

    pub fn kind(&self, id: DeviceId) -> DeviceKind {
        self.kinds[id.0 as usize]
    }

    pub fn all(&self) -> impl Iterator<Item = DeviceId> + use<> {
        (0..self.names.len() as u32).map(DeviceId)
    }

    /// The device of that name, ignoring case.
    pub fn intern(&mut self, name: &[u8], names: &mut Names) -> DeviceId {
        let letter = |back: usize| name.len().checked_sub(back).map_or(0, |at| usize::from(name[at]));
        let slot = (name.len() + letter(1) + 5 * letter(12)) % RECENT;
        if let Some((recent, id)) = &self.recent[slot]
            && recent == name
        {
            return *id;
        }
        let id = self.intern_spelling(name, names);
        self.recent[slot] = Some((name.to_owned(), id));
        id
    }

    fn intern_spelling(&mut self, name: &[u8], names: &mut Names) -> DeviceId {
        if let Some(id) = self.spellings.get(name) {
            return *id;
        }
        let lower = name.to_ascii_lowercase();
        let (lower, _) = names.intern_bytes(&lower);
        let id = if let Some(id) = self.ids.get(&lower) {
            *id
        } else {
            let id = self.push(lower, kind_of(names.get(lower)), name);
            self.ids.insert(lower, id);
            if lower == NameId::EMPTY {
                self.push(lower, DeviceKind::NamelessLate, name);
            }
            id
        };
        self.spellings.insert(name.to_vec(), id);
        id
    }

    /// The counterpart of a nameless device for records after a placement.
    ///
    /// As the original: an empty name equals a missing placement, so only records before the placement count.
    pub fn late(&self, id: DeviceId) -> DeviceId {
        debug_assert_eq!(self.kind(id), DeviceKind::Nameless);
        DeviceId(id.0 + 1)
    }

    fn push(&mut self, name: NameId, kind: DeviceKind, spelled: &[u8]) -> DeviceId {
        self.names.push(name);
        self.spelled.push(escape_invalid(spelled));
        self.kinds.push(kind);
        DeviceId(self.names.len() as u32 - 1)
    }
}

fn kind_of(name: &str) -> DeviceKind {
    if name.is_empty() {
        DeviceKind::Nameless
    } else if name.contains("stream:all") {
        DeviceKind::AllStreams
    } else if is_placement(name) {
        DeviceKind::Placement
    } else if name.contains("stream:") || name.contains("memcpy") {
        DeviceKind::OneStream
    } else {
        DeviceKind::Other
    }
}

/// `.*/(device:gpu|gpu|device:cpu|cpu):\d+`, matching the whole name, where `.` does not match a newline.
fn is_placement(name: &str) -> bool {
    let without_number = name.trim_end_matches(|c: char| c.is_ascii_digit());
    if without_number.len() == name.len() || name.contains('\n') {
        return false;
    }
    let ends = ["/gpu:", "/cpu:", "/device:gpu:", "/device:cpu:"];
    ends.iter().any(|end| without_number.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_of_names() {
        let check = |name: &str, kind| assert_eq!(kind_of(name), kind, "{name}");
        check("/gpu:0", DeviceKind::Placement);
        check("/job:x/device:gpu:1", DeviceKind::Placement);
        check("/device:cpu:12", DeviceKind::Placement);
        check("gpu:0", DeviceKind::Other);
        check("/cpu:0/x", DeviceKind::Other);
        check("/cpu:", DeviceKind::Other);
        check("/device:tpu:0", DeviceKind::Other);
        check("/device:xla_gpu:0", DeviceKind::Other);
        check("/device:gpu:0/stream:all", DeviceKind::AllStreams);
        check("/device:gpu:0/stream:13", DeviceKind::OneStream);
        check("/gpu:0/memcpy", DeviceKind::OneStream);
        check("", DeviceKind::Nameless);
    }
}
