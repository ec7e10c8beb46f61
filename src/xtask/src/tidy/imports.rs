//! Rule on imports: inside a crate neither files nor folders import each other in a circle.
//!
//! A path in code leads to the file that defines the item: a `mod.rs` that only declares modules and passes their items on
//! is looked through and has no part in any circle. Paths are read from the text, without macros; tests do not count. A method
//! that is called on `self` and is in another file counts too (`methods`).

use std::collections::{BTreeMap, BTreeSet};

use super::methods;
use super::text::{code, without_tests};
use super::tracked::{Finding, Tracked};

/// An arrow from the file that imports to the one that it imports from.
type Arrow = (String, String);

/// No circle of files, and none of the files and folders of one folder.
pub(super) fn circles(files: &[Tracked]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for krate in crates(files) {
        let krate = Crate::new(&krate, files);
        for circle in all_circles(&krate.root, &krate.arrows()) {
            let from = circle.first().map_or("", |arrow| &arrow.0);
            let arrows: Vec<String> = circle.iter().map(|(from, to)| format!("{from} -> {to}")).collect();
            findings.push(Finding::new(from, 1, format!("imports in a circle: {}", arrows.join(", "))));
        }
    }
    findings
}

/// The folders of sources of all crates.
fn crates(files: &[Tracked]) -> Vec<String> {
    let folder = |file: &Tracked| file.path.strip_suffix("Cargo.toml").map(|folder| format!("{folder}src"));
    files.iter().filter_map(folder).filter(|folder| files.iter().any(|file| file.below(folder))).collect()
}

/// The modules of one crate.
struct Crate {
    root: String,
    /// By path of modules: the file, and its code.
    modules: BTreeMap<Vec<String>, (String, String)>,
    /// For an item that a module re-exports, by path: where it comes from.
    passed: BTreeMap<Vec<String>, Vec<String>>,
}

impl Crate {
    fn new(root: &str, files: &[Tracked]) -> Crate {
        let mut modules = BTreeMap::new();
        for file in files.iter().filter(|file| file.below(root) && file.path.ends_with(".rs")) {
            let inner = &file.path[root.len() + 1..file.path.len() - ".rs".len()];
            let mut path: Vec<String> = inner.split('/').map(str::to_owned).collect();
            let is_test = path.iter().any(|name| name == "tests");
            if path.len() == 1 && ["lib", "main"].contains(&&*path[0])
                || path.last().is_some_and(|l| l == "mod")
            {
                path.pop();
            }
            // If a crate has a library and a command, the library is the root.
            if let Some(text) = file.text().filter(|_| !is_test)
                && !(path.is_empty() && modules.contains_key(&path))
            {
                modules.insert(path, (file.path.clone(), without_tests(&code(text))));
            }
        }
        let mut krate = Crate { root: root.to_owned(), modules, passed: BTreeMap::new() };
        let mut passed = BTreeMap::new();
        for (module, (_, code)) in &krate.modules {
            for import in imports(code).into_iter().filter(|import| import.passes_on) {
                if let Some(target) = krate.absolute(module, &import.path) {
                    let name = import.name.clone();
                    passed.insert(module.iter().cloned().chain([name]).collect::<Vec<_>>(), target);
                }
            }
        }
        krate.passed = passed;
        krate
    }

    /// A path as `module` writes it, from the root; `None` for one into another crate.
    fn absolute(&self, module: &[String], path: &[String]) -> Option<Vec<String>> {
        let mut base = module.to_vec();
        let mut rest = path;
        match path.first()?.as_str() {
            "crate" => (base, rest) = (Vec::new(), &path[1..]),
            "self" => rest = &path[1..],
            "super" => {
                while rest.first().is_some_and(|name| name == "super") {
                    base.pop()?;
                    rest = &rest[1..];
                }
            }
            child => {
                let own: Vec<String> = base.iter().cloned().chain([child.to_owned()]).collect();
                if !self.modules.contains_key(&own) {
                    return None;
                }
            }
        }
        base.extend(rest.iter().cloned());
        Some(base)
    }

    /// The file that defines the item of a path from the root; for a module, its own file.
    fn file_of(&self, path: &[String], depth: usize) -> Option<&str> {
        for len in (0..=path.len()).rev() {
            if let Some(origin) = self.passed.get(&path[..len]).filter(|_| depth < 8 && len > 0) {
                let further: Vec<String> = origin.iter().chain(&path[len..]).cloned().collect();
                if further != path {
                    return self.file_of(&further, depth + 1);
                }
            }
            if let Some((file, _)) = self.modules.get(&path[..len]) {
                return Some(file);
            }
        }
        None
    }

    /// True for a file without code of its own.
    fn only_declares(code: &str) -> bool {
        let mut rest = code.to_owned();
        for (start, end) in uses(code).into_iter().rev() {
            // A re-export; a file that imports for its own use has code.
            if code[start..end].trim_start().starts_with("pub") {
                rest.replace_range(start..end, "");
            }
        }
        let mut statements =
            rest.split(';').map(str::trim).filter(|statement| !statement.is_empty()).peekable();
        statements.peek().is_some()
            && statements.all(|statement| {
                let plain = statement.lines().map(str::trim).filter(|line| !line.starts_with("#"));
                let words: Vec<&str> = plain.flat_map(str::split_whitespace).collect();
                matches!(words[..], [] | ["mod", _] | ["pub", "mod", _])
                    || (words.len() == 3 && words[0].starts_with("pub(") && words[1] == "mod")
            })
    }

    fn arrows(&self) -> BTreeSet<Arrow> {
        let mut arrows = BTreeSet::new();
        let declares: BTreeSet<&str> = (self.modules.iter())
            .filter(|(path, (_, code))| path.is_empty() || Self::only_declares(code))
            .map(|(_, (file, _))| &**file)
            .collect();
        for (module, (file, code)) in self.modules.iter().filter(|(_, (file, _))| !declares.contains(&**file))
        {
            let imports = imports(code);
            let mut targets: Vec<Vec<String>> =
                imports.iter().filter_map(|import| self.absolute(module, &import.path)).collect();
            for path in paths(code) {
                // The first name may be that of a module that was imported.
                let imported = imports.iter().find(|import| import.name == path[0]);
                let path = match imported.and_then(|import| self.absolute(module, &import.path)) {
                    Some(base) => Some(base.into_iter().chain(path[1..].iter().cloned()).collect()),
                    None => self.absolute(module, &path),
                };
                targets.extend(path);
            }
            let to = targets.iter().filter_map(|target| self.file_of(target, 0));
            let to = to.filter(|to| to != file && !declares.contains(to));
            arrows.extend(to.map(|to| (file.clone(), to.to_owned())));
        }
        arrows.extend(methods::arrows(self.modules.values().map(|(file, code)| (&**file, &**code))));
        arrows
    }
}

/// An import: the item, its name here, and whether the module re-exports it.
struct Import {
    path: Vec<String>,
    name: String,
    passes_on: bool,
}

/// Where the `use` statements of code are.
fn uses(code: &str) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    for (at, _) in code.match_indices("use ") {
        let line = code[..at].rfind('\n').map_or(0, |end| end + 1);
        let before = code[line..at].trim();
        let is_use =
            before.is_empty() || before == "pub" || before.starts_with("pub(") && before.ends_with(')');
        if let Some(end) = code[at..].find(';').filter(|_| is_use) {
            found.push((line, at + end + 1));
        }
    }
    found
}

fn imports(code: &str) -> Vec<Import> {
    let mut found = Vec::new();
    for (start, end) in uses(code) {
        let statement = code[start..end].trim();
        let Some((before, tree)) = statement.split_once("use ") else { continue };
        let mut leaves = Vec::new();
        tree_paths(tree.trim_end_matches(';'), &[], &mut leaves);
        for (path, name) in leaves {
            found.push(Import { path, name, passes_on: before.starts_with("pub") });
        }
    }
    found
}

/// The paths of a tree of imports, with the name that each has here. Trees are written by people: they do not nest deep.
fn tree_paths(tree: &str, before: &[String], leaves: &mut Vec<(Vec<String>, String)>) {
    let tree = tree.trim();
    if let Some((head, inner)) = tree.split_once('{') {
        let mut path = before.to_vec();
        path.extend(head.split("::").map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned));
        let inner = inner.trim_end().strip_suffix('}').unwrap_or(inner);
        let (mut depth, mut from) = (0_usize, 0);
        for (at, c) in inner.char_indices().chain([(inner.len(), ',')]) {
            match c {
                '{' => depth += 1,
                '}' => depth = depth.saturating_sub(1),
                ',' if depth == 0 => {
                    if !inner[from..at].trim().is_empty() {
                        tree_paths(&inner[from..at], &path, leaves);
                    }
                    from = at + 1;
                }
                _ => {}
            }
        }
        return;
    }
    let (path, alias) = tree.split_once(" as ").map_or((tree, None), |(path, alias)| (path, Some(alias)));
    let mut full = before.to_vec();
    full.extend(path.split("::").map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned));
    if full.last().is_some_and(|last| last == "self") && full.len() > 1 {
        full.pop();
    }
    // All of a module: the module itself.
    let glob = full.last().is_some_and(|last| last == "*");
    if glob {
        full.pop();
    }
    let name = alias.map(str::trim).or(full.last().map(String::as_str)).unwrap_or_default().to_owned();
    if !full.is_empty() {
        leaves.push((full, if glob { String::new() } else { name }));
    }
}

/// The paths in code outside of `use`: `a::b` and more.
fn paths(code: &str) -> Vec<Vec<String>> {
    let mut rest = code.to_owned();
    for (start, end) in uses(code).into_iter().rev() {
        rest.replace_range(start..end, " ");
    }
    let word = |c: char| c.is_alphanumeric() || c == '_';
    let mut found: BTreeSet<Vec<String>> = BTreeSet::new();
    for part in rest.split(|c: char| !word(c) && c != ':') {
        if part.starts_with(':') || !part.contains("::") {
            continue;
        }
        let names: Vec<String> = part.split("::").map(|name| name.trim_matches(':').to_owned()).collect();
        let names: Vec<String> = names.into_iter().take_while(|name| !name.is_empty()).collect();
        if names.len() > 1 || names.first().is_some_and(|name| name != "self") {
            found.insert(names);
        }
    }
    found.into_iter().filter(|names| !names.is_empty()).collect()
}

/// The circles of files, then those of the folders of each folder: each as the arrows of files that make it.
fn all_circles(root: &str, arrows: &BTreeSet<Arrow>) -> Vec<Vec<Arrow>> {
    let mut circles = circles_of(arrows, |file| file.to_owned());
    let folders: BTreeSet<String> =
        arrows.iter().flat_map(|(from, to)| [from, to]).flat_map(|file| folders_of(root, file)).collect();
    for folder in folders {
        let below = |file: &str| file.strip_prefix(&*folder).is_some_and(|rest| rest.starts_with('/'));
        let inside: BTreeSet<Arrow> =
            arrows.iter().filter(|(from, to)| below(from) && below(to)).cloned().collect();
        let room = |file: &str| {
            let rest = &file[folder.len() + 1..];
            rest.split_once('/').map_or(rest, |(room, _)| room).trim_end_matches(".rs").to_owned()
        };
        for circle in circles_of(&inside, room) {
            // Circles of files were already reported.
            if !circles.iter().any(|known| circle.iter().all(|arrow| known.contains(arrow))) {
                circles.push(circle);
            }
        }
    }
    circles
}

/// The folders that a file is in, from the root of its crate on.
fn folders_of(root: &str, file: &str) -> Vec<String> {
    let inner = file.match_indices('/').map(|(at, _)| &file[..at]);
    inner.filter(|folder| folder.len() >= root.len()).map(str::to_owned).collect()
}

/// The groups of rooms that can reach each other: of each the arrows between its rooms.
fn circles_of(arrows: &BTreeSet<Arrow>, room: impl Fn(&str) -> String) -> Vec<Vec<Arrow>> {
    let mut next: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (from, to) in arrows {
        let (from, to) = (room(from), room(to));
        if from != to {
            next.entry(from).or_default().insert(to);
        }
    }
    let reach = |start: &String| {
        let mut seen: BTreeSet<String> = BTreeSet::new();
        let mut open = vec![start.clone()];
        while let Some(at) = open.pop() {
            for to in next.get(&at).into_iter().flatten() {
                if seen.insert(to.clone()) {
                    open.push(to.clone());
                }
            }
        }
        seen
    };
    let reached: BTreeMap<&String, BTreeSet<String>> = next.keys().map(|room| (room, reach(room))).collect();
    let mut done: BTreeSet<&String> = BTreeSet::new();
    let mut found = Vec::new();
    for (room_name, reached_from) in &reached {
        if done.contains(*room_name) || !reached_from.contains(*room_name) {
            continue;
        }
        let together: BTreeSet<&String> = reached_from
            .iter()
            .filter(|other| reached.get(other).is_some_and(|back| back.contains(*room_name)))
            .collect();
        let inside = arrows.iter().filter(|(from, to)| {
            let (from, to) = (room(from), room(to));
            from != to && together.contains(&from) && together.contains(&to)
        });
        found.push(inside.cloned().collect());
        done.extend(reached.keys().filter(|name| together.contains(**name)));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::tests::file;
    use super::*;

    /// How many circles a crate of these files has.
    fn count(files: &[(&str, &str)]) -> usize {
        let mut tracked = vec![file("c/Cargo.toml", "")];
        tracked.extend(files.iter().map(|(path, text)| file(&format!("c/src/{path}"), text)));
        circles(&tracked).len()
    }

    #[test]
    fn files_that_import_each_other_are_found() {
        let one_way = [("lib.rs", "mod a; mod b;"), ("a.rs", "use crate::b::B;"), ("b.rs", "pub struct B;")];
        assert_eq!(count(&one_way), 0);
        for back in ["use crate::a::A;", "use super::a;", "fn f() { crate::a::g() }", "use super::{a::A, c};"]
        {
            let both =
                [("lib.rs", "mod a; mod b;"), ("a.rs", "use crate::b::B;\npub fn g() {}"), ("b.rs", back)];
            assert_eq!(count(&both), 1, "{back}");
        }
        let in_test = "#[cfg(test)]\nmod tests { use crate::a::A; }\n// crate::a::A\n";
        assert_eq!(count(&[("a.rs", "use crate::b::B;"), ("b.rs", in_test)]), 0);
    }

    #[test]
    fn a_file_that_only_declares_is_looked_through() {
        let of_b = [
            ("m/mod.rs", "//! Says.\nmod a;\n#[cfg(x)]\npub(crate) mod b;\npub(crate) use b::{B, C};\n"),
            ("m/a.rs", "use super::B;"),
            ("m/b.rs", "pub struct B;"),
        ];
        assert_eq!(count(&of_b), 0);
        let back = [of_b[0], of_b[1], ("m/b.rs", "use crate::m::a::A;\npub struct B;")];
        assert_eq!(count(&back), 1);
        let with_code = [("m/mod.rs", "mod a;\npub struct B;\nfn f() { a::g() }"), of_b[1]];
        assert_eq!(count(&with_code), 1);
        // A module that is imported, and named in the code.
        let by_name = [
            ("m/mod.rs", "mod a;\nmod b;"),
            ("m/a.rs", "use super::b;\nfn f() { b::g() }"),
            ("m/b.rs", "use crate::m;\nfn g() { m::a::f() }"),
        ];
        assert_eq!(count(&by_name), 1);
    }

    #[test]
    fn methods_of_one_type_that_call_each_other_are_found() {
        let state = ("state.rs", "pub struct W;\nimpl W {\n    fn walk(&self) { self.read() }\n}\n");
        let reader = ("reader.rs", "use crate::state::W;\nimpl W {\n    fn read(&self) {}\n}\n");
        assert_eq!(count(&[state, reader]), 1);
        let apart = ("state.rs", "pub struct W;\n");
        let walk = ("walk.rs", "use crate::state::W;\nfn walk(w: &W) { w.read() }\n");
        assert_eq!(count(&[apart, reader, walk]), 0);
    }

    #[test]
    fn folders_that_import_each_other_are_found() {
        let files = [
            ("a/one.rs", "use crate::b::one::B;"),
            ("a/two.rs", ""),
            ("b/one.rs", ""),
            ("b/two.rs", "use crate::a::two::A;"),
        ];
        assert_eq!(count(&files), 1);
        assert_eq!(count(&files[..3]), 0);
    }
}
