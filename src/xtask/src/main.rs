//! The project's own tasks in one table. CI calls the same tasks as a person does. The chores are here: this crate has few
//! dependencies and no optimization, so that it builds in seconds. The oracles are a crate of their own.

mod check;
mod corpus;
mod dist;
mod flags;
mod fuzz;
mod licences;
mod nightly;
mod ready;
mod testbins;
mod tidy;

use std::path::Path;
use std::process::{Command, ExitCode};

use xtask::{ORACLES, sh};

struct Chore {
    name: &'static str,
    help: &'static str,
    run: fn(&[String]) -> Result<(), String>,
}

const CHORES: &[Chore] = &[
    Chore {
        name: "check",
        help: "formatting, licences, packages, clippy and tidy: what must hold before a commit",
        run: check::run,
    },
    Chore { name: "ready", help: ".ci/run in a clean clone of the committed state", run: ready::run },
    Chore { name: "nightly", help: "the long sweeps, of which .ci/run does a tenth", run: nightly::run },
    Chore { name: "tidy", help: "the project's own rules on its source and documents", run: tidy::run },
    Chore { name: "testbins", help: "build the test programs and refresh their answers", run: testbins::run },
    Chore {
        name: "corpus",
        help: "build or fetch the large reference programs into corpus/",
        run: corpus::run,
    },
    Chore { name: "dist", help: "pack a command that runs on any Linux", run: dist::run },
    Chore { name: "flags", help: "compile with each flag that BUILD-FLAGS.md advises", run: flags::run },
    Chore { name: "fuzz", help: "run the fuzz targets, or say what their corpora reach", run: fuzz::run },
    Chore { name: "help", help: "this list; each task prints its own with --help", run: help },
];

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let name = args.first().map_or("help", |name| if name == "--help" { "help" } else { name });
    let rest = args.get(1..).unwrap_or_default();
    if ORACLES.iter().any(|task| task.name == name) {
        return oracle(name, rest);
    }
    let Some(chore) = CHORES.iter().find(|chore| chore.name == name) else {
        eprintln!("no task `{name}`; cargo xtask help lists them");
        return ExitCode::from(2);
    };
    match (chore.run)(rest) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{name}: {message}");
            ExitCode::FAILURE
        }
    }
}

/// Runs a task of the oracles, which says itself why it fails. The oracles are built in the profile of this program.
fn oracle(name: &str, args: &[String]) -> ExitCode {
    let mut oracles = match std::env::var_os(sh::BUILT) {
        Some(folder) => Command::new(Path::new(&folder).join("oracles")),
        None => {
            let profile = std::env::current_exe().ok().and_then(|program| profile_of(&program));
            let mut cargo = sh::cargo();
            cargo.args(["run", "--quiet", "--package", "oracles"]);
            cargo.args(profile.iter().flat_map(|profile| ["--profile", profile])).arg("--");
            cargo
        }
    };
    match run(oracles.arg(name).args(args)) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("{name}: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Runs a command to its end and ends as it does.
fn run(command: &mut Command) -> Result<ExitCode, String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let status = command.status().map_err(|error| format!("{program}: {error}"))?;
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    Ok(code.map_or(ExitCode::FAILURE, ExitCode::from))
}

/// The profile in which Cargo built a program, which the program's folder is named after.
fn profile_of(program: &Path) -> Option<String> {
    match program.parent()?.file_name()?.to_str()? {
        "debug" => Some("dev".to_owned()),
        folder => Some(folder.to_owned()),
    }
}

fn help(_: &[String]) -> Result<(), String> {
    println!("cargo xtask TASK [ARGS]\n");
    for chore in CHORES {
        println!("  {:10} {}", chore.name, chore.help);
    }
    println!("\nComparisons with other tools, and with programs that know the answers:\n");
    for task in ORACLES {
        println!("  {:10} {}", task.name, task.help);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_has_one_name() {
        let all = CHORES.iter().map(|chore| chore.name).chain(ORACLES.iter().map(|task| task.name));
        let mut names: Vec<&str> = all.collect();
        names.sort_unstable();
        let count = names.len();
        names.dedup();
        assert_eq!(names.len(), count);
    }

    #[test]
    fn the_folder_of_a_program_names_its_profile() {
        let of = |path: &str| profile_of(Path::new(path));
        assert_eq!(of("target/debug/xtask").as_deref(), Some("dev"));
        assert_eq!(of("target/release/xtask").as_deref(), Some("release"));
        assert_eq!(of("xtask"), None);
    }
}
