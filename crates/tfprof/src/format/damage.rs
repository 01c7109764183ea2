//! What is wrong inside of records that are whole themselves: a length that runs past its record, a field that is none.
//!
//! Readers take what they can and go on; that something was lost is said once for each record, by whoever drives them.

use std::cell::Cell;
use tfprof_proto::wire::WireError;

thread_local! {
    /// The first fault of the record at hand. Readers are many and nest; none of them could do anything about it.
    static FAULT: Cell<Option<WireError>> = const { Cell::new(None) };
}

/// Notes a fault, unless there was one in this record already.
#[cold]
pub(super) fn note(error: WireError) {
    FAULT.set(FAULT.take().or(Some(error)));
}

/// The first fault since this was asked last.
#[inline]
pub(super) fn take() -> Option<WireError> {
    FAULT.take()
}
