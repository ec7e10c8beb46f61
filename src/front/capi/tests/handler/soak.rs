//! Crashes at random moments, as many as one likes.

use std::process::Command;

use foldsym_convert::{NoProgress, Options, convert};

use crate::built::{Report, source, succeed};
use crate::common::{compiler, crash_archive, crate_dir, folder};

/// Crashes at moments that nobody chose: a timer's handler that reads address 0, or a signal from outside, while threads allocate, load
/// libraries, throw and catch signals. `FOLDSYM_SOAK_CRASHES` says how many (`cargo xtask soak-crash`).
#[test]
fn soak() {
    const LIMIT: std::time::Duration = std::time::Duration::from_secs(60);
    let Some(cxx) = compiler("g++") else { return };
    let folder = folder("handler-soak");
    let program = folder.join("load");
    let include = format!("-I{}", crate_dir().join("include").display());
    let mut command = Command::new(cxx);
    command.args(["-std=c++17", "-O2", "-g", "-fomit-frame-pointer", "-Wl,--build-id"]).arg(include);
    succeed(
        command.arg(source("load.cpp")).arg(crash_archive()).args(["-pthread", "-ldl", "-o"]).arg(&program),
    );
    let options = Options::default().with(|options| (options.threads, options.unwind) = (1, true));
    convert(&program, &folder.join("load.fsym"), &options, &NoProgress).unwrap();
    let crashes = std::env::var("FOLDSYM_SOAK_CRASHES").ok().map_or(8, |count| count.parse().unwrap());
    let (mut frames, mut thread_start) = (0, None);
    for crash in 0..crashes {
        // A generator of Lehmer's, so that a run can be repeated.
        let micros = 1 + (crash as u64 + 1) * 48_271 % 20_011;
        let signal = ["", "-SEGV", "-ABRT", "-BUS"][crash % 4];
        let by_timer = signal.is_empty();
        let mut child = Command::new(&program);
        child.arg(if by_timer { micros.to_string() } else { "0".to_owned() });
        let stderr = folder.join("report");
        child.stdout(std::process::Stdio::piped()).stderr(std::fs::File::create(&stderr).unwrap());
        let mut child = child.spawn().unwrap();
        if !by_timer {
            let mut ready = [0; 6];
            std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut ready).unwrap();
            std::thread::sleep(std::time::Duration::from_micros(micros));
            succeed(Command::new("kill").args([signal, &child.id().to_string()]));
        }
        let begun = std::time::Instant::now();
        let status = loop {
            if let Some(status) = child.try_wait().unwrap() {
                break status;
            }
            assert!(begun.elapsed() < LIMIT, "crash {crash} hangs: process {}", child.id());
            std::thread::sleep(std::time::Duration::from_millis(1));
        };
        let text = std::fs::read_to_string(&stderr).unwrap();
        let report = Report { text, status };
        report.is_whole(if by_timer { 11 } else { [0, 11, 6, 7][crash % 4] }, "SIG");
        let told = || format!("crash {crash}: {}", report.text);
        let ends = report.text.matches("*** end of the crash report\n").count();
        assert_eq!(report.text.matches("*** crash: ").count(), ends, "{}", told());
        assert!(!report.text.contains("the handler met"), "{}", told());
        // A stack is whole if it ends where the program or the thread began: at `_start`, or at one place of the C library.
        let lines = report.lines();
        let last = lines.last().unwrap_or_else(|| panic!("{}", told()));
        if last.name != "_start" {
            assert!(last.rest.starts_with("(libc.so.6+"), "{}", told());
            assert_eq!(*thread_start.get_or_insert_with(|| last.rest.clone()), last.rest, "{}", told());
        }
        assert!(!by_timer || lines.iter().any(|line| line.name.ends_with("on_alarm")), "{}", told());
        frames += lines.len();
    }
    println!("{crashes} crashes, {frames} frames");
}
