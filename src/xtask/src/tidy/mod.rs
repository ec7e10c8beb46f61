//! `cargo xtask tidy`: the project's own rules, checked on its tracked files, so that documents and layering stay current. Each rule takes
//! files as values and returns findings, so that its tests need no repository.

mod documents;
mod files;
mod imports;
mod manifest;
mod methods;
mod rust;
mod shape;
mod text;
mod tools;
mod tracked;

use std::path::Path;
use std::process::Command;

use tracked::{Finding, Tracked};

use xtask::sh;

type Rule = fn(&[Tracked]) -> Vec<Finding>;

const RULES: &[Rule] = &[
    rust::headers,
    rust::length,
    rust::reading_layers,
    rust::one_demangler,
    rust::lookup_is_bare,
    rust::no_unsafe,
    rust::layers_around,
    rust::one_codec,
    imports::circles,
    shape::type_names,
    shape::own_files,
    shape::functions,
    documents::paths,
    documents::paragraphs,
    files::machine_paths,
    files::merged,
    files::binary_sizes,
    manifest::reasons,
    tools::one_reader,
];

/// Checks all rules.
///
/// # Errors
/// Every finding, one a line.
pub(crate) fn run(_: &[String]) -> Result<(), String> {
    let files = tracked(&sh::root())?;
    let mut findings: Vec<Finding> = RULES.iter().flat_map(|rule| rule(&files)).collect();
    findings.sort();
    if findings.is_empty() {
        println!("tidy: {} files hold all {} rules", files.len(), RULES.len());
        return Ok(());
    }
    for finding in &findings {
        eprintln!("{}:{}: {}", finding.path, finding.line, finding.message);
    }
    Err(format!("{} findings", findings.len()))
}

/// All files that are, or would be, committed.
fn tracked(root: &Path) -> Result<Vec<Tracked>, String> {
    let list = sh::output(
        Command::new(sh::tool("git", "git")?)
            .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
            .current_dir(root),
    )?;
    let mut files = Vec::new();
    for path in list.split('\0').filter(|path| !path.is_empty()) {
        // A file that is deleted but not committed as such, or a link to a folder, has no content to check.
        if let Ok(bytes) = std::fs::read(root.join(path)) {
            files.push(Tracked { path: path.to_owned(), bytes });
        }
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn file(path: &str, text: &str) -> Tracked {
        Tracked { path: path.to_owned(), bytes: text.as_bytes().to_vec() }
    }

    /// No line: written out, since other types compare with numbers too.
    pub(super) const NONE: [usize; 0] = [];

    /// The lines that a rule finds in one file.
    pub(super) fn lines(rule: Rule, path: &str, text: &str) -> Vec<usize> {
        rule(&[file(path, text)]).into_iter().map(|finding| finding.line).collect()
    }
}
