//! `cargo xtask scale`: how conversion scales with the size of its input, over RocksDB's object files unless the
//! arguments name others.

use std::path::Path;

use xtask::sh;

pub(crate) fn run(args: &[String]) -> Result<(), String> {
    sh::run(sh::cargo().args(["build", "--quiet", "--release", "--package", "foldsym"]))?;
    // The floor is a program of its own beside the one that measures.
    sh::run(sh::cargo().args(["build", "--quiet", "--release", "--package", "foldsym-benches", "--bins"]))?;
    let release = sh::target_dir().join("release");
    let mut scale = std::process::Command::new(release.join("scale"));
    scale.arg("--foldsym").arg(release.join("foldsym"));
    if !args.iter().any(|arg| arg == "--objects" || Path::new(arg).is_file()) {
        let objects = sh::root().join("corpus/rocksdb/obj/main");
        if !objects.is_dir() {
            return Err(format!("no {}: cargo xtask corpus rocksdb", objects.display()));
        }
        let clang = sh::llvm("clang++")?;
        let link = format!("{} -shared -fuse-ld=lld -Wl,--icf=all", clang.display());
        scale.arg("--objects").arg(objects).args(["--link", &link]);
        scale.arg("--objcopy").arg(sh::llvm("llvm-objcopy")?);
    }
    sh::run(scale.args(args))
}
