//! Crashes at random moments, as many as one likes.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use foldsym_convert::{NoProgress, Options, convert};

use crate::built::{Report, libc_signal, source, succeed};
use crate::common::{compiler, crash_archive, crate_dir, folder};

/// Functions in which the threads of `load.cpp` run, by number.
const THREADS: [&str; 6] = ["main", "allocate", "load", "signals", "unwind", "print"];
/// Of `SIGALRM`, whose handler in `load.cpp` reads address 0.
const ALARM: i32 = 14;

/// One crash: when, by which signal, in which thread.
struct Moment {
    micros: u64,
    signal: i32,
    thread: usize,
}

/// A generator of Lehmer's: a crash can be repeated by its number.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0 * 48_271 % 0x7fff_ffff;
        self.0 / 7 % limit
    }

    fn moment(&mut self) -> Moment {
        let signal =
            [ALARM, libc_signal("SEGV"), libc_signal("ABRT"), libc_signal("BUS")][self.below(4) as usize];
        Moment { micros: 1 + self.below(5000), signal, thread: self.below(6) as usize }
    }
}

/// Crashes at moments that nobody chose: a timer's signal for one of the threads, or for two of them, while they allocate, load libraries,
/// throw, catch signals and print their stacks. `FOLDSYM_SOAK_CRASHES` says how many (`cargo xtask soak-crash`).
#[test]
fn soak() {
    let Some(cxx) = compiler("g++") else { return };
    let folder = folder("handler-soak");
    let program = folder.join("load");
    let include = format!("-I{}", crate_dir().join("include").display());
    let mut command = Command::new(cxx);
    command.args(["-std=c++17", "-O2", "-g", "-fomit-frame-pointer", "-Wl,--build-id"]).arg(include);
    succeed(
        command.arg(source("load.cpp")).arg(crash_archive()).args(["-pthread", "-ldl", "-o"]).arg(&program),
    );
    let options = Options::default().with(|options| {
        (options.threads, options.unwind, options.readable_names) = (1, true, true);
    });
    convert(&program, &folder.join("load.fsym"), &options, &NoProgress).unwrap();
    let crashes = std::env::var("FOLDSYM_SOAK_CRASHES").ok().map_or(16, |count| count.parse().unwrap());
    let next = AtomicUsize::new(0);
    let total = Mutex::new(Counts::default());
    let begun = Instant::now();
    std::thread::scope(|scope| {
        for worker in 0..2 {
            let (program, next, total) = (&program, &next, &total);
            let report = folder.join(format!("report{worker}"));
            scope.spawn(move || {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= crashes {
                        return;
                    }
                    let counts = crash(program, &report, number);
                    let mut total = total.lock().unwrap();
                    total.add(&counts);
                    if total.crashes % 1000 == 0 {
                        println!("{} s: {total:?}", begun.elapsed().as_secs());
                    }
                }
            });
        }
    });
    println!("{} s: {:?}", begun.elapsed().as_secs(), total.lock().unwrap());
}

/// What was seen.
#[derive(Debug, Default)]
struct Counts {
    crashes: usize,
    reports: usize,
    frames: usize,
    in_handler: usize,
    in_allocator: usize,
    in_loader: usize,
    in_unwinder: usize,
    /// Stacks that end at a frame which the C++ runtime was replacing at that moment.
    being_replaced: usize,
}

impl Counts {
    fn add(&mut self, other: &Self) {
        self.crashes += other.crashes;
        self.reports += other.reports;
        self.frames += other.frames;
        self.in_handler += other.in_handler;
        self.in_allocator += other.in_allocator;
        self.in_loader += other.in_loader;
        self.in_unwinder += other.in_unwinder;
        self.being_replaced += other.being_replaced;
    }
}

/// One crash of the program; panics where anything of its report is missing.
fn crash(program: &Path, stderr: &Path, number: usize) -> Counts {
    const LIMIT: Duration = Duration::from_secs(60);
    let mut random = Random(number as u64 % 0x7fff_fffe + 1);
    // The first numbers differ little.
    random.below(1);
    let mut moments = vec![random.moment()];
    if random.below(4) == 0 {
        let second = random.moment();
        let thread = (moments[0].thread + 1 + random.below(5) as usize) % 6;
        // About as long as a report takes.
        let micros = moments[0].micros.saturating_sub(300) + 1 + random.below(600);
        moments.push(Moment { micros, thread, ..second });
    }
    let mut child = Command::new(program);
    for moment in &moments {
        child.args([moment.micros.to_string(), moment.signal.to_string(), moment.thread.to_string()]);
    }
    let mut child =
        child.stdout(Stdio::null()).stderr(std::fs::File::create(stderr).unwrap()).spawn().unwrap();
    let begun = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        // The process is left as it is, for a debugger.
        assert!(begun.elapsed() < LIMIT, "crash {number} hangs: process {}", child.id());
        std::thread::sleep(Duration::from_millis(1));
    };
    let report = Report { text: String::from_utf8(std::fs::read(stderr).unwrap()).unwrap(), status };
    let told = || format!("crash {number}: {}", report.text);
    let expected = |moment: &Moment| if moment.signal == ALARM { libc_signal("SEGV") } else { moment.signal };
    let signal = std::os::unix::process::ExitStatusExt::signal(&status);
    assert!(moments.iter().any(|moment| Some(expected(moment)) == signal), "{signal:?} {}", told());
    assert!(report.text.starts_with("*** crash: SIG"), "{}", told());
    assert!(report.text.ends_with("*** end of the crash report\n"), "{}", told());
    assert!(!report.text.contains("the handler met"), "{}", told());
    assert!(!report.text.contains("the time for the report is up"), "{}", told());
    let mut counts = Counts { crashes: 1, ..Counts::default() };
    for text in report.text.split_inclusive("*** end of the crash report\n") {
        assert_eq!(text.matches("*** crash: ").count(), 1, "{}", told());
        assert_eq!(text.matches("\nmodules:\n").count(), 1, "{}", told());
        for module in ["/load build id ", "/libc.so.6 build id ", "/libstdc++.so.6 build id "] {
            assert!(text.contains(module), "{module}: {}", told());
        }
        let stack = Report { text: text.to_owned(), status };
        count_stack(&stack, &moments, &mut counts, &told);
    }
    assert!(counts.reports <= moments.len(), "{}", told());
    counts
}

/// Compares the stack of a report with what its thread does.
fn count_stack(report: &Report, moments: &[Moment], counts: &mut Counts, told: &dyn Fn() -> String) {
    let lines = report.lines();
    counts.reports += 1;
    counts.frames += lines.len();
    let has = |name: &str| lines.iter().any(|line| line.name.contains(name));
    let in_module = |module: &str| lines.iter().any(|line| line.rest.contains(module));
    counts.in_handler += usize::from(has("on_user_signal"));
    counts.in_loader += usize::from(in_module("(ld-linux-"));
    counts.in_unwinder += usize::from(in_module("(libgcc_s.so.1"));
    let of_allocator = ["malloc", "free", "calloc", "operator new", "operator delete"];
    counts.in_allocator +=
        usize::from(of_allocator.iter().any(|name| lines.iter().any(|line| line.name == *name)));
    // The function of the thread is on its stack, unless the C++ runtime replaces the frames below by those of a `catch`: it has written the
    // new registers over the saved ones, and not gone there yet. No debugger sees more.
    let last = lines.last().unwrap_or_else(|| panic!("{}", told()));
    let thrower = lines.iter().position(|line| line.name == "_Unwind_RaiseException");
    let catcher = thrower.and_then(|at| lines.get(at + 1));
    if catcher.is_some_and(|line| line.name.starts_with("(anonymous namespace)::unwind")) {
        counts.being_replaced += 1;
        return;
    }
    let is_of = |moment: &&Moment| {
        let name = THREADS[moment.thread];
        let by_alarm = moment.signal != ALARM || has("on_alarm");
        by_alarm
            && lines
                .iter()
                .any(|line| line.name.trim_end_matches(" (.cold)").rsplit("::").next() == Some(name))
    };
    assert!(moments.iter().any(|moment| is_of(&moment)), "{}", told());
    // A stack is whole if it ends where the program began, or at the place in the C library where threads begin.
    if last.name != "_start" {
        assert!(
            last.rest.starts_with("(libc.so.6+") || last.name == "clone" || last.name == "clone3",
            "{}",
            told()
        );
        let above = lines.iter().rev().find(|line| line.number + 2 == last.number).map(|line| &line.name);
        assert!(above.is_some_and(|name| name.starts_with("(anonymous namespace)::")), "{}", told());
    }
}
