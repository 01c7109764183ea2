//! The ledger of a partial: one recording per host, with the inputs that it came from. The steps of
//! a recording are an opaque block, so that merging copies them without decoding.

use super::bytes::{Cursor, Fault, Tag, put, put_len, put_maybe, put_signed, put_text};
use std::collections::{BTreeMap, BTreeSet};

/// The recording of one host, or the reason why it is missing.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Recording {
    pub host: String,
    /// The host name derived from the file name: two hosts may report the same name.
    pub label: String,
    pub inputs: BTreeSet<InputEntry>,
    /// Records read, and how many of them were damaged or lost.
    pub records: u64,
    pub lost: Vec<String>,
    /// The reason why it is missing.
    pub failed: Option<String>,
}

/// A file that was read.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct InputEntry {
    pub path: String,
    pub size: u64,
    /// A hash of its content.
    pub tag: u128,
    /// Whether it contributes measurements. A graph only defines nodes, and may be read once per host.
    pub is_measured: bool,
}

/// The steps and sums of one recording.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Block {
    pub framework: Option<String>,
    pub recording: Option<String>,
    pub rank: Option<i64>,
    pub world_size: Option<i64>,
    pub start_time: Option<i64>,
    pub stop_time: Option<i64>,
    /// Time units per microsecond.
    pub per_micro: i64,
    /// The step rule, by number.
    pub rule: u8,
    pub steps: Vec<StepRow>,
    /// Runs and self time by op type.
    pub ops: BTreeMap<String, (i64, i64)>,
    /// Times by device: span, busy, on duty, working, compute, collectives, exposed.
    pub devices: BTreeMap<String, [i64; 7]>,
    /// Peak memory in use, and the name of its allocator.
    pub memory_peak: Option<(String, i64)>,
    /// For ops outside of steps, then for each kind of event: runs, total time, self time, first start, last end.
    pub kinds: Vec<[i64; 5]>,
}

/// One step of one host. Unknown facts are absent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StepRow {
    pub number: i64,
    pub start: Option<i64>,
    pub wall: Option<i64>,
    pub busy: Option<i64>,
    pub idle: Option<i64>,
    pub input: Option<i64>,
    pub communication: Option<i64>,
    /// The number of ops that ran, and their self time.
    pub op_runs: Option<i64>,
    pub op_time: Option<i64>,
}

impl Recording {
    /// One that could not be read.
    pub fn lost(path: &str, reason: &str) -> Recording {
        let inputs = BTreeSet::from([InputEntry { path: path.to_owned(), ..InputEntry::default() }]);
        Recording { inputs, failed: Some(reason.to_owned()), ..Recording::default() }
    }

    /// A sentence about a recording that could not be read. The error usually names the file; if so, the name is not repeated.
    pub fn loss(&self) -> String {
        let (path, why) = (self.path(), self.failed.as_deref().unwrap_or_default());
        let why = why.strip_prefix(path).map_or(why, |rest| rest.trim_start_matches([':', ' ']));
        format!("{path} is missing: {why}; the answer is about the others")
    }

    /// Equal ids are the same recording: the same measured contents, or the same missing file.
    pub fn id(&self) -> u128 {
        let mut tag = Tag::default();
        for InputEntry { path, size, tag: content, is_measured } in &self.inputs {
            if *is_measured {
                tag.add(&content.to_le_bytes());
                tag.add(&size.to_le_bytes());
            } else if self.failed.is_some() || !self.is_measured() {
                tag.add(path.as_bytes());
                tag.add(&content.to_le_bytes());
            }
        }
        tag.add(&[u8::from(self.failed.is_some())]);
        tag.finish()
    }

    pub fn is_measured(&self) -> bool {
        self.inputs.iter().any(|input| input.is_measured)
    }

    /// The hashes of the inputs that contribute measurements.
    pub fn measured(&self) -> impl Iterator<Item = (u128, u64)> {
        self.inputs.iter().filter(|input| input.is_measured).map(|input| (input.tag, input.size))
    }

    pub fn path(&self) -> &str {
        let measured = self.inputs.iter().find(|input| input.is_measured);
        measured.or(self.inputs.first()).map_or("", |input| &input.path)
    }

    pub fn write(&self, out: &mut Vec<u8>) {
        put_text(out, &self.host);
        put_text(out, &self.label);
        put_len(out, self.inputs.len());
        for InputEntry { path, size, tag, is_measured } in &self.inputs {
            put_text(out, path);
            put(out, (*size).into());
            out.extend_from_slice(&tag.to_le_bytes());
            out.push(u8::from(*is_measured));
        }
        put(out, self.records.into());
        put_len(out, self.lost.len());
        self.lost.iter().for_each(|text| put_text(out, text));
        write_maybe_text(self.failed.as_deref(), out);
    }

    pub fn read(cursor: &mut Cursor<'_>) -> Result<Recording, Fault> {
        let [host, label] = [cursor.text()?, cursor.text()?].map(str::to_owned);
        let mut inputs = BTreeSet::new();
        for _ in 0..cursor.count(19, "inputs")? {
            let (path, size) = (cursor.text()?.to_owned(), cursor.u64()?);
            let mut tag = [0; 16];
            tag.copy_from_slice(cursor.bytes(16)?);
            inputs.insert(InputEntry { path, size, tag: u128::from_le_bytes(tag), is_measured: cursor.flag()? });
        }
        let records = cursor.u64()?;
        let mut lost = Vec::new();
        for _ in 0..cursor.count(1, "losses")? {
            lost.push(cursor.text()?.to_owned());
        }
        Ok(Recording { host, label, inputs, records, lost, failed: read_maybe_text(cursor)? })
    }
}

impl Block {
    pub fn write(&self) -> Vec<u8> {
        let mut out = Vec::new();
        write_maybe_text(self.framework.as_deref(), &mut out);
        write_maybe_text(self.recording.as_deref(), &mut out);
        [self.rank, self.world_size, self.start_time, self.stop_time]
            .into_iter()
            .for_each(|number| put_maybe(&mut out, number));
        put_signed(&mut out, self.per_micro.into());
        out.push(self.rule);
        put_len(&mut out, self.steps.len());
        // A column at a time: neighbours are alike, which packs well.
        let mut last = 0;
        for step in &self.steps {
            put_signed(&mut out, i128::from(step.number) - last);
            last = i128::from(step.number);
        }
        for column in COLUMNS {
            self.steps.iter().for_each(|step| put_maybe(&mut out, column(&mut step.clone()).to_owned()));
        }
        put_len(&mut out, self.ops.len());
        for (op, (runs, time)) in &self.ops {
            put_text(&mut out, op);
            put_signed(&mut out, (*runs).into());
            put_signed(&mut out, (*time).into());
        }
        put_len(&mut out, self.devices.len());
        for (device, numbers) in &self.devices {
            put_text(&mut out, device);
            numbers.iter().for_each(|number| put_signed(&mut out, (*number).into()));
        }
        write_maybe_text(self.memory_peak.as_ref().map(|(name, _)| name.as_str()), &mut out);
        if let Some((_, bytes)) = self.memory_peak {
            put_signed(&mut out, bytes.into());
        }
        put_len(&mut out, self.kinds.len());
        self.kinds.iter().flatten().for_each(|number| put_signed(&mut out, (*number).into()));
        out
    }

    pub fn read(bytes: &[u8]) -> Result<Block, Fault> {
        let mut cursor = Cursor::new(bytes);
        let cursor = &mut cursor;
        let mut block = Block {
            framework: read_maybe_text(cursor)?,
            recording: read_maybe_text(cursor)?,
            rank: cursor.maybe()?,
            world_size: cursor.maybe()?,
            start_time: cursor.maybe()?,
            stop_time: cursor.maybe()?,
            per_micro: cursor.int()?,
            rule: cursor.byte()?,
            ..Block::default()
        };
        if !(1..=1_000_000).contains(&block.per_micro) {
            return Err(format!("a microsecond of {} parts is not known", block.per_micro));
        }
        let count = cursor.count(1 + COLUMNS.len(), "steps")?;
        let mut last = 0;
        for i in 0..count {
            let number = last + cursor.signed()?;
            if i > 0 && number <= last {
                return Err("the steps are not in order".to_owned());
            }
            last = number;
            let number = i64::try_from(number).map_err(|_| "the number of a step does not fit 64 bits".to_owned())?;
            block.steps.push(StepRow { number, ..StepRow::default() });
        }
        for column in COLUMNS {
            for step in &mut block.steps {
                *column(step) = cursor.maybe()?;
            }
        }
        for _ in 0..cursor.count(3, "ops")? {
            let op = cursor.text()?.to_owned();
            block.ops.insert(op, (cursor.int()?, cursor.int()?));
        }
        for _ in 0..cursor.count(8, "devices")? {
            let device = cursor.text()?.to_owned();
            let mut numbers = [0; 7];
            for number in &mut numbers {
                *number = cursor.int()?;
            }
            block.devices.insert(device, numbers);
        }
        block.memory_peak = match read_maybe_text(cursor)? {
            Some(name) => Some((name, cursor.int()?)),
            None => None,
        };
        for _ in 0..cursor.count(5, "kinds of events")? {
            let mut numbers = [0; 5];
            for number in &mut numbers {
                *number = cursor.int()?;
            }
            block.kinds.push(numbers);
        }
        cursor.end()?;
        Ok(block)
    }
}

type Column = fn(&mut StepRow) -> &mut Option<i64>;

const COLUMNS: [Column; 8] = [
    |step| &mut step.start,
    |step| &mut step.wall,
    |step| &mut step.busy,
    |step| &mut step.idle,
    |step| &mut step.input,
    |step| &mut step.communication,
    |step| &mut step.op_runs,
    |step| &mut step.op_time,
];

fn write_maybe_text(text: Option<&str>, out: &mut Vec<u8>) {
    out.push(u8::from(text.is_some()));
    if let Some(text) = text {
        put_text(out, text);
    }
}

fn read_maybe_text(cursor: &mut Cursor<'_>) -> Result<Option<String>, Fault> {
    if cursor.flag()? { Ok(Some(cursor.text()?.to_owned())) } else { Ok(None) }
}
