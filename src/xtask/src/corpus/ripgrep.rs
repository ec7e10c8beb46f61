//! ripgrep, compiled once with a line sequence for each function, and linked in several ways.
//!
//! ```text
//! corpus/ripgrep/src         the source, from the package
//!                rg          folded (`--icf=all`)
//!                rg.relocs   folded, with the linker's relocations
//!                rg.noicf    not folded
//! ```
//! rustc writes no call sites: only relocations show which folded function ran.

use std::path::Path;

use xtask::sh;

const PACKAGE: &str = "ripgrep";
const VERSION: &str = "14.1.1";

/// Flags of the compiler that all variants share.
const FLAGS: &str = "-C llvm-args=-emit-func-debug-line-table-offsets -C link-arg=-fuse-ld=lld";

/// The files, with the linker options of each.
const VARIANTS: &[(&str, &[&str])] =
    &[("rg", &["--icf=all"]), ("rg.relocs", &["--icf=all", "--emit-relocs"]), ("rg.noicf", &["--icf=none"])];

pub(super) fn build(folder: &Path) -> Result<(), String> {
    sh::create_dir(folder)?;
    let folder = folder.canonicalize().map_err(|e| format!("{}: {e}", folder.display()))?;
    let src = folder.join("src");
    if !src.exists() {
        super::fetch::package(&folder, PACKAGE, VERSION)?;
        // It is inside our workspace's folder but not a member.
        let manifest = src.join("Cargo.toml");
        let text = sh::read(&manifest)?;
        if !text.contains("[workspace]") {
            std::fs::write(&manifest, format!("{text}\n[workspace]\n"))
                .map_err(|e| format!("{}: {e}", manifest.display()))?;
        }
    }
    let target = folder.join("target");
    let (clang, lld) = (sh::llvm("clang")?, sh::llvm("ld.lld")?);
    let flags = format!("{FLAGS} -C linker={}", clang.display());
    for (file, link) in VARIANTS {
        let output = folder.join(file);
        if output.exists() {
            continue;
        }
        println!("{}: linking", output.display());
        let mut cargo = sh::cargo();
        cargo.current_dir(&src).env("CARGO_TARGET_DIR", &target).env("RUSTFLAGS", &flags);
        cargo.args(["rustc", "--release", "--locked", "--quiet", "--bin", "rg"]);
        for setting in ["debug=2", "lto=false", "codegen-units=4", "strip=false"] {
            cargo.arg("--config").arg(format!("profile.release.{setting}"));
        }
        cargo.args(["--", "-C"]).arg(format!("link-arg=--ld-path={}", lld.display()));
        for option in *link {
            cargo.arg("-C").arg(format!("link-arg=-Wl,{option}"));
        }
        sh::run(&mut cargo)?;
        let made = target.join("release/rg");
        std::fs::copy(&made, &output).map_err(|e| format!("{}: {e}", made.display()))?;
    }
    Ok(())
}
