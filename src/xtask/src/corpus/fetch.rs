//! Sources of a published Rust package.

use std::path::Path;

use xtask::sh;

/// Fetches the Rust package through cargo, with a project made for it, and keeps the source.
pub(super) fn package(folder: &Path, package: &str, version: &str) -> Result<(), String> {
    let project = folder.join("fetch");
    sh::create_dir(&project.join("src"))?;
    // Makes it a workspace of its own: cargo would otherwise search our workspace, whose folder contains it.
    let manifest = format!(
        "[package]\nname = \"fetch\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n\
         [workspace]\n\n[dependencies]\n{package} = \"={version}\"\n"
    );
    for (name, text) in [("Cargo.toml", manifest.as_str()), ("src/lib.rs", "")] {
        let path = project.join(name);
        std::fs::write(&path, text).map_err(|e| format!("{}: {e}", path.display()))?;
    }
    sh::run(sh::cargo().current_dir(&project).args(["vendor", "--quiet", "vendor"]))?;
    sh::rename(&project.join("vendor").join(package), &folder.join("src"))?;
    std::fs::remove_dir_all(&project).map_err(|e| format!("{}: {e}", project.display()))
}
