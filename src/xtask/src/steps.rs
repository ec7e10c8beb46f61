//! `cargo xtask steps PROGRAM`: times steps of a walk through a program by section UNWIND, and by framehop over its `.eh_frame`.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::sh;

const HELP: &str = "cargo xtask steps PROGRAM [--foldsym PATH] [--publish]

  --foldsym PATH  the command that converts the program (default: the workspace's release build, which is made)
  --publish       writes the result to benches/results/DATE-steps.md";

pub(crate) fn run(args: &[String]) -> Result<(), String> {
    let (mut program, mut foldsym, mut publish) = (None, None, false);
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--foldsym" => foldsym = Some(PathBuf::from(args.next().ok_or("--foldsym needs a path")?)),
            "--publish" => publish = true,
            given if !given.starts_with('-') && program.is_none() => program = Some(given.to_owned()),
            _ => return Err(HELP.to_owned()),
        }
    }
    let program = program.ok_or(HELP)?;
    let given = foldsym;
    let foldsym = sh::command_with_server(given.as_deref())?;
    let symbols = sh::scratch("steps")?.join("program.fsym");
    sh::run(Command::new(&foldsym).args(["convert", "--quiet", "--unwind", &program, "-o"]).arg(&symbols))?;
    let others = sh::target_dir().join("compare");
    let mut build = sh::cargo();
    build.args(["build", "--quiet", "--release", "-p", "foldsym-steps", "--manifest-path"]);
    let manifest = sh::root().join("benches/compare/Cargo.toml");
    sh::run(build.arg(manifest).env("CARGO_TARGET_DIR", &others))?;
    let steps = others.join("release/steps");
    let mut text = sh::output(Command::new(&steps).arg(&program).arg(&symbols))?;
    text += &instructions(&steps, &program, &symbols)?;
    print!("{text}");
    if publish {
        let tools = ["framehop 0.16.0".to_owned()];
        // Where this machine has the program says nothing.
        let file = Path::new(&program).file_name().unwrap_or_default().to_string_lossy();
        let (title, command) = ("Steps of a walk", format!("cargo xtask steps {file}"));
        let foldsym = given.as_deref();
        sh::publish(&sh::Page { name: "steps", title, command: &command, tools: &tools, foldsym }, &text)?;
    }
    Ok(())
}

/// Addresses that are stepped from while instructions are counted: a profiler is slow.
const COUNTED: u32 = 10_000;

/// Instructions a step, which do not depend on what else the machine does.
fn instructions(steps: &Path, program: &str, symbols: &Path) -> Result<String, String> {
    if sh::tool("valgrind", "valgrind").is_err() {
        return Ok("\nInstructions are not counted: valgrind is not there.\n".to_owned());
    }
    let of = |function: &str| -> Result<f64, String> {
        let mut valgrind = Command::new("valgrind");
        valgrind.args(["--tool=callgrind", "--callgrind-out-file=/dev/null", "--log-fd=1"]);
        valgrind.arg(format!("--toggle-collect={function}*")).arg(steps).arg(program).arg(symbols);
        let said = sh::output(valgrind.args(["--once", "--count", &COUNTED.to_string()]))?;
        let count =
            said.lines().find_map(|line| line.split_once("Collected : ")?.1.trim().parse::<f64>().ok());
        let count = count.filter(|count| *count > 0.0);
        Ok(count.ok_or_else(|| format!("callgrind counted nothing of {function}: {said}"))?
            / f64::from(COUNTED))
    };
    let (mine, peer) = (of("steps::ours")?, of("steps::Peer::step")?);
    Ok(format!(
        "\nInstructions a step, by callgrind over {COUNTED} random addresses: foldsym-unwind {mine:.0}, framehop {peer:.0}, {:.2} times.\n",
        mine / peer
    ))
}
