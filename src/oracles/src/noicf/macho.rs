//! Generated programs as Mach-O: linked by ld64.lld with and without folding, their debug information put together by
//! dsymutil. They cannot run here, so the other link says what is true.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::compare::{Found, compare as compare_pair};
use super::pair::{Asker, NoicfOptions};
use crate::fold;
use xtask::sh;

/// What a program is built with.
struct Build {
    arch: &'static str,
    version: &'static str,
    level: &'static str,
    icf: &'static str,
    stmt: bool,
}

impl Build {
    fn name(&self) -> String {
        let stmt = if self.stmt { "-stmt" } else { "" };
        format!("{}-{}-{}-{}{stmt}", self.arch, self.version, self.level, self.icf)
    }
}

/// Each pair of an architecture with the other values.
fn builds() -> Vec<Build> {
    let mut all = Vec::new();
    for arch in ["arm64", "x86_64"] {
        for (version, level, icf, stmt) in [
            ("5", "O2", "all", true),
            ("4", "O1", "all", false),
            ("5", "O1", "safe", false),
            ("4", "O2", "safe", true),
            ("5", "Os", "all", false),
            ("5", "O0", "all", true),
            ("5", "O2", "safe_thunks", false),
        ] {
            // ld64.lld writes such thunks for arm64 alone.
            if icf != "safe_thunks" || arch == "arm64" {
                all.push(Build { arch, version, level, icf, stmt });
            }
        }
    }
    all
}

/// Builds and compares them all, one architecture after the other. Gives the number of defects.
pub(super) fn compare(options: &NoicfOptions, seeds: u64, scratch: &Path) -> Result<usize, String> {
    let asker = Asker::new(options.foldsym.as_ref())?;
    let mut defects = 0;
    for build in builds() {
        let name = build.name();
        if options.only.as_ref().is_some_and(|only| !name.contains(only.as_str())) {
            continue;
        }
        let mut found = Found::default();
        for seed in options.seed..options.seed + seeds {
            let dir = scratch.join(format!("{name}-{seed}"));
            let programs = linked(&build, seed, &dir).map_err(|e| format!("{name}, seed {seed}: {e}"))?;
            let one = compare_pair(&asker, options, (&programs.0, &programs.1), &dir)?;
            for (title, counts) in one.0 {
                found.add(title, counts);
            }
            std::fs::remove_dir_all(&dir).map_err(|e| format!("{}: {e}", dir.display()))?;
        }
        println!("{name}:");
        defects += found.print();
    }
    Ok(defects)
}

/// A program folded and not, each with its bundle beside it.
fn linked(build: &Build, seed: u64, dir: &Path) -> Result<(PathBuf, PathBuf), String> {
    let mut files = fold::write_sources(seed, 8, dir)?;
    // Replaces the printing of stacks, since the program cannot run.
    std::fs::write(dir.join("runtime.cpp"), include_str!("../fold/still.cpp"))
        .map_err(|e| format!("{}: {e}", dir.display()))?;
    files.retain(|file| file.ends_with(".cpp"));
    let mut objects = Vec::new();
    for file in &files {
        let object = dir.join(file.replace(".cpp", ".o"));
        let mut command = Command::new(sh::llvm("clang++")?);
        command.current_dir(dir).arg("-target").arg(format!("{}-apple-macos11", build.arch));
        command.args(["-std=c++17", "-w", "-fno-rtti", "-DMUSTTAIL", "-faddrsig"]);
        command.arg(format!("-{}", build.level)).arg(format!("-gdwarf-{}", build.version));
        command.args(
            build.stmt.then_some(["-mllvm", "-emit-func-debug-line-table-offsets"]).into_iter().flatten(),
        );
        sh::output(command.arg("-c").arg(file).arg("-o").arg(&object))?;
        objects.push(object);
    }
    let link = |icf: &str, name: &str| -> Result<PathBuf, String> {
        let out = dir.join(name);
        let mut lld = Command::new(sh::llvm("ld64.lld")?);
        lld.args([
            "-arch",
            build.arch,
            "-platform_version",
            "macos",
            "11.0",
            "11.0",
            "-lSystem",
            "-adhoc_codesign",
        ]);
        lld.arg("-syslibroot").arg(sh::root().join("testbins/cases/tbd"));
        lld.arg(format!("--icf={icf}")).arg("--keep-icf-stabs").args(&objects).arg("-o").arg(&out);
        sh::output(&mut lld)?;
        sh::output(Command::new(sh::llvm("dsymutil")?).arg(&out))?;
        Ok(out)
    };
    Ok((link(build.icf, "folded")?, link("none", "unfolded")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_builds_apart() {
        let mut names: Vec<String> = builds().iter().map(Build::name).collect();
        let all = names.len();
        names.sort();
        names.dedup();
        assert!(names.len() == all && all == 13, "{names:?}");
    }
}
