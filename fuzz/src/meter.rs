//! Bounds each run of a target by the size of its input, so that amplification is a crash. Memory is counted by the
//! allocator; work is the number of basic blocks, which the instrumented code counts through one call for each. Neither
//! depends on the machine or on a clock.

use std::alloc::{GlobalAlloc, Layout};
use std::backtrace::Backtrace;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use tfprof::CountingAllocator;
use tfprof::internal::budget::Account;
use tfprof::{Error, Limits};

/// Bytes of memory that any run may hold, and those for each byte of input. The first are twice those of the budget: a target
/// collects an answer in a buffer that doubles.
const LEAST_MEMORY: u64 = 8 << 20;
const MEMORY_PER_BYTE: u64 = 64;
/// Basic blocks that any run may execute, and those for each byte of input.
const LEAST_WORK: u64 = 60_000_000;
const WORK_PER_BYTE: u64 = 12_000;

static HELD: AtomicI64 = AtomicI64::new(0);
static PEAK: AtomicI64 = AtomicI64::new(0);
static BLOCKS: AtomicU64 = AtomicU64::new(0);
/// The memory at which a run stops to say where it is: see `FUZZ_TRAP`.
static TRAP: AtomicI64 = AtomicI64::new(i64::MAX);

/// Runs a target on a file of `size` bytes; one that takes more than such a file may take is a crash.
pub fn metered(size: usize, run: impl FnOnce()) {
    let before = HELD.load(Ordering::Relaxed);
    PEAK.store(before, Ordering::Relaxed);
    BLOCKS.store(0, Ordering::Relaxed);
    // With FUZZ_TRAP=BYTES in the environment, the allocation that goes beyond says who made it.
    let trap = std::env::var("FUZZ_TRAP").ok().and_then(|bytes| bytes.parse::<i64>().ok());
    TRAP.store(trap.map_or(i64::MAX, |bytes| before + bytes), Ordering::Relaxed);
    run();
    let held = u64::try_from(PEAK.load(Ordering::Relaxed) - before).unwrap_or(0);
    let blocks = BLOCKS.load(Ordering::Relaxed);
    show(size, held, blocks);
    let size = size as u64;
    assert!(held <= LEAST_MEMORY + MEMORY_PER_BYTE * size, "{size} bytes of input take {held} bytes of memory");
    assert!(blocks <= LEAST_WORK + WORK_PER_BYTE * size, "{size} bytes of input take {blocks} basic blocks");
}

/// The same, within a budget: repetition that users may ask for, such as a function that is called a thousand times, and
/// answers that are longer than their files end early; all that the budget does not see still counts.
pub fn budgeted(size: usize, run: impl FnOnce() -> Result<(), Error>) {
    let input = size as u64;
    let limits = Limits { work: Some(20_000 + 20 * input), memory: Some((4 << 20) + 40 * input), ..Limits::default() };
    metered(size, || {
        let _ = Account::new(limits, size as u64).guard(run);
    });
}

/// With `FUZZ_METER` in the environment, shows each run that came closer to a bound than those before.
fn show(size: usize, held: u64, blocks: u64) {
    static WORST: [AtomicU64; 2] = [AtomicU64::new(0), AtomicU64::new(0)];
    if std::env::var_os("FUZZ_METER").is_none() {
        return;
    }
    let size = size as u64;
    let memory = held * 100 / (LEAST_MEMORY + MEMORY_PER_BYTE * size);
    let work = blocks * 100 / (LEAST_WORK + WORK_PER_BYTE * size);
    let worse = WORST[0].fetch_max(memory, Ordering::Relaxed) < memory;
    if WORST[1].fetch_max(work, Ordering::Relaxed) < work || worse {
        eprintln!("meter: {size} bytes: {held} of memory ({memory} %), {blocks} blocks ({work} %)");
    }
}

// Called at each basic block of instrumented code. In assembly, since a function in Rust would be instrumented itself.
#[cfg(target_arch = "x86_64")]
std::arch::global_asm!(
    ".globl __sanitizer_cov_trace_pc",
    "__sanitizer_cov_trace_pc:",
    "inc qword ptr [rip + {blocks}]",
    "ret",
    blocks = sym BLOCKS,
);

#[cfg(target_arch = "aarch64")]
std::arch::global_asm!(
    ".globl __sanitizer_cov_trace_pc",
    "__sanitizer_cov_trace_pc:",
    "adrp x16, {blocks}",
    "add x16, x16, :lo12:{blocks}",
    "ldr x17, [x16]",
    "add x17, x17, #1",
    "str x17, [x16]",
    "ret",
    blocks = sym BLOCKS,
);

struct Allocator;

#[global_allocator]
static ALLOCATOR: Allocator = Allocator;

fn count(bytes: i64) {
    let held = HELD.fetch_add(bytes, Ordering::Relaxed) + bytes;
    PEAK.fetch_max(held, Ordering::Relaxed);
    if held > TRAP.load(Ordering::Relaxed) {
        TRAP.store(i64::MAX, Ordering::Relaxed);
        eprintln!("{held} bytes are held, {bytes} of them new:\n{}", Backtrace::force_capture());
    }
}

// SAFETY: every method hands its arguments to the counting allocator unchanged and returns what that returns.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as i64);
        unsafe { CountingAllocator.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as i64);
        unsafe { CountingAllocator.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        count(-(layout.size() as i64));
        unsafe { CountingAllocator.dealloc(memory, layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size as i64 - layout.size() as i64);
        unsafe { CountingAllocator.realloc(memory, layout, size) }
    }
}
