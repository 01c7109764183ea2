//! Classifies events: which are ops, and the name, type and device of each op.

pub mod hlo;
mod kernels;
mod line_kind;

use super::wire::event::{BYTES_PER_WORK, Event};
use super::wire::plane::{Plane, Space};
use super::wire::stats::{OP_STATS, Stat, StatSnapshot, StoredValue};
use crate::budget;
use crate::events::activity::Activities;
use crate::events::walk::Class;
use crate::events::{Op, OpCost, OpDetails, OpKey, SourceLine, Variant};
use crate::format::file_bytes::FileBytes;
use crate::hash::UntrustedMap;
use crate::model::activity::Activity;
use crate::model::hosts::EventKind;
use hlo::Program;
use kernels::{launch, recorded_cost};
pub use line_kind::LineKind;
use std::borrow::Cow;
use std::io;
use tfprof_proto::window::ByteRange;

/// Classifies events, and collects all ops of a file.
#[derive(Debug)]
pub struct Classifier<'f> {
    bytes: &'f FileBytes,
    programs: UntrustedMap<u64, ProgramAt<'f>>,
    program_names: UntrustedMap<u64, &'f str>,
    pub broken_programs: Vec<String>,
    pub ops: Vec<Op>,
    op_of_key: UntrustedMap<OpKey, u32>,
    pub variants: Vec<Variant>,
    /// By op, the name of a kernel and its attributes.
    variant_of: UntrustedMap<(u32, String, String), u32>,
    /// By name.
    kernels: UntrustedMap<String, u32>,
    with_costs: bool,
    memo: UntrustedMap<Box<[u8]>, Class>,
    key: Vec<u8>,
    /// Some accelerator has events.
    has_accelerator: bool,
    /// Eager executions are ops.
    pub with_eager: bool,
}

/// The class of the last event with some metadata, and the stats it depended on.
#[derive(Debug)]
struct Cached {
    class: Class,
    version: u32,
    stats: StatSnapshot,
}

/// By kind of line and metadata: the class of the last event.
#[derive(Debug, Default)]
pub struct ClassCache {
    plane: Option<usize>,
    by_kind: [Vec<Option<Cached>>; LineKind::COUNT],
}

impl ClassCache {
    /// Begins a line. The lines of a plane are neighbours, so this is linear in the metadata of the plane.
    pub fn begin_line(&mut self, plane_index: usize, plane: &Plane, kind: LineKind) {
        if self.plane != Some(plane_index) {
            self.plane = Some(plane_index);
            self.by_kind = Default::default();
        }
        let of_kind = &mut self.by_kind[kind as usize];
        if of_kind.is_empty() {
            of_kind.resize_with(plane.metas.len(), || None);
        }
    }
}

#[derive(Debug)]
enum ProgramAt<'f> {
    Unread(ByteRange, &'f str),
    Read(Box<Program>),
    Broken,
}

impl<'f> Classifier<'f> {
    pub fn new(bytes: &'f FileBytes, space: &'f Space, with_costs: bool) -> Classifier<'f> {
        let (mut programs, mut program_names) = (UntrustedMap::default(), UntrustedMap::default());
        for meta in space.planes.iter().filter(|plane| plane.name == "/host:metadata").flat_map(|plane| &plane.metas) {
            let held = |stat| meta.stats.iter().find(|(known, _)| *known == stat).map(|(_, held)| held);
            let id = match held(Stat::ProgramId) {
                Some(StoredValue::Int(n)) => *n as u64,
                Some(StoredValue::Uint(n)) => *n,
                Some(_) => continue,
                None => meta.key as u64,
            };
            if let Some(StoredValue::Bytes(span)) = held(Stat::HloProto) {
                programs.insert(id, ProgramAt::Unread(*span, &meta.name));
                program_names.insert(id, meta.name.as_str());
            }
        }
        Classifier {
            bytes,
            programs,
            program_names,
            broken_programs: Vec::new(),
            ops: Vec::new(),
            op_of_key: UntrustedMap::default(),
            variants: Vec::new(),
            variant_of: UntrustedMap::default(),
            kernels: UntrustedMap::default(),
            with_costs,
            memo: UntrustedMap::default(),
            key: Vec::new(),
            has_accelerator: space.planes.iter().any(|plane| plane.is_device() && plane.has_events()),
            with_eager: false,
        }
    }

    /// Takes eager executions for ops; false if it does so already.
    pub fn add_eager(&mut self) -> bool {
        self.memo.clear();
        !std::mem::replace(&mut self.with_eager, true)
    }

    pub fn programs(&self) -> usize {
        self.programs.len()
    }

    /// The device and the activity of each variant.
    pub fn activities(&self) -> Activities {
        let mut activities = Activities::default();
        let mut number_of: UntrustedMap<&str, u32> = UntrustedMap::default();
        for Variant { op, .. } in &self.variants {
            let Op { key, about } = &self.ops[*op as usize];
            let device = *number_of.entry(&key.device).or_insert(activities.devices.len() as u32);
            if device as usize == activities.devices.len() {
                activities.devices.push(key.device.clone());
            }
            activities.of_variant.push((device, about.activity));
        }
        activities
    }

    /// The class of an event, by its name and its stats.
    #[inline]
    pub fn class(&mut self, kind: LineKind, event: &Event<'_>, cache: &mut ClassCache) -> io::Result<Class> {
        let by_meta = &mut cache.by_kind[kind as usize];
        let known = event.meta_at.map(|at| &by_meta[at]);
        if let Some(Some(cached)) = known
            && (event.version() != 0 && event.version() == cached.version || event.has_same(OP_STATS, &cached.stats))
        {
            return Ok(cached.class);
        }
        let class = self.class_uncached(kind, event)?;
        if let Some(at) = event.meta_at {
            by_meta[at] = event.snapshot(OP_STATS).map(|stats| Cached { class, version: event.version(), stats });
        }
        Ok(class)
    }

    #[inline(never)]
    fn class_uncached(&mut self, kind: LineKind, event: &Event<'_>) -> io::Result<Class> {
        if event.meta_at.is_some() && event.own_mask() & OP_STATS == 0 {
            return self.classify(kind, event);
        }
        let mut key = std::mem::take(&mut self.key);
        key.clear();
        // Ids are unique within a plane only.
        key.extend_from_slice(&(std::ptr::from_ref(event.plane) as usize).to_le_bytes());
        key.push(kind as u8);
        key.extend_from_slice(&event.id.to_le_bytes());
        event.write_key(OP_STATS, &mut key);
        if let Some(class) = self.memo.get(key.as_slice()) {
            let class = *class;
            self.key = key;
            return Ok(class);
        }
        let class = self.classify(kind, event)?;
        self.memo.insert(key.as_slice().into(), class);
        self.key = key;
        Ok(class)
    }

    fn classify(&mut self, line: LineKind, event: &Event<'_>) -> io::Result<Class> {
        budget::work(1 + event.name().len() as u64 / BYTES_PER_WORK);
        let is_host = matches!(line, LineKind::Host | LineKind::HostCpu);
        let none = |kind| Ok(Class::no_op(kind));
        if is_host && event.name().starts_with('$') {
            return none(EventKind::Python);
        }
        match line {
            LineKind::Derived => return none(EventKind::Derived),
            LineKind::TpuOps => return Ok(self.tpu_op(event)),
            _ => {}
        }
        if event.has(Stat::HloOp)
            && let Some(names) = event.text(Stat::HloOp)
        {
            return self.xla_op(&names, is_host, event);
        }
        let device = event.plane.name.clone();
        let name = event.full_name();
        if !is_host {
            // Copies have annotations too, but remain copies.
            let annotation = || event.text(Stat::Annotation).filter(|_| memory_copy(&name).is_none());
            let full = event.text(Stat::TfOp).or_else(|| annotation().map(without_details));
            let full = full.filter(|full| !full.is_empty());
            let found = framework_op(full.as_deref().unwrap_or(&name));
            let (op, kind) = match &found {
                Some((op, kind)) => (*op, kind.as_str()),
                None if name.to_lowercase().starts_with("memset") => (&*name, "Memset"),
                None => (&*name, "Kernel"),
            };
            let op = OpKey { device, name: op.to_owned(), kind: kind.to_owned(), ..OpKey::default() };
            let activity = Activity::on_device([&name, &op.kind, ""]);
            let about = OpDetails { cost: recorded_cost(event), activity, ..OpDetails::default() };
            return Ok(self.variant(EventKind::Kernel, op, about, &name, event));
        }
        if self.with_eager
            && let Some(op) = eager_op(&name)
        {
            let op = OpKey { device, name: op.to_owned(), kind: op.to_owned(), ..OpKey::default() };
            let about = OpDetails { activity: Activity::Host, ..OpDetails::default() };
            return Ok(self.variant(EventKind::Tf, op, about, "", event));
        }
        // Without a colon it is a copy. Spelled `MemcpyD2H` on the host, it is the call of the driver.
        let is_copy_op = || name.get(7..9).is_some_and(|to| to.eq_ignore_ascii_case("to"));
        if line == LineKind::HostCpu
            && (name.contains(':') || is_copy_op())
            && let Some((op, kind)) = framework_op(&name)
        {
            let is_dataset = kind == "Dataset";
            let is_input = is_dataset || kind.starts_with("IteratorGetNext");
            let activity = if is_input { Activity::HostInput } else { Activity::Host };
            let about = OpDetails { is_dataset, activity, cost: recorded_cost(event), ..OpDetails::default() };
            let op = OpKey { device, name: op.to_owned(), kind, ..OpKey::default() };
            return Ok(self.variant(if is_dataset { EventKind::Dataset } else { EventKind::Tf }, op, about, "", event));
        }
        none(EventKind::Runtime)
    }

    fn tpu_op(&mut self, event: &Event<'_>) -> Class {
        let shown = event.shown();
        let full = event.text(Stat::TfOp).unwrap_or_default();
        let category = event.text(Stat::HloCategory).unwrap_or_default();
        let (name, kind) = match framework_op(&full).filter(|_| !full.is_empty()) {
            Some((path, kind)) => (format!("{path}/{shown}"), kind),
            None => {
                let module = event.text(Stat::HloModule).unwrap_or_default();
                let name = if module.is_empty() { shown.clone().into_owned() } else { format!("{module}/{shown}") };
                let kind = if category.is_empty() { last_part_type(&shown) } else { &category };
                (name, kind.to_owned())
            }
        };
        let stack = event.text(Stat::Source).filter(|source| !source.is_empty()).map(|source| {
            let line = source.rsplit_once(':').and_then(|(file, line)| Some((file, line.parse().ok()?)));
            let (file, line) = line.unwrap_or((&source, 0));
            vec![SourceLine { file: file.to_owned(), function: "?".to_owned(), line }]
        });
        let about = OpDetails {
            second_type: category.clone().into_owned(),
            stack: stack.unwrap_or_default(),
            cost: recorded_cost(event),
            activity: Activity::on_device([&shown, &kind, &category]),
            category: category.into_owned(),
            ..OpDetails::default()
        };
        let program = self.program_name(event, &event.text(Stat::HloModule).unwrap_or_default());
        let op = OpKey { device: event.plane.name.clone(), name, kind, program };
        self.variant(EventKind::Hlo, op, about, "", event)
    }

    fn xla_op(&mut self, names: &str, is_host: bool, event: &Event<'_>) -> io::Result<Class> {
        let instruction = names.rsplit("::").next().unwrap_or_default();
        let is_launcher = self.has_accelerator || event.plane.mask & Stat::CorrelationId.bit() != 0;
        if is_host && is_launcher && event.name() != instruction {
            let (device, call) = (event.plane.name.clone(), event.full_name().into_owned());
            // The device does the work.
            let cost = OpCost { flops: Some(0), bytes: Some(0), precision: None };
            let about =
                OpDetails { second_type: "Launch".to_owned(), activity: Activity::Host, cost, ..OpDetails::default() };
            let op = OpKey { device, name: call.clone(), kind: call, ..OpKey::default() };
            return Ok(self.variant(EventKind::Launch, op, about, "", event));
        }
        let module = event.text(Stat::HloModule).unwrap_or_default();
        let program = match event.int(Stat::ProgramId) {
            Some(id) => self.program(id as u64)?,
            None => None,
        };
        let found = program.and_then(|program| Some((program, program.instructions.get(instruction)?)));
        let (opcode, op_name) = found.map_or(("", ""), |(_, found)| (found.opcode.as_str(), found.op_name.as_str()));
        let stack = found.map(|(program, found)| program.stack(found)).unwrap_or_default();
        let (path, combined) = scope_path(op_name);
        let kind = match (path.is_empty() || combined, opcode.is_empty()) {
            (false, _) => last_part_type(&path),
            (true, false) => opcode,
            (true, true) => last_part_type(instruction),
        };
        let scope = [path.as_str(), &module].into_iter().find(|scope| !scope.is_empty()).unwrap_or("xla");
        let device = match event.number(Stat::DeviceOrdinal) {
            Some(ordinal) if is_host => format!("/device:CPU:{ordinal}"),
            _ => event.plane.name.clone(),
        };
        let (kind, name) = (kind.to_owned(), format!("{scope}/{instruction}"));
        let (computed, category) = found.map(|(_, found)| (found.cost, found.category.clone())).unwrap_or_default();
        let recorded = recorded_cost(event);
        let about = OpDetails {
            second_type: opcode.to_owned(),
            stack,
            cost: OpCost {
                flops: recorded.flops.or(computed.flops),
                bytes: recorded.bytes.or(computed.bytes),
                precision: None,
            },
            category,
            activity: Activity::on_device([last_part_type(instruction), &event.full_name(), opcode]),
            ..OpDetails::default()
        };
        let program = self.program_name(event, &module);
        let op = OpKey { device, name, kind, program };
        let kernel = if is_host { "" } else { &*event.full_name() };
        Ok(self.variant(EventKind::Hlo, op, about, kernel, event))
    }

    /// The name of an event's program: as the file lists it, else its module and its id.
    fn program_name(&self, event: &Event<'_>, module: &str) -> String {
        let Some(id) = event.int(Stat::ProgramId).map(|id| id as u64) else { return module.to_owned() };
        match self.program_names.get(&id) {
            Some(name) if !name.is_empty() => (*name).to_owned(),
            _ => format!("{module}({id})"),
        }
    }

    /// The program of an id, decoded on first use.
    fn program(&mut self, id: u64) -> io::Result<Option<&Program>> {
        let Some(at) = self.programs.get_mut(&id) else { return Ok(None) };
        if let ProgramAt::Unread(span, name) = at {
            *at = match hlo::read(&self.bytes.content(*span)?, self.with_costs) {
                Ok(program) => ProgramAt::Read(Box::new(program)),
                Err(error) => {
                    self.broken_programs.push(format!("{name}: {error}"));
                    ProgramAt::Broken
                }
            };
        }
        Ok(match at {
            ProgramAt::Read(program) => Some(program),
            _ => None,
        })
    }

    fn variant(&mut self, kind: EventKind, key: OpKey, about: OpDetails, kernel: &str, event: &Event<'_>) -> Class {
        budget::check();
        let op = if let Some(op) = self.op_of_key.get(&key) {
            *op
        } else {
            let op = self.ops.len() as u32;
            self.op_of_key.insert(key.clone(), op);
            self.ops.push(Op { key, about });
            op
        };
        let next = self.variants.len() as u32;
        let attributes = event.text(Stat::KernelDetails).unwrap_or_default();
        let variant = *self.variant_of.entry((op, kernel.to_owned(), attributes.clone().into_owned())).or_insert(next);
        if variant == next {
            let number = self.kernels.len() as u32;
            let number = *self.kernels.entry(kernel.to_owned()).or_insert(number);
            let launch = launch(&attributes, event.text(Stat::Occupancy).as_deref());
            self.variants.push(Variant { op, kernel: number, name: kernel.to_owned(), launch });
        }
        Class { kind, variant }
    }
}

/// The name and the type of an op from an event's name or its `tf_op` stat; `None` if it is not an op.
fn framework_op(full: &str) -> Option<(&str, String)> {
    let Some((head, tail)) = full.split_once(':') else {
        return memory_copy(full).map(|kind| (full, kind));
    };
    if head == "Iterator" {
        return Some((full, "Dataset".to_owned()));
    }
    if is_tensorflow_name(head) && is_tensorflow_type(tail) {
        return Some((head, tail.to_owned()));
    }
    let kind = if tail.is_empty() { last_part_type(head) } else { tail };
    if is_jax_type(kind) {
        return Some((head, kind.split('[').next().unwrap_or_default().to_owned()));
    }
    tail.is_empty().then(|| (head, kind.to_owned()))
}

const EAGER: &str = "EagerLocalExecute: ";

/// Whether the name of an event is that of an eager execution.
pub fn is_eager(name: &str) -> bool {
    eager_op(name).is_some()
}

/// The op that runs eagerly; functions (`__inference_…`) consist of ops of their own.
fn eager_op(name: &str) -> Option<&str> {
    let op = name.strip_prefix(EAGER)?;
    (is_tensorflow_type(op) && !op.starts_with("__")).then_some(op)
}

/// The annotation of a kernel in old files: `path/name:Type#shape=(int32[3])#`.
fn without_details(annotation: Cow<'_, str>) -> Cow<'_, str> {
    match annotation.find('#') {
        Some(end) => annotation[..end].to_owned().into(),
        None => annotation,
    }
}

/// `model/layer/MatMul_1` is a `MatMul`, `a/b/dot.12` a `dot`, `a/transpose[x]` a `transpose`.
fn last_part_type(name: &str) -> &str {
    let part = name.rsplit('/').next().unwrap_or_default();
    let part = part.split('[').next().unwrap_or_default();
    let bare = part.trim_end_matches(|c: char| c.is_ascii_digit());
    if bare.len() == part.len() {
        return part;
    }
    let cut = bare.strip_suffix('-').unwrap_or(bare);
    match cut.strip_suffix(['.', '_']).or_else(|| bare.strip_suffix(['.', '_'])) {
        Some("") | None => part,
        Some(cut) => cut,
    }
}

/// The path of scopes in the name of an XLA op, and whether a part was dropped: an instruction that combines several has
/// a part in parentheses with a colon.
fn scope_path(op_name: &str) -> (String, bool) {
    let mut parts = Vec::new();
    let (mut depth, mut from) = (0_i64, 0);
    for (i, byte) in op_name.bytes().enumerate() {
        match byte {
            b'(' => depth += 1,
            b')' => depth -= 1,
            b'/' if depth == 0 => {
                parts.push(&op_name[from..i]);
                from = i + 1;
            }
            _ => {}
        }
    }
    parts.push(&op_name[from..]);
    let all = parts.len();
    parts.retain(|part| !(part.starts_with('(') && part.contains(':')));
    (parts.join("/"), parts.len() < all)
}

/// `MemcpyH2D`, `memcpyHToD` and `CopyHostToDevice` are `MemcpyHToD`.
fn memory_copy(name: &str) -> Option<String> {
    let letter = |place: &str| match place {
        "Host" => Some('H'),
        "Device" => Some('D'),
        _ => None,
    };
    if let Some((from, to)) = name.strip_prefix("Copy").and_then(|ends| ends.split_once("To")) {
        return Some(format!("Memcpy{}To{}", letter(from)?, letter(to)?));
    }
    let bytes = name.as_bytes();
    let place = |at: usize| {
        let place = bytes.get(at)?.to_ascii_uppercase();
        matches!(place, b'H' | b'D' | b'P').then_some(place as char)
    };
    if !bytes.get(..6)?.eq_ignore_ascii_case(b"memcpy") {
        return None;
    }
    let from = place(6)?;
    let rest = &bytes[7..];
    let to = match rest {
        [b'2', ..] => 8,
        [a, b, ..] if [*a, *b].eq_ignore_ascii_case(b"to") => 9,
        _ => return None,
    };
    Some(format!("Memcpy{from}To{}", place(to)?))
}

fn is_tensorflow_name(name: &str) -> bool {
    let mut bytes = name.bytes();
    let first = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'.';
    let later = |byte: u8| byte.is_ascii_alphanumeric() || b"_./>-".contains(&byte);
    bytes.next().is_some_and(first) && bytes.all(later)
}

fn is_tensorflow_type(kind: &str) -> bool {
    let mut bytes = kind.bytes();
    let first = |byte: u8| byte.is_ascii_uppercase() || byte == b'_';
    bytes.next().is_some_and(first) && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// A lower-case word, optionally followed by brackets.
fn is_jax_type(kind: &str) -> bool {
    let word = match kind.split_once('[') {
        Some((word, rest)) if rest.ends_with(']') => word,
        Some(_) => return false,
        None => kind,
    };
    let mut bytes = word.bytes();
    let first = |byte: u8| byte.is_ascii_lowercase() || byte == b'_';
    bytes.next().is_some_and(first)
        && bytes.all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ops_are_told_from_what_looks_like_them() {
        let check = |full: &str, expect: Option<(&str, &str)>| {
            let found = framework_op(full);
            assert_eq!(found.as_ref().map(|(name, kind)| (*name, kind.as_str())), expect, "{full}");
        };
        check("encoder/Relu:Relu", Some(("encoder/Relu", "Relu")));
        check("a/b>c:_Send", Some(("a/b>c", "_Send")));
        check("Iterator::Root::Map", Some(("Iterator::Root::Map", "Dataset")));
        check("jit(f)/layer/dot_general:", Some(("jit(f)/layer/dot_general", "dot_general")));
        check("jit(f)/transpose[x=1]:", Some(("jit(f)/transpose[x=1]", "transpose")));
        check("jit(f)/add:add[a:b]", Some(("jit(f)/add", "add")));
        check("foo:bar", Some(("foo", "bar")));
        check("jit(f)/Odd Name:", Some(("jit(f)/Odd Name", "Odd Name")));
        check("MemcpyH2D", Some(("MemcpyH2D", "MemcpyHToD")));
        check("CopyDeviceToDevice", Some(("CopyDeviceToDevice", "MemcpyDToD")));
        check("memcpydtoh_async", Some(("memcpydtoh_async", "MemcpyDToH")));
        for none in [
            "EagerLocalExecute: X",
            "end: fusion.1",
            "A::B",
            "",
            "Memcpy",
            "MemcpyX2D",
            "MemcpyH",
            "CopyTo",
            "CopyHostToX",
        ] {
            check(none, None);
        }
    }

    #[test]
    fn types_are_last_parts_without_numbers() {
        let check = |name: &str, kind: &str| assert_eq!(last_part_type(name), kind, "{name}");
        check("model/layer/MatMul_1", "MatMul");
        check("a/b/dot.12", "dot");
        check("a/transpose[x/y]", "y]");
        check("fusion.-3", "fusion");
        check("x_1_2", "x_1");
        check("_12", "_12");
        check("conv2d", "conv2d");
        check("a/", "");
    }

    #[test]
    fn combined_parts_are_left_out() {
        assert_eq!(scope_path("jit(f)/(a/dot:b/sum)"), ("jit(f)".to_owned(), true));
        assert_eq!(scope_path("jit(f)/jvp(a/b)/c"), ("jit(f)/jvp(a/b)/c".to_owned(), false));
        assert_eq!(scope_path(""), (String::new(), false));
    }
}
