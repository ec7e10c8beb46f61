//! Rules on documents: a path that is named exists, and paragraphs are short.

use std::collections::BTreeSet;

use super::tracked::{Finding, Tracked};

/// Endings of files that only the repository has, so that a name without a folder can be looked for in it.
const OURS: &[&str] = &[".rs", ".md", ".toml", ".py"];

/// Every relative path in backticks, and every relative link, in a Markdown file leads to a tracked file or folder: from
/// the root or from the document's folder. Words with a slash that begin with no name of the repository (`and/or`) are no
/// paths, unless they end like a file of ours.
pub(super) fn paths(files: &[Tracked]) -> Vec<Finding> {
    let mut known: BTreeSet<&str> = BTreeSet::new();
    for file in files {
        known.insert(&file.path);
        known.extend(file.path.match_indices('/').map(|(at, _)| &file.path[..at]));
    }
    let mut findings = Vec::new();
    for file in files {
        // A changelog names files that are gone; the stories of the broken inputs name files of other projects.
        let skipped = file.path.ends_with("CHANGELOG.md") || file.below("testbins/broken");
        let Some(text) = file.text().filter(|_| file.path.ends_with(".md") && !skipped) else { continue };
        let folder = file.path.rsplit_once('/').map_or("", |(folder, _)| folder);
        let mut fenced = false;
        for (index, line) in text.lines().enumerate() {
            if line.trim_start().starts_with("```") {
                fenced = !fenced;
            } else if !fenced {
                for name in quoted(line).filter(|name| !exists(name, folder, &known)) {
                    findings.push(Finding::new(&file.path, index + 1, format!("`{name}` does not exist")));
                }
                for name in links(line)
                    .filter(|name| resolve(folder, name).is_none_or(|path| !known.contains(&*path)))
                {
                    findings.push(Finding::new(
                        &file.path,
                        index + 1,
                        format!("the link to {name} leads nowhere"),
                    ));
                }
            }
        }
    }
    findings
}

/// The most words of a paragraph. A longer one has more than one thought, or is a list.
const MAX_WORDS: usize = 110;

/// No paragraph and no item of a list has over [`MAX_WORDS`] words. Tables, headings and code do not count.
pub(super) fn paragraphs(files: &[Tracked]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in files {
        // The broken inputs' stories have logs.
        let skipped = file.below("testbins/broken");
        let Some(text) = file.text().filter(|_| file.path.ends_with(".md") && !skipped) else { continue };
        let (mut fenced, mut start, mut words) = (false, 0, 0);
        for (index, line) in text.lines().chain([""]).enumerate() {
            let line = line.trim();
            let fence = line.starts_with("```");
            fenced ^= fence;
            let item = is_item(line);
            let ends = fenced || fence || item || line.is_empty() || line.starts_with(['|', '#', '<']);
            if ends {
                if words > MAX_WORDS {
                    let message = format!("a paragraph of {words} words: at most {MAX_WORDS}");
                    findings.push(Finding::new(&file.path, start, message));
                }
                (start, words) = (index + 2, 0);
            }
            if item || !ends {
                start = if words == 0 { index + 1 } else { start };
                words += line.split_whitespace().count();
            }
        }
    }
    findings
}

/// True for the first line of an item of a list.
fn is_item(line: &str) -> bool {
    let number = line.trim_start_matches(|c: char| c.is_ascii_digit());
    line.starts_with("- ")
        || line.starts_with("* ")
        || (number.len() < line.len() && number.starts_with(". "))
}

/// The words in backticks that could be paths.
fn quoted(line: &str) -> impl Iterator<Item = &str> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/');
    line.split('`').skip(1).step_by(2).map(|word| word.split(':').next().unwrap_or(word)).filter(
        move |word| {
            word.chars().all(plain)
                && !word.starts_with('/')
                && (word.contains('/') || ours(word))
                && !word.starts_with('-')
        },
    )
}

/// A name that ends like a file of ours and is more than the ending.
fn ours(word: &str) -> bool {
    OURS.iter().any(|end| word.len() > end.len() && word.ends_with(end))
}

/// The targets of links that stay in the repository.
fn links(line: &str) -> impl Iterator<Item = &str> {
    line.split("](").skip(1).filter_map(|rest| {
        let target = rest.split(')').next()?.split('#').next()?;
        (!target.is_empty() && !target.contains("://") && !target.starts_with("mailto:")).then_some(target)
    })
}

fn exists(word: &str, folder: &str, known: &BTreeSet<&str>) -> bool {
    let word = word.trim_end_matches('/');
    let holds = |path: Option<String>| path.is_some_and(|path| path.is_empty() || known.contains(&*path));
    if holds(resolve("", word)) || holds(resolve(folder, word)) || ignored(word) || placeholder(word) {
        return true;
    }
    let Some((first, _)) = word.split_once('/') else {
        // A bare file name: anywhere in the repository.
        return !ours(word) || known.iter().any(|path| path.rsplit('/').next() == Some(word));
    };
    let is_path = ours(word)
        || [".", ".."].contains(&first)
        || holds(resolve("", first))
        || holds(resolve(folder, first));
    !is_path
}

/// A file name in capitals means many (`DATE-INPUT.md`), as in a usage text.
fn placeholder(word: &str) -> bool {
    let name = word.rsplit('/').next().unwrap_or(word);
    let stem = name.split('.').next().unwrap_or(name);
    let capitals = stem.chars().all(|c| c.is_ascii_uppercase() || matches!(c, '-' | '_'));
    capitals && !stem.is_empty() && !["README", "CHANGELOG", "DESIGN"].contains(&stem)
}

/// Folders that exist only after a build (those that `.gitignore` names).
fn ignored(word: &str) -> bool {
    ["target", "corpus"].contains(&word.split('/').next().unwrap_or(word))
}

/// `word` as seen from `folder`, without `.` and `..`; `None` if it leaves the repository.
fn resolve(folder: &str, word: &str) -> Option<String> {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in word.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::super::tests::{NONE, file, lines};
    use super::*;

    fn wrong(document: &str, text: &str) -> Vec<String> {
        let files = [
            file(document, text),
            file("src/convert/src/open/mod.rs", ""),
            file("schema/format.toml", ""),
            file(".ci/run", ""),
        ];
        paths(&files).into_iter().map(|finding| finding.message).collect()
    }

    #[test]
    fn paths_that_exist_hold() {
        let text = "`src/convert/src/open`, `schema/format.toml`, `.ci/run`, `format.toml`, `mod.rs:12`, `schema/`, \
                    `corpus/x.so`, `and/or`, `/proc/self`, `a b/c.rs`, `foo::bar`, `.rs`, `DATE-INPUT.md`, [x](schema/format.toml#a), \
                    [y](https://example.org/a.md)";
        assert!(wrong("README.md", text).is_empty(), "{:?}", wrong("README.md", text));
        assert!(wrong("src/README.md", "`convert/src/open/` and `../schema/format.toml`").is_empty());
        assert!(wrong("README.md", "```\n`src/gone.rs`\n```\n").is_empty());
        assert!(wrong("CHANGELOG.md", "`src/gone.rs`").is_empty());
    }

    #[test]
    fn paths_that_do_not_exist_are_found() {
        for bad in [
            "`src/gone`",
            "`gone.rs`",
            "`gone/README.md`",
            "`nowhere/gone.rs`",
            "`./gone`",
            "`../../x/y.md`",
            "[x](gone.md)",
        ] {
            assert_eq!(wrong("README.md", bad).len(), 1, "{bad}");
        }
    }

    #[test]
    fn paragraphs_are_short() {
        let long = "word ".repeat(MAX_WORDS + 1);
        let short = "word ".repeat(MAX_WORDS);
        let found = |text: &str| lines(paragraphs, "a.md", text);
        assert_eq!(found(&format!("# A\n\n{short}\n\n{long}\n")), [5]);
        assert_eq!(found(&format!("{short}\nword\n")), [1]);
        assert_eq!(found(&format!("- {}\n- {long}", "word ".repeat(MAX_WORDS - 1))), [2]);
        assert_eq!(found(&format!("1. {short}")), [1]);
        // Tables, headings, code, and items that follow each other.
        for text in [format!("| {long} |"), format!("# {long}"), format!("```\n{long}\n```")] {
            assert_eq!(found(&text), NONE);
        }
        let half = "word ".repeat(MAX_WORDS / 2);
        assert_eq!(found(&format!("{half}\n\n{half}\n\n- {half}\n- {half}\n")), NONE);
    }
}
