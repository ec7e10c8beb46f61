//! `cargo xtask dist`: makes archives and Debian packages of a command that runs on any Linux.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::licences;
use xtask::sh;

const HELP: &str = "cargo xtask dist [--target TARGET]... [--features LIST] [--quick]
  builds the command for Linux as one static file (musl), and packs it with manual pages, completions, the CMake package and
  the licences of all dependencies: target/dist/foldsym-VERSION-TARGET.tar.gz, a .deb, and SHA256SUMS
  --target    x86_64-unknown-linux-musl (default) or aarch64-unknown-linux-musl; several are packed one after another
  --features  of the command (default: serve,remote,debuginfod,parquet)
  --quick     without optimization: to try the packing. FOLDSYM_BUILT=FOLDER packs the command that is there
  needs `rustup target add TARGET` and musl-gcc (package musl-tools); for AArch64 gcc-aarch64-linux-gnu, musl-dev:arm64 and
  qemu-user, which runs the command to write its pages";

/// Of the command that is packed.
pub(crate) const FEATURES: &str = "serve,remote,debuginfod,parquet";

/// A target: its name, Debian's name of it, how its C compiler is called, and who runs its programs on another processor.
pub(crate) struct Target {
    pub(crate) name: &'static str,
    debian: &'static str,
    compiler: &'static [&'static str],
    package: &'static str,
    emulator: &'static str,
}

pub(crate) const TARGETS: &[Target] = &[
    Target {
        name: "x86_64-unknown-linux-musl",
        debian: "amd64",
        compiler: &["musl-gcc"],
        package: "musl-tools",
        emulator: "qemu-x86_64",
    },
    Target {
        name: "aarch64-unknown-linux-musl",
        debian: "arm64",
        // What musl-gcc is, for the other processor.
        compiler: &["aarch64-linux-gnu-gcc", "-specs", "/usr/lib/aarch64-linux-musl/musl-gcc.specs"],
        package: "gcc-aarch64-linux-gnu",
        emulator: "qemu-aarch64",
    },
];

/// What is asked for.
struct Wanted {
    targets: Vec<&'static Target>,
    features: String,
    quick: bool,
}

/// See `HELP`.
///
/// # Errors
/// A missing tool, a licence that is not allowed, a build that fails, or a command that needs a shared library.
pub(crate) fn run(args: &[String]) -> Result<(), String> {
    let wanted = parse(args)?;
    let dist = sh::target_dir().join("dist");
    sh::create_dir(&dist)?;
    let mut files = Vec::new();
    for target in &wanted.targets {
        let linked = licences::dependencies(target.name, &wanted.features)?;
        licences::check(&linked, &licences::allowed()?)?;
        let command = build(target, &wanted)?;
        is_static(&command)?;
        let name = format!("foldsym-{}-{}", env!("CARGO_PKG_VERSION"), target.name);
        let tree = dist.join(&name);
        _ = std::fs::remove_dir_all(&tree);
        fill(&tree, &command, target, &licences::texts(&linked)?)?;
        files.push(archive(&dist, &name)?);
        files.push(debian_package(&dist, &tree, target)?);
    }
    // The sums name files without a folder.
    let sums = sh::output(Command::new("sha256sum").args(&files).current_dir(&dist))?;
    write(&dist.join("SHA256SUMS"), sums.as_bytes())?;
    print!("{}:\n{sums}", dist.display());
    Ok(())
}

fn parse(args: &[String]) -> Result<Wanted, String> {
    let mut wanted = Wanted { targets: Vec::new(), features: FEATURES.to_owned(), quick: false };
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--quick" => wanted.quick = true,
            "--target" => {
                let name = args.next().ok_or(HELP)?;
                wanted.targets.push(TARGETS.iter().find(|target| target.name == name).ok_or(HELP)?);
            }
            "--features" => wanted.features.clone_from(args.next().ok_or(HELP)?),
            _ => return Err(HELP.to_owned()),
        }
    }
    if wanted.targets.is_empty() {
        wanted.targets.push(&TARGETS[0]);
    }
    Ok(wanted)
}

/// Builds the command, unless it is built; its path.
fn build(target: &Target, wanted: &Wanted) -> Result<PathBuf, String> {
    if let Some(built) = std::env::var_os(sh::BUILT) {
        return Ok(Path::new(&built).join("foldsym"));
    }
    sh::tool(target.compiler[0], target.package)?;
    let root = sh::root();
    let cargo_home = std::env::var_os("CARGO_HOME")
        .map(PathBuf::from)
        .or_else(|| std::env::home_dir().map(|home| home.join(".cargo")));
    let cargo_home = cargo_home.ok_or("neither CARGO_HOME nor HOME is set")?;
    // No path of this machine is in the command.
    let places = [(root.clone(), "/foldsym"), (cargo_home, "/cargo")];
    let rust_flags: Vec<String> =
        places.iter().map(|(from, to)| format!("--remap-path-prefix={}={to}", from.display())).collect();
    let c_flags: Vec<String> =
        places.iter().map(|(from, to)| format!("-ffile-prefix-map={}={to}", from.display())).collect();
    let upper = target.name.replace('-', "_").to_uppercase();
    let lower = target.name.replace('-', "_");
    let mut cargo = sh::cargo();
    cargo.args(["build", "--release", "--locked", "--package", "foldsym", "--features", &wanted.features]);
    cargo.args(["--target", target.name]).current_dir(&root);
    cargo.env("CARGO_ENCODED_RUSTFLAGS", rust_flags.join("\x1f"));
    // `cc` splits both at blanks.
    cargo.env(format!("CC_{lower}"), target.compiler.join(" "));
    cargo.env(format!("CFLAGS_{lower}"), c_flags.join(" "));
    // The linker takes the C library that comes with Rust's target.
    cargo.env(format!("CARGO_TARGET_{upper}_LINKER"), target.compiler[0].replace("musl-gcc", "cc"));
    if wanted.quick {
        for (name, value) in [("LTO", "off"), ("OPT_LEVEL", "1"), ("CODEGEN_UNITS", "16")] {
            cargo.env(format!("CARGO_PROFILE_RELEASE_{name}"), value);
        }
    }
    sh::run(&mut cargo)?;
    Ok(sh::target_dir().join(target.name).join("release/foldsym"))
}

/// The command names no loader and no shared library.
fn is_static(command: &Path) -> Result<(), String> {
    let readelf = sh::tool("readelf", "binutils")?;
    let printed = sh::output(Command::new(readelf).args(["-W", "-l", "-d"]).arg(command))?;
    match printed.lines().find(|line| line.contains("(NEEDED)") || line.contains("INTERP")) {
        Some(line) => Err(format!("{}: is not static: {}", command.display(), line.trim())),
        None => Ok(()),
    }
}

/// Fills a folder that is laid out as a prefix.
fn fill(tree: &Path, command: &Path, target: &Target, licences: &str) -> Result<(), String> {
    let root = sh::root();
    let built = command.parent().unwrap_or(Path::new(""));
    sh::run(
        Command::new(root.join("src/front/capi/install.sh"))
            .arg(tree)
            .arg("command")
            .env("FOLDSYM_BUILT", built),
    )?;
    let is_own = target.name.starts_with(std::env::consts::ARCH);
    let foldsym = |args: &[&str]| {
        let mut run = Command::new(if is_own { command } else { Path::new(target.emulator) });
        if !is_own {
            run.arg(command);
        }
        sh::output(run.args(args).current_dir(tree))
    };
    sh::create_dir(&tree.join("share/man/man1"))?;
    foldsym(&["man", "share/man/man1"])?;
    for (shell, file) in [
        ("bash", "share/bash-completion/completions/foldsym"),
        ("zsh", "share/zsh/site-functions/_foldsym"),
        ("fish", "share/fish/vendor_completions.d/foldsym.fish"),
    ] {
        write(&tree.join(file), foldsym(&["completions", shell])?.as_bytes())?;
    }
    for (from, to) in [
        ("packaging/foldsym.service", "lib/systemd/system/foldsym.service"),
        ("README.md", "share/doc/foldsym/README.md"),
        ("CHANGELOG.md", "share/doc/foldsym/CHANGELOG.md"),
        ("LICENSE-MIT", "share/doc/foldsym/LICENSE-MIT"),
        ("LICENSE-APACHE", "share/doc/foldsym/LICENSE-APACHE"),
    ] {
        write(&tree.join(to), sh::read(&root.join(from))?.as_bytes())?;
    }
    let own = "foldsym is licensed under MIT or Apache-2.0, as you choose: LICENSE-MIT, LICENSE-APACHE. It has the Rust standard library\n\
               (MIT or Apache-2.0) and musl (MIT, Copyright (c) 2005-2020 Rich Felker, et al.) in it.\n\n";
    write(&tree.join("share/doc/foldsym/copyright"), format!("{own}{licences}").as_bytes())
}

/// Packs a folder below `dist`, so that equal files make equal archives; the name of the archive.
fn archive(dist: &Path, name: &str) -> Result<String, String> {
    let file = format!("{name}.tar.gz");
    let mut tar = Command::new(sh::tool("tar", "tar")?);
    tar.args([
        "--sort=name",
        "--owner=0",
        "--group=0",
        "--numeric-owner",
        "--mode=u+rw,go=rX",
        "--mtime",
        &commit_time()?,
    ]);
    tar.args(["--use-compress-program=gzip -9n", "-cf", &file, name]);
    sh::run(tar.current_dir(dist))?;
    Ok(file)
}

/// When the commit was made, which is built.
fn commit_time() -> Result<String, String> {
    let mut git = Command::new(sh::tool("git", "git")?);
    let seconds = sh::output(git.args(["log", "-1", "--format=%ct"]).current_dir(sh::root()))?;
    Ok(format!("@{}", seconds.trim()))
}

/// Makes the Debian package of the same files; its name. `dpkg-deb` alone: the command needs no other package, so nothing is to be computed.
fn debian_package(dist: &Path, tree: &Path, target: &Target) -> Result<String, String> {
    let version = env!("CARGO_PKG_VERSION");
    let file = format!("foldsym_{version}_{}.deb", target.debian);
    let root = sh::scratch("deb")?;
    std::fs::remove_dir_all(&root).map_err(|error| format!("{}: {error}", root.display()))?;
    sh::create_dir(&root.join("DEBIAN"))?;
    sh::run(Command::new("cp").arg("-r").arg(tree).arg(root.join("usr")))?;
    let kilobytes = sh::output(Command::new("du").args(["-sk", "--apparent-size"]).arg(root.join("usr")))?;
    let control = format!(
        "Package: foldsym\nVersion: {version}\nArchitecture: {}\nMaintainer: The foldsym maintainers <foldsym@localhost>\n\
         Installed-Size: {}\nSection: devel\nPriority: optional\n\
         Description: symbol files that know every folded function\n Converts debug information (DWARF) into small memory-mapped files, and symbolizes addresses,\n \
         stacks and crash reports by them. Functions that the linker folded keep their names.\n",
        target.debian,
        kilobytes.split_whitespace().next().unwrap_or("0"),
    );
    write(&root.join("DEBIAN/control"), control.as_bytes())?;
    let mut dpkg = Command::new(sh::tool("dpkg-deb", "dpkg")?);
    dpkg.args(["--root-owner-group", "--build"]).arg(&root).arg(dist.join(&file));
    sh::output(dpkg.env("SOURCE_DATE_EPOCH", commit_time()?.trim_start_matches('@')))?;
    Ok(file)
}

/// Writes a file, and makes its folder.
fn write(path: &Path, bytes: &[u8]) -> Result<(), String> {
    sh::create_dir(path.parent().unwrap_or(Path::new("")))?;
    std::fs::write(path, bytes).map_err(|error| format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_and_features_are_asked_for() {
        let of = |line: &str| parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
        let wanted = of("").unwrap();
        assert_eq!((wanted.targets[0].debian, &*wanted.features, wanted.quick), ("amd64", FEATURES, false));
        let wanted = of("--quick --target aarch64-unknown-linux-musl --features serve").unwrap();
        assert_eq!((wanted.targets[0].debian, &*wanted.features, wanted.quick), ("arm64", "serve", true));
        assert!(of("--target x86_64-unknown-linux-gnu").is_err() && of("--help").is_err());
    }

    #[test]
    fn a_program_with_a_loader_is_not_static() {
        if sh::tool("readelf", "binutils").is_err() {
            return println!("skipped: needs readelf");
        }
        is_static(&sh::root().join("testbins/built/demo.elf")).unwrap();
        if cfg!(target_env = "gnu") {
            let own = std::env::current_exe().unwrap();
            assert!(is_static(&own).unwrap_err().contains("is not static"));
        }
    }
}
