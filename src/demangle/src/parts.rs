//! Cuts a readable name into the parts that people name functions by, without its return type.

/// Prefixes of readable names of tables, thunks and other entities that belong to a function or class.
const SPECIAL: &[&str] = &[
    "non-virtual thunk to ",
    "virtual thunk to ",
    "covariant return thunk to ",
    "transaction clone for ",
    "non-transaction clone for ",
    "guard variable for ",
    "reference temporary #",
    "construction vtable for ",
    "vtable for ",
    "VTT for ",
    "typeinfo for ",
    "typeinfo name for ",
    "thread-local initialization routine for ",
    "thread-local wrapper routine for ",
];

/// Words that may follow the parameters of a function.
const AFTER: &[&str] = &["const", "volatile", "restrict", "noexcept", "&", "(.", "[clone", "requires"];

/// The text between two `::` of a name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Part<'t> {
    /// `f` of `f<int>(char)`; `operator<`, `(anonymous namespace)`, `{closure#0}`, `<T as Trait>`.
    pub(crate) base: &'t str,
    /// With its brackets.
    pub(crate) arguments: Option<&'t str>,
    /// With their brackets: of the function itself, or of one in which the rest is local.
    pub(crate) parameters: Option<&'t str>,
}

/// The parts of a name, the outermost first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Parts<'t> {
    /// One of [`SPECIAL`], or nothing.
    pub(crate) special: &'t str,
    pub(crate) parts: Vec<Part<'t>>,
}

impl<'t> Parts<'t> {
    /// Cuts a name. Whatever cannot be cut is one part.
    pub(crate) fn of(text: &'t str) -> Self {
        let special =
            SPECIAL.iter().find(|special| text.starts_with(**special)).map_or(0, |special| special.len());
        let (special, name) = text.split_at(special);
        let parts = Cutter::of(name).cut().unwrap_or_else(|| vec![Part { base: name, ..Part::default() }]);
        Self { special, parts }
    }

    pub(crate) fn last(&self) -> Part<'t> {
        self.parts.last().copied().unwrap_or_default()
    }
}

struct Cutter<'t> {
    text: &'t str,
    at: usize,
    /// Where the part begins.
    start: usize,
    part: Part<'t>,
    parts: Vec<Part<'t>>,
    /// How many spaces were looked behind.
    #[cfg(test)]
    looks: usize,
}

impl<'t> Cutter<'t> {
    fn of(text: &'t str) -> Self {
        Self {
            text,
            at: 0,
            start: 0,
            part: Part::default(),
            parts: Vec::new(),
            #[cfg(test)]
            looks: 0,
        }
    }

    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    /// The part's text so far.
    fn base(&self) -> &'t str {
        if self.part.base.is_empty() { &self.text[self.start..self.at] } else { self.part.base }
    }

    fn cut(&mut self) -> Option<Vec<Part<'t>>> {
        while let Some(&byte) = self.text.as_bytes().get(self.at) {
            match byte {
                b':' if self.rest().starts_with("::") => self.end_part(),
                b' ' => {
                    #[cfg(test)]
                    {
                        self.looks += 1;
                    }
                    let after = self.rest().trim_start();
                    if self.ends_before(after) {
                        break;
                    }
                    // All so far was the type that is returned. The whole run of spaces is passed at once: otherwise each space would look
                    // through the rest of the run.
                    self.parts.clear();
                    self.part = Part::default();
                    self.at = self.text.len() - after.len();
                    self.start = self.at;
                }
                b'o' if self.start == self.at && is_operator_at(self.text.as_bytes(), self.at) => {
                    self.at += operator_len(self.rest())
                }
                b'<' | b'(' => self.bracket(byte)?,
                b'[' | b'{' => self.at += bracket_len(self.rest())?,
                _ => self.at += 1,
            }
        }
        self.part.base = self.base();
        self.parts.push(self.part);
        Some(std::mem::take(&mut self.parts))
    }

    /// True if the spaces before this text end the name: it is the qualifiers of a method, or what a compiler added.
    fn ends_before(&self, after: &str) -> bool {
        after.is_empty() || self.part.parameters.is_some() && AFTER.iter().any(|word| after.starts_with(word))
    }

    fn end_part(&mut self) {
        self.part.base = self.base();
        self.parts.push(self.part);
        self.part = Part::default();
        self.at += 2;
        self.start = self.at;
    }

    fn bracket(&mut self, byte: u8) -> Option<()> {
        let whole = self.rest().get(..bracket_len(self.rest())?)?;
        if self.start == self.at {
            match self.parts.last_mut() {
                // Rust's `f::<T>`.
                Some(last) if byte == b'<' && last.arguments.is_none() => {
                    last.arguments = Some(whole);
                    self.part = self.parts.pop()?;
                    self.at += whole.len();
                    return Some(());
                }
                // `(anonymous namespace)`, Rust's `<T as Trait>`.
                _ => {}
            }
        } else {
            self.part.base = self.base();
            let place = if byte == b'<' { &mut self.part.arguments } else { &mut self.part.parameters };
            place.get_or_insert(whole);
        }
        self.at += whole.len();
        Some(())
    }
}

/// True if the name of an operator of C++ begins at this byte of a readable name. Words that only contain `operator` are others, and so is
/// Rust's module of this name, after which `::` comes.
///
/// ```
/// use foldsym_demangle::is_operator_at;
///
/// assert!(is_operator_at(b"A::operator<(A)", 3));
/// assert!(!is_operator_at(b"call_operator()", 5));
/// assert!(!is_operator_at(b"app::operator::run", 5));
/// ```
pub fn is_operator_at(name: &[u8], at: usize) -> bool {
    let is_of_word = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | 0x80..);
    let Some((before, rest)) = name.split_at_checked(at) else { return false };
    let Some(after) = rest.strip_prefix(b"operator") else { return false };
    !before.last().is_some_and(is_of_word)
        && !after.first().is_some_and(|byte| is_of_word(byte) || *byte == b':')
}

/// How long the operator's name is that a text begins with.
fn operator_len(text: &str) -> usize {
    const SIGNS: &[&str] = &["()", "[]", "<=>", "<<=", ">>=", "->*", "->", ">>", "<=", ">=", ">"];
    let word = "operator".len();
    let rest = &text[word..];
    if rest.starts_with(' ') {
        // `operator new`, a conversion: up to the parameters.
        return word + rest.find('(').unwrap_or(rest.len());
    }
    // A longer sign precedes the shorter one with which it begins, so that `->*` is not taken for `->`.
    if let Some(sign) = SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
        return word + sign.len();
    }
    let opening = rest.len() - rest.trim_start_matches('<').len();
    match opening {
        0 => word + rest.find(['(', '<']).unwrap_or(rest.len()),
        // `operator<<int>` is `operator<` with arguments, `operator<<(` is not.
        2 if !matches!(rest.as_bytes().get(2), None | Some(b'(' | b' ')) => word + 1,
        1 => word + 1,
        _ => word + 2,
    }
}

/// How long the bracket with all that it holds is that a text begins with; `None` if it is not closed.
fn bracket_len(text: &str) -> Option<usize> {
    // A list replaces recursion: a hostile name may nest brackets to any depth.
    let mut open: Vec<u8> = Vec::new();
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let closing = match byte {
            b'(' => Some(b')'),
            b'[' => Some(b']'),
            b'{' => Some(b'}'),
            b'<' => Some(b'>'),
            _ => None,
        };
        if let Some(closing) = closing {
            open.push(closing);
        } else if byte == b'>' && at > 0 && matches!(bytes[at - 1], b'-' | b'=') {
            // An arrow.
        } else if matches!(byte, b')' | b']' | b'}' | b'>') {
            // `<` and `>` may be signs of an expression.
            while byte != b'>' && open.last() == Some(&b'>') {
                open.pop();
            }
            if open.last() == Some(&byte) {
                open.pop();
            } else if byte != b'>' {
                return None;
            }
            if open.is_empty() {
                return Some(at + 1);
            }
        }
        at += 1;
        if byte == b'o' && is_operator_at(bytes, at - 1) {
            at += operator_len(&text[at - 1..]) - 1;
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(text: &str) -> String {
        let parts = Parts::of(text);
        let shown = parts.parts.iter().map(|part| {
            format!("{}|{}|{}", part.base, part.arguments.unwrap_or(""), part.parameters.unwrap_or(""))
        });
        shown.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn names_are_cut_into_parts() {
        for (name, parts) in [
            ("main", "main||"),
            ("geo::crashy(int, char const*)", "geo|| crashy||(int, char const*)"),
            ("void twice<int>(int)", "twice|<int>|(int)"),
            ("unsigned long const* a::b<c::d>::f() const &", "a|| b|<c::d>| f||()"),
            (
                "f(int)::'lambda'(char)::operator()(char) const",
                "f||(int) 'lambda'||(char) operator()||(char)",
            ),
            ("decltype(a(b)) ns::f<int>(int) (.cold)", "ns|| f|<int>|(int)"),
            ("(anonymous namespace)::f(int)", "(anonymous namespace)|| f||(int)"),
            ("std::vector<int> (anonymous namespace)::f()", "(anonymous namespace)|| f||()"),
            ("A::operator<(A const&)", "A|| operator<||(A const&)"),
            ("bool operator<<int>(A)", "operator<|<int>|(A)"),
            ("std::ostream& operator<<<char>(std::ostream&)", "operator<<|<char>|(std::ostream&)"),
            ("operator<<(std::ostream&, A)", "operator<<||(std::ostream&, A)"),
            ("A::operator->() const", "A|| operator->||()"),
            ("A::operator unsigned long() const", "A|| operator unsigned long||()"),
            ("operator new(unsigned long)", "operator new||(unsigned long)"),
            ("void f<&(A::operator<(A))>()", "f|<&(A::operator<(A))>|()"),
            ("f[abi:cxx11](int)", "f[abi:cxx11]||(int)"),
            ("alloc::vec::Vec<T,A>::push", "alloc|| vec|| Vec|<T,A>| push||"),
            (
                "core::ptr::drop_in_place::<alloc::string::String>",
                "core|| ptr|| drop_in_place|<alloc::string::String>|",
            ),
            (
                "<foldsym::Failure as core::fmt::Display>::fmt",
                "<foldsym::Failure as core::fmt::Display>|| fmt||",
            ),
            ("app::operator::run::<u8>", "app|| operator|| run|<u8>|"),
            ("app::main::{closure#0}", "app|| main|| {closure#0}||"),
            ("<fn(u8) -> u32 as T>::f", "<fn(u8) -> u32 as T>|| f||"),
        ] {
            assert_eq!(cut(name), parts, "{name}");
        }
        assert_eq!(Parts::of("non-virtual thunk to A::f()").special, "non-virtual thunk to ");
    }

    #[test]
    fn a_run_of_spaces_is_passed_at_once() {
        let text = format!("x{}y z", " ".repeat(65_000));
        let mut cutter = Cutter::of(&text);
        assert_eq!(cutter.cut().unwrap()[0].base, "z");
        assert_eq!(cutter.looks, 2);
        assert_eq!(cut(&format!("f(){}const", " ".repeat(9))), "f||()");
    }

    #[test]
    fn anything_is_a_name() {
        for text in [
            "",
            "<",
            "(",
            "f(",
            "operator",
            "operator<",
            ">",
            "f>(",
            "::",
            "a::",
            "{",
            " ",
            "f() ",
            "é<ü>(ö)",
        ] {
            let _ = Parts::of(text);
        }
        let deep = "<(".repeat(30_000);
        assert_eq!(cut(&deep), format!("{deep}||"));
    }
}
