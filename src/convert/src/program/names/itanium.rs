//! Reads Itanium C++ names as far as needed to decide whose a name is: its last component, and whether another unit
//! may mean the function by it.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::ops::Range;

use super::skip::{after_arguments, after_substitution, counted};
use crate::toolchain::itanium_abi::{UNNAMED_NAMESPACE, is_thunk, is_tls_init};
use crate::toolchain::suffixes::whole_name;
use foldsym_demangle::demangle;

/// An unmangled name without template arguments.
pub(crate) fn plain_base(name: &[u8]) -> &[u8] {
    let end = name.iter().position(|byte| *byte == b'<').filter(|_| !is_operator(name));
    end.filter(|end| *end > 0).map_or(name, |end| &name[..end])
}

/// A function's name as DWARF has it without a linkage name: `area`, `scale<3>`.
pub(crate) struct PlainName<'n> {
    text: &'n [u8],
    /// Without template arguments.
    base: &'n [u8],
    /// See [`call_spelling`].
    spelt: OnceCell<String>,
}

impl<'n> PlainName<'n> {
    pub(crate) fn new(text: &'n [u8]) -> Self {
        PlainName { text, base: plain_base(text), spelt: OnceCell::new() }
    }

    /// True if a DIE of the function with this Itanium name may have the plain name.
    pub(crate) fn may_be_of(&self, symbol: &[u8]) -> bool {
        let may_have_arguments = || {
            let spelt = self.spelt.get_or_init(|| call_spelling(self.text));
            demangled_spelling(symbol).is_none_or(|text| text.contains(spelt))
        };
        // The last component is compared first: to demangle a name takes far longer than to find that.
        may_be_plain_name(symbol, self.base) && (self.base.len() == self.text.len() || may_have_arguments())
    }
}

/// A plain name with the parenthesis that follows it in a demangled name, without spaces: see [`demangled_spelling`].
pub(crate) fn call_spelling(plain: &[u8]) -> String {
    format!("{}(", String::from_utf8_lossy(plain).replace(' ', ""))
}

/// The demangled name without spaces: gcc writes `> >` at the end of nested templates, clang and the demangler `>>`.
pub(crate) fn demangled_spelling(name: &[u8]) -> Option<String> {
    demangle(name).map(|text| text.replace(' ', ""))
}

/// The beginning of an operator's name, which may contain `<`.
const OPERATOR: &[u8] = b"operator";

/// True for the plain name of an operator, and for plain names that begin alike.
pub(super) fn is_operator(name: &[u8]) -> bool {
    name.starts_with(OPERATOR)
}

/// The operator of a lambda.
const CALL: &[u8] = b"operator()";

/// True if the function in an Itanium name has this plain name.
pub(super) fn is_named(symbol: &[u8], name: &[u8]) -> bool {
    match source_name(symbol) {
        Some(own) => own == name,
        None => structor_name(symbol).or_else(|| name_in_text(symbol)).is_some_and(|own| own == name),
    }
}

/// The plain name of the function in an Itanium name, without template arguments.
pub(crate) fn own_name(symbol: &[u8]) -> Option<Cow<'_, [u8]>> {
    let own = || structor_name(symbol).or_else(|| name_in_text(symbol));
    source_name(symbol).map(Cow::Borrowed).or_else(|| own().map(Cow::Owned))
}

/// True if a DIE of the function with an Itanium name may have this plain name, which is without template arguments:
/// also the class for a constructor (`A` of `_ZN1AC2Ev`).
fn may_be_plain_name(symbol: &[u8], plain: &[u8]) -> bool {
    match own_component(whole_name(symbol)) {
        Some(Component::Plain(name) | Component::Constructor(name)) => name == plain,
        Some(Component::Destructor(name)) => plain.strip_prefix(b"~") == Some(name),
        // Nothing shows that a name that cannot be read is another.
        None => name_in_text(symbol).map_or(has_own_name(symbol), |own| own == plain),
    }
}

/// `A` or `~A` of a constructor or destructor. A compiler omits the linkage name if the class is local to its unit
/// (`_ZN12_GLOBAL__N_11AD2Ev`), and clang at `-g1` for all classes.
fn structor_name(symbol: &[u8]) -> Option<Vec<u8>> {
    structor(&own_component(whole_name(symbol))?)
}

fn structor(own: &Component<'_>) -> Option<Vec<u8>> {
    match own {
        Component::Constructor(class) => Some(class.to_vec()),
        Component::Destructor(class) => Some([b"~", *class].concat()),
        Component::Plain(_) => None,
    }
}

/// The plain name of a function that is local to another function, read from the demangled text: `go` of `_ZZ1fvEN1S2goEi`, `operator()`
/// of a lambda. The types in the text show where the name of the enclosing function ends. A name whose template arguments
/// [`own_component`] does not read is read so too. `None` for constructors, which have several names, and for names of data (`_ZTV1A`).
fn name_in_text(symbol: &[u8]) -> Option<Vec<u8>> {
    let is_read =
        |name: &[u8]| name.starts_with(b"_ZZ") || (has_own_name(name) && own_component(name).is_none());
    let text = demangle(Some(whole_name(symbol)).filter(|name| is_read(name))?)?;
    let text = text.as_bytes();
    // The parameter list, and the qualifiers after it.
    let end = text.iter().rposition(|byte| *byte == b')')?;
    let before = &text[..opening(&text[..=end])?];
    // The result of a template stands before its name: `int scale<3>(int)`.
    let (rest, own) = last_component(before).or_else(|| Some((b"".as_slice(), last_word(before)?)))?;
    let own = plain_base(own);
    let (_, class) = last_component(rest).unwrap_or((b"", rest));
    (!own.is_empty() && !own.starts_with(b"~") && own != plain_base(class)).then(|| own.to_vec())
}

/// The names that a DIE may have for the function that encloses a symbol's function (`_Z6entryAl` and `entryA` for
/// `_ZZ6entryAlEN5Local5twiceEv`): each mangled name that the symbol may begin with, then the plain name. If
/// functions are nested, the outermost one. `None` for other symbols.
pub(crate) fn enclosing(symbol: &[u8]) -> Option<Vec<Vec<u8>>> {
    let rest = symbol.strip_prefix(b"_ZZ")?;
    let rest = &rest[rest.iter().take_while(|byte| **byte == b'Z').count()..];
    let name = |end: usize| [b"_Z", &rest[..end]].concat();
    let plain = own_component(&name(rest.len())).and_then(|own| match own {
        Component::Plain(name) => Some(name.to_vec()),
        _ => None,
    });
    // Each end costs a copy of the name up to it, so many would cost quadratic memory for a hostile name.
    let ends = memchr::memchr_iter(b'E', rest).take(MAX_ENDS);
    Some(ends.map(name).chain(plain).collect())
}

/// Places tried as the end of an enclosing function's name.
const MAX_ENDS: usize = 64;

/// True for the Itanium name of a function, as far as its first letters show that: not of a thunk or a table (`_ZTV1A`).
fn has_own_name(name: &[u8]) -> bool {
    matches!(name, [b'_', b'Z', b'N' | b'L' | b'S' | b'Z' | b'0'..=b'9', ..])
}

/// The text behind the last space outside of brackets.
fn last_word(text: &[u8]) -> Option<&[u8]> {
    let mut depth = 0_isize;
    let space = text.iter().rposition(|byte| {
        match byte {
            b'>' | b')' | b'}' | b']' => depth += 1,
            b'<' | b'(' | b'{' | b'[' => depth -= 1,
            _ => {}
        }
        depth == 0 && *byte == b' '
    });
    text.get(space? + 1..)
}

/// The position of the bracket that the last byte of a text closes.
fn opening(text: &[u8]) -> Option<usize> {
    let mut depth = 0_usize;
    (0..text.len()).rev().find(|&at| {
        match text[at] {
            b')' => depth += 1,
            b'(' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0
    })
}

/// Splits a demangled name at its last `::` outside of brackets.
fn last_component(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut depth = 0_isize;
    let mut at = text.len();
    while at > 1 {
        at -= 1;
        match text[at] {
            b'>' | b')' | b'}' => depth += 1,
            b'<' | b'(' | b'{' => depth -= 1,
            b':' if depth == 0 && text[at - 1] == b':' => return Some((&text[..at - 1], &text[at + 1..])),
            _ => {}
        }
    }
    None
}

/// The plain name of the function in an Itanium name: `f` of `_ZL1fi`, `_ZN2nsL1fEi` and `_ZL1fIiET_S0_`. `None` for
/// names local to a function, for constructors, and for template arguments that are expressions.
pub(super) fn source_name(name: &[u8]) -> Option<&[u8]> {
    match own_component(name)? {
        Component::Plain(name) => Some(name),
        _ => None,
    }
}

/// The last component of an Itanium name.
pub(super) enum Component<'n> {
    Plain(&'n [u8]),
    /// A constructor or destructor of this class.
    Constructor(&'n [u8]),
    Destructor(&'n [u8]),
}

fn own_component(name: &[u8]) -> Option<Component<'_>> {
    own_component_at(name).map(|(own, _)| own)
}

/// What distinguishes the overloads of a name in one class: the qualifiers, and the text of the parameters (`K` and `Ei` of
/// `_ZNK1A3getEi`). `None` if the name cannot be read, or if a substitution is in the parameters: what that stands for depends on the name
/// before it, so the same text may be other types in another class.
pub(crate) fn overload(name: &[u8]) -> Option<(&[u8], &[u8])> {
    let (_, end) = own_component_at(name)?;
    let parameters = &name[end..];
    let is_substitution = |at: usize| {
        let digits = parameters[at + 1..].iter().take_while(|byte| matches!(byte, b'0'..=b'9' | b'A'..=b'Z'));
        parameters.get(at + 1 + digits.count()) == Some(&b'_')
    };
    let depends = memchr::memchr_iter(b'S', parameters).any(is_substitution);
    qualified(name).filter(|_| !depends).map(|(qualifiers, _)| (qualifiers, parameters))
}

/// The last component, and the position after it: the end of the nested name, or the `C1` of a constructor.
pub(super) fn own_component_at(name: &[u8]) -> Option<(Component<'_>, usize)> {
    let rest = name.strip_prefix(b"_Z")?;
    let nested = rest.first() == Some(&b'N');
    let mut at = usize::from(nested);
    let mut last = None;
    loop {
        match rest.get(at)? {
            // Internal linkage, or qualifiers of a method.
            b'L' | b'K' | b'V' | b'r' | b'R' | b'O' => at += 1,
            b'1'..=b'9' => {
                let own = counted(rest, at);
                at = own.end;
                last = Some(rest.get(own)?);
                // Without `N`, a parameter list or template arguments follow, and no further component.
                if !nested {
                    // `at` counts from after `_Z`, and the result from the start of the name.
                    return last.map(|name| (Component::Plain(name), at + 2));
                }
            }
            b'I' if nested && last.is_some() => at = after_arguments(rest, at + 1)?,
            b'S' => at = after_substitution(rest, at)?,
            // `cl` is `operator()` (5.1.3): the function of a lambda.
            b'c' if rest.get(at + 1) == Some(&b'l') => {
                last = Some(CALL);
                at += 2;
            }
            // An ABI tag (`4nameB5cxx11`, of a function that returns a `std::string`) is no component: the name before
            // it stays.
            b'B' if last.is_some() => at = counted(rest, at + 1).end,
            b'E' if nested => return last.map(|name| (Component::Plain(name), at + 2)),
            kind @ (b'C' | b'D') if nested => {
                // Arguments of the function's own template may follow.
                let ends = matches!(rest.get(at + 1..at + 3)?, [b'0'..=b'5', b'E' | b'I']);
                let structor = if *kind == b'C' { Component::Constructor } else { Component::Destructor };
                return last.filter(|_| ends).map(|class| (structor(class), at + 2));
            }
            _ => return None,
        }
    }
}

/// True for a mangled name that only one function of a program can have: a second DIE with it, from another unit,
/// describes that function again. A function that is local to its unit (`_ZL`, an anonymous namespace) may share its
/// name with functions of other units.
pub(crate) fn is_program_wide(name: &[u8]) -> bool {
    if !is_mangled(name) {
        return false;
    }
    let is_local = |mut places: Range<usize>| places.any(|at| tells_local(&name[at..]));
    let mut at = 2;
    // These places are looked at alone: nearly every name begins with `_ZN`, which `may_tell_local` accepts.
    if is_local(0..at) {
        return false;
    }
    // Most names are long, and only their beginning matters.
    while let Some(some) = name[at..].first_chunk() {
        let next = at + TOGETHER;
        if may_tell_local(some) && is_local(at..next) {
            return false;
        }
        at = next;
    }
    !is_local(at..name.len())
}

/// Places of a name that are examined at once.
const TOGETHER: usize = 16;

/// True if one of the first places may be accepted by [`tells_local`]. Without branches, so that it compiles to
/// vector instructions.
fn may_tell_local(name: &[u8; TOGETHER + 1]) -> bool {
    let mut found = 0;
    for at in 0..TOGETHER {
        let (byte, next) = (name[at], name[at + 1]);
        let component = u8::from(byte == b'Z') & (u8::from(next == b'L') | u8::from(next == b'N'));
        let anonymous = u8::from(byte == b'_') & u8::from(next == b'G');
        found |= component | anonymous | (u8::from(byte == b'$') & u8::from(next == b'_'));
    }
    found != 0
}

/// True if a mangled name continues with text that only a name local to its unit has.
#[inline]
fn tells_local(rest: &[u8]) -> bool {
    match rest {
        [b'_', b'G', ..] => rest.starts_with(UNNAMED_NAMESPACE),
        // clang's name of a lambda that other units cannot name (`$_0`).
        [b'$', b'_', ..] => true,
        // `L` means internal linkage, also after a namespace (`_ZN1aL`), and in a name within the name: a template
        // argument (`_Z5applyIZL3bariE1SEiT_i`), or the function that a class is local to.
        [b'Z', b'L', b'1'..=b'9', ..] => true,
        [b'Z', b'N', nested @ ..] => nested_local(nested),
        _ => false,
    }
}

/// Components of a nested name that are examined for internal linkage; a name with more counts as local.
const MAX_COMPONENTS: usize = 64;

/// True if a component of a nested name has internal linkage (`1aL1fE` of `_ZN1aL1fEv`). Components after template
/// arguments are members of a class and have its linkage.
fn nested_local(nested: &[u8]) -> bool {
    let mut at = 0;
    for _ in 0..MAX_COMPONENTS {
        match nested.get(at) {
            Some(b'L') => return true,
            Some(b'K' | b'V' | b'r' | b'R' | b'O') => at += 1,
            Some(b'1'..=b'9') => at = counted(nested, at).end,
            Some(b'S') => match after_substitution(nested, at) {
                Some(after) => at = after,
                None => return false,
            },
            _ => return false,
        }
    }
    true
}

/// True if a function is an instance of a template or a member of one: an Itanium name with template arguments behind one of its
/// components, or the plain name of an instance (`scale<3>`).
pub(crate) fn is_instance(name: &[u8]) -> bool {
    let Some(rest) = name.strip_prefix(b"_Z") else {
        return plain_base(name).len() < name.len();
    };
    let is_nested = rest.first() == Some(&b'N');
    let start = usize::from(is_nested);
    let (mut at, mut components) = (start, 0);
    while components < MAX_COMPONENTS {
        match rest.get(at) {
            Some(b'I') => return components > 0,
            // Without `N`, parameters follow the name (`St` is no component).
            _ if !is_nested && components > 0 => return false,
            Some(b'K' | b'V' | b'r' | b'R' | b'O') if components == 0 => at += 1,
            Some(b'L') => at += 1,
            Some(b'B') if components > 0 => at = counted(rest, at + 1).end,
            Some(b'1'..=b'9') => (at, components) = (counted(rest, at).end, components + 1),
            Some(b'S') => match after_substitution(rest, at) {
                Some(after) => (at, components) = (after, components + usize::from(is_nested)),
                None => return false,
            },
            _ => return false,
        }
    }
    false
}

/// The last component of a mangled name: the only name in the DIE of a function that is local to its unit or to
/// another function.
pub(crate) fn own_spelling(symbol: &[u8]) -> Option<Cow<'_, [u8]>> {
    let whole = whole_name(symbol);
    match own_component(whole) {
        Some(Component::Plain(name)) => Some(Cow::Borrowed(name)),
        Some(own) => structor(&own).map(Cow::Owned),
        None => name_in_text(whole).map(Cow::Owned),
    }
}

/// True for a name that a C++ or Rust compiler mangled. Except the initialization function of a thread-local variable
/// (`_ZTH` of gcc and clang): all variables of a unit have one such function.
pub(crate) fn is_mangled(name: &[u8]) -> bool {
    (is_itanium(name) && !is_tls_init(name)) || name.starts_with(b"_R")
}

/// True for a name in the mangling of the Itanium C++ ABI.
pub(crate) fn is_itanium(name: &[u8]) -> bool {
    name.starts_with(b"_Z")
}

/// The part of a linkage name that identifies the class: the text after `_ZN` and the qualifiers. For a thunk, that
/// of its target (Itanium C++ ABI 5.1.4, 5.1.5.3).
pub(crate) fn nested(name: &[u8]) -> Option<&[u8]> {
    qualified(name).map(|(_, rest)| rest)
}

/// The qualifiers of a method (`K` for `const`), and the text of [`nested`].
pub(crate) fn qualified(name: &[u8]) -> Option<(&[u8], &[u8])> {
    let nested = if is_thunk(name) {
        // Negative offsets of a thunk have a lower-case `n` (`_ZTv0_n24_N1CD1Ev`), so the first `_N` begins its target.
        let place = name.windows(2).position(|pair| pair == b"_N")?;
        &name[place + 2..]
    } else {
        name.strip_prefix(b"_ZN")?
    };
    let is_qualifier = |byte: &&u8| matches!(byte, b'r' | b'V' | b'K' | b'R' | b'O');
    Some(nested.split_at(nested.iter().take_while(is_qualifier).count()))
}

/// True for the key of a class that no other unit can mean.
pub(crate) fn is_local_class(key: &[u8]) -> bool {
    !is_program_wide(&member_x(key))
}

/// The linkage name of a member function `x()` of the class with this key.
pub(crate) fn member_x(key: &[u8]) -> Vec<u8> {
    [b"_ZN", key, b"1xEv"].concat()
}

/// The linkage name of a thunk's target, from the thunk's name (Itanium C++ ABI 5.1.4).
pub(crate) fn thunk_target(name: &[u8]) -> Option<Vec<u8>> {
    let rest = nested(name).filter(|_| is_thunk(name))?;
    let before = &name[..name.len() - rest.len()];
    let place = before.windows(2).position(|pair| pair == b"_N")?;
    Some([b"_Z", &name[place + 1..]].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instances_of_templates_have_arguments() {
        for name in [
            "_Z4fillI3VanElR5QueueIT_EPS2_l",
            "_ZNK4TillI4CoinE5totalEv",
            "_ZNSt6vectorIiSaIiEED2Ev",
            "_ZSt4swapIiEvRT_S1_",
            "scale<3>",
        ] {
            assert!(is_instance(name.as_bytes()), "{name}");
        }
        for name in
            ["_Z4sortRSt6vectorIiSaIiEE", "_ZN4Mail4openERK7Request", "main", "_Z", "_ZI", "operator<"]
        {
            assert!(!is_instance(name.as_bytes()), "{name}");
        }
    }

    #[test]
    fn overloads_differ_in_qualifiers_and_parameters() {
        let of = |name: &'static str| {
            let text = |bytes| str::from_utf8(bytes).unwrap();
            overload(name.as_bytes()).map(|(qualifiers, parameters)| (text(qualifiers), text(parameters)))
        };
        assert_eq!(of("_ZN1A3getEv"), Some(("", "Ev")));
        assert_eq!(of("_ZNK1B3getE6Square"), Some(("K", "E6Square")));
        assert_eq!(of("_ZN1AIiE3getESt6vectorIiE"), Some(("", "ESt6vectorIiE")));
        assert_eq!(of("_ZN1A3getERKS_"), None);
        assert_eq!(of("_ZN1A3getERKNS0_1BE"), None);
        assert_eq!(of("get"), None);
    }

    #[test]
    fn names_of_one_function_in_the_whole_program() {
        for (name, expected) in [
            ("_ZN1S3runEv", true),
            ("_Z3runv", true),
            ("_ZN3fooIL1AE3runEv", true),
            ("_RNvC3lib3run", true),
            ("run", false),
            ("_ZL3runv", false),
            ("_ZZL3runvENKUlvE_clEv", false),
            ("_ZN2nsL3runEv", false),
            ("_ZN12_GLOBAL__N_13runEv", false),
            ("_ZNSt17_Function_handlerIFvvE3$_0E9_M_invokeERKSt9_Any_data", false),
            ("_Z5applyIZL3bariE1SEiT_i", false),
            ("_ZNKL1MLUliE_clEi", false),
            ("_ZN2ns99999999", true),
            ("_ZZN2nsL3barEiEN1S3runEi", false),
            ("_Z3runIXadL_ZN2nsL3fooEiEEEii", false),
            ("_ZN1TIXadL_ZN2nsL3fooEiEEE3runEi", false),
            ("_ZN2ns3runIXadL_ZNS_L3fooEiEEEii", false),
            ("_ZN2ns3runIXadL_ZNS_3fooEiEEEii", true),
            ("_ZZN2ns3barEiEN1S3runEi", true),
            ("_ZN1TILi3EE3runEv", true),
            ("_ZNS", true),
            ("_ZNKSt6vectorIiSaIiEE4sizeEv", true),
        ] {
            assert_eq!(is_program_wide(name.as_bytes()), expected, "{name}");
        }
        // At any place of the name.
        for len in 1..40 {
            let name = |rest: &str| format!("_ZN{len}{}{rest}", "a".repeat(len));
            for rest in ["12_GLOBAL__N_11fEv", "3$_0clEv", "1fIZL3bariE1SEvT_", "1fIXadL_ZN2nsL3fooEiEEEvv"] {
                assert!(!is_program_wide(name(rest).as_bytes()), "{len} {rest}");
            }
            for rest in ["1fEv", "1fI1_1GE_Ev", "1fIXadL_ZN2ns3fooEiEEEvv"] {
                assert!(is_program_wide(name(rest).as_bytes()), "{len} {rest}");
            }
        }
    }

    #[test]
    fn names_that_dies_of_local_functions_have() {
        for (symbol, expected) in [
            ("_ZL1fi.constprop.0", Some("f")),
            ("_ZZ6entryBlENKUllE_clEl.isra.0", Some("operator()")),
            ("_ZZ6entryBlEN5Local5twiceEv", Some("twice")),
            ("_ZN12_GLOBAL__N_11AD2Ev", Some("~A")),
            ("_ZN1AD2Ev", Some("~A")),
            ("f", None),
        ] {
            let found =
                own_spelling(symbol.as_bytes()).map(|name| String::from_utf8(name.into_owned()).unwrap());
            assert_eq!(found.as_deref(), expected, "{symbol}");
        }
    }

    #[test]
    fn plain_names_of_mangled_functions() {
        for (symbol, plain, expected) in [
            ("_Z4areaRK6Square", "area", true),
            ("_ZN5PaintIL5Color0EE3getEi", "get", true),
            ("_ZN5PaintILN2ns5ColorE5EE3getEi", "get", true),
            ("_ZN3BoxIA5_iE3getEi", "get", true),
            ("_ZN3BoxIM1AFivEE3getEi", "get", true),
            ("_ZN3BoxIXadL_ZN1A1fEvEEE3getEv", "get", true),
            ("_Z5scaleIXsr3std7is_voidIT_EE5valueEEii", "scale", true),
            ("_Z5scaleILi3EEii", "scale<3>", true),
            ("_Z5scaleILi3EEii", "scale<4>", false),
            ("_ZN5PaintIL5Color0EE3getEi", "paint", false),
            ("_ZN1AC2Ev", "A", true),
            // No name of a function; a name that nobody reads may be any.
            ("_ZTV4area", "area", false),
            ("_ZN4areaIu9__unknown", "volume", true),
        ] {
            let found = PlainName::new(plain.as_bytes()).may_be_of(symbol.as_bytes());
            assert_eq!(found, expected, "{symbol} {plain}");
        }
    }

    #[test]
    fn what_thunks_lead_to() {
        let of = |name: &str| thunk_target(name.as_bytes()).map(|name| String::from_utf8(name).unwrap());
        assert_eq!(of("_ZThn16_N1C2q1Ei").as_deref(), Some("_ZN1C2q1Ei"));
        assert_eq!(of("_ZThn16_NK1C2q1Ei").as_deref(), Some("_ZNK1C2q1Ei"));
        assert_eq!(of("_ZTv0_n24_N1CD1Ev").as_deref(), Some("_ZN1CD1Ev"));
        assert_eq!(of("_ZTchn16_h16_N1C5cloneEv").as_deref(), Some("_ZN1C5cloneEv"));
        assert_eq!(of("_ZN1C2_NEi"), None);
        assert_eq!(of("_ZTV1C"), None);
    }

    #[test]
    fn functions_that_names_are_local_to() {
        let of = |name: &str| {
            let found = enclosing(name.as_bytes());
            found.map(|all| all.into_iter().map(|name| String::from_utf8(name).unwrap()).collect::<Vec<_>>())
        };
        let names = |names: &[&str]| Some(names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>());
        assert_eq!(of("_ZZ1fvEN1S2goEi"), names(&["_Z1fv", "_Z1fvEN1S2go", "f"]));
        assert_eq!(
            of("_ZZZ4mainENKUliE_clEv"),
            names(&["_Z4main", "_Z4mainENKUli", "_Z4mainENKUliE_cl", "main"])
        );
        assert_eq!(of("_ZZL1fiE1x"), names(&["_ZL1fi", "f"]));
        assert_eq!(of("_ZN1S2goEi"), None);
        assert_eq!(of("f"), None);
    }
}
