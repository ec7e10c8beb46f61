//! `cargo xtask steps PROGRAM...`: for each program, compares the bytes of section UNWIND with those of `.eh_frame`, and the time of a step
//! by the section with that of framehop over `.eh_frame`.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::json::{self, Answered};
use crate::llvm::readelf;
use crate::results;
use xtask::sh;

const HELP: &str = "cargo xtask steps PROGRAM... [--foldsym PATH] [--publish]

  --foldsym PATH  the command that converts the programs (default: the workspace's release build, which is made)
  --publish       writes the result to benches/results/DATE-steps.md";

/// The largest share of the bytes of `.eh_frame` that the section may have, and the most nanoseconds of a step.
const BYTES: f64 = 0.35;
const TIME: u32 = 150;

pub(crate) fn run(args: &[String]) -> Result<(), String> {
    let (mut programs, mut given, mut publish) = (Vec::new(), None, false);
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--foldsym" => given = Some(PathBuf::from(args.next().ok_or("--foldsym needs a path")?)),
            "--publish" => publish = true,
            program if !program.starts_with('-') => programs.push(PathBuf::from(program)),
            _ => return Err(HELP.to_owned()),
        }
    }
    if programs.is_empty() {
        return Err(HELP.to_owned());
    }
    let foldsym = results::command_with_server(given.as_deref())?;
    let others = sh::target_dir().join("compare");
    let mut build = sh::cargo();
    build.args(["build", "--quiet", "--release", "-p", "foldsym-steps", "--manifest-path"]);
    let manifest = sh::root().join("benches/compare/Cargo.toml");
    sh::run(build.arg(manifest).env("CARGO_TARGET_DIR", &others))?;
    let steps = others.join("release/steps");
    let mut text =
        format!("Bars: {BYTES} of the bytes of .eh_frame, and {TIME} ns a step on a quiet machine.\n");
    let mut names = Vec::new();
    let mut largest = 0.0;
    for program in &programs {
        // Where this machine has the program says nothing.
        let name = program.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let symbols = sh::scratch("steps")?.join("program.fsym");
        let mut convert = Command::new(&foldsym);
        sh::run(convert.args(["convert", "--quiet", "--unwind"]).arg(program).arg("-o").arg(&symbols))?;
        let (mine, theirs) = (bytes_of_rows(&foldsym, &symbols)?, bytes_of_eh_frame(program)?);
        let share = mine as f64 / theirs as f64;
        largest = f64::max(largest, share);
        let timed = sh::output(Command::new(&steps).arg(program).arg(&symbols))?;
        let counted = instructions(&steps, program, &symbols)?;
        let one = format!(
            "\nUNWIND of {name}: {mine} bytes, .eh_frame {theirs}: {share:.3} times.\n\n{timed}{counted}"
        );
        print!("{one}");
        text += &one;
        names.push(name);
    }
    if publish {
        let tools = ["framehop 0.16.0".to_owned()];
        let (title, command) = ("Rows and steps of a walk", format!("cargo xtask steps {}", names.join(" ")));
        let foldsym = given.as_deref();
        results::publish(
            &results::Page { name: "steps", title, command: &command, tools: &tools, foldsym },
            &text,
        )?;
    }
    if largest > BYTES {
        Err(format!("{largest:.3} of .eh_frame's bytes, more than {BYTES}"))
    } else {
        Ok(())
    }
}

/// Bytes of section UNWIND of a file.
fn bytes_of_rows(foldsym: &Path, symbols: &Path) -> Result<u64, String> {
    let info = json::parse(&sh::output(Command::new(foldsym).args(["info", "--json"]).arg(symbols))?)?;
    let sections = info["Sections"].items();
    let found = sections.iter().find(|section| section["Name"].text() == "UNWIND");
    Ok(found.ok_or("the file has no section UNWIND")?["Size"].number())
}

/// Bytes of a program's `.eh_frame`.
fn bytes_of_eh_frame(program: &Path) -> Result<u64, String> {
    let found = readelf::sections(program)?.into_iter().find(|section| section.name == ".eh_frame");
    Ok(found.ok_or_else(|| format!("{}: no .eh_frame", program.display()))?.size)
}

/// Addresses that are stepped from while instructions are counted: a profiler is slow.
const COUNTED: u32 = 10_000;

/// Instructions a step, which do not depend on what else the machine does.
fn instructions(steps: &Path, program: &Path, symbols: &Path) -> Result<String, String> {
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
