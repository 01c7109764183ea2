//! Encodes and decodes rows. Everything is sorted by its strings before it is numbered, so that equal rows are equal bytes.

use super::bytes::{Cursor, Fault, put, put_len, put_signed, put_text};
use super::histogram::Histogram;
use super::rows::{Cell, Cost, EMPTY_STACK, Frame, Key, NO_STACK, Row, Rows, SEEN, SUMS, Sums};
use super::steps::StepSet;
use crate::budget;
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

impl Rows {
    pub fn write(&self) -> Vec<u8> {
        let mut out = Vec::new();
        let numbers = Numbers::new(self);
        put_len(&mut out, numbers.texts.order.len());
        for text in &numbers.texts.order {
            put_text(&mut out, self.get(*text));
        }
        put_len(&mut out, numbers.frames.order.len());
        for frame in &numbers.frames.order {
            let Frame { texts, line, function_start } = self.frames[*frame as usize];
            texts.iter().for_each(|text| put(&mut out, numbers.texts.of(*text)));
            put_signed(&mut out, line.into());
            put_signed(&mut out, function_start.into());
        }
        put_len(&mut out, numbers.stacks.order.len() - 2);
        for stack in &numbers.stacks.order[2..] {
            let (outer, frame) = self.stacks[*stack as usize];
            put(&mut out, numbers.stacks.of(outer));
            put(&mut out, numbers.frames.of(frame));
        }
        put_len(&mut out, numbers.sets.order.len());
        numbers.sets.order.iter().for_each(|set| self.step_sets[*set as usize].write(&mut out));
        let mut devices: Vec<(u128, u8)> =
            self.devices.iter().map(|(text, kind)| (numbers.texts.of(*text), *kind)).collect();
        devices.sort_unstable();
        put_len(&mut out, devices.len());
        for (text, kind) in devices {
            put(&mut out, text);
            out.push(kind);
        }
        put_len(&mut out, self.sampled.len());
        self.sampled.iter().for_each(|step| put_signed(&mut out, (*step).into()));
        let place = |at: &u32| {
            let Key { layer, name, op, stack } = self.keys[*at as usize];
            (layer, numbers.texts.of(name), numbers.texts.of(op), numbers.stacks.of(stack))
        };
        let mut order: Vec<u32> = (0..self.rows.len() as u32).collect();
        order.sort_unstable_by_key(place);
        put_len(&mut out, order.len());
        for at in order {
            let (layer, name, op, stack) = place(&at);
            out.push(layer);
            [name, op, stack].into_iter().for_each(|number| put(&mut out, number));
            write_row(&self.rows[at as usize], &numbers, &mut out);
            budget::check();
        }
        out
    }

    pub fn read(bytes: &[u8]) -> Result<Rows, Fault> {
        let mut cursor = Cursor::new(bytes);
        let cursor = &mut cursor;
        let mut rows = Rows::default();
        let mut texts = Vec::new();
        for _ in 0..cursor.count(1, "texts")? {
            let text = cursor.text()?;
            texts.push(rows.text(text));
        }
        if texts.first() != Some(&0) {
            return Err("its first text is not empty".to_owned());
        }
        let mut frames = Vec::new();
        for _ in 0..cursor.count(5, "frames")? {
            let mut frame = Frame { texts: [0; 3], line: 0, function_start: 0 };
            for text in &mut frame.texts {
                *text = texts[cursor.below(texts.len(), "text")? as usize];
            }
            for number in [&mut frame.line, &mut frame.function_start] {
                *number = i32::try_from(cursor.int()?).map_err(|_| "the number of a line is too large".to_owned())?;
            }
            frames.push(rows.frame(frame));
        }
        let mut stacks = vec![NO_STACK, EMPTY_STACK];
        for _ in 0..cursor.count(2, "stacks")? {
            let outer = stacks[cursor.below(stacks.len(), "stack")? as usize];
            let frame = frames[cursor.below(frames.len(), "frame")? as usize];
            stacks.push(rows.stack(outer.max(EMPTY_STACK), frame));
        }
        let mut sets = Vec::new();
        for _ in 0..cursor.count(1, "sets of steps")? {
            sets.push(rows.step_set(StepSet::read(cursor)?));
        }
        for _ in 0..cursor.count(2, "devices")? {
            let text = texts[cursor.below(texts.len(), "text")? as usize];
            let kind = cursor.byte()?;
            rows.devices.insert(text, kind);
        }
        for _ in 0..cursor.count(1, "sampled steps")? {
            rows.sampled.insert(cursor.int()?);
        }
        let known = ReadTables { texts, stacks, sets, sampled: rows.sampled.iter().copied().collect() };
        for _ in 0..cursor.count(LEAST_ROW, "rows")? {
            let (key, row) = read_row(cursor, &known)?;
            budget::check();
            if row.cells.keys().any(|device| !rows.devices.contains_key(device)) {
                return Err("a row ran on a device that is not listed".to_owned());
            }
            if rows.row(key).flags & SEEN != 0 {
                return Err(format!("`{}` is in it twice", rows.get(key.name)));
            }
            *rows.row(key) = row;
        }
        cursor.end()?;
        Ok(rows)
    }
}

/// A row takes at least this many bytes.
const LEAST_ROW: usize = 21;

/// Renumbers entries by the order of their strings.
struct Numbers {
    texts: Order,
    frames: Order,
    stacks: Order,
    sets: Order,
}

/// A permutation: old indices in their new order, and its inverse.
struct Order {
    order: Vec<u32>,
    of: Vec<u32>,
}

impl Order {
    fn new(used: &[bool], compare: impl Fn(u32, u32) -> Ordering) -> Order {
        let mut order: Vec<u32> = (0..used.len() as u32).filter(|at| used[*at as usize]).collect();
        order.sort_unstable_by(|a, b| compare(*a, *b));
        Order::of_order(order, used.len())
    }

    fn of_order(order: Vec<u32>, all: usize) -> Order {
        let mut of = vec![0; all];
        (0..).zip(&order).for_each(|(new, old)| of[*old as usize] = new);
        Order { order, of }
    }

    fn of(&self, old: u32) -> u128 {
        self.of[old as usize].into()
    }
}

impl Numbers {
    fn new(rows: &Rows) -> Numbers {
        let mut uses = UsedEntries::new(rows);
        let texts = Order::new(&uses.texts, |a, b| rows.get(a).cmp(rows.get(b)));
        let frame_key = |at: u32| {
            let Frame { texts: own, line, function_start } = rows.frames[at as usize];
            (own.map(|text| texts.of(text)), line, function_start)
        };
        let frames = Order::new(&uses.frames, |a, b| frame_key(a).cmp(&frame_key(b)));
        uses.sets[0] = true;
        let sets = Order::new(&uses.sets, |a, b| rows.step_sets[a as usize].cmp(&rows.step_sets[b as usize]));
        let stacks = Order::of_order(stacks_in_order(rows, &frames, &uses.stacks), rows.stacks.len());
        Numbers { texts, frames, stacks, sets }
    }
}

/// The entries that rows refer to: merging may leave entries behind that no row needs.
struct UsedEntries {
    texts: Vec<bool>,
    frames: Vec<bool>,
    stacks: Vec<bool>,
    sets: Vec<bool>,
}

impl UsedEntries {
    fn new(rows: &Rows) -> UsedEntries {
        let mut uses = UsedEntries {
            texts: vec![false; rows.texts.len()],
            frames: vec![false; rows.frames.len()],
            stacks: vec![false; rows.stacks.len()],
            sets: vec![false; rows.step_sets.len()],
        };
        uses.texts[0] = true;
        let UsedEntries { texts, frames, stacks, sets } = &mut uses;
        rows.devices.keys().for_each(|text| texts[*text as usize] = true);
        for (key, row) in rows.keys.iter().zip(&rows.rows) {
            let own = [key.name, key.op, row.declared_device, row.placement, row.dtype];
            let sources = row.inputs.iter().map(|(source, _)| source);
            own.iter().chain(row.words.iter().flatten()).chain(sources).for_each(|text| texts[*text as usize] = true);
            row.steps.iter().for_each(|set| sets[*set as usize] = true);
            [key.stack, row.stack].iter().for_each(|stack| stacks[*stack as usize] = true);
        }
        // A stack comes after the one around it.
        for at in (2..rows.stacks.len()).rev().filter(|at| stacks[*at]).collect::<Vec<_>>() {
            let mut stack = at;
            while stack > EMPTY_STACK as usize {
                let (outer, frame) = rows.stacks[stack];
                frames[frame as usize] = true;
                stack = outer as usize;
                if std::mem::replace(&mut stacks[stack], true) {
                    break;
                }
            }
        }
        for frame in (0..frames.len()).filter(|at| frames[*at]) {
            rows.frames[frame].texts.iter().for_each(|text| texts[*text as usize] = true);
        }
        uses
    }
}

/// Stacks with parents before children, siblings in the order of their frames.
fn stacks_in_order(rows: &Rows, frames: &Order, used: &[bool]) -> Vec<u32> {
    let mut inner: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for at in (2..rows.stacks.len() as u32).filter(|at| used[*at as usize]) {
        inner.entry(rows.stacks[at as usize].0).or_default().push(at);
    }
    // The last of a list is taken first.
    inner.values_mut().for_each(|list| {
        list.sort_unstable_by_key(|at| std::cmp::Reverse(frames.of(rows.stacks[*at as usize].1)));
    });
    let mut order = vec![NO_STACK];
    let mut open = vec![EMPTY_STACK];
    while let Some(stack) = open.pop() {
        order.push(stack);
        open.extend(inner.remove(&stack).unwrap_or_default());
    }
    order
}

fn write_row(row: &Row, numbers: &Numbers, out: &mut Vec<u8>) {
    for words in &row.words {
        let mut words: Vec<u128> = words.iter().map(|word| numbers.texts.of(*word)).collect();
        words.sort_unstable();
        put_len(out, words.len());
        words.into_iter().for_each(|word| put(out, word));
    }
    put_len(out, row.shape.len());
    row.shape.iter().for_each(|size| put_signed(out, (*size).into()));
    put_len(out, row.inputs.len());
    for (source, output) in &row.inputs {
        put(out, numbers.texts.of(*source));
        put(out, (*output).into());
    }
    put(out, numbers.stacks.of(row.stack));
    put_signed(out, row.float_ops.into());
    out.push(u8::from(row.inner));
    [row.declared_device, row.placement, row.dtype].iter().for_each(|text| put(out, numbers.texts.of(*text)));
    match &row.cost {
        None => out.push(0),
        Some(Cost { float_ops, macs, io_bytes, runs, unknown, unlisted, why, counted }) => {
            out.push(if *counted { 2 } else { 1 });
            for number in [float_ops, macs, io_bytes, runs, unknown, unlisted] {
                put_signed(out, (*number).into());
            }
            out.push(*why);
        }
    }
    out.push(row.flags);
    out.push(row.precision);
    row.steps.iter().for_each(|set| put(out, numbers.sets.of(*set)));
    let mut cells: Vec<(u128, &Cell)> =
        row.cells.iter().map(|(device, cell)| (numbers.texts.of(*device), &**cell)).collect();
    cells.sort_unstable_by_key(|(device, _)| *device);
    put_len(out, cells.len());
    for (device, cell) in cells {
        put(out, device);
        write_sums(&cell.totals, out);
        // Most ops run in steps alone.
        out.push(u8::from(cell.everything != cell.totals));
        if cell.everything != cell.totals {
            write_sums(&cell.everything, out);
        }
        cell.times.write(out);
        if cell.times.count() > 0 {
            put(out, cell.squares);
            put_signed(out, cell.least.into());
            put_signed(out, cell.most.into());
        }
        put_len(out, cell.by_step.len());
        for (step, sums) in &cell.by_step {
            put_signed(out, (*step).into());
            write_sums(sums, out);
        }
    }
}

/// A bit mask of the non-zero sums, then those sums.
fn write_sums(sums: &Sums, out: &mut Vec<u8>) {
    let numbers = sums.added.iter().copied().chain([sums.highest_peak.into()]);
    let mut mask = 0_u128;
    for (at, number) in numbers.clone().enumerate() {
        mask |= u128::from(number != 0) << at;
    }
    mask |= u128::from(sums.span.is_some()) << (SUMS + 1);
    put(out, mask);
    numbers.filter(|number| *number != 0).for_each(|number| put_signed(out, number));
    if let Some((first, last)) = sums.span {
        put_signed(out, first.into());
        put_signed(out, i128::from(last) - i128::from(first));
    }
}

/// The tables read so far, which rows refer to.
struct ReadTables {
    texts: Vec<u32>,
    stacks: Vec<u32>,
    sets: Vec<u32>,
    sampled: BTreeSet<i64>,
}

impl ReadTables {
    fn text(&self, cursor: &mut Cursor<'_>) -> Result<u32, Fault> {
        Ok(self.texts[cursor.below(self.texts.len(), "text")? as usize])
    }

    fn stack(&self, cursor: &mut Cursor<'_>) -> Result<u32, Fault> {
        Ok(self.stacks[cursor.below(self.stacks.len(), "stack")? as usize])
    }
}

fn read_row(cursor: &mut Cursor<'_>, known: &ReadTables) -> Result<(Key, Row), Fault> {
    let layer = cursor.byte()?;
    let [name, op] = [known.text(cursor)?, known.text(cursor)?];
    let key = Key { layer, name, op, stack: known.stack(cursor)? };
    let mut row = Row::default();
    for words in &mut row.words {
        for _ in 0..cursor.count(1, "words")? {
            words.insert(known.text(cursor)?);
        }
    }
    for _ in 0..cursor.count(1, "sizes")? {
        row.shape.push(cursor.int()?);
    }
    for _ in 0..cursor.count(2, "inputs")? {
        let source = known.text(cursor)?;
        let output = u32::try_from(cursor.number()?).map_err(|_| "the number of an output is too large".to_owned())?;
        row.inputs.push((source, output));
    }
    row.stack = known.stack(cursor)?;
    row.float_ops = cursor.int()?;
    row.inner = cursor.flag()?;
    row.declared_device = known.text(cursor)?;
    row.placement = known.text(cursor)?;
    row.dtype = known.text(cursor)?;
    row.cost = match cursor.byte()? {
        0 => None,
        kind @ (1 | 2) => {
            let mut numbers = [0; 6];
            for number in &mut numbers {
                *number = cursor.int()?;
            }
            let [float_ops, macs, io_bytes, runs, unknown, unlisted] = numbers;
            Some(Cost { float_ops, macs, io_bytes, runs, unknown, unlisted, why: cursor.byte()?, counted: kind == 2 })
        }
        other => return Err(format!("there are no costs of kind {other}")),
    };
    row.flags = cursor.byte()? | SEEN;
    row.precision = cursor.byte()?;
    for set in &mut row.steps {
        *set = known.sets[cursor.below(known.sets.len(), "set of steps")? as usize];
    }
    for _ in 0..cursor.count(4, "devices of a row")? {
        let device = known.text(cursor)?;
        if row.cells.insert(device, Box::new(read_cell(cursor, known)?)).is_some() {
            return Err("a row has a device twice".to_owned());
        }
    }
    Ok((key, row))
}

fn read_cell(cursor: &mut Cursor<'_>, known: &ReadTables) -> Result<Cell, Fault> {
    let mut cell = Cell { totals: read_sums(cursor)?, ..Cell::default() };
    cell.everything = if cursor.flag()? { read_sums(cursor)? } else { cell.totals.clone() };
    cell.times = Histogram::read(cursor)?;
    if cell.times.count() > 0 {
        cell.squares = cursor.number()?;
        cell.least = cursor.int()?;
        cell.most = cursor.int()?;
    }
    for _ in 0..cursor.count(2, "steps of a row")? {
        let step = cursor.int()?;
        let sums = read_sums(cursor)?;
        if !known.sampled.contains(&step) || cell.by_step.insert(step, Box::new(sums)).is_some() {
            return Err(format!("step {step} of a row is not sampled, or there twice"));
        }
    }
    Ok(cell)
}

fn read_sums(cursor: &mut Cursor<'_>) -> Result<Sums, Fault> {
    let mask = cursor.number()?;
    if mask >> (SUMS + 2) != 0 {
        return Err("a row has sums that this version does not know".to_owned());
    }
    let has = |at: usize| mask >> at & 1 != 0;
    let mut sums = Sums::default();
    for at in (0..SUMS).filter(|at| has(*at)) {
        sums.added[at] = cursor.signed()?;
    }
    if has(SUMS) {
        sums.highest_peak = cursor.int()?;
    }
    if has(SUMS + 1) {
        let first = cursor.int()?;
        let last = i128::from(first) + cursor.signed()?;
        let last = i64::try_from(last).map_err(|_| "the end of a row does not fit 64 bits".to_owned())?;
        sums.span = Some((first, last));
    }
    Ok(sums)
}
