//! Signals that end the program: incomplete files are removed first. Only for a program that owns its process.

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};

static OWNED: AtomicBool = AtomicBool::new(false);
/// While a pager is up, Ctrl-C is the pager's.
static PAGING: AtomicBool = AtomicBool::new(false);
static INCOMPLETE: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Says that the process is ours, so that signals may be handled.
pub fn own_process() {
    OWNED.store(true, Ordering::SeqCst);
}

pub(crate) fn set_paging(paging: bool) {
    PAGING.store(paging, Ordering::SeqCst);
}

/// Removes the file if a signal ends the program before [`forget`].
pub(crate) fn watch(path: &Path) {
    static STARTED: Once = Once::new();
    if OWNED.load(Ordering::SeqCst) {
        incomplete().push(path.to_owned());
        STARTED.call_once(start);
    }
}

pub(crate) fn forget(path: &Path) {
    incomplete().retain(|known| known != path);
}

fn incomplete() -> MutexGuard<'static, Vec<PathBuf>> {
    INCOMPLETE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts the thread that waits for signals. Without it, they end the program as ever.
fn start() {
    let wait = || {
        let Ok(mut signals) = Signals::new([SIGHUP, SIGINT, SIGTERM]) else { return };
        for signal in signals.forever() {
            let files = std::mem::take(&mut *incomplete());
            if signal == SIGINT && files.is_empty() && PAGING.load(Ordering::SeqCst) {
                continue;
            }
            for file in files {
                let _ = fs::remove_file(file);
            }
            let _ = emulate_default_handler(signal);
        }
    };
    let _ = std::thread::Builder::new().name("signals".to_owned()).spawn(wait);
}
