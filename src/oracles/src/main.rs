//! Comparisons of foldsym with other tools and with programs whose answers are known. `cargo xtask TASK` starts each of them.

mod blocks;
mod blowup;
mod cfi;
mod ci;
mod compare;
mod crash_doors;
mod crash_peers;
mod crashes;
mod demangle;
mod diff;
mod doors;
mod dropins;
mod expr;
mod fold;
mod json;
mod llvm;
mod names;
mod noicf;
mod ours;
mod results;
mod same;
mod scale;
mod served;
mod signatures;
mod soak;
mod soak_crash;
mod soak_hostile;
mod soak_store;
mod split;
mod stacks;
mod steps;
mod streams;
mod symbols;
mod trace;
mod unfolded;

use std::process::ExitCode;

type RunTask = fn(&[String]) -> Result<(), String>;

/// What runs for each name of [`xtask::ORACLES`].
const TASKS: &[(&str, RunTask)] = &[
    ("diff", diff::run),
    ("crashes", crashes::run),
    ("crash-doors", crash_doors::run),
    ("crash-peers", crash_peers::run),
    ("soak", soak::run),
    ("stacks", stacks::run),
    ("steps", steps::run),
    ("streams", streams::run),
    ("demangle", demangle::run),
    ("ci-diff", ci::run),
    ("names", names::run),
    ("doors", doors::run),
    ("dropins", dropins::run),
    ("fold", fold::run),
    ("noicf", noicf::run),
    ("blowup", blowup::run),
    ("trace", trace::run),
    ("unfolded", unfolded::run),
    ("signatures", signatures::run),
    ("blocks", blocks::run),
    ("same", same::run),
    ("split", split::run),
    ("symbols", symbols::run),
    ("soak-store", soak_store::run),
    ("soak-crash", soak_crash::run),
    ("cfi", cfi::run),
    ("expr", expr::run),
    ("scale", scale::run),
    ("compare", compare::run),
];

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let name = args.first().map_or("", String::as_str);
    let Some((_, run)) = TASKS.iter().find(|(task, _)| *task == name) else {
        eprintln!("no oracle `{name}`; cargo xtask help lists them");
        return ExitCode::from(2);
    };
    match run(args.get(1..).unwrap_or_default()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{name}: {message}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_task_of_the_list_runs() {
        let listed: Vec<&str> = xtask::ORACLES.iter().map(|task| task.name).collect();
        let run: Vec<&str> = TASKS.iter().map(|(name, _)| *name).collect();
        assert_eq!(listed, run);
    }
}
