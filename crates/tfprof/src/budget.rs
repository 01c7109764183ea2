//! The budget of an answer. Memory and work beyond a small multiple of the bytes read are charged to one [`Account`],
//! which the readers, inference, expansion and writers of an answer share, on all their threads.
//!
//! The limits follow from the size of the input, so that an answer does not depend on the machine; `--max_memory` and
//! `--max_work` replace them, and limits of the process lower them. Code that allocates in a loop calls [`check`]; code
//! that may repeat itself calls [`work`]. When the account is empty, they unwind to the nearest [`guard`], which returns
//! an [`Error`]: no function on the way needs to know. Code that can leave a part out asks [`can_afford`] instead.

use crate::allocator::{self, held};
use crate::error::{Error, Fix, LimitReached};
use crate::metric::Unit;
use crate::units;
use std::cell::{Cell, RefCell};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

/// The limits for the cost of an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// The most bytes that a compressed file may unpack to; by default, a few hundred times its size.
    pub unpacked: Option<u64>,
    /// The most bytes of memory that an answer may hold; by default, a multiple of the bytes read.
    pub memory: Option<u64>,
    /// The most nodes and rows computed for an answer; by default, a multiple of the bytes read.
    pub work: Option<u64>,
}

/// Any answer may take this much memory, however small its files are.
const LEAST_MEMORY: u64 = 48 << 20;
/// Bytes of memory for each byte that is read: twice what the most demanding real files take.
const MEMORY_PER_BYTE: u64 = 40;
/// Any answer may take this much work, however small its files are.
const LEAST_WORK: u64 = 2_000_000;
/// Units of work for each byte that is read.
const WORK_PER_BYTE: u64 = 100;
/// Unpacked bytes count as input up to this multiple of the packed ones.
pub const PACKED_GROWTH: u64 = 25;
/// The memory and work that a thread may accumulate before it reports to the account.
const MEMORY_STEP: isize = 256 << 10;
const WORK_STEP: u64 = 4096;

/// The costs of one answer so far, and their limits. Clones share it.
#[derive(Clone, Debug)]
pub struct Account(Arc<State>);

#[derive(Debug)]
struct State {
    limits: Limits,
    /// Whether limits follow from the input, where none is given.
    by_input: bool,
    /// The memory that the process may still take, if the system limits it.
    system: Option<u64>,
    /// Bytes of input.
    input: AtomicU64,
    /// Bytes of memory in use, together with other accounts of the same files.
    held: Arc<AtomicI64>,
    work: AtomicU64,
}

thread_local! {
    static CURRENT: RefCell<Option<Account>> = const { RefCell::new(None) };
    /// The thread's memory when it last reported to its account, and its work since then.
    static TOLD: Cell<isize> = const { Cell::new(0) };
    static UNTOLD_WORK: Cell<u64> = const { Cell::new(0) };
}

/// The cause of unwinding when an account is empty.
struct Exceeded {
    message: String,
    option: &'static str,
}

impl Account {
    /// A new account for files of `input` bytes; bytes that are read later count as well.
    pub fn new(limits: Limits, input: u64) -> Account {
        Account::with(limits, true, input)
    }

    /// An account that only the limits of the process bound.
    pub fn of_process() -> Account {
        Account::with(Limits::default(), false, 0)
    }

    /// A new account for another question about the same files, beside the current one.
    pub fn again(limits: Limits) -> Account {
        Account::new(limits, Account::current().map_or(0, |account| account.input()))
    }

    fn with(limits: Limits, by_input: bool, input: u64) -> Account {
        Account(Arc::new(State {
            limits,
            by_input,
            system: system_limit(),
            input: AtomicU64::new(input),
            held: Arc::default(),
            work: AtomicU64::new(0),
        }))
    }

    /// The account that this thread charges.
    pub fn current() -> Option<Account> {
        CURRENT.with_borrow(Option::clone)
    }

    /// The same, unless only the limits of the process bound it.
    fn of_answer() -> Option<Account> {
        Account::current().filter(|account| account.0.by_input)
    }

    /// Answers another question about the files of this account: its memory counts with theirs, its work anew. The result is a
    /// copy, which the account does not hold any more.
    pub fn another<T: Clone>(&self, work: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
        if Account::current().is_some_and(|current| Arc::ptr_eq(&current.0.held, &self.0.held)) {
            return guard_here(work);
        }
        let State { limits, by_input, system, held, .. } = &*self.0;
        let account = Account(Arc::new(State {
            limits: *limits,
            by_input: *by_input,
            system: *system,
            input: AtomicU64::new(self.input()),
            held: Arc::clone(held),
            work: AtomicU64::new(0),
        }));
        let made = account.guard(work)?;
        let copy = made.clone();
        // Free it under the same account that was charged for it.
        let _entered = account.enter();
        drop(made);
        Ok(copy)
    }

    /// Runs `work` at the expense of this account. If that runs out, the answer is an error.
    pub fn guard<T>(&self, work: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
        let _entered = self.enter();
        guard_here(work)
    }

    /// The same for a writer.
    pub fn guard_io<T>(&self, work: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        let _entered = self.enter();
        catch(work).unwrap_or_else(|exceeded| Err(exceeded.into_io_error()))
    }

    /// Charges this account for all that the thread does, until the result is dropped.
    pub fn enter(&self) -> Entered {
        tell();
        let told = TOLD.replace(held());
        Entered { before: CURRENT.replace(Some(self.clone())), told }
    }

    /// The bytes of input so far.
    pub fn input(&self) -> u64 {
        self.0.input.load(Ordering::Relaxed)
    }

    /// The memory limit in bytes.
    fn memory_limit(&self) -> u64 {
        let by_input = || LEAST_MEMORY.saturating_add(self.input().saturating_mul(MEMORY_PER_BYTE));
        let own = self.0.limits.memory.unwrap_or_else(|| if self.0.by_input { by_input() } else { u64::MAX });
        self.0.system.map_or(own, |system| system.min(own))
    }

    /// The remaining bytes below the memory limit.
    pub fn memory_left(&self) -> u64 {
        self.memory_limit().saturating_sub(u64::try_from(self.0.held.load(Ordering::Relaxed)).unwrap_or(0))
    }

    /// How many times as much as now may be held besides.
    pub fn times_left(&self) -> u64 {
        let held = u64::try_from(self.0.held.load(Ordering::Relaxed)).unwrap_or(0);
        self.memory_left() / held.max(1)
    }

    fn work_limit(&self) -> u64 {
        let by_input = || LEAST_WORK.saturating_add(self.input().saturating_mul(WORK_PER_BYTE));
        self.0.limits.work.unwrap_or_else(|| if self.0.by_input { by_input() } else { u64::MAX })
    }

    /// Whether `more` bytes are within the limit; else why not.
    fn afford_memory(&self, more: u64) -> Result<(), Exceeded> {
        let held = u64::try_from(self.0.held.load(Ordering::Relaxed)).unwrap_or(0);
        let limit = self.memory_limit();
        if held.saturating_add(more) <= limit {
            return Ok(());
        }
        let text = |bytes: u64| units::text(Unit::Bytes, i64::try_from(bytes).unwrap_or(i64::MAX));
        let whose = match (self.0.system, self.0.limits.memory) {
            (Some(system), _) if system == limit => "the process may take",
            (_, Some(_)) => "the limit is",
            _ => "files of this size may take",
        };
        let needs =
            if more > held { format!("needs {}", text(more)) } else { format!("needs more than {}", text(held)) };
        let message = format!("the answer {needs} of memory, and {whose} {}", text(limit));
        Err(Exceeded { message, option: "max_memory" })
    }

    fn afford_work(&self, more: u64) -> Result<(), Exceeded> {
        let (done, limit) = (self.0.work.load(Ordering::Relaxed), self.work_limit());
        if done.saturating_add(more) <= limit {
            return Ok(());
        }
        let whose = if self.0.limits.work.is_some() { "the limit is" } else { "files of this size may take" };
        let message = format!("the answer takes more than {done} steps, and {whose} {limit}");
        Err(Exceeded { message, option: "max_work" })
    }
}

/// While it lives, its thread charges an account.
#[derive(Debug)]
#[must_use]
pub struct Entered {
    before: Option<Account>,
    told: isize,
}

impl Drop for Entered {
    fn drop(&mut self) {
        tell();
        CURRENT.set(self.before.take());
        // The account before pays as well.
        TOLD.set(self.told);
    }
}

/// Runs `work` at the expense of the current account, or of a new one for `input` bytes.
pub fn guard<T>(limits: Limits, input: u64, work: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
    match Account::of_answer() {
        Some(_) => guard_here(work),
        None => Account::new(limits, input).guard(work),
    }
}

/// The same for a writer.
pub fn guard_io<T>(limits: Limits, input: u64, work: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    Account::of_answer().unwrap_or_else(|| Account::new(limits, input)).guard_io(work)
}

fn guard_here<T>(work: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
    catch(work).unwrap_or_else(|exceeded| Err(exceeded.into_error()))
}

fn catch<T>(work: impl FnOnce() -> T) -> Result<T, Exceeded> {
    // Values that were being changed are dropped, or as their guards leave them.
    catch_unwind(AssertUnwindSafe(work)).map_err(|cause| match cause.downcast::<Exceeded>() {
        Ok(exceeded) => *exceeded,
        Err(panic) => resume_unwind(panic),
    })
}

/// Adds bytes of input to the current account.
pub fn add_input(bytes: u64) {
    CURRENT.with_borrow(|account| {
        if let Some(Account(state)) = account {
            state.input.fetch_add(bytes, Ordering::Relaxed);
        }
    });
}

/// Stops if the memory in use is beyond the limit. Cheap: call it wherever something grows.
#[inline]
pub fn check() {
    if held().wrapping_sub(TOLD.get()).unsigned_abs() >= MEMORY_STEP.unsigned_abs() {
        check_now(0);
    }
}

/// Stops if `bytes` more are beyond the limit. Call it before a large allocation.
pub fn reserve(bytes: u64) {
    if bytes >= MEMORY_STEP.unsigned_abs() as u64 {
        check_now(bytes);
    } else {
        check();
    }
}

/// Charges units of work: nodes, rows or records that are looked at again.
#[inline]
pub fn work(units: u64) {
    let untold = UNTOLD_WORK.get().saturating_add(units);
    UNTOLD_WORK.set(untold);
    if untold >= WORK_STEP {
        // A report starts the next interval, so check the memory now, too.
        stop_unless(|account| account.afford_work(0).and_then(|()| account.afford_memory(0)));
    } else {
        check();
    }
}

/// The same where nothing may unwind: the error is for the caller to return.
pub fn spend(units: u64) -> Result<(), Error> {
    tell();
    let spent = CURRENT.with_borrow(|account| {
        let Some(account) = account else { return Ok(()) };
        account.0.work.fetch_add(units, Ordering::Relaxed);
        account.afford_work(0).and_then(|()| account.afford_memory(0))
    });
    spent.map_err(Exceeded::into_error)
}

/// Whether the account can pay for more work and memory. Charges the work if so. Without an account, there is no limit.
pub fn can_afford(work: u64, memory: u64) -> bool {
    tell();
    CURRENT.with_borrow(|account| {
        let Some(account) = account else { return true };
        let affords = account.afford_work(work).is_ok() && account.afford_memory(memory).is_ok();
        if affords {
            account.0.work.fetch_add(work, Ordering::Relaxed);
        }
        affords
    })
}

#[cold]
#[inline(never)]
fn check_now(more: u64) {
    stop_unless(|account| account.afford_memory(more));
}

#[cold]
#[inline(never)]
fn stop_unless(affords: impl FnOnce(&Account) -> Result<(), Exceeded>) {
    tell();
    let outcome = CURRENT.with_borrow(|account| account.as_ref().map_or(Ok(()), affords));
    if let Err(exceeded) = outcome
        && !std::thread::panicking()
    {
        resume_unwind(Box::new(exceeded));
    }
}

/// Reports the thread's memory and work since the last report.
fn tell() {
    let now = held();
    let change = now.wrapping_sub(TOLD.replace(now));
    let work = UNTOLD_WORK.replace(0);
    CURRENT.with_borrow(|account| {
        if let Some(Account(state)) = account {
            state.held.fetch_add(change as i64, Ordering::Relaxed);
            state.work.fetch_add(work, Ordering::Relaxed);
        }
    });
}

impl Exceeded {
    fn into_error(self) -> Error {
        Error::Limit(self.message).with_fix(Fix::new("allow more with", self.option))
    }

    fn into_io_error(self) -> io::Error {
        let fix = Fix::new("allow more with", self.option);
        io::Error::other(LimitReached { message: self.message, fix })
    }
}

/// A writer whose output is charged as work, so that a small file cannot make endless text.
#[derive(Debug)]
pub struct ChargedWriter<W>(pub W);

/// Bytes of output for one unit of work.
const OUTPUT_PER_UNIT: usize = 32;

impl<W: io::Write> io::Write for ChargedWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        work(1 + (bytes.len() / OUTPUT_PER_UNIT) as u64);
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// The memory that this process may still take before its address space or its control group ends. Of the address space,
/// a part stays free for threads and libraries; in a process that is not ours as much as may be used, since a buffer that
/// grows is held twice for a moment, and no allocation may fail there.
fn system_limit() -> Option<u64> {
    let left = |limit: Option<u64>, used: Option<u64>| Some(limit?.saturating_sub(used.unwrap_or(0)));
    let space = left(address_space_limit(), status("VmSize:"))
        .map(|left| if allocator::exits() { left / 10 * 9 } else { left / 2 });
    let group = left(control_group("memory.max"), control_group("memory.current")).map(|left| left / 10 * 9);
    [space, group].into_iter().flatten().min()
}

/// A size from the process's status, in bytes.
fn status(key: &str) -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(key))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes.saturating_mul(1024))
}

fn address_space_limit() -> Option<u64> {
    let limits = std::fs::read_to_string("/proc/self/limits").ok()?;
    let line = limits.lines().find_map(|line| line.strip_prefix("Max address space"))?;
    line.split_whitespace().next()?.parse().ok()
}

/// A number of the control group of this process.
fn control_group(file: &str) -> Option<u64> {
    let groups = std::fs::read_to_string("/proc/self/cgroup").ok()?;
    let path = groups.lines().find_map(|line| line.strip_prefix("0::/"))?;
    let number =
        |path: &str| std::fs::read_to_string(format!("/sys/fs/cgroup/{path}/{file}")).ok()?.trim().parse().ok();
    number(path).or_else(|| number(""))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits { unpacked: None, memory: None, work: Some(10_000) };

    #[test]
    fn work_beyond_the_limit_is_an_error_at_the_nearest_guard() {
        let spend = |units: u64| {
            guard(LIMITS, 0, || {
                (0..units).for_each(|_| work(1));
                Ok(units)
            })
        };
        assert_eq!(spend(9_000).expect("within the limit"), 9_000);
        let error = spend(100_000).expect_err("beyond the limit").to_string();
        assert!(error.contains("the limit is 10000; allow more with --max_work"), "{error}");
        assert!(Account::current().is_none());
    }

    #[test]
    fn threads_share_an_account() {
        let account = Account::new(LIMITS, 0);
        let outcome = account.guard(|| {
            let spent = crate::parallel::map(vec![6_000_u64; 4], 4, |units| {
                work(units);
                units
            });
            Ok(spent)
        });
        assert!(outcome.is_err());
    }

    #[test]
    fn a_part_that_is_too_dear_is_left_out() {
        let account = Account::new(LIMITS, 0);
        let affordable = account.guard(|| Ok([can_afford(6_000, 0), can_afford(6_000, 0), can_afford(1, 0)]));
        assert_eq!(affordable.expect("no stop"), [true, false, true]);
        assert!(can_afford(u64::MAX, u64::MAX), "without an account, there is no limit");
    }

    #[test]
    fn limits_follow_from_the_input() {
        let account = Account::new(Limits::default(), 0);
        let before = account.memory_limit();
        let read = || {
            add_input(1000);
            Ok(())
        };
        account.guard(read).expect("no limit is reached");
        assert_eq!(account.work_limit(), LEAST_WORK + 1000 * WORK_PER_BYTE);
        assert!(account.memory_limit() == before + 1000 * MEMORY_PER_BYTE || account.0.system.is_some());
        let given = Account::new(Limits { memory: Some(1 << 10), ..Limits::default() }, 1 << 30);
        assert_eq!(given.memory_limit(), 1 << 10);
    }

    #[test]
    fn another_question_works_anew_beside_the_memory_of_all() {
        let files = Account::new(LIMITS, 7);
        let spend = || {
            files.another(|| {
                (0..9).for_each(|_| work(1000));
                Ok(Account::current().map(|account| (account.input(), Arc::ptr_eq(&account.0.held, &files.0.held))))
            })
        };
        assert_eq!(spend().expect("within the limit"), Some((7, true)));
        assert_eq!(spend().expect("the work of the first does not count"), Some((7, true)));
        assert_eq!(files.0.work.load(Ordering::Relaxed), 0);
        let inside = files.guard(|| spend().and_then(|_| spend()));
        assert!(inside.is_err(), "within a command, all is one answer");
    }

    #[test]
    fn other_panics_pass() {
        let outcome = catch_unwind(|| guard(LIMITS, 0, || -> Result<(), Error> { resume_unwind(Box::new("other")) }));
        assert!(outcome.is_err());
    }
}
