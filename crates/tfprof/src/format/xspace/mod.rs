//! `XSpace`: the profiles of TensorFlow 2 and JAX, `HOST.xplane.pb`.
//!
//! A file is read twice, through a window: `wire/plane.rs` reads the names, which come after the events that use them;
//! `spans.rs` turns events into spans. `classify/` decides which events are ops, and `crate::events` does the rest.

mod classify;
mod spans;
pub mod trace;
mod wire;

pub use classify::hlo;

use crate::budget;
use crate::error::{Error, Location, Warning};
use crate::events::steps::Steps;
use crate::events::walk::TraceSums;
use crate::events::{HostFile, HostProfile, KernelRows, TraceSettings};
use crate::foreign;
use crate::format::detect::{Head, is_name};
use crate::format::file_bytes::FileBytes;
use crate::format::source::Source;
use crate::model::hosts::{EventKind, FactValue, HostFacts, PlaneFacts};
use crate::words::{base_name, cut};
use classify::Classifier;
use std::io::{self, Read};
use std::path::Path;
use tfprof_proto::fields::{xplane, xspace};
use tfprof_proto::stream::Spot;
use tfprof_proto::wire::{Fault, Fields, Value, WireError};
use wire::plane::{self, LineHeads, LineReader, Plane, Space, Stop};
use wire::stats::{DamageList, Dangling, StoredValue};

/// A file that is open for random access.
#[derive(Debug)]
pub struct ProfileFile {
    pub name: String,
    bytes: FileBytes,
    /// How its compressed data ended early, if it did.
    cut: Option<String>,
}

impl ProfileFile {
    /// A profile that is in memory.
    pub fn memory(name: &str, bytes: Vec<u8>) -> ProfileFile {
        ProfileFile { name: name.to_owned(), bytes: FileBytes::Memory(bytes), cut: None }
    }
}

impl HostFile for ProfileFile {
    fn name(&self) -> &str {
        &self.name
    }

    fn size(&self) -> u64 {
        self.bytes.whole().end
    }

    fn read(&self, settings: &TraceSettings) -> Result<HostProfile, Error> {
        for heads in [LineHeads::First, LineHeads::Whole] {
            let host = read_with(self, settings, heads);
            self.bytes.close();
            if let Some(host) = host? {
                return Ok(host);
            }
        }
        let location = Location { file: self.name.clone(), spot: None };
        Err(Error::Input { location, message: "its lines cannot be put in order".to_owned() })
    }
}

/// The extension of these files, before `.gz`.
const XPLANE: &str = ".xplane.pb";

/// Whether a path is that of an `XSpace`: `HOST.xplane.pb`, plain or gzipped.
pub fn is_xplane_path(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.strip_suffix(".gz").unwrap_or(&name).ends_with(XPLANE)
}

/// An `XSpace` starts with a plane, which starts with its number or its name.
pub(crate) fn recognizes(head: &Head<'_>) -> bool {
    let (xspace::PLANES, Value::Bytes(_)) = head.field else { return false };
    let after_id = matches!(head.first, Some((xplane::ID, Value::Varint(_))));
    let Some((xplane::NAME, Value::Bytes(plane))) = (if after_id { head.second } else { head.first }) else {
        return false;
    };
    !plane.is_empty() && is_name(plane)
}

/// Opens a file for random access; compressed and piped input is held in memory.
pub fn open(path: &Path, source: Source<'_>) -> Result<ProfileFile, Error> {
    let name = source.name.clone();
    // Reject non-protobuf early: the stream may be infinite.
    let head = source.head();
    if let Err(WireError { fault: fault @ (Fault::BadTag { .. } | Fault::LongNumber), .. }) =
        Fields::new(head, 0).next_field()
        && !is_mangled(head)
    {
        let (spot, message) = match foreign::guess(head, &name) {
            Some((_, message)) => (None, message),
            None => (Some(Spot::Byte(0)), format!("not an XSpace: {fault}")),
        };
        return Err(Error::Input { location: Location { file: name, spot }, message });
    }
    let (bytes, cut) = FileBytes::open(path, source)?;
    Ok(ProfileFile { name, bytes, cut })
}

/// Reads one file; `None` if the fields of a line come after its events and only its first fields were read.
fn read_with(file: &ProfileFile, settings: &TraceSettings, heads: LineHeads) -> Result<Option<HostProfile>, Error> {
    let ProfileFile { name, bytes, cut } = file;
    let io_error = |error: io::Error| Error::Io { file: name.clone(), action: "cannot read", source: error };
    let space = plane::read(bytes, heads).map_err(io_error)?;
    let mut warnings = Vec::new();
    check(file, &space, &mut warnings)?;
    let mut classifier = Classifier::new(bytes, &space, settings.wanted.costs);
    let mut reader = LineReader::new(bytes, &space, spans::stats(settings.wanted));
    let marker = settings.step_marker.as_ref();
    let mut wanted = settings.wanted;
    let has_eager = space.planes.iter().flat_map(|plane| &plane.metas).any(|meta| classify::is_eager(&meta.name));
    let (sums, steps) = loop {
        match spans::walk(&mut reader, &mut classifier, marker, wanted) {
            Ok((sums, _)) if sums.kinds[EventKind::Tf as usize].runs == 0 && has_eager && classifier.add_eager() => {}
            // No event is an op: show those of the runtime instead.
            Ok((sums, _)) if sums.ops.items.is_empty() && !wanted.runtime => wanted.runtime = true,
            Ok(done) => break done,
            Err(Stop::Io(error)) => return Err(io_error(error)),
            Err(Stop::LateHead | Stop::Unsorted) => return Ok(None),
        }
    };
    warn_damage(name, &space, &reader.damage, cut.clone(), &mut warnings);
    warn_odd(name, &space, reader.stat_reader.dangling, &classifier.broken_programs, &mut warnings);
    Ok(Some(host_profile(name, &space, classifier, sums, steps, warnings)))
}

fn host_profile(
    file: &str,
    space: &Space,
    classifier: Classifier<'_>,
    sums: TraceSums,
    steps: Steps,
    warnings: Vec<Warning>,
) -> HostProfile {
    let mut lines = sums.lines.iter();
    let planes = space.planes.iter().map(|plane| PlaneFacts {
        name: plane.name.clone(),
        lines: plane.lines.len(),
        events: lines.by_ref().take(plane.lines.len()).map(|line| line.events).sum(),
        stats: plane.stats.iter().map(|(name, value)| (cut(name).into_owned(), fact(value))).collect(),
    });
    let planes = planes.collect();
    let facts = HostFacts {
        file: file.to_owned(),
        host: space.hostnames.first().cloned().unwrap_or_else(|| host_of(file)),
        framework: framework(space),
        start_time: environment(space, "profile_start_time"),
        stop_time: environment(space, "profile_stop_time"),
        errors: space.errors.clone(),
        profiler_warnings: space.warnings.clone(),
        planes,
        lines: sums.lines,
        kinds: sums.kinds,
        rule: steps.rule,
        marker: steps.marker,
        other_markers: steps.other_markers,
        steps: steps.list,
        step_ops: sums.steps,
        outside: sums.outside,
        assigned: sums.assigned,
        programs: classifier.programs(),
        has_source: classifier.ops.iter().any(|op| !op.about.stack.is_empty()),
        is_eager: classifier.with_eager,
        memory_peak: sums.memory_peak,
        allocators: sums.allocators.list,
        devices: sums.devices,
        step_parts: sums.step_parts,
        base: space.base,
        ..HostFacts::default()
    };
    HostProfile {
        executions: sums.executions,
        facts,
        file_host: host_of(file),
        ops: classifier.ops,
        variants: classifier.variants,
        op_sums: sums.ops,
        op_memory: Vec::new(),
        kernels: KernelRows::default(),
        shapes: Vec::new(),
        calls: sums.calls,
        runtime: sums.runtime,
        warnings,
    }
}

/// The name of a host from that of its file.
fn host_of(file: &str) -> String {
    let name = base_name(file);
    name.split(XPLANE).next().unwrap_or(name).to_owned()
}

fn fact(value: &StoredValue) -> FactValue {
    budget::check();
    match value {
        StoredValue::Int(n) => FactValue::Int(*n),
        StoredValue::Uint(n) => FactValue::Uint(*n),
        StoredValue::Double(n) => FactValue::Double(*n),
        StoredValue::Text(text) => FactValue::Text(cut(text).into_owned()),
        StoredValue::Bytes(_) | StoredValue::Ref(_) | StoredValue::Nothing => FactValue::Other,
    }
}

/// The framework, if a plane names its version, or if events or programs have the names that JAX gives them.
fn framework(space: &Space) -> Option<String> {
    let mut stats = space.planes.iter().flat_map(|plane| &plane.stats);
    match stats.find(|(name, _)| &**name == "jax_version") {
        Some((_, StoredValue::Text(version))) => Some(format!("JAX {version}")),
        _ => {
            let jax_names = ["jit_", "pmap_", "PjitFunction(", "PmapFunction("];
            let mut metas = space.planes.iter().filter(|plane| !plane.is_device()).flat_map(|plane| &plane.metas);
            let is_jax = metas.any(|meta| jax_names.iter().any(|start| meta.name.starts_with(start)));
            is_jax.then(|| "JAX".to_owned())
        }
    }
}

/// A number on the plane about the recording itself.
fn environment(space: &Space, name: &str) -> Option<u64> {
    let plane = space.planes.iter().find(|plane| plane.name == "Task Environment")?;
    match plane.stats.iter().find(|(known, _)| &**known == name)? {
        (_, StoredValue::Int(n)) => Some(*n as u64),
        (_, StoredValue::Uint(n)) => Some(*n),
        _ => None,
    }
}

/// Rejects other files, and profiles without events.
fn check(file: &ProfileFile, space: &Space, warnings: &mut Vec<Warning>) -> Result<(), Error> {
    let (name, cut) = (&file.name, file.cut.as_deref());
    let has_events = space.planes.iter().any(Plane::has_events);
    if (space.damage.count > 0 || !has_events) && is_mangled(file.bytes.cursor(0)) {
        let message = "its bytes were changed by a conversion to UTF-8 (each one that is not UTF-8 became EF BF BD), so \
                       most of it is lost; get the file again, and copy it as binary data";
        let location = Location { file: name.clone(), spot: None };
        warnings.push(Warning::new("mangled", message).at(location).with_damage());
        return Ok(());
    }
    let refuse = |spot, message| Err(Error::Input { location: Location { file: name.clone(), spot }, message });
    let nameless = space.planes.first().is_some_and(|plane| plane.name.is_empty());
    let damage = space.damage.first.first();
    let strange = space.planes.is_empty() && (space.unknown_fields > 0 || damage.is_some() || cut.is_some());
    if nameless || strange {
        let spot = damage.map(|damage| Spot::Byte(damage.offset));
        let why = damage.map_or_else(|| cut.unwrap_or("its first plane has no name").to_owned(), |d| d.what.clone());
        return refuse(spot, format!("not an XSpace: {why}"));
    }
    if !has_events {
        let stored: Vec<_> = space.errors.iter().chain(&space.warnings).map(String::as_str).collect();
        let lost = damage.map(|damage| damage.what.as_str()).or(cut);
        let why = match lost {
            Some(lost) => format!("it is damaged: {lost}; get the whole file, or record again"),
            None if stored.is_empty() => "record again, and let the profiler run while the model does".to_owned(),
            None => format!("the profiler said: {}", stored.join("; ")),
        };
        let spot = damage.map(|damage| Spot::Byte(damage.offset));
        return refuse(spot, format!("this profile {}; {why}", super::NO_EVENTS));
    }
    Ok(())
}

/// Whether a file is UTF-8 with replacement characters: a conversion put them where bytes were no text.
fn is_mangled(mut input: impl Read) -> bool {
    let (mut buffer, mut held, mut found) = (vec![0; 1 << 16], 0, false);
    loop {
        let got = match input.read(&mut buffer[held..]) {
            Ok(0) | Err(_) => return found,
            Ok(got) => held + got,
        };
        let text = match std::str::from_utf8(&buffer[..got]) {
            Ok(text) => text,
            // A character may continue in the next piece.
            Err(error) if error.error_len().is_none() => {
                std::str::from_utf8(&buffer[..error.valid_up_to()]).unwrap_or_default()
            }
            Err(_) => return false,
        };
        found |= text.contains(char::REPLACEMENT_CHARACTER);
        let used = text.len();
        buffer.copy_within(used..got, 0);
        held = got - used;
    }
}

fn warn_damage(name: &str, space: &Space, more: &DamageList, cut: Option<String>, warnings: &mut Vec<Warning>) {
    let mut damaged = |spot, message| {
        let location = Some(Location { file: name.to_owned(), spot });
        warnings.push(Warning { code: "damaged", location, message, damage: true, fix: None });
    };
    if let Some(cut) = cut {
        damaged(None, format!("{cut}; the answer is about what comes before it"));
    }
    let mut places: Vec<_> = space.damage.first.iter().chain(&more.first).collect();
    let more = space.damage.count + more.count - places.len() as u64;
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
        warnings.push(Warning { code, location, message, damage, fix: None });
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
    let far = lines.filter(|line| line.other_clock && line.events.is_some()).count();
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
