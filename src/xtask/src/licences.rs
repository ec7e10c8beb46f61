//! Turns the dependencies of the command into the texts of their licences, and refuses a licence that `deny.toml` does not allow.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde_json::Value;
use xtask::sh;

/// A crate that is linked into the command.
pub(crate) struct Dependency {
    name: String,
    version: String,
    licence: String,
    authors: Vec<String>,
    folder: PathBuf,
}

/// The crates of others that the command is linked with, for a target and with features (of `foldsym`, with commas between them).
///
/// # Errors
/// Cargo's, or a crate that names no licence.
pub(crate) fn dependencies(target: &str, features: &str) -> Result<Vec<Dependency>, String> {
    let mut tree = sh::cargo();
    tree.args(["tree", "--locked", "--package", "foldsym", "--edges", "normal", "--prefix", "none"]);
    tree.args(["--target", target, "--features", features]).current_dir(sh::root());
    let tree = sh::output(&mut tree)?;
    let linked: BTreeSet<(&str, &str)> = tree.lines().filter_map(crate_of).collect();
    let mut metadata = sh::cargo();
    metadata.args([
        "metadata",
        "--locked",
        "--format-version",
        "1",
        "--filter-platform",
        target,
        "--features",
    ]);
    metadata
        .arg(features.split(',').map(|feature| format!("foldsym/{feature}")).collect::<Vec<_>>().join(","));
    let metadata = sh::output(metadata.current_dir(sh::root()))?;
    let metadata: Value =
        serde_json::from_str(&metadata).map_err(|error| format!("cargo metadata: {error}"))?;
    let mut found = Vec::new();
    for package in metadata["packages"].as_array().into_iter().flatten() {
        let text = |key: &str| package[key].as_str().unwrap_or_default();
        // A crate without a source is one of ours.
        if package["source"].is_null() || !linked.contains(&(text("name"), text("version"))) {
            continue;
        }
        if text("license").is_empty() {
            return Err(format!("{} {} names no licence", text("name"), text("version")));
        }
        let authors = package["authors"].as_array().into_iter().flatten();
        found.push(Dependency {
            name: text("name").to_owned(),
            version: text("version").to_owned(),
            licence: text("license").replace('/', " OR "),
            authors: authors.filter_map(Value::as_str).map(str::to_owned).collect(),
            folder: Path::new(text("manifest_path")).parent().unwrap_or(Path::new("")).to_owned(),
        });
    }
    found.sort_by(|one, other| (&one.name, &one.version).cmp(&(&other.name, &other.version)));
    Ok(found)
}

/// Name and version in a line of `cargo tree`: `clap v4.6.7 (*)`.
fn crate_of(line: &str) -> Option<(&str, &str)> {
    let mut words = line.split(' ');
    Some((words.next()?, words.next()?.strip_prefix('v')?))
}

/// The licences that `deny.toml` allows.
///
/// # Errors
/// The file cannot be read, or has no such list.
pub(crate) fn allowed() -> Result<BTreeSet<String>, String> {
    let text = sh::read(&sh::root().join("deny.toml"))?;
    let list = text.split("\nallow = [").nth(1).and_then(|rest| rest.split(']').next());
    let list = list.ok_or("deny.toml: no list `allow` of licences")?;
    Ok(list.split('"').skip(1).step_by(2).map(str::to_owned).collect())
}

/// Names each dependency whose licence is not allowed.
///
/// # Errors
/// There is one.
pub(crate) fn check(dependencies: &[Dependency], allowed: &BTreeSet<String>) -> Result<(), String> {
    let refused: Vec<String> = dependencies
        .iter()
        .filter(|dependency| !is_allowed(&dependency.licence, allowed))
        .map(|one| format!("{} {}: {}", one.name, one.version, one.licence))
        .collect();
    if refused.is_empty() {
        Ok(())
    } else {
        Err(format!("licences that deny.toml does not allow:\n{}", refused.join("\n")))
    }
}

/// Whether an SPDX expression can be met by allowed licences. AND binds closer than OR (SPDX 2.3, annex D.4).
fn is_allowed(expression: &str, allowed: &BTreeSet<String>) -> bool {
    let spaced = expression.replace('(', " ( ").replace(')', " ) ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    // Each open parenthesis has a value so far: a choice of finished terms, and the term that is being read.
    let mut open = vec![(false, true)];
    let mut at = 0;
    while at < words.len() {
        let mut value = None;
        match words[at] {
            "(" => open.push((false, true)),
            ")" if open.len() > 1 => value = open.pop().map(|(choice, term)| choice || term),
            "OR" => {
                if let Some((choice, term)) = open.last_mut() {
                    (*choice, *term) = (*choice || *term, true);
                }
            }
            "AND" => {}
            name if words.get(at + 1) == Some(&"WITH") => {
                let exception = words.get(at + 2).copied().unwrap_or_default();
                value = Some(allowed.contains(&format!("{name} WITH {exception}")));
                at += 2;
            }
            name => value = Some(allowed.contains(name)),
        }
        if let (Some(value), Some((_, term))) = (value, open.last_mut()) {
            *term &= value;
        }
        at += 1;
    }
    open.len() == 1 && (open[0].0 || open[0].1) && !words.is_empty()
}

/// The texts of all licences: each text once, below the crates that have it.
///
/// # Errors
/// A crate has no text, and its licence asks for one.
pub(crate) fn texts(dependencies: &[Dependency]) -> Result<String, String> {
    // Texts differ in where their lines end.
    let mut by_words: BTreeMap<String, (Vec<String>, String)> = BTreeMap::new();
    let mut out = String::from("foldsym is linked with these crates of others, under these licences.\n\n");
    for one in dependencies {
        let title = format!("{} {}", one.name, one.version);
        _ = writeln!(out, "{title}: {}", one.licence);
        for text in texts_of(one)? {
            let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
            let (titles, _) = by_words.entry(words).or_insert_with(|| (Vec::new(), text));
            titles.push(title.clone());
        }
    }
    let mut groups: Vec<(Vec<String>, String)> = by_words.into_values().collect();
    groups.sort();
    for (mut titles, text) in groups {
        titles.dedup();
        _ = write!(out, "\n{}\n{}\n\n{}\n", "=".repeat(80), titles.join(", "), text.trim_matches('\n'));
    }
    Ok(out)
}

/// The texts in the package of a crate, and of the C libraries in it.
fn texts_of(one: &Dependency) -> Result<Vec<String>, String> {
    let mut files = Vec::new();
    collect(&one.folder, 0, &mut files)?;
    files.sort();
    let mut texts = Vec::new();
    for file in files {
        let bytes = std::fs::read(&file).map_err(|error| format!("{}: {error}", file.display()))?;
        texts.push(String::from_utf8_lossy(&bytes).replace('\r', ""));
    }
    let may = |licence: &str| one.licence.split(" OR ").any(|choice| choice == licence);
    if texts.is_empty() && may("MIT") {
        // The licence asks for its text and for the name of who gives it.
        let ours = sh::read(&sh::root().join("LICENSE-MIT"))?;
        let (_, terms) = ours.split_once("\n\nPermission").ok_or("LICENSE-MIT: no permission")?;
        texts.push(format!("MIT License\n\nCopyright (c) {}\n\nPermission{terms}", one.authors.join(", ")));
    } else if texts.is_empty() && !may("0BSD") {
        return Err(format!(
            "{} {}: its package has no text of its licence, {}",
            one.name, one.version, one.licence
        ));
    }
    Ok(texts)
}

/// How deep the sources of C libraries lie in the package of a crate.
const DEPTH: usize = 3;

/// Files of a folder and of those below it that are named as licences are.
fn collect(folder: &Path, depth: usize, files: &mut Vec<PathBuf>) -> Result<(), String> {
    for entry in std::fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))? {
        let path = entry.map_err(|error| format!("{}: {error}", folder.display()))?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_uppercase();
        let is_licence = ["LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE", "UNLICENSE"];
        if path.is_dir() && depth < DEPTH {
            collect(&path, depth + 1, files)?;
        } else if path.is_file()
            && is_licence.iter().any(|start| name.starts_with(start))
            && !name.ends_with(".RS")
        {
            files.push(path);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_are_met() {
        let allowed: BTreeSet<String> =
            ["MIT", "ISC", "Apache-2.0 WITH LLVM-exception"].iter().map(|name| (*name).to_owned()).collect();
        for met in [
            "MIT",
            "GPL-2.0 OR MIT",
            "MIT AND ISC",
            "(GPL-2.0 OR MIT) AND ISC",
            "GPL-2.0 AND X OR ISC",
            "Apache-2.0 WITH LLVM-exception",
        ] {
            assert!(is_allowed(met, &allowed), "{met}");
        }
        for refused in [
            "GPL-2.0",
            "MIT AND GPL-2.0",
            "(MIT OR ISC) AND GPL-2.0",
            "Apache-2.0",
            "GPL-2.0 OR MIT AND X",
            "",
            "(MIT",
        ] {
            assert!(!is_allowed(refused, &allowed), "{refused}");
        }
    }

    #[test]
    fn a_line_of_the_tree_is_a_crate() {
        assert_eq!(crate_of("clap v4.6.7 (*)"), Some(("clap", "4.6.7")));
        assert_eq!(crate_of("[build-dependencies]"), None);
    }

    #[test]
    fn a_crate_without_a_text_has_that_of_its_authors() {
        let folder = sh::scratch("no-licence").unwrap();
        let of = |licence: &str| Dependency {
            name: "a".into(),
            version: "1.0.0".into(),
            licence: licence.into(),
            authors: vec!["Someone".into()],
            folder: folder.clone(),
        };
        let text = texts(&[of("Apache-2.0 OR MIT")]).unwrap();
        assert!(text.contains("Copyright (c) Someone\n\nPermission is hereby granted"), "{text}");
        assert!(texts(&[of("Apache-2.0")]).is_err());
        // One text, though its lines end elsewhere.
        std::fs::write(folder.join("LICENSE"), "Take\nit.\n").unwrap();
        std::fs::write(folder.join("COPYING"), "Take it.\n").unwrap();
        let text = texts(&[of("Apache-2.0")]).unwrap();
        std::fs::remove_file(folder.join("LICENSE")).unwrap();
        std::fs::remove_file(folder.join("COPYING")).unwrap();
        assert!(text.ends_with("\na 1.0.0\n\nTake it.\n"), "{text}");
    }
}
