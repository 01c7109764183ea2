//! Which events are ops, and what they are called.

use super::bytes::Bytes;
use super::event::Event;
use super::names::{framework_op, last_part_type, scope_path};
use super::own::Few;
use super::plane::{Line, Plane, Space};
use super::stats::{Held, OF_OPS, Stat};
use crate::format::xspace::hlo::{self, Place, Program};
use rustc_hash::FxHashMap;
use std::io;

/// What an event is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Dataset,
    /// A line that a viewer made of others.
    Derived,
    Hlo,
    Kernel,
    Python,
    Runtime,
    Tf,
}

impl Kind {
    pub const ALL: [Kind; 7] =
        [Kind::Dataset, Kind::Derived, Kind::Hlo, Kind::Kernel, Kind::Python, Kind::Runtime, Kind::Tf];

    pub fn word(self) -> &'static str {
        match self {
            Kind::Dataset => "dataset",
            Kind::Derived => "derived",
            Kind::Hlo => "hlo",
            Kind::Kernel => "kernel",
            Kind::Python => "python",
            Kind::Runtime => "runtime",
            Kind::Tf => "tf",
        }
    }

    #[inline]
    pub fn is_op(self) -> bool {
        matches!(self, Kind::Dataset | Kind::Hlo | Kind::Kernel | Kind::Tf)
    }
}

/// An op on a device: what becomes a cell of the model.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Op {
    pub device: String,
    /// As in the file.
    pub name: String,
    pub kind: String,
}

/// What is known of an op besides; of several programs, from the first.
#[derive(Clone, Debug, Default)]
pub struct About {
    /// The opcode or the category of an XLA instruction.
    pub second: String,
    pub stack: Vec<Place>,
    pub flops: i64,
    pub is_dataset: bool,
    /// It runs on an accelerator that launches several kernels for an op.
    pub has_kernels: bool,
}

/// All ops of a file, found by the stats that name them.
#[derive(Debug)]
pub struct Ops<'f> {
    bytes: &'f Bytes,
    programs: FxHashMap<u64, ProgramAt<'f>>,
    pub broken_programs: Vec<String>,
    pub found: Vec<(Op, About)>,
    place_of: FxHashMap<Op, u32>,
    /// By variant, which is an op and one of its kernels: the op.
    pub variants: Vec<u32>,
    variant_of: FxHashMap<(u32, String), u32>,
    memo: FxHashMap<Box<[u8]>, Class>,
    key: Vec<u8>,
}

/// What an event was found to be: its kind, and the place of its variant if it is an op.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Class {
    pub kind: Kind,
    pub variant: u32,
}

/// The last event of a metadata, and what it was found to be.
#[derive(Debug)]
struct Cached {
    class: Class,
    version: u32,
    stats: Few,
}

/// What the last event of each metadata of a plane was found to be, by the kind of its line.
#[derive(Debug, Default)]
pub struct Cache {
    plane: Option<usize>,
    by_kind: [Vec<Option<Cached>>; LineKind::COUNT],
}

impl Cache {
    /// Lines of one plane come one after the other, so that this costs as much as the plane has metadata.
    pub fn turn_to(&mut self, plane_place: usize, plane: &Plane, kind: LineKind) {
        if self.plane != Some(plane_place) {
            self.plane = Some(plane_place);
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
    Unread(super::bytes::Span, &'f str),
    Read(Box<Program>),
    Broken,
}

/// What a line is, as far as it says what its events are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineKind {
    Host,
    /// Of the plane that has TensorFlow's ops.
    HostCpu,
    TpuOps,
    Device,
    Derived,
}

const DERIVED_IDS: std::ops::RangeInclusive<i64> = 0xdead_beef..=0xdead_beef + 289;
const DERIVED_NAMES: [&str; 12] = [
    "Steps",
    "Launch Stats",
    "Framework Name Scope",
    "Framework Ops",
    "XLA Modules",
    "XLA Ops",
    "Source code",
    "Async XLA Ops",
    "Sparse Core Steps",
    "Sparse Core Modules",
    "Sparse Core Ops",
    "_counters_",
];

impl LineKind {
    const COUNT: usize = 5;

    pub fn of(plane: &Plane, line: &Line) -> LineKind {
        let name = line.name.as_str();
        if plane.is_tpu() {
            let ops = matches!(name, "XLA Ops" | "Sparse Core Ops");
            if ops { LineKind::TpuOps } else { LineKind::Derived }
        } else if plane.is_device() {
            let derived = DERIVED_IDS.contains(&line.id) || DERIVED_NAMES.contains(&name);
            if derived { LineKind::Derived } else { LineKind::Device }
        } else if plane.name == "/host:CPU" {
            LineKind::HostCpu
        } else {
            LineKind::Host
        }
    }
}

const NO_OP: u32 = u32::MAX;

impl<'f> Ops<'f> {
    pub fn new(bytes: &'f Bytes, space: &'f Space) -> Ops<'f> {
        let mut programs = FxHashMap::default();
        for meta in space.planes.iter().filter(|plane| plane.name == "/host:metadata").flat_map(|plane| &plane.metas) {
            let held = |stat| meta.stats.iter().find(|(known, _)| *known == stat).map(|(_, held)| held);
            let id = match held(Stat::ProgramId) {
                Some(Held::Int(n)) => *n as u64,
                Some(Held::Uint(n)) => *n,
                Some(_) => continue,
                None => meta.key as u64,
            };
            if let Some(Held::Bytes(span)) = held(Stat::HloProto) {
                programs.insert(id, ProgramAt::Unread(*span, &meta.name));
            }
        }
        Ops {
            bytes,
            programs,
            broken_programs: Vec::new(),
            found: Vec::new(),
            place_of: FxHashMap::default(),
            variants: Vec::new(),
            variant_of: FxHashMap::default(),
            memo: FxHashMap::default(),
            key: Vec::new(),
        }
    }

    pub fn programs(&self) -> usize {
        self.programs.len()
    }

    /// What an event is, by its name and its stats. `cache` remembers the last of each metadata.
    #[inline]
    pub fn class(&mut self, kind: LineKind, event: &Event<'_>, cache: &mut Cache) -> io::Result<Class> {
        let by_meta = &mut cache.by_kind[kind as usize];
        let known = event.meta_at.map(|at| &by_meta[at]);
        if let Some(Some(cached)) = known
            && (event.version() != 0 && event.version() == cached.version || event.has_same(OF_OPS, &cached.stats))
        {
            return Ok(cached.class);
        }
        let class = self.class_slowly(kind, event)?;
        if let Some(at) = event.meta_at {
            by_meta[at] = event.few(OF_OPS).map(|stats| Cached { class, version: event.version(), stats });
        }
        Ok(class)
    }

    #[inline(never)]
    fn class_slowly(&mut self, kind: LineKind, event: &Event<'_>) -> io::Result<Class> {
        if event.meta_at.is_some() && event.own_mask() & OF_OPS == 0 {
            return self.classify(kind, event);
        }
        let mut key = std::mem::take(&mut self.key);
        key.clear();
        // Names and ids are those of the plane.
        key.extend_from_slice(&(std::ptr::from_ref(event.plane) as usize).to_le_bytes());
        key.push(kind as u8);
        key.extend_from_slice(&event.id.to_le_bytes());
        event.write_key(OF_OPS, &mut key);
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
        let is_host = matches!(line, LineKind::Host | LineKind::HostCpu);
        let none = |kind| Ok(Class { kind, variant: NO_OP });
        if is_host && event.name().starts_with('$') {
            return none(Kind::Python);
        }
        match line {
            LineKind::Derived => return none(Kind::Derived),
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
            let full = event.text(Stat::TfOp).filter(|full| !full.is_empty());
            let found = framework_op(full.as_deref().unwrap_or(&name));
            let (op, kind) = match &found {
                Some((op, kind)) => (*op, kind.as_str()),
                None if name.to_lowercase().starts_with("memset") => (&*name, "Memset"),
                None => (&*name, "Kernel"),
            };
            let op = Op { device, name: op.to_owned(), kind: kind.to_owned() };
            let about = About { has_kernels: true, flops: flops(event), ..About::default() };
            return Ok(self.variant(Kind::Kernel, op, about, &name));
        }
        if line == LineKind::HostCpu
            && let Some((op, kind)) = framework_op(&name)
        {
            let is_dataset = kind == "Dataset";
            let about = About { is_dataset, flops: flops(event), ..About::default() };
            let op = Op { device, name: op.to_owned(), kind };
            return Ok(self.variant(if is_dataset { Kind::Dataset } else { Kind::Tf }, op, about, ""));
        }
        none(Kind::Runtime)
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
            vec![Place { file: file.to_owned(), function: "?".to_owned(), line }]
        });
        let about = About {
            second: category.into_owned(),
            stack: stack.unwrap_or_default(),
            flops: flops(event),
            ..About::default()
        };
        self.variant(Kind::Hlo, Op { device: event.plane.name.clone(), name, kind }, about, "")
    }

    fn xla_op(&mut self, names: &str, is_host: bool, event: &Event<'_>) -> io::Result<Class> {
        let instruction = names.rsplit("::").next().unwrap_or_default();
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
        let op = Op { device, name: format!("{scope}/{instruction}"), kind: kind.to_owned() };
        let has_kernels = !is_host;
        let about = About { second: opcode.to_owned(), stack, flops: flops(event), has_kernels, ..About::default() };
        let kernel = if is_host { "" } else { &*event.full_name() };
        Ok(self.variant(Kind::Hlo, op, about, kernel))
    }

    /// The program of an id, read when it is first asked for.
    fn program(&mut self, id: u64) -> io::Result<Option<&Program>> {
        let Some(at) = self.programs.get_mut(&id) else { return Ok(None) };
        if let ProgramAt::Unread(span, name) = at {
            *at = match hlo::read(&self.bytes.content(*span)?) {
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

    fn variant(&mut self, kind: Kind, op: Op, about: About, kernel: &str) -> Class {
        let place = if let Some(place) = self.place_of.get(&op) {
            *place
        } else {
            let place = self.found.len() as u32;
            self.place_of.insert(op.clone(), place);
            self.found.push((op, about));
            place
        };
        let next = self.variants.len() as u32;
        let variant = *self.variant_of.entry((place, kernel.to_owned())).or_insert(next);
        if variant == next {
            self.variants.push(place);
        }
        Class { kind, variant }
    }
}

fn flops(event: &Event<'_>) -> i64 {
    event.number(Stat::Flops).unwrap_or(0).max(0)
}
