//! What a report says about the process and its system, beyond modules and stacks.

/// What a report says about the process and its system. A text is empty if the report does not say it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct About {
    /// The operating system: `linux`, `windows`, `mac`, and others.
    pub os: String,
    /// Its version.
    pub os_version: String,
    /// The processor: `amd64`, `arm64`, `x86`, and others.
    pub cpu: String,
    /// The id of the process.
    pub process: Option<u64>,
    /// When the report was written: seconds since 1970-01-01, UTC.
    pub time: Option<u64>,
    /// The signal that ended the process.
    pub signal: Option<Signal>,
    /// The version of each module, by its index; shorter than the list of modules if the others have none.
    pub versions: Vec<String>,
}

/// A signal of Linux.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Signal {
    /// Its number.
    pub number: u32,
    /// Why it was sent (`si_code`).
    pub code: Option<i32>,
    /// The address of the fault (`si_addr`), of a signal that has one.
    pub address: Option<u64>,
}

impl Signal {
    /// A signal without more than its number.
    pub const fn new(number: u32) -> Self {
        Self { number, code: None, address: None }
    }

    /// Its name; empty for a number that has none here.
    pub const fn name(&self) -> &'static str {
        // These numbers are the same on x86 and ARM.
        match self.number {
            1 => "SIGHUP",
            2 => "SIGINT",
            3 => "SIGQUIT",
            4 => "SIGILL",
            5 => "SIGTRAP",
            6 => "SIGABRT",
            7 => "SIGBUS",
            8 => "SIGFPE",
            9 => "SIGKILL",
            10 => "SIGUSR1",
            11 => "SIGSEGV",
            12 => "SIGUSR2",
            13 => "SIGPIPE",
            14 => "SIGALRM",
            15 => "SIGTERM",
            16 => "SIGSTKFLT",
            24 => "SIGXCPU",
            25 => "SIGXFSZ",
            31 => "SIGSYS",
            _ => "",
        }
    }

    /// The kernel's word for its code (`include/uapi/asm-generic/siginfo.h`); empty for a code that has none.
    pub const fn code_name(&self) -> &'static str {
        let Some(code) = self.code else { return "" };
        match (self.number, code) {
            (_, 0) => "SI_USER",
            (_, 0x80) => "SI_KERNEL",
            (_, -1) => "SI_QUEUE",
            (_, -2) => "SI_TIMER",
            (_, -3) => "SI_MESGQ",
            (_, -4) => "SI_ASYNCIO",
            (_, -5) => "SI_SIGIO",
            (_, -6) => "SI_TKILL",
            (4, 1) => "ILL_ILLOPC",
            (4, 2) => "ILL_ILLOPN",
            (4, 3) => "ILL_ILLADR",
            (4, 4) => "ILL_ILLTRP",
            (4, 5) => "ILL_PRVOPC",
            (4, 6) => "ILL_PRVREG",
            (4, 7) => "ILL_COPROC",
            (4, 8) => "ILL_BADSTK",
            (4, 9) => "ILL_BADIADDR",
            (5, 1) => "TRAP_BRKPT",
            (5, 2) => "TRAP_TRACE",
            (5, 3) => "TRAP_BRANCH",
            (5, 4) => "TRAP_HWBKPT",
            (5, 5) => "TRAP_UNK",
            (5, 6) => "TRAP_PERF",
            (7, 1) => "BUS_ADRALN",
            (7, 2) => "BUS_ADRERR",
            (7, 3) => "BUS_OBJERR",
            (7, 4) => "BUS_MCEERR_AR",
            (7, 5) => "BUS_MCEERR_AO",
            (8, 1) => "FPE_INTDIV",
            (8, 2) => "FPE_INTOVF",
            (8, 3) => "FPE_FLTDIV",
            (8, 4) => "FPE_FLTOVF",
            (8, 5) => "FPE_FLTUND",
            (8, 6) => "FPE_FLTRES",
            (8, 7) => "FPE_FLTINV",
            (8, 8) => "FPE_FLTSUB",
            (8, 14) => "FPE_FLTUNK",
            (8, 15) => "FPE_CONDTRAP",
            (11, 1) => "SEGV_MAPERR",
            (11, 2) => "SEGV_ACCERR",
            (11, 3) => "SEGV_BNDERR",
            (11, 4) => "SEGV_PKUERR",
            (11, 5) => "SEGV_ACCADI",
            (11, 6) => "SEGV_ADIDERR",
            (11, 7) => "SEGV_ADIPERR",
            (11, 8) => "SEGV_MTEAERR",
            (11, 9) => "SEGV_MTESERR",
            (11, 10) => "SEGV_CPERR",
            (31, 1) => "SYS_SECCOMP",
            (31, 2) => "SYS_USER_DISPATCH",
            _ => "",
        }
    }

    /// Whether its code says that the processor found a fault at an address. Others come from a process, or from the kernel without an
    /// address.
    pub const fn is_fault(&self) -> bool {
        matches!((self.number, self.code), (4 | 7 | 8 | 11, Some(1..0x80)))
    }

    /// Name and code as one text: `SIGSEGV / SEGV_MAPERR`. The code is left out unless it says more about a fault.
    pub fn text(&self) -> String {
        let name = match self.name() {
            "" => format!("signal {}", self.number),
            name => name.to_owned(),
        };
        match self.code_name() {
            "" | "SI_USER" | "SI_QUEUE" | "SI_TKILL" | "SI_KERNEL" => name,
            code => format!("{name} / {code}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_are_named_with_their_codes() {
        let text = |number, code| Signal { code, ..Signal::new(number) }.text();
        assert_eq!(text(11, Some(1)), "SIGSEGV / SEGV_MAPERR");
        assert_eq!(text(11, Some(0x80)), "SIGSEGV");
        assert_eq!(text(6, Some(-6)), "SIGABRT");
        assert_eq!(text(5, Some(1)), "SIGTRAP / TRAP_BRKPT");
        assert_eq!(text(64, None), "signal 64");
        let is_fault = |number, code| Signal { code, ..Signal::new(number) }.is_fault();
        assert!(is_fault(11, Some(2)) && !is_fault(11, Some(0x80)) && !is_fault(11, Some(0)));
        assert!(!is_fault(6, Some(1)) && !is_fault(11, None));
    }
}
