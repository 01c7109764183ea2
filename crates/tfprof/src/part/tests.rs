//! Merging is associative and commutative, and files come back as they were.

use super::rows::{Key, NO_STACK, Row, Rows, SEEN, Sums};
use super::steps::{StepSet, sample};
use super::*;

/// A small generator of random numbers, the same in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % limit
    }
}

/// A partial of one host: names, devices, stacks and steps overlap with those of other hosts, but are met in another order.
fn random_part(random: &mut Random, host: u64) -> Partial {
    let mut rows = Rows::default();
    let first = random.below(40) as i64;
    let steps: Vec<i64> = (first..first + 1 + random.below(60) as i64).filter(|_| random.below(5) > 0).collect();
    let all = StepSet::new(steps.clone());
    rows.sampled = sample(&all);
    for _ in 0..=random.below(12) {
        let name = rows.text(&format!("scope/op_{}", random.below(9)));
        let op = rows.text(["MatMul", "Add", "Relu"][random.below(3) as usize]);
        let mut stack = NO_STACK;
        for _ in 0..random.below(4) {
            let texts = [format!("f{}.py", random.below(3)), format!("g{}", random.below(2)), String::new()];
            let texts = texts.map(|text| rows.text(&text));
            let frame = rows.frame(rows::Frame { texts, line: random.below(3) as i32, function_start: 0 });
            stack = rows.stack(stack.max(rows::EMPTY_STACK), frame);
        }
        let layer = random.below(2) as u8 * 6;
        let key = Key { layer, name, op, stack: if layer == 0 { NO_STACK } else { stack } };
        let mut row = Row { stack, flags: SEEN, float_ops: random.below(5) as i64, ..Row::default() };
        row.shape = (0..random.below(3)).map(|_| random.below(4) as i64).collect();
        row.inputs = (0..random.below(3))
            .map(|_| (rows.text(["", "scope/op_1", "nowhere"][random.below(3) as usize]), random.below(3) as u32))
            .collect();
        row.inner = random.below(2) == 0;
        row.declared_device = rows.text(["", "/cpu:0", "/gpu:1"][random.below(3) as usize]);
        row.words[0] = (0..random.below(3)).map(|_| rows.text(&format!("type{}", random.below(3)))).collect();
        row.cost = (random.below(2) == 0).then(|| rows::Cost {
            float_ops: random.below(9) as i64,
            counted: true,
            ..rows::Cost::default()
        });
        let ran: Vec<i64> = steps.iter().copied().filter(|_| random.below(3) > 0).collect();
        row.steps = [rows.step_set(StepSet::new(ran.clone())), rows.step_set(StepSet::new(ran.clone()))];
        let device = rows.text(&format!("/device:GPU:{}", random.below(2)));
        rows.devices.insert(device, 3);
        let cell = row.cells.entry(device).or_default();
        for step in ran {
            let mut sums = Sums { span: Some((step * 1000 + 1, step * 1000 + 900)), ..Sums::default() };
            sums.added[0] = 1;
            sums.added[1] = i128::from(random.below(1 << 40));
            sums.highest_peak = random.below(1000) as i64;
            cell.count(sums.added[1] as i64);
            cell.totals.add(&sums);
            cell.everything.add(&sums);
            if rows.sampled.contains(&step) {
                cell.by_step.insert(step, Box::new(sums));
            }
        }
        *rows.row(key) = row;
    }
    let input =
        InputEntry { path: format!("host{host}.xplane.pb"), size: 100 + host, tag: host.into(), is_measured: true };
    let recording =
        Recording { host: format!("host{host}"), inputs: [input].into(), records: 7, ..Recording::default() };
    let step_row = |number: &i64| StepRow { number: *number, wall: Some(5), busy: None, ..StepRow::default() };
    let block = Block { per_micro: 1_000_000, steps: steps.iter().map(step_row).collect(), ..Block::default() };
    let known = [format!("metric{}", random.below(3))].into();
    let about =
        PartialFacts { per_micro: Some(1_000_000), is_trace: true, known, steps: all, ..PartialFacts::default() };
    let id = recording.id();
    Partial { about, rows, recordings: [(id, recording)].into(), blocks: [(id, Packed::new(&block.write()))].into() }
}

fn merge_all(parts: &[Vec<u8>]) -> Vec<u8> {
    let ledgers: Vec<_> = parts.iter().map(|part| Partial::ledger_of(part).unwrap()).collect();
    let mut merger = Merger::default();
    for at in Merger::order(&ledgers) {
        merger.add(Partial::from_bytes(&parts[at]).unwrap(), "part").unwrap();
    }
    merger.finish().to_bytes()
}

/// Merges in a random order and grouping; some parts are given twice.
fn merge_somehow(random: &mut Random, parts: &[Vec<u8>]) -> Vec<u8> {
    let mut rest: Vec<Vec<u8>> = parts.to_vec();
    let again = random.below(parts.len() as u64) as usize;
    rest.push(parts[again].clone());
    while rest.len() > 1 {
        let group = 2 + random.below(3) as usize;
        let mut chosen = Vec::new();
        while chosen.len() < group && !rest.is_empty() {
            let at = random.below(rest.len() as u64) as usize;
            chosen.push(rest.swap_remove(at));
        }
        // The part that is there twice may be half of each of two groups: those cannot be merged, so drop it here.
        let ledgers: Vec<_> = chosen.iter().map(|part| Partial::ledger_of(part).unwrap()).collect();
        let overlap = |a: usize, b: usize| ledgers[a].keys().filter(|id| ledgers[b].contains_key(id)).count();
        let pairs: Vec<(usize, usize)> = (0..chosen.len()).flat_map(|a| (0..a).map(move |b| (a, b))).collect();
        let half = |(a, b): &(usize, usize)| {
            let both = overlap(*a, *b);
            both > 0 && both < ledgers[*a].len() && both < ledgers[*b].len()
        };
        if pairs.iter().any(half) {
            return merge_all(parts);
        }
        rest.push(merge_all(&chosen));
    }
    rest.remove(0)
}

#[test]
fn merging_gives_the_same_bytes_in_any_order_and_grouping() {
    let mut random = Random(7);
    for case in 0..60 {
        let parts: Vec<Vec<u8>> =
            (0..2 + random.below(6)).map(|host| random_part(&mut random, host).to_bytes()).collect();
        let expected = merge_all(&parts);
        for _ in 0..6 {
            assert_eq!(merge_somehow(&mut random, &parts), expected, "case {case}");
        }
    }
}

#[test]
fn a_file_comes_back_as_it_was() {
    let mut random = Random(11);
    for host in 0..50 {
        let bytes = random_part(&mut random, host).to_bytes();
        assert_eq!(Partial::from_bytes(&bytes).unwrap().to_bytes(), bytes);
        // Merging a single part changes nothing.
        assert_eq!(merge_all(std::slice::from_ref(&bytes)), bytes);
    }
}

#[test]
fn the_same_input_counts_once_and_half_of_it_is_refused() {
    let mut random = Random(3);
    let [a, b, c] = [0, 1, 2].map(|host| random_part(&mut random, host).to_bytes());
    let ab = merge_all(&[a.clone(), b.clone()]);
    assert_eq!(merge_all(&[a.clone(), ab.clone(), b.clone(), a.clone()]), ab);
    let bc = merge_all(&[b, c]);
    let mut merger = Merger::default();
    merger.add(Partial::from_bytes(&ab).unwrap(), "ab").unwrap();
    merger.add(Partial::from_bytes(&a).unwrap(), "a").unwrap();
    assert_eq!(merger.repeated, ["a"]);
    let why = merger.add(Partial::from_bytes(&bc).unwrap(), "bc").unwrap_err();
    assert!(why.contains("host1.xplane.pb"), "{why}");
}

#[test]
fn a_host_that_was_missing_and_is_read_later_is_not_missing() {
    let mut random = Random(5);
    let [a, b] = [0, 1].map(|host| random_part(&mut random, host).to_bytes());
    let lost = |path: &str| Partial::lost(path, "no such file").to_bytes();
    let both = merge_all(&[a.clone(), b.clone()]);
    assert_eq!(merge_all(&[merge_all(&[lost("host0.xplane.pb"), b]), a]), both);
    let with_missing = merge_all(&[both.clone(), lost("host9.xplane.pb"), lost("host9.xplane.pb")]);
    let missing = Partial::from_bytes(&with_missing).unwrap();
    assert_eq!(missing.missing().map(Recording::path).collect::<Vec<_>>(), ["host9.xplane.pb"]);
    assert_eq!(missing.recordings.len(), 3);
}

#[test]
fn every_damaged_byte_is_found() {
    let bytes = random_part(&mut Random(1), 0).to_bytes();
    for at in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[at] ^= 1 << (at % 8);
        assert!(Partial::from_bytes(&damaged).is_err(), "byte {at}");
        assert!(Partial::from_bytes(&bytes[..at]).is_err(), "cut at {at}");
    }
    let longer = [bytes.as_slice(), &[0]].concat();
    assert!(Partial::from_bytes(&longer).is_err());
    let later = [MAGIC.as_slice(), &[9, 0, 0, 0]].concat();
    assert!(Partial::from_bytes(&later).unwrap_err().contains("version 9"));
}
