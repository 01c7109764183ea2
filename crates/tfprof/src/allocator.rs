//! An allocator that counts the bytes each thread holds, so that [`budget`](crate::budget) can check memory where it
//! is allocated. A program opts in: `#[global_allocator] static A: CountingAllocator = CountingAllocator;`.

// Needs `unsafe`, since Rust has no other way to write an allocator. All calls go to the system's allocator.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};

/// The system's allocator, and a count of the bytes in use.
#[derive(Clone, Copy, Debug, Default)]
pub struct CountingAllocator;

thread_local! {
    /// The bytes that this thread allocated minus those that it freed, whoever allocated them.
    static HELD: Cell<isize> = const { Cell::new(0) };
}

/// Whether to end the process with a sentence when the system refuses memory; see [`exit_when_refused`].
static EXITS: AtomicBool = AtomicBool::new(false);

/// The bytes that the calling thread allocated minus those that it freed; 0 if the program has another allocator.
#[inline]
pub(crate) fn held() -> isize {
    HELD.get()
}

/// If the system refuses memory, ends the process with a sentence and exit code 1 instead of a signal. For programs that
/// own their process; budgets stop long before, except where one allocation asks for most of what is left.
pub fn exit_when_refused() {
    EXITS.store(true, Ordering::Relaxed);
}

/// Whether [`exit_when_refused`] was called.
pub(crate) fn exits() -> bool {
    EXITS.load(Ordering::Relaxed)
}

#[inline]
fn count(bytes: isize) {
    HELD.set(HELD.get().wrapping_add(bytes));
}

/// The bytes that an allocation takes: a header and whole units, as common allocators have them. A text of a few letters takes
/// several times its length.
#[inline]
const fn taken(size: usize) -> isize {
    let whole = size.saturating_add(HEADER + UNIT - 1) & !(UNIT - 1);
    if whole < LEAST { LEAST as isize } else { whole as isize }
}

const HEADER: usize = size_of::<usize>();
const UNIT: usize = 2 * size_of::<usize>();
const LEAST: usize = 4 * size_of::<usize>();

/// Says that memory is refused, without allocating any.
#[cold]
fn refused(bytes: usize) {
    if exits() {
        let megabytes = bytes.div_ceil(1 << 20);
        let advice = "ask for less, as with fewer steps or a smaller -max_depth, or allow the process more";
        let _ = writeln!(std::io::stderr(), "tfprof: the system refuses {megabytes} MB of memory; {advice}");
        std::process::exit(1);
    }
}

// SAFETY: every method hands its arguments to the system's allocator unchanged and returns what that returns. The count
// is a plain number of the thread: it neither allocates nor unwinds.
unsafe impl GlobalAlloc for CountingAllocator {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the contract of `GlobalAlloc::alloc`.
        let memory = unsafe { System.alloc(layout) };
        if memory.is_null() {
            refused(layout.size());
        } else {
            count(taken(layout.size()));
        }
        memory
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        let memory = unsafe { System.alloc_zeroed(layout) };
        if memory.is_null() {
            refused(layout.size());
        } else {
            count(taken(layout.size()));
        }
        memory
    }

    #[inline]
    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(memory, layout) };
        count(-taken(layout.size()));
    }

    #[inline]
    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as above.
        let moved = unsafe { System.realloc(memory, layout, size) };
        if moved.is_null() {
            refused(size);
        } else {
            count(taken(size) - taken(layout.size()));
        }
        moved
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_pointer_width = "64")]
    fn small_allocations_take_more_than_they_hold() {
        assert_eq!([1, 24, 25, 40, 41].map(taken), [32, 32, 48, 48, 64]);
        assert_eq!(taken(1 << 20), (1 << 20) + 16);
    }
}
