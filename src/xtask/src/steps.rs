//! `cargo xtask steps PROGRAM`: times steps of a walk through a program by section UNWIND, and by framehop over its `.eh_frame`.

use std::path::PathBuf;
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
    let foldsym = sh::command_with_server(foldsym.as_deref())?;
    let symbols = sh::scratch("steps")?.join("program.fsym");
    sh::run(Command::new(&foldsym).args(["convert", "--quiet", "--unwind", &program, "-o"]).arg(&symbols))?;
    let others = sh::target_dir().join("compare");
    let mut build = sh::cargo();
    build.args(["build", "--quiet", "--release", "-p", "foldsym-steps", "--manifest-path"]);
    let manifest = sh::root().join("benches/compare/Cargo.toml");
    sh::run(build.arg(manifest).env("CARGO_TARGET_DIR", &others))?;
    let text = sh::output(Command::new(others.join("release/steps")).arg(&program).arg(&symbols))?;
    print!("{text}");
    if publish {
        let tools = ["framehop 0.16.0".to_owned()];
        sh::publish("steps", "Steps of a walk", &format!("cargo xtask steps {program}"), &tools, &text)?;
    }
    Ok(())
}
