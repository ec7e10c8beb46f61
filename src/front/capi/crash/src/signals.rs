//! Turns signals into reports: installs the handler, lets one thread at a time write, and passes the signal on.

use core::cell::UnsafeCell;
use core::ffi::{c_int, c_void};
use core::mem::{MaybeUninit, transmute};
use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicI32, AtomicPtr, AtomicU32, AtomicU64, Ordering};

use foldsym_unwind::Registers;

use crate::cause::Cause;
use crate::options::{OPTIONS, Options};
use crate::registers;
use crate::report::Report;
use crate::status::{self, Status};
use crate::sys::{self, Action};

/// The signals of every handler.
const SIGNALS: [c_int; 6] =
    [libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGFPE, libc::SIGABRT, libc::SIGTRAP];
/// The highest number of a signal.
const LAST: usize = 64;
/// Reports that a process writes. A handler that was there before may let the program go on after each of them.
const REPORTS: u32 = 16;
/// Faults inside of one report after which it ends.
const FAULTS: u32 = 8;

/// The report, for the thread that holds the lock.
struct Shared(UnsafeCell<Report>);
// SAFETY: it is used by the thread alone whose number is in `OWNER`; a fault in the handler enters it again in the same thread, and never
// returns to the use that it interrupted.
unsafe impl Sync for Shared {}

/// Actions that were there before, by signal.
struct Before(UnsafeCell<[Option<Action>; LAST + 1]>);
// SAFETY: written by the installation, before the signal's handler is in place.
unsafe impl Sync for Before {}

static REPORT: Shared = Shared(UnsafeCell::new(Report::new()));
static BEFORE: Before = Before(UnsafeCell::new([const { None }; LAST + 1]));
/// The thread that writes a report; 0: none; negative: a thread that ends the process, so that no report is cut off by the end.
static OWNER: AtomicI32 = AtomicI32::new(0);
/// Threads that crashed and whose report is not written yet.
static WAITING: AtomicI32 = AtomicI32::new(0);
static WRITTEN: AtomicU32 = AtomicU32::new(0);
/// Faults in the report that is being written.
static FAULTED: AtomicU32 = AtomicU32::new(0);
static PROCESS: AtomicI32 = AtomicI32::new(0);
static INSTALLED: AtomicBool = AtomicBool::new(false);
/// The signals, a bit each, that somebody sent to the thread that writes outside of crashes, since it began to write.
static DEFERRED: AtomicU64 = AtomicU64::new(0);
/// Where the stack of the report begins; 0 while no report is written.
static BASE: AtomicU64 = AtomicU64::new(0);
/// The last fault in it.
static FAULT: (AtomicI32, AtomicU64) = (AtomicI32::new(0), AtomicU64::new(0));
/// The crash that is being written, for faults of the handler itself; its signal is 0 while none is.
static CRASH: (AtomicI32, AtomicPtr<libc::siginfo_t>, AtomicPtr<c_void>) =
    (AtomicI32::new(0), AtomicPtr::new(ptr::null_mut()), AtomicPtr::new(ptr::null_mut()));

pub(crate) fn is_installed() -> bool {
    INSTALLED.load(Ordering::Acquire)
}

/// The number of this process, which is known from the installation and from `fork`. A process that was made in another way has the number
/// of its first thread.
fn process(thread: i32) -> i32 {
    let known = PROCESS.load(Ordering::Relaxed);
    if sys::send(known, thread, 0) { known } else { thread }
}

/// A forked process has a number of its own, and one thread: nobody is left who writes a report or waits.
extern "C" fn in_child() {
    // SAFETY: no arguments.
    PROCESS.store(unsafe { libc::getpid() }, Ordering::Relaxed);
    WAITING.store(0, Ordering::Relaxed);
    CRASH.0.store(0, Ordering::Relaxed);
    BASE.store(0, Ordering::Relaxed);
    DEFERRED.store(0, Ordering::Relaxed);
    OWNER.store(0, Ordering::Release);
}

/// Whether the signals of the options have numbers that signals have.
pub(crate) fn are_signals(options: &Options) -> bool {
    // SAFETY: the caller's array is there during the call.
    unsafe { options.signals() }.iter().all(|signal| (1..=LAST as c_int).contains(signal))
}

/// Installs the handler for all signals of the options ([`are_signals`]), or for none of them.
pub(crate) fn install(options: &Options) -> Status {
    // SAFETY: the caller's array is there during the call.
    let more = unsafe { options.signals() };
    let all = || SIGNALS.iter().chain(more).copied();
    // SAFETY: no arguments.
    PROCESS.store(unsafe { libc::getpid() }, Ordering::Relaxed);
    // SAFETY: plain bytes; the C library fills them.
    let mut action: libc::sigaction = unsafe { MaybeUninit::zeroed().assume_init() };
    action.sa_sigaction = handler as *const () as usize;
    // Without SA_NODEFER a fault in the handler would end the process with half of a report.
    action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_NODEFER;
    // SAFETY: a set of signals, written by the C library.
    unsafe {
        libc::sigfillset(&raw mut action.sa_mask);
        for signal in all() {
            libc::sigdelset(&raw mut action.sa_mask, signal);
        }
    }
    for (index, signal) in all().enumerate() {
        // A handler that was installed since may call ours: ours must not call it in turn.
        if is_installed() && before(signal).is_some() {
            continue;
        }
        let Some(before) = sys::action(signal) else { return undo(all().take(index)) };
        // SAFETY: this signal has no handler of ours, so that nobody reads its place.
        if let Some(place) = unsafe { &mut *BEFORE.0.get() }.get_mut(signal as usize) {
            *place = Some(before);
        }
        // SAFETY: a handler of this type.
        if unsafe { libc::sigaction(signal, &raw const action, ptr::null_mut()) } != 0 {
            return undo(all().take(index));
        }
    }
    if !INSTALLED.swap(true, Ordering::AcqRel) {
        // SAFETY: a function without arguments, which the C library calls in the child of a fork.
        unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
    }
    status::OK
}

/// Takes the handler back from signals whose action was not ours before.
fn undo(signals: impl Iterator<Item = c_int>) -> Status {
    for signal in signals {
        if !is_installed() && before(signal).is_some() {
            sys::restore(signal, &before(signal).unwrap_or(Action::DEFAULT));
        }
    }
    status::E_SIGNAL
}

fn before(signal: c_int) -> Option<Action> {
    // SAFETY: written before the handler was in place.
    unsafe { &*BEFORE.0.get() }.get(signal as usize).copied().flatten()
}

/// The handler.
unsafe extern "C" fn handler(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel's struct: number, error and code, then the address, or the sender.
    let cause = unsafe {
        let words = info.cast::<i32>();
        Cause {
            signal,
            code: words.add(2).read(),
            address: info.cast::<u64>().add(2).read(),
            sender: words.add(4).read(),
        }
    };
    let thread = sys::thread();
    if OWNER.load(Ordering::Acquire) == thread {
        // A signal that somebody sends while the report is written is not about this thread's code.
        if cause.is_fault() {
            faulted(&cause, context);
        } else if CRASH.0.load(Ordering::Relaxed) == 0 {
            DEFERRED.fetch_or(bit(signal), Ordering::Relaxed);
        }
        return;
    }
    let limit = OPTIONS.get().limit();
    WAITING.fetch_add(1, Ordering::AcqRel);
    // Each thread before this one may take its whole time.
    let patience = sys::now().saturating_add(limit.saturating_mul(4));
    let owns = take(thread, patience, true);
    if owns {
        if WRITTEN.fetch_add(1, Ordering::AcqRel) < REPORTS {
            FAULTED.store(0, Ordering::Relaxed);
            let (number, info_at, context_at) = &CRASH;
            number.store(signal, Ordering::Relaxed);
            info_at.store(info, Ordering::Relaxed);
            context_at.store(context, Ordering::Relaxed);
            BASE.store((&raw const cause) as u64, Ordering::Relaxed);
            // SAFETY: this thread is the owner.
            let report = unsafe { &mut *REPORT.0.get() };
            report.process = process(thread);
            let registers = report.registers_of(context as u64);
            report.begin(Some(cause), registers, OPTIONS.get().descriptor(), limit);
            report.run();
        } else {
            sys::set_default(signal);
        }
        release(thread);
    }
    finish(thread, limit);
    pass_on(&cause, thread, info, context);
}

/// Takes the lock of the report. A crash comes before what `is_crash` says is none.
fn take(thread: i32, patience: u64, is_crash: bool) -> bool {
    // The thread's own end of the process may meet another fault than the first.
    let swap = |from| OWNER.compare_exchange(from, thread, Ordering::AcqRel, Ordering::Acquire).is_ok();
    // The thread that is ending the process (`OWNER` is negative), and the time after which this thread no longer waits for the end.
    let (mut ending, mut late) = (0, 0);
    while (!is_crash && WAITING.load(Ordering::Acquire) > 0) || (!swap(0) && !swap(thread.wrapping_neg())) {
        let now = sys::now();
        if now > patience {
            return false;
        }
        let owner = OWNER.load(Ordering::Relaxed);
        if owner != ending {
            (ending, late) = (owner, now.saturating_add(OPTIONS.get().limit()));
        }
        // The instruction of a fault succeeds when it runs again if another thread has mapped its page since.
        if is_crash && owner < 0 && now > late && swap(owner) {
            return true;
        }
        sys::sleep();
    }
    true
}

/// Gives the lock of the report back. Returns the signals, a bit each, that somebody sent to this thread while it wrote outside of crashes.
fn release(thread: i32) -> u64 {
    CRASH.0.store(0, Ordering::Relaxed);
    BASE.store(0, Ordering::Relaxed);
    // A signal that comes from here on is handled as a crash of this thread. It would be lost if it were kept after the swap below.
    OWNER.store(thread.wrapping_neg(), Ordering::Release);
    let deferred = DEFERRED.swap(0, Ordering::AcqRel);
    go_on(thread);
    deferred
}

/// Lets other threads that crashed write their reports before this one ends the process. A thread that crashes later waits for the end,
/// which would cut its report off.
fn finish(thread: i32, limit: u64) {
    WAITING.fetch_sub(1, Ordering::AcqRel);
    let until = sys::now().saturating_add(limit);
    let ending = thread.wrapping_neg();
    // A waiting thread counts itself before it takes the lock.
    while WAITING.load(Ordering::Acquire) > 0
        || OWNER.compare_exchange(0, ending, Ordering::AcqRel, Ordering::Acquire).is_err()
    {
        if sys::now() > until {
            return;
        }
        sys::sleep();
    }
}

/// The program may go on: other threads may write reports again.
fn go_on(thread: i32) {
    _ = OWNER.compare_exchange(thread.wrapping_neg(), 0, Ordering::AcqRel, Ordering::Relaxed);
}

/// The handler itself met a fault: the kernel's return from this second signal goes to [`resume`], at the stack on which the first one
/// began, so that no number of faults fills the stack.
fn faulted(cause: &Cause, context: *mut c_void) {
    let (signal, address) = &FAULT;
    signal.store(cause.signal, Ordering::Relaxed);
    address.store(cause.address, Ordering::Relaxed);
    let base = BASE.load(Ordering::Relaxed);
    if base == 0 || FAULTED.fetch_add(1, Ordering::AcqRel) > FAULTS {
        die(cause.signal, sys::thread());
    }
    // As after a call: below the first handler's frame, which nobody returns to.
    let below = base & !15;
    let sp = if cfg!(target_arch = "x86_64") { below.wrapping_sub(8) } else { below };
    // SAFETY: the kernel's struct for this signal, which is this thread's alone.
    unsafe { registers::set_context(context, resume as *const () as u64, sp) };
}

/// Goes on with the report behind what a fault broke off, and ends the process by the signal of the crash.
extern "C" fn resume() -> ! {
    let (signal, info, context) = &CRASH;
    let signal = signal.load(Ordering::Relaxed);
    // Read before the lock is given back, since another thread that crashes then writes its own.
    let (info, context) = (info.load(Ordering::Relaxed), context.load(Ordering::Relaxed));
    let thread = sys::thread();
    let fault = FAULT.0.load(Ordering::Relaxed);
    if FAULTED.load(Ordering::Acquire) <= FAULTS {
        // SAFETY: this thread is the owner, and the use that the fault interrupted is over.
        let report = unsafe { &mut *REPORT.0.get() };
        report.skip(fault, FAULT.1.load(Ordering::Relaxed));
        report.run();
    }
    release(thread);
    if signal == 0 {
        // Not a crash, but a stack that was asked for.
        die(fault, thread);
    }
    finish(thread, OPTIONS.get().limit());
    if let Some(action) = before(signal).filter(|action| action.handler > libc::SIG_IGN) {
        go_on(thread);
        call(&action, signal, info, context);
    }
    die(signal, thread);
}

/// Signals whose default action is to ignore them (signal(7)).
const IGNORED: [c_int; 4] = [libc::SIGCHLD, libc::SIGCONT, libc::SIGURG, libc::SIGWINCH];
/// Signals whose default action is to stop the process, which may go on later.
const STOPPING: [c_int; 3] = [libc::SIGTSTP, libc::SIGTTIN, libc::SIGTTOU];

/// Gives the signal to the handler that was there before, or to the system.
fn pass_on(cause: &Cause, thread: i32, info: *mut libc::siginfo_t, context: *mut c_void) {
    let action = before(cause.signal).unwrap_or(Action::DEFAULT);
    if action.handler > libc::SIG_IGN {
        go_on(thread);
        return call(&action, cause.signal, info, context);
    }
    // A fault cannot be ignored.
    let is_ignored = action.handler == libc::SIG_IGN || IGNORED.contains(&cause.signal);
    let is_stopping = STOPPING.contains(&cause.signal);
    if !cause.is_fault() && (is_ignored || is_stopping) {
        // A process writes a limited number of reports. This one does not count, since the process goes on.
        WRITTEN.fetch_sub(1, Ordering::AcqRel);
        go_on(thread);
        if is_ignored {
            return;
        }
    }
    sys::set_default(cause.signal);
    // The instruction runs again and meets the same fault: a core then shows the program as it crashed. A breakpoint of x86-64 has
    // been left already.
    if cause.is_fault() && cause.signal != libc::SIGTRAP {
        return;
    }
    // Delivered at the return to the program.
    sys::mask(true, bit(cause.signal));
    if !sys::send(process(thread), thread, cause.signal) {
        die(cause.signal, thread);
    }
}

/// Ends the process by a signal, at once.
fn die(signal: c_int, thread: i32) -> ! {
    sys::set_default(signal);
    sys::mask(false, bit(signal));
    sys::send(process(thread), thread, signal);
    sys::exit(signal.wrapping_add(128));
}

const fn bit(signal: c_int) -> u64 {
    1u64.wrapping_shl(signal.wrapping_sub(1).cast_unsigned())
}

/// Calls a handler as the kernel would have.
fn call(action: &Action, signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    if action.flags & libc::SA_RESETHAND as usize != 0 {
        sys::set_default(signal);
    }
    let own = if action.flags & libc::SA_NODEFER as usize == 0 { bit(signal) } else { 0 };
    sys::mask(true, action.mask | own);
    if action.flags & libc::SA_SIGINFO as usize != 0 {
        // SAFETY: the program installed it with this type.
        let function: unsafe extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) =
            unsafe { transmute(action.handler) };
        // SAFETY: what the kernel gave for this signal.
        unsafe { function(signal, info, context) };
    } else {
        // SAFETY: the program installed it with this type.
        let function: unsafe extern "C" fn(c_int) = unsafe { transmute(action.handler) };
        // SAFETY: as above.
        unsafe { function(signal) };
    }
}

/// All signals but those of faults, which the kernel does not let wait.
const WAITING_SIGNALS: u64 =
    !(bit(libc::SIGSEGV) | bit(libc::SIGBUS) | bit(libc::SIGILL) | bit(libc::SIGFPE) | bit(libc::SIGTRAP));

/// Lets this thread write with the report, outside of crashes. `write` also gets the time limit in nanoseconds. Signals that can wait do.
fn outside_of_crashes(write: impl FnOnce(&mut Report, u64)) -> Status {
    let blocked = sys::block(WAITING_SIGNALS);
    let thread = sys::thread();
    let limit = OPTIONS.get().limit();
    let patience = sys::now().saturating_add(limit);
    let is_ours = OWNER.load(Ordering::Acquire) != thread && take(thread, patience, false);
    let mut deferred = 0;
    if is_ours {
        FAULTED.store(0, Ordering::Relaxed);
        BASE.store((&raw const limit) as u64, Ordering::Relaxed);
        // SAFETY: this thread is the owner.
        write(unsafe { &mut *REPORT.0.get() }, limit);
        deferred = release(thread);
    }
    sys::set_mask(blocked);
    for signal in (1..=LAST as c_int).filter(|signal| deferred & bit(*signal) != 0) {
        sys::send(process(thread), thread, signal);
    }
    if is_ours { status::OK } else { status::E_BUSY }
}

/// Writes the stack of this thread from these registers on, which are those after a call.
pub(crate) fn print_stack(descriptor: c_int, registers: Registers) -> Status {
    outside_of_crashes(|report, limit| {
        report.begin(None, Some(registers), descriptor, limit);
        report.run();
    })
}

/// Writes the modules of the table.
pub(crate) fn print_modules(descriptor: c_int) -> Status {
    outside_of_crashes(|report, limit| {
        report.out.begin(descriptor, sys::now().saturating_add(limit));
        for module in crate::modules::MODULES.all() {
            if module.is_loaded.load(Ordering::Acquire) {
                crate::report::write_module(&mut report.out, module);
            }
        }
    })
}
