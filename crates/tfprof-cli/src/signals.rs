//! Signals that end the program: while a file is written they wait until its incomplete copy is removed, and while a pager
//! is up, Ctrl-C is the pager's. Only for a program that owns its process, and without a thread of its own.

#[cfg(unix)]
use signal_hook::consts::SIGHUP;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use signal_hook::low_level::emulate_default_handler;
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};

/// Signals that end the program. Windows has no SIGHUP: closing a console there ends its programs at once.
const ENDING: &[i32] = &[
    #[cfg(unix)]
    SIGHUP,
    SIGINT,
    SIGTERM,
];

static OWNED: AtomicBool = AtomicBool::new(false);
/// The number of files being written, and of running pagers.
static BUSY: AtomicUsize = AtomicUsize::new(0);
static HANDLERS: LazyLock<Handlers> = LazyLock::new(Handlers::register);

struct Handlers {
    /// Whether a signal ends the program at once.
    ends: Arc<AtomicBool>,
    /// The signal that came meanwhile; 0 for none.
    came: Arc<AtomicUsize>,
}

impl Handlers {
    fn register() -> Handlers {
        let handlers = Handlers { ends: Arc::new(AtomicBool::new(true)), came: Arc::default() };
        for &signal in ENDING {
            // If this fails, signals end the program as ever.
            let _ = flag::register_conditional_default(signal, Arc::clone(&handlers.ends));
            let _ = flag::register_usize(signal, Arc::clone(&handlers.came), signal as usize);
        }
        handlers
    }
}

/// Says that the process is ours, so that signals may be handled.
pub fn own_process() {
    OWNED.store(true, Ordering::SeqCst);
}

/// From here on, signals wait for [`release`].
pub(crate) fn hold() {
    if OWNED.load(Ordering::SeqCst) {
        BUSY.fetch_add(1, Ordering::SeqCst);
        HANDLERS.ends.store(false, Ordering::SeqCst);
    }
}

/// The signal that came meanwhile ends the program; a Ctrl-C that was the pager's does not.
pub(crate) fn release(pager: bool) {
    if !OWNED.load(Ordering::SeqCst) || BUSY.fetch_sub(1, Ordering::SeqCst) > 1 {
        return;
    }
    HANDLERS.ends.store(true, Ordering::SeqCst);
    let signal = HANDLERS.came.swap(0, Ordering::SeqCst) as i32;
    if signal != 0 && !(pager && signal == SIGINT) {
        let _ = emulate_default_handler(signal);
    }
}

/// Whether a signal came that waits for [`release`].
pub fn is_waiting() -> bool {
    OWNED.load(Ordering::SeqCst) && HANDLERS.came.load(Ordering::SeqCst) != 0
}

/// A writer that stops at a signal.
pub(crate) struct Stoppable<W>(pub W);

impl<W: Write> Write for Stoppable<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if is_waiting() {
            return Err(io::Error::other("a signal ends the program"));
        }
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}
