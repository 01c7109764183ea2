//! Ctrl-C during native work: long work runs on its own thread, while the calling thread checks for signals.

use crate::raise;
use pyo3::prelude::*;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;
use tfprof::internal::budget::Account;

/// The interval between checks for signals.
pub const LISTEN: Duration = Duration::from_millis(20);

/// Runs work without holding Python's lock. If a signal handler raises, as for Ctrl-C, the call returns; the work itself
/// continues in the background.
///
/// `short` work runs on the calling thread.
pub fn interruptible<T, F>(py: Python<'_>, short: bool, work: F) -> PyResult<T>
where
    T: Send + 'static,
    F: FnOnce() -> T + Send + 'static,
{
    // Work stops with an exception before the process runs out of memory.
    let work = move || Account::of_process().guard(|| Ok(work()));
    if short {
        return py.detach(work).map_err(|error| raise(&error));
    }
    let (sender, mut receiver) = channel();
    let job = move || {
        // The caller may have gone.
        let _ = sender.send(catch_unwind(AssertUnwindSafe(work)));
    };
    if let Err(error) = std::thread::Builder::new().name("tfprof".to_owned()).spawn(job) {
        let why = format!("the system gives no thread to work on: {error}");
        return Err(pyo3::exceptions::PyOSError::new_err(why));
    }
    loop {
        // The receiver is `Send` but not `Sync`, so it is lent by unique reference.
        let receiver = &mut receiver;
        match py.detach(move || receiver.recv_timeout(LISTEN)) {
            Ok(Ok(done)) => return done.map_err(|error| raise(&error)),
            Ok(Err(panic)) => resume_unwind(panic),
            Err(RecvTimeoutError::Timeout) => py.check_signals()?,
            Err(RecvTimeoutError::Disconnected) => {
                return Err(pyo3::exceptions::PyRuntimeError::new_err("the work ended without an answer"));
            }
        }
    }
}
