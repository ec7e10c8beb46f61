//! The functions of a stack by name: as foldsym and gdb have them, cut at the outermost one that is compared.

use serde_json::Value;

use crate::json::Answered;

/// A function on a stack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct OnStack {
    /// `?` where it is not known.
    pub(super) name: String,
    /// The program or library.
    pub(super) module: String,
    /// The code is that of several functions, and the stack shows which of them ran.
    pub(super) is_folded: bool,
}

/// The functions of a thread of foldsym's answer, innermost first, inlined ones too, without the kernel's and without marks of missing frames.
pub(super) fn of_thread(thread: &Value) -> Vec<OnStack> {
    let mut names = Vec::new();
    for frame in thread["Frames"].items() {
        let module = frame["ModuleName"].text();
        if frame["Trust"].text() == "gap" || module.starts_with("[kernel") {
            continue;
        }
        for symbol in frame["Symbol"].items() {
            let name = match symbol["FunctionName"].text() {
                "" => "?",
                name => name,
            };
            let is_folded = !frame["Evidence"].is_null();
            names.push(OnStack { name: name.to_owned(), module: module.to_owned(), is_folded });
        }
    }
    names
}

/// The functions of a stack up to the outermost one of a name. `Err`: none has it.
pub(super) fn up_to(entry: &str, names: Vec<OnStack>) -> Result<Vec<OnStack>, String> {
    match names.iter().rposition(|one| bare(&one.name) == entry) {
        Some(at) => Ok(names.into_iter().take(at + 1).collect()),
        None => Err(format!("no frame of `{entry}`: {}", shown(&names))),
    }
}

/// A name without parameters, template arguments and the anonymous namespace, with closures as older rustc writes them.
pub(super) fn bare(name: &str) -> String {
    let name = name.replace("(anonymous namespace)::", "").replace("{{closure}}", "{closure#0}");
    let (mut text, mut depth) = (String::new(), 0usize);
    for letter in name.chars() {
        match letter {
            '<' | '(' => depth += 1,
            '>' | ')' => depth = depth.saturating_sub(1),
            _ if depth == 0 => text.push(letter),
            _ => {}
        }
    }
    text.trim_matches(':').to_owned()
}

/// The last part of a name, which debuggers spell alike: they differ in how they write a type in front of it.
pub(super) fn last(name: &str) -> String {
    let bare = bare(name);
    let last = bare.rsplit("::").next().unwrap_or_default();
    match last.starts_with("{closure") {
        // `{{closure}}` has no number.
        true => "{closure}".to_owned(),
        false => last.to_owned(),
    }
}

/// The names without repetition: of a function that calls itself one frame.
pub(super) fn once(names: &[OnStack]) -> Vec<&str> {
    let mut found: Vec<&str> = names.iter().map(|one| one.name.as_str()).collect();
    found.dedup();
    found
}

/// The names for a message.
pub(super) fn shown(names: &[OnStack]) -> String {
    once(names).join(" < ")
}

/// Whether the functions that ran are on a stack: the outermost ones all, and none in between but where `...` stands.
pub(super) fn has_stack(names: &[OnStack], stack: &[String]) -> bool {
    let found: Vec<String> = once(names).into_iter().map(bare).collect();
    let mut rest = &found[..];
    let mut any = false;
    for wanted in stack.iter().rev() {
        if wanted == "..." {
            any = true;
            continue;
        }
        let at = match any {
            true => rest.iter().rposition(|name| name == wanted),
            false => rest.len().checked_sub(1).filter(|&at| rest[at] == *wanted),
        };
        let Some(at) = at else { return false };
        (rest, any) = (&rest[..at], false);
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(names: &[&str]) -> Vec<OnStack> {
        names
            .iter()
            .map(|name| OnStack { name: (*name).to_owned(), module: String::new(), is_folded: false })
            .collect()
    }

    #[test]
    fn names_lose_what_debuggers_spell_apart() {
        for (name, bared, end) in [
            ("weigh(Mail const*)", "weigh", "weigh"),
            ("(anonymous namespace)::weigh(long (*)(int))", "weigh", "weigh"),
            ("std::vector<int, A<B> >::at(int)", "std::vector::at", "at"),
            ("<a::B<F> as c::D<()>>::call_once", "call_once", "call_once"),
            ("core::ptr::write_volatile::<u64>", "core::ptr::write_volatile", "write_volatile"),
            ("main.read", "main.read", "main.read"),
            ("p::main::{{closure}}", "p::main::{closure#0}", "{closure}"),
            ("p::main::{closure#0}", "p::main::{closure#0}", "{closure}"),
        ] {
            assert_eq!((bare(name), last(name)), (bared.to_owned(), end.to_owned()), "{name}");
        }
    }

    #[test]
    fn a_stack_has_the_functions_that_ran_from_its_outermost_one_on() {
        let stack = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let has = |names: &[&str], text| has_stack(&named(names), &stack(text));
        assert!(has(&["abort", "f(int)", "f(int)", "main"], "f main"));
        assert!(has(&["f", "qsort", "qsort_r", "g", "main"], "f ... g main"));
        assert!(!has(&["f", "qsort", "g", "main"], "f g main"));
        assert!(!has(&["f", "main"], "g main") && !has(&["main"], "f main") && !has(&[], "main"));
    }

    #[test]
    fn a_stack_ends_at_its_outermost_entry() {
        let names = up_to("main", named(&["f", "main", "f", "main", "start"])).unwrap();
        assert_eq!((names.len(), once(&names).len()), (4, 4));
        assert!(up_to("main", named(&["f"])).unwrap_err().contains("no frame of `main`: f"));
    }
}
