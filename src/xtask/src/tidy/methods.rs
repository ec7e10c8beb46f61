//! The arrows between files that methods make: a type may have `impl` blocks in several files, and a method that another
//! one calls on `self` is an import without a path.

use std::collections::{BTreeMap, BTreeSet};

/// Types whose methods call each other in a circle of files, with the reason.
const ALLOWED: &[&str] = &[
    // All operations of a store write small files in the same way and take the same locks; each has a file of its own.
    "LocalStore",
    // The command reads lines of three kinds; its markup filter answers what it finds in a line as the command answers a line.
    "Requests",
];

/// An `impl` block of a type.
struct ImplBlock<'c> {
    file: &'c str,
    of: &'c str,
    body: &'c str,
}

/// For each method call on `self`: the file of the call, and the file of the method, if it is another. And from each file with
/// methods of a type to the one that defines the type. `files` are files with their code.
pub(super) fn arrows<'c>(files: impl Iterator<Item = (&'c str, &'c str)>) -> BTreeSet<(String, String)> {
    let (mut blocks, mut definers): (Vec<ImplBlock<'c>>, BTreeMap<&str, &str>) = Default::default();
    for (file, code) in files {
        blocks.extend(blocks_of(file, code));
        for keyword in ["struct ", "enum "] {
            for (at, _) in code.match_indices(keyword) {
                definers.entry(word(&code[at + keyword.len()..])).or_insert(file);
            }
        }
    }
    blocks.retain(|block| definers.contains_key(block.of) && !ALLOWED.contains(&block.of));
    let mut methods: BTreeMap<(&str, &str), &str> = BTreeMap::new();
    for block in &blocks {
        for (at, _) in block.body.match_indices("fn ") {
            methods.entry((block.of, word(&block.body[at + 3..]))).or_insert(block.file);
        }
    }
    let mut arrows = BTreeSet::new();
    for block in &blocks {
        let calls = block.body.match_indices("self").filter_map(|(at, _)| called(&block.body[at + 4..]));
        let of_methods = calls.filter_map(|name| methods.get(&(block.of, name)));
        let to = of_methods.chain(definers.get(block.of)).filter(|to| **to != block.file);
        arrows.extend(to.map(|to| (block.file.to_owned(), (*to).to_owned())));
    }
    arrows
}

/// The `impl` blocks of a file, without those of traits.
fn blocks_of<'c>(file: &'c str, code: &'c str) -> Vec<ImplBlock<'c>> {
    let mut found = Vec::new();
    for (at, _) in code.match_indices("impl") {
        let starts = code[..at].ends_with('\n') || at == 0;
        let rest = &code[at + 4..];
        let Some(open) = rest.find('{').filter(|_| starts && rest.starts_with([' ', '<'])) else { continue };
        let head = after_generics(rest[..open].trim());
        if head.contains(" for ") {
            continue;
        }
        found.push(ImplBlock { file, of: word(head), body: inside(&rest[open..]) });
    }
    found
}

/// What follows the parameters of an `impl`.
fn after_generics(head: &str) -> &str {
    if !head.starts_with('<') {
        return head;
    }
    let mut depth = 0_usize;
    for (at, c) in head.char_indices() {
        match c {
            '<' => depth += 1,
            '>' if !head[..at].ends_with('-') => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return head[at + 1..].trim();
        }
    }
    head
}

/// The text up to the brace that closes the first one.
fn inside(text: &str) -> &str {
    let mut depth = 0_usize;
    for (at, c) in text.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return &text[..at];
        }
    }
    text
}

/// The method that is called on the value before this text: `.name(`, also on a line of its own.
fn called(after: &str) -> Option<&str> {
    let name = word(after.trim_start().strip_prefix('.')?);
    let rest = after.trim_start()[1 + name.len()..].trim_start();
    (!name.is_empty() && rest.starts_with('(')).then_some(name)
}

/// The word at the beginning of a text.
fn word(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
    &text[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)]) -> Vec<(String, String)> {
        arrows(files.iter().copied()).into_iter().collect()
    }

    fn arrow(from: &str, to: &str) -> (String, String) {
        (from.to_owned(), to.to_owned())
    }

    #[test]
    fn a_call_on_self_leads_to_the_file_of_the_method() {
        let state =
            "pub struct W<'a>(&'a u8);\nimpl<'a> W<'a> {\n    fn walk(&self) { self\n        .read(1) }\n}\n";
        let reader = "impl W<'_> {\n    pub fn read(&self, _: u8) { self.field }\n}\n";
        let both = [arrow("reader.rs", "state.rs"), arrow("state.rs", "reader.rs")];
        assert_eq!(found(&[("state.rs", state), ("reader.rs", reader)]), both);
        // The definer calls no method of another file.
        let silent = "pub struct W<'a>(&'a u8);\nimpl<'a> W<'a> {\n    fn walk(&self) { other.read(1) }\n}\n";
        assert_eq!(found(&[("state.rs", silent), ("reader.rs", reader)]), both[..1]);
    }

    #[test]
    fn types_of_other_crates_and_traits_make_no_arrows() {
        let foreign = [
            ("a.rs", "impl Vec {\n    fn f(&self) { self.g() }\n}\n"),
            ("b.rs", "impl Vec {\n    fn g(&self) {}\n}\n"),
        ];
        assert_eq!(found(&foreign), []);
        let of_trait =
            [("a.rs", "struct A;\n"), ("b.rs", "impl<F: Fn() -> u8> T<F> for A {\n    fn g(&self) {}\n}\n")];
        assert_eq!(found(&of_trait), []);
        let allowed = [("a.rs", "struct LocalStore;\n"), ("b.rs", "impl LocalStore {\n}\n")];
        assert_eq!(found(&allowed), []);
    }
}
