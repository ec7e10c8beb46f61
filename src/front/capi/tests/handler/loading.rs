//! Crashes in libraries that are loaded at run time.

use std::process::Command;

use crate::built::{PIE, build, libc_signal, source, succeed};
use crate::common::{compiler, text};

/// A constructor crashes before anybody can tell the handler of its library: its frames have no module, and the walk goes on behind them.
#[test]
fn a_crash_in_a_constructor_has_the_stack_behind_it() {
    let Some(built) = build("constructor", &PIE) else { return };
    let Some(cxx) = compiler("g++") else { return };
    let library = built.shipped.join("libconstructor.so");
    let mut command = Command::new(cxx);
    command.args(["-O2", "-fomit-frame-pointer", "-shared", "-fPIC"]).arg(source("constructor.cpp"));
    succeed(command.arg("-o").arg(&library));
    let json = built.shipped.join("crash.json");
    let report = built.run(&["late", text(&json), text(&library)]);
    report.is_whole(libc_signal("SEGV"), "SIGSEGV");
    let lines = report.lines();
    assert!(lines[0].rest.starts_with("(no module)"), "{}", report.text);
    assert!(lines[1].rest.ends_with(" by a word on the stack"), "{}", report.text);
    for name in ["dlopen", "main", "_start"] {
        assert!(lines.iter().any(|line| line.name == name), "{name}: {}", report.text);
    }
}
