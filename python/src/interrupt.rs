//! Ctrl-C while native code works: long work runs on a thread of its own, and the thread that asked for it goes on
//! listening to signals.

use pyo3::prelude::*;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// How often signals are looked for.
pub const LISTEN: Duration = Duration::from_millis(20);

/// Does work without Python's lock. A signal whose handler raises, as Ctrl-C does, ends the waiting; the work itself
/// goes on unseen until it is done.
///
/// Work that is `short` anyway is done at once, which saves the thread.
pub fn interruptible<T, F>(py: Python<'_>, short: bool, work: F) -> PyResult<T>
where
    T: Send + 'static,
    F: FnOnce() -> T + Send + 'static,
{
    if short {
        return Ok(py.detach(work));
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
            Ok(Ok(done)) => return Ok(done),
            Ok(Err(panic)) => resume_unwind(panic),
            Err(RecvTimeoutError::Timeout) => py.check_signals()?,
            Err(RecvTimeoutError::Disconnected) => {
                return Err(pyo3::exceptions::PyRuntimeError::new_err("the work ended without an answer"));
            }
        }
    }
}
