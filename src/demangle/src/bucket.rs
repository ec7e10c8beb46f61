//! Writes a function's name in the form by which stacks are put into buckets: the same for all instances of a template, for all lambdas of a
//! function, and for the copies that compilers make of a function.

use std::borrow::Cow;

use crate::parts::{Part, Parts};

/// What a lambda or closure is called, whatever its number.
const LAMBDA: &str = "{lambda}";

/// What stands for the arguments of a template.
const ARGUMENTS: &str = "<T>";

/// Which details [`BucketNames::of`] keeps. The default keeps none of them.
///
/// ```
/// use foldsym_demangle::BucketNames;
///
/// let name = b"_ZNK4util5CacheIiE4findERKi.cold";
/// assert_eq!(BucketNames::default().of(name), "util::Cache<T>::find");
/// let whole = BucketNames { arguments: true, parameters: true, ..BucketNames::default() };
/// assert_eq!(whole.of(name), "util::Cache<int>::find(int const&)");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BucketNames {
    /// Template arguments as they are, in place of `<T>`.
    pub arguments: bool,
    /// Parameters.
    pub parameters: bool,
    /// Lambdas as the compiler calls them, with their parameters and numbers, in place of `{lambda}`.
    pub lambdas: bool,
}

impl BucketNames {
    /// The name of a function, from its linkage name or its readable name: namespaces and classes, template arguments as `<T>`, without the
    /// type that is returned, parameters, hashes, suffixes of clones (`.cold`, `.part.0`, `.llvm.17`) and the inline namespaces of C++
    /// libraries (`std::__1`). A lambda is `{lambda}` behind the function that contains it. A thunk has the name of its function. A name that
    /// no scheme reads stays as it is. Work and memory are linear in the name's length, but for the bounds of [`demangle`](crate::demangle).
    ///
    /// ```
    /// use foldsym_demangle::BucketNames;
    ///
    /// let of = |name: &str| BucketNames::default().of(name.as_bytes());
    /// assert_eq!(of("std::vector<int>::push_back(int const&)"), "std::vector<T>::push_back");
    /// assert_eq!(of("run(int)::'lambda'(char)::operator()(char) const"), "run::{lambda}");
    /// assert_eq!(of("app::main::{closure#0}"), "app::main::{lambda}");
    /// assert_eq!(of("main.main.func1"), "main.main.{lambda}");
    /// assert_eq!(of("str_to_mpn.part.0.constprop.0"), "str_to_mpn");
    /// ```
    pub fn of(self, name: &[u8]) -> String {
        let readable = match crate::demangle(name) {
            Some(readable) => Cow::Owned(readable),
            None => String::from_utf8_lossy(without_suffixes(name)),
        };
        if is_objective_c(&readable) {
            return readable.into_owned();
        }
        if let Some(go) = self.go(&readable) {
            return go;
        }
        let parts = Parts::of(&readable);
        let mut out = String::with_capacity(readable.len());
        if !parts.special.ends_with("thunk to ") && !parts.special.ends_with("clone for ") {
            out.push_str(parts.special);
        }
        let (start, mut is_behind_lambda) = (out.len(), false);
        for (at, part) in parts.parts.iter().enumerate() {
            let is_lambda = !self.lambdas && is_lambda(part.base);
            // The operator of a lambda, and lambdas within it, are the lambda.
            if is_behind_lambda && (is_lambda || part.base == "operator()") {
                continue;
            }
            if at > 0 && self.is_inline_namespace(parts.parts[at - 1].base, part.base) {
                continue;
            }
            if out.len() > start {
                out.push_str("::");
            }
            match is_lambda {
                true => out.push_str(LAMBDA),
                false => self.part(&mut out, *part),
            }
            is_behind_lambda = is_lambda;
        }
        out
    }

    fn part(self, out: &mut String, part: Part<'_>) {
        let base = part.base.split("[abi:").next().unwrap_or(part.base);
        match inherent(base) {
            // Rust's `<Type>::method`.
            Some(of) => self.bracketed(out, of, 0),
            None if base.starts_with('<') => self.bracketed(out, base, 1),
            None if base.starts_with("operator ") => self.bracketed(out, base, 0),
            None => out.push_str(base),
        }
        if let Some(arguments) = part.arguments {
            out.push_str(if self.arguments { arguments } else { ARGUMENTS });
        }
        if let Some(parameters) = part.parameters.filter(|_| self.parameters) {
            out.push_str(parameters);
        }
    }

    /// Puts a text with `<T>` for whatever stands in angle brackets deeper than `outer`.
    fn bracketed(self, out: &mut String, text: &str, outer: usize) {
        if self.arguments {
            return out.push_str(text);
        }
        let (mut depth, mut before) = (0_usize, ' ');
        for letter in text.chars() {
            let is_arrow = letter == '>' && matches!(before, '-' | '=');
            before = letter;
            match letter {
                '<' => {
                    depth += 1;
                    if depth == outer + 1 {
                        // Rust's `f::<T>`.
                        out.truncate(out.trim_end_matches("::").len());
                        out.push_str(ARGUMENTS);
                    }
                    if depth > outer {
                        continue;
                    }
                }
                '>' if !is_arrow => {
                    depth = depth.saturating_sub(1);
                    if depth >= outer {
                        continue;
                    }
                }
                _ => {}
            }
            if depth <= outer {
                out.push(letter);
            }
        }
    }

    fn is_inline_namespace(self, before: &str, base: &str) -> bool {
        before == "std" && matches!(base, "__1" | "__ndk1" | "__cxx11" | "_V2")
    }

    /// The name of a function of Go; `None` for other names.
    fn go(self, name: &str) -> Option<String> {
        // No other readable name has a dot before a bracket, and those of Go have no `::`.
        let last = name.rsplit_once('/').map_or(name, |(_, last)| last);
        let has_closure = last.split('.').skip(2).any(is_go_closure);
        if name.contains("::")
            || name.contains(" (.")
            || !(last.contains(".(*") || has_closure || last.contains("[go.shape."))
        {
            return None;
        }
        let (mut out, mut depth) = (String::with_capacity(name.len()), 0_usize);
        for letter in name.chars() {
            depth -= usize::from(letter == ']' && depth > 0);
            if depth == 0 || self.arguments {
                out.push(letter);
            }
            if letter == '[' {
                out.push_str(if depth == 0 && !self.arguments { "T" } else { "" });
                depth += 1;
            }
        }
        if self.lambdas {
            return Some(out);
        }
        // `main.run.func1.2`: a closure in a closure.
        let mut kept: Vec<&str> = out.split('.').collect();
        let closure = kept.iter().skip(2).position(|word| is_go_closure(word)).map(|at| at + 2);
        if let Some(at) = closure {
            kept.truncate(at);
            kept.push(LAMBDA);
        }
        Some(kept.join("."))
    }
}

fn is_go_closure(word: &str) -> bool {
    let digits = ["func", "gowrap", "deferwrap"].iter().find_map(|start| word.strip_prefix(start));
    digits.is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()))
}

/// `-[Class method:]`, whose blank precedes no name.
fn is_objective_c(name: &str) -> bool {
    name.starts_with("-[") || name.starts_with("+[")
}

/// The type of `<Type>`, not of `<Type as Trait>`.
fn inherent(base: &str) -> Option<&str> {
    let inside = base.strip_prefix('<')?.strip_suffix('>')?;
    (!inside.contains(" as ")).then_some(inside)
}

/// True for the part of a name that is a lambda, a closure, or a type without a name that a compiler made of one.
fn is_lambda(base: &str) -> bool {
    const STARTS: &[&str] =
        &["'lambda", "{lambda", "<lambda", "'unnamed", "{unnamed", "{closure", "{{closure", "$_", "__lambda"];
    STARTS.iter().any(|start| base.starts_with(start))
}

/// A name without what compilers and linkers add behind dots to a copy or part of a function.
fn without_suffixes(name: &[u8]) -> &[u8] {
    const WORDS: &[&[u8]] = &[
        b"cold",
        b"warm",
        b"hot",
        b"part",
        b"__part",
        b"constprop",
        b"isra",
        b"localalias",
        b"lto_priv",
        b"llvm",
        b"__uniq",
        b"eh",
        b"resolver",
        b"cfi",
        b"cfi_jt",
        b"ipa_ra",
        b"destroy",
        b"resume",
        b"cleanup",
    ];
    let is_suffix = |rest: &[u8]| {
        let word = rest.split(|byte| *byte == b'.').next().unwrap_or(rest);
        WORDS.contains(&word) || !word.is_empty() && word.iter().all(u8::is_ascii_digit)
    };
    let mut dots = memchr::memchr_iter(b'.', name).filter(|at| *at > 0);
    let end = dots.find(|at| is_suffix(&name[at + 1..]));
    &name[..end.unwrap_or(name.len())]
}

#[cfg(test)]
mod tests {
    use super::BucketNames;

    fn of(name: &str) -> String {
        BucketNames::default().of(name.as_bytes())
    }

    #[test]
    fn names_of_instances_lambdas_and_clones_are_one() {
        for (name, expected) in [
            ("main", "main"),
            ("", ""),
            ("_ZN5StackIP4MenuE4pushEv", "Stack<T>::push"),
            ("_ZN5StackIlE4pushEv.llvm.123", "Stack<T>::push"),
            ("void twice<int>(int)", "twice<T>"),
            ("unsigned long const* a::b<c::d>::f() const &", "a::b<T>::f"),
            ("f(int)::'lambda0'(char)::operator()(char) const", "f::{lambda}"),
            ("f(int)::{lambda(char)#2}::operator()(char) const", "f::{lambda}"),
            ("f()::$_1::operator()() const::{lambda()#1}::operator()() const", "f::{lambda}"),
            ("app::main::{{closure}}", "app::main::{lambda}"),
            ("app::main::{closure#0}::{closure#3}", "app::main::{lambda}"),
            ("app::Visitor::operator()(int)", "app::Visitor::operator()"),
            ("(anonymous namespace)::f(int)", "(anonymous namespace)::f"),
            ("non-virtual thunk to A::f()", "A::f"),
            ("vtable for A<int>", "vtable for A<T>"),
            ("std::__1::vector<int>::push_back(int)", "std::vector<T>::push_back"),
            ("f[abi:cxx11](int)", "f"),
            ("A::operator<(A const&)", "A::operator<"),
            ("bool operator<<int>(A)", "operator<<T>"),
            ("operator<<(std::ostream&, A)", "operator<<"),
            ("A::operator std::vector<int>() const", "A::operator std::vector<T>"),
            ("operator new(unsigned long)", "operator new"),
            ("<alloc::vec::Vec<u8>>::push", "alloc::vec::Vec<T>::push"),
            (
                "<alloc::vec::Vec<u8> as core::ops::Drop>::drop",
                "<alloc::vec::Vec<T> as core::ops::Drop>::drop",
            ),
            ("core::ptr::drop_in_place::<alloc::string::String>", "core::ptr::drop_in_place<T>"),
            ("core::ptr::drop_in_place<alloc::string::String>", "core::ptr::drop_in_place<T>"),
            ("_ZN4core3fmt5write17h0123456789abcdefE", "core::fmt::write"),
            ("main.(*Tree).walk", "main.(*Tree).walk"),
            ("github.com/a/b.(*Tree[go.shape.int]).walk.func1.2", "github.com/a/b.(*Tree[T]).walk.{lambda}"),
            ("main.main.func1", "main.main.{lambda}"),
            ("-[Parcel weigh:with:]", "-[Parcel weigh:with:]"),
            ("sort.cold", "sort"),
            ("*Type@Type#method<Int32>", "*Type@Type#method<T>"),
            ("caml.lib", "caml.lib"),
            ("_ZNope", "_ZNope"),
        ] {
            assert_eq!(of(name), expected, "{name}");
        }
    }

    #[test]
    fn a_name_in_this_form_stays() {
        for name in
            ["a::b<T>::f", "run::{lambda}", "<a::V<T> as b::D>::drop", "main.main.{lambda}", "operator<<T>"]
        {
            assert_eq!(of(name), name);
        }
    }

    #[test]
    fn details_are_kept_on_request() {
        let all = BucketNames { arguments: true, parameters: true, lambdas: true };
        for name in [
            "a::f<int>(char)",
            "f(int)::'lambda'(char)::operator()(char)",
            "<a::V<u8> as b::D>::drop",
            "main.f.func1",
        ] {
            assert_eq!(all.of(name.as_bytes()), name);
        }
    }

    #[test]
    fn anything_is_a_name() {
        let deep = "<(".repeat(30_000);
        for text in
            ["<", "(", "f(", "operator", ">", "::", "a::", "{", "<a as ", "é<ü>(ö)", "a.", ".", "[", &deep]
        {
            let _ = of(text);
        }
        let _ = BucketNames::default().of(b"f\xff<\xfe>");
    }
}
