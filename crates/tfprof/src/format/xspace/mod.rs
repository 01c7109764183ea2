//! `XSpace`: the profiles of TensorFlow 2 and JAX, `HOST.xplane.pb`.
//!
//! A file is walked twice, through a window: `plane.rs` takes the names, which stand behind the events they belong to;
//! `tally.rs` sums what every op took, in each of the steps that `steps.rs` finds. `ops.rs` says which events are ops,
//! `nest.rs` which lie in which. Several files are read side by side; `merge.rs`
//! puts them into one model.

pub mod bytes;
mod decode;
mod event;
pub mod hlo;
mod merge;
mod names;
mod nest;
mod ops;
mod own;
mod places;
mod plane;
mod quick;
mod records;
mod stats;
mod steps;
mod sums;
mod tally;
pub mod trace;
mod walk;

pub use merge::{events, has_source, has_steps, merge, reconcile};
pub use ops::{About, Kind, Op};
pub use stats::Held;
pub use steps::{Rule, Step};
pub use sums::{Item, Sums, Tally};
pub use tally::{Assigned, LineFacts, Wanted};

use crate::error::{Error, Location, Warning};
use crate::format::detect::{Head, is_name};
use crate::format::source::Source;
use bytes::Bytes;
use ops::Ops;
use own::Dangling;
use plane::{Heads, Notes, Space};
use regex::Regex;
use std::io;
use std::path::Path;
use tfprof_proto::stream::Spot;
use tfprof_proto::wire::Value;
use walk::{Stop, Walker};

/// A file to be read at any place.
#[derive(Debug)]
pub struct ProfileFile {
    pub name: String,
    pub bytes: Bytes,
    /// How its compressed data ended early, if it did.
    pub cut: Option<String>,
}

impl ProfileFile {
    /// A profile that is in memory.
    pub fn memory(name: &str, bytes: Vec<u8>) -> ProfileFile {
        ProfileFile { name: name.to_owned(), bytes: Bytes::Memory(bytes), cut: None }
    }
}

/// How profiles are read.
#[derive(Clone, Debug)]
pub struct Settings {
    pub wanted: Wanted,
    /// A pattern of event names that mark steps.
    pub step_marker: Option<Regex>,
}

/// What one file says.
#[derive(Clone, Debug)]
pub struct HostProfile {
    pub file: String,
    pub host: String,
    pub errors: Vec<String>,
    pub profiler_warnings: Vec<String>,
    pub planes: Vec<PlaneFacts>,
    pub lines: Vec<LineFacts>,
    /// By kind, in the order of [`Kind::ALL`].
    pub kinds: [Sums; Kind::ALL.len()],
    pub ops: Vec<(Op, About)>,
    /// By variant, the op that it is of.
    pub variants: Vec<u32>,
    pub tally: Tally,
    pub python: Tally,
    pub paths: Vec<(u32, u32)>,
    pub calls: Vec<String>,
    pub runtime: Tally,
    pub runtime_names: Vec<(usize, String)>,
    pub rule: Rule,
    pub marker: String,
    pub other_markers: Vec<String>,
    pub steps: Vec<Step>,
    pub step_ops: Vec<Sums>,
    pub outside: Sums,
    pub assigned: Assigned,
    pub programs: usize,
    pub memory_peak: Option<(String, i64)>,
    pub base: i64,
    pub warnings: Vec<Warning>,
}

/// A plane, as `info` tells of it.
#[derive(Clone, Debug)]
pub struct PlaneFacts {
    pub name: String,
    pub lines: usize,
    pub events: u64,
    pub stats: Vec<(String, Held)>,
}

impl HostProfile {
    /// A number of the plane that tells of the recording itself.
    pub fn environment(&self, name: &str) -> Option<u64> {
        let plane = self.planes.iter().find(|plane| plane.name == "Task Environment")?;
        plane.stats.iter().find(|(known, _)| known == name).and_then(|(_, held)| match held {
            Held::Int(n) => Some(*n as u64),
            Held::Uint(n) => Some(*n),
            _ => None,
        })
    }

    /// Gives back the memory of what is in a model by now.
    pub fn forget_sums(&mut self) {
        (self.tally, self.python, self.runtime) = (Tally::default(), Tally::default(), Tally::default());
    }

    pub fn has_ops(&self) -> bool {
        !self.tally.items.is_empty()
    }
}

/// How the names of such files end, but for `.gz`.
const XPLANE: &str = ".xplane.pb";

/// Whether a path is that of an `XSpace`: `HOST.xplane.pb`, plain or gzipped.
pub fn is_xplane_path(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.strip_suffix(".gz").unwrap_or(&name).ends_with(XPLANE)
}

/// An `XSpace` starts with a plane, which starts with its number or its name.
pub(crate) fn recognizes(head: &Head<'_>) -> bool {
    let plane = match (head.field, head.first, head.second) {
        ((1, Value::Bytes(_)), Some((1, Value::Varint(_))), Some((2, Value::Bytes(name)))) => name,
        ((1, Value::Bytes(_)), Some((2, Value::Bytes(name))), _) => name,
        _ => return false,
    };
    !plane.is_empty() && is_name(plane)
}

/// Opens a file to be read at any place; what is compressed or comes through a pipe is held in memory.
pub fn open(path: &Path, source: Source<'_>) -> Result<ProfileFile, Error> {
    let name = source.name.clone();
    if path.is_file() && !source.is_compressed {
        let io_error = |error| Error::Io { file: source.name.clone(), action: "cannot open", source: error };
        let file = std::fs::File::open(path).map_err(io_error)?;
        let length = file.metadata().map_err(io_error)?.len();
        return Ok(ProfileFile { name, bytes: Bytes::File(file, length), cut: None });
    }
    let (bytes, cut) = Bytes::hold(source)?;
    Ok(ProfileFile { name, bytes, cut })
}

/// Reads one file.
pub fn read(file: &ProfileFile, settings: &Settings) -> Result<HostProfile, Error> {
    for heads in [Heads::First, Heads::Whole] {
        if let Some(host) = read_with(file, settings, heads)? {
            return Ok(host);
        }
    }
    let location = Location { file: file.name.clone(), spot: None };
    Err(Error::Input { location, message: "its lines cannot be put in order".to_owned() })
}

/// Reads one file; nothing if its lines tell of themselves behind their events and only their first fields were read.
fn read_with(file: &ProfileFile, settings: &Settings, heads: Heads) -> Result<Option<HostProfile>, Error> {
    let ProfileFile { name, bytes, cut } = file;
    let io_error = |error: io::Error| Error::Io { file: name.clone(), action: "cannot read", source: error };
    let space = plane::read(bytes, heads).map_err(io_error)?;
    check(name, &space, cut.as_deref())?;
    let mut ops = Ops::new(bytes, &space);
    let mut walker = Walker::new(bytes, &space, tally::stats(settings.wanted));
    let marker = settings.step_marker.as_ref();
    let mut wanted = settings.wanted;
    let (found, mut steps) = loop {
        match tally::walk(&mut walker, &mut ops, marker, wanted) {
            // Nothing is an op, so the runtime's own events are shown instead.
            Ok((found, _)) if found.ops.items.is_empty() && !wanted.runtime => wanted.runtime = true,
            Ok(done) => break done,
            Err(Stop::Io(error)) => return Err(io_error(error)),
            Err(Stop::LateHead | Stop::Unsorted) => return Ok(None),
        }
    };
    let mut warnings = Vec::new();
    warn_damage(name, &space, &walker.notes, cut.clone(), &mut warnings);
    warn_odd(name, &space, walker.taker.dangling, &ops.broken_programs, &mut warnings);
    let mut lines = found.lines.iter();
    let planes = space.planes.iter().map(|plane| PlaneFacts {
        name: plane.name.clone(),
        lines: plane.lines.len(),
        events: lines.by_ref().take(plane.lines.len()).map(|line| line.events).sum(),
        stats: plane.stats.clone(),
    });
    let planes = planes.collect();
    let programs = ops.programs();
    Ok(Some(HostProfile {
        file: name.clone(),
        host: space.hostnames.first().cloned().unwrap_or_else(|| host_of(name)),
        errors: space.errors.clone(),
        profiler_warnings: space.warnings.clone(),
        planes,
        lines: found.lines,
        kinds: found.kinds,
        ops: ops.found,
        variants: ops.variants,
        tally: found.ops,
        python: found.python,
        paths: found.paths,
        calls: found.calls,
        runtime: found.runtime,
        runtime_names: found.runtime_names,
        rule: steps.rule,
        marker: std::mem::take(&mut steps.marker),
        other_markers: std::mem::take(&mut steps.others),
        steps: std::mem::take(&mut steps.list),
        step_ops: found.steps,
        outside: found.outside,
        assigned: found.assigned,
        programs,
        memory_peak: found.memory_peak,
        base: space.base,
        warnings,
    }))
}

/// The name of a file without what makes it a profile.
pub fn host_of(file: &str) -> String {
    let name = file.rsplit('/').next().unwrap_or(file);
    name.split(".xplane.pb").next().unwrap_or(name).to_owned()
}

/// Refuses what is no profile, and one without events.
fn check(name: &str, space: &Space, cut: Option<&str>) -> Result<(), Error> {
    let refuse = |spot, message| Err(Error::Input { location: Location { file: name.to_owned(), spot }, message });
    let nameless = space.planes.first().is_some_and(|plane| plane.name.is_empty());
    let damage = space.notes.first.first();
    let strange = space.planes.is_empty() && (space.others > 0 || damage.is_some() || cut.is_some());
    if nameless || strange {
        let spot = damage.map(|damage| Spot::Byte(damage.offset));
        let why = damage.map_or_else(|| cut.unwrap_or("its first plane has no name").to_owned(), |d| d.what.clone());
        return refuse(spot, format!("not an XSpace: {why}"));
    }
    if space.planes.iter().all(|plane| plane.lines.iter().all(|line| line.events.is_none())) {
        let stored: Vec<_> = space.errors.iter().chain(&space.warnings).map(String::as_str).collect();
        let why = if stored.is_empty() {
            "record again, and let the profiler run while the model does".to_owned()
        } else {
            format!("the profiler said: {}", stored.join("; "))
        };
        return refuse(None, format!("this profile holds no events; {why}"));
    }
    Ok(())
}

fn warn_damage(name: &str, space: &Space, notes: &Notes, cut: Option<String>, warnings: &mut Vec<Warning>) {
    let mut damaged = |spot, message| {
        let location = Some(Location { file: name.to_owned(), spot });
        warnings.push(Warning { code: "damaged", location, message, damage: true });
    };
    if let Some(cut) = cut {
        damaged(None, format!("{cut}; the answer is about what comes before it"));
    }
    let mut places: Vec<_> = space.notes.first.iter().chain(&notes.first).collect();
    let more = space.notes.count + notes.count - places.len() as u64;
    places.sort_by_key(|damage| damage.offset);
    places.dedup_by_key(|damage| damage.offset);
    for damage in places {
        damaged(Some(Spot::Byte(damage.offset)), format!("{}; the rest of its message is left out", damage.what));
    }
    if more > 0 {
        damaged(None, format!("{more} more places are damaged"));
    }
}

fn warn_odd(name: &str, space: &Space, dangling: Dangling, broken: &[String], warnings: &mut Vec<Warning>) {
    let mut warn = |code, message, damage| {
        let location = Some(Location { file: name.to_owned(), spot: None });
        warnings.push(Warning { code, location, message, damage });
    };
    let Dangling { events, stats, strings } = dangling;
    if events + stats + strings > 0 {
        let message = format!(
            "{events} events have no name, {stats} stats have none, and {strings} lead to a string that is not there; \
             such events are shown by their numbers, such stats are left out"
        );
        warn("dangling", message, true);
    }
    let lines = space.planes.iter().flat_map(|plane| &plane.lines);
    let far = lines.filter(|line| line.far && line.events.is_some()).count();
    if far > 0 {
        let message = format!("{far} lines are timed by another clock than the first; they are placed at its start");
        warn("clock", message, false);
    }
    for broken in broken {
        let message = format!("a compiled program cannot be read, so its ops have no scopes and lines: {broken}");
        warn("damaged_program", message, true);
    }
    for text in &space.errors {
        warn("profiler_error", format!("the profiler reported an error: {text}"), false);
    }
    for text in &space.warnings {
        warn("profiler_warning", format!("the profiler warned: {text}"), false);
    }
}
