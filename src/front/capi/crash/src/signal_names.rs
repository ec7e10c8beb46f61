//! Turns numbers of signals and their codes into the names of `signal.h`.

/// The name of a signal; `None` for one that no crash has by itself.
pub(crate) const fn signal(number: i32) -> Option<&'static str> {
    Some(match number {
        libc::SIGSEGV => "SIGSEGV",
        libc::SIGBUS => "SIGBUS",
        libc::SIGILL => "SIGILL",
        libc::SIGFPE => "SIGFPE",
        libc::SIGABRT => "SIGABRT",
        libc::SIGTRAP => "SIGTRAP",
        libc::SIGSYS => "SIGSYS",
        libc::SIGQUIT => "SIGQUIT",
        libc::SIGTERM => "SIGTERM",
        libc::SIGXCPU => "SIGXCPU",
        libc::SIGXFSZ => "SIGXFSZ",
        libc::SIGUSR1 => "SIGUSR1",
        libc::SIGUSR2 => "SIGUSR2",
        _ => return None,
    })
}

/// The name of a code, and what it says.
pub(crate) const fn code(signal: i32, code: i32) -> Option<(&'static str, &'static str)> {
    Some(match (signal, code) {
        (_, 0) => ("SI_USER", "sent by kill"),
        (_, -1) => ("SI_QUEUE", "sent by sigqueue"),
        (_, -2) => ("SI_TIMER", "sent by a timer"),
        (_, -3) => ("SI_MESGQ", "sent by a message queue"),
        (_, -6) => ("SI_TKILL", "sent by raise, abort or pthread_kill"),
        (libc::SIGTRAP, 0x80) => ("SI_KERNEL", "a breakpoint"),
        (_, 0x80) => ("SI_KERNEL", "an address that cannot exist, or a privileged instruction"),
        (libc::SIGSEGV, 1) => ("SEGV_MAPERR", "nothing is mapped at the address"),
        (libc::SIGSEGV, 2) => ("SEGV_ACCERR", "the mapping does not allow the access"),
        (libc::SIGBUS, 1) => ("BUS_ADRALN", "the address is not aligned"),
        (libc::SIGBUS, 2) => ("BUS_ADRERR", "a mapped file ends before the address, or cannot be read there"),
        (libc::SIGBUS, 3) => ("BUS_OBJERR", "the hardware reports an error"),
        (libc::SIGILL, 1) => ("ILL_ILLOPC", "an illegal instruction"),
        (libc::SIGILL, 2) => ("ILL_ILLOPN", "an illegal operand"),
        (libc::SIGFPE, 1) => ("FPE_INTDIV", "an integer is divided by zero"),
        (libc::SIGFPE, 2) => ("FPE_INTOVF", "an integer overflows"),
        (libc::SIGFPE, 3) => ("FPE_FLTDIV", "a floating-point number is divided by zero"),
        (libc::SIGTRAP, 1) => ("TRAP_BRKPT", "a breakpoint"),
        (libc::SIGTRAP, 2) => ("TRAP_TRACE", "a single step"),
        _ => return None,
    })
}
