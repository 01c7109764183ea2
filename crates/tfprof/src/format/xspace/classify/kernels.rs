//! Attributes of kernels, which profilers store as a list of words, and their cost.

use crate::events::OpCost;
use crate::format::xspace::wire::event::Event;
use crate::format::xspace::wire::stats::Stat;
use crate::model::op_facts::Launch;

/// The attributes of a kernel: `regs:38 static_shared:0 dynamic_shared:0 grid:160,1,1 block:1024,1,1 occ_pct:50`.
pub fn launch(details: &str, occupancy: Option<&str>) -> Launch {
    let get = |word: &str| details.split_whitespace().find_map(|pair| pair.strip_prefix(word)?.strip_prefix(':'));
    let number = |word: &str| get(word)?.parse::<u64>().ok();
    let sizes = |word: &str| {
        let mut sizes = get(word)?.split(',').map(|size| size.parse().ok());
        Some([sizes.next()??, sizes.next()??, sizes.next()??])
    };
    let shared = ["shm", "static_shared", "dynamic_shared", "group_mem"].map(number).into_iter().flatten();
    let percent = occupancy.or_else(|| get("occ_pct")).and_then(|text| text.parse().ok());
    Launch {
        // Some profilers leave the field as it was in memory.
        registers: number("regs").filter(|registers| *registers <= MOST_REGISTERS),
        shared_bytes: shared.reduce(u64::saturating_add),
        grid: sizes("grid"),
        block: sizes("block"),
        // A kernel that ran took some of the device: 0 stands for unknown.
        occupancy: percent.filter(|percent: &f64| *percent > 0.0 && percent.is_finite()),
    }
}

/// No device gives a thread more registers.
const MOST_REGISTERS: u64 = 1 << 16;

/// The cost that the file itself states.
pub fn recorded_cost(event: &Event<'_>) -> OpCost {
    let number = |stat| event.number(stat).map(|n| n.max(0));
    OpCost { flops: number(Stat::Flops), bytes: number(Stat::BytesAccessed), precision: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_have_attributes_as_far_as_they_are_recorded() {
        let cuda = launch("regs:38 static_shared:16 dynamic_shared:32 grid:160,1,2 block:1024,1,1 occ_pct:62.5", None);
        let [grid, block] = [[160, 1, 2], [1024, 1, 1]].map(Some);
        let expect = Launch { registers: Some(38), shared_bytes: Some(48), grid, block, occupancy: Some(62.5) };
        assert_eq!(cuda, expect);
        let rocm = launch(" grid:1,2,3 block:512,1,1 private_mem:0 group_mem:0 occ_pct:0", Some("0.0"));
        assert_eq!((rocm.registers, rocm.shared_bytes, rocm.occupancy), (None, Some(0), None));
        assert_eq!(launch("regs:2191500840 grid:1,2", None), Launch::default());
        assert_eq!(launch("", Some("nan")), Launch::default());
    }
}
