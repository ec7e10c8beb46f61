//! C++ names (Itanium ABI): prepares a name for `cpp_demangle`, and completes its answer.

use std::fmt;

use cpp_demangle::{BorrowedSymbol, DemangleOptions};
use memchr::{memchr, memchr_iter};

use crate::spelling::Speller;
use crate::words::THREAD_LOCAL;

/// Appends the readable name. What it appended before an error stays: the caller truncates.
pub(crate) fn append(name: &[u8], options: &DemangleOptions, out: &mut String) -> fmt::Result {
    let (own, suffix) = name.split_at(suffix_at(name));
    let spread = with_spread_packs(own);
    let own_or_spread = spread.as_deref().unwrap_or(own);
    let mended = constructor_with_return(own_or_spread).or_else(|| without_default_arguments(own_or_spread));
    let start = out.len();
    spell(mended.as_deref().unwrap_or(own_or_spread), options, out)?;
    // Mach-O symbols carry one more underscore.
    let scheme = own.strip_prefix(b"__").or_else(|| own.strip_prefix(b"_"));
    for (theirs, llvm) in THREAD_LOCAL {
        if matches!(scheme, Some([b'Z', b'T', b'H' | b'W', ..])) && out[start..].starts_with(theirs) {
            out.replace_range(start..start + theirs.len(), llvm);
        }
    }
    if matches!(scheme, Some([b'Z', b'T', b'C', ..])) {
        order_construction(out, start);
    }
    if !suffix.is_empty() {
        let suffix = std::str::from_utf8(suffix).map_err(|_| fmt::Error)?;
        out.extend([" (", suffix, ")"]);
    }
    Ok(())
}

/// Puts the two classes of a construction vtable into the order of LLVM and GNU: that of the base first. The mangled name has the class
/// that contains it first, and so has `cpp_demangle`.
fn order_construction(out: &mut String, start: usize) {
    const WORDS: &str = "construction vtable for ";
    const IN: &str = "-in-";
    let Some(classes) = out[start..].strip_prefix(WORDS) else { return };
    // No class of C++ has a hyphen in its name but in an expression, which no parser of this text could tell.
    let Some((whole, base)) = classes.split_once(IN).filter(|(_, base)| !base.contains(IN)) else { return };
    let ordered = format!("{WORDS}{base}{IN}{whole}");
    out.replace_range(start.., &ordered);
}

/// Where the text begins that compilers add after a dot, which is not part of the mangling (`.isra.0`, `.cold`). An identifier may have a
/// dot too: gcc calls the frame of a coroutine `_Z3foov.Frame`.
fn suffix_at(name: &[u8]) -> usize {
    let Some(first) = memchr(b'.', name) else { return name.len() };
    let dots = memchr_iter(b'.', name).take(MAX_TRIED).chain([name.len()]);
    let mut ends = dots.filter(|_| name.len() <= MAX_WITH_DOTS);
    ends.find(|end| parses(&name[..*end])).unwrap_or(first)
}

fn spell(name: &[u8], options: &DemangleOptions, out: &mut String) -> fmt::Result {
    let symbol = BorrowedSymbol::new(name).map_err(|_| fmt::Error)?;
    let mut speller = Speller::new(out, name);
    symbol.structured_demangle(&mut speller, options)?;
    speller.finish()
}

/// Longer names with dots have them in their suffix.
const MAX_WITH_DOTS: usize = 4096;

/// How many places of a name are tried to mend it.
const MAX_TRIED: usize = 32;

/// The name of a template's constructor with a return type, `v`, added if it has none. `cpp_demangle` takes the first parameter of such a
/// constructor for its return type, and drops it. `None` for other names.
fn constructor_with_return(name: &[u8]) -> Option<Vec<u8>> {
    let is_template = |at: &usize| matches!(name.get(at + 1..at + 3), Some([b'1'..=b'5', b'I']));
    // Each try parses the name from its start. Without a bound a hostile name would take quadratic time.
    let mut constructors = memchr_iter(b'C', name).filter(is_template).take(MAX_TRIED);
    // The constructor is the function itself: cut off after it, the name is whole.
    let at = constructors.find(|at| parses(&[&name[..at + 2], b"E"].concat()))?;
    // The shortest prefix that parses ends with the template arguments of the constructor. The parameters follow, and the return type
    // precedes them.
    let ends = (at + 2..=name.len()).filter(|end| name[..*end].ends_with(b"EE"));
    let end = ends.take(MAX_TRIED).find(|end| parses(&name[..*end]))?;
    Some([&name[..end], b"v", &name[end..]].concat())
}

/// The name with each pack of values that is an argument by itself written as a pack of types: `DpT_` in place of `XspT_E`. Of the
/// latter, `cpp_demangle` writes `(0ul)...`, and of the former `0ul` and what else is in the pack, as LLVM does. `None` for other names.
fn with_spread_packs(name: &[u8]) -> Option<Vec<u8>> {
    let mut spread = Vec::new();
    let mut from = 0;
    for at in memchr_iter(b'X', name) {
        let Some(parameter) = name[at..].strip_prefix(b"XspT") else { continue };
        // A template parameter is `T_`, `T0_`, `T1_`, ... with a number in base 36.
        let digits = parameter.iter().take_while(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase());
        let length = digits.count();
        if at >= from && parameter[length..].starts_with(b"_E") {
            spread.extend_from_slice(&name[from..at]);
            spread.extend_from_slice(b"DpT");
            spread.extend_from_slice(&parameter[..=length]);
            from = at + b"XspT".len() + length + b"_E".len();
        }
    }
    spread.extend_from_slice(&name[from..]);
    // An identifier may hold these letters too: without them it is shorter than the name says.
    (from > 0 && parses(&spread)).then_some(spread)
}

/// The name without the words that make something local to a default argument of a function (`d_`, `d0_`, ... after the function). With
/// these words `cpp_demangle` drops the local name, and LLVM's demangler does not show them. `None` for other names.
fn without_default_arguments(name: &[u8]) -> Option<Vec<u8>> {
    // A name that is local to a function has a second Z.
    memchr(b'Z', name.get(2..)?)?;
    let is_default = |at: &usize| {
        let number = name[at + 1..].strip_prefix(b"d");
        number.is_some_and(|number| number.iter().find(|byte| !byte.is_ascii_digit()) == Some(&b'_'))
    };
    let mut mended = Vec::new();
    let mut from = 0;
    for at in memchr_iter(b'E', name).filter(is_default) {
        mended.extend_from_slice(&name[from..=at]);
        from = at + 1 + memchr(b'_', &name[at..])?;
    }
    mended.extend_from_slice(&name[from..]);
    // An identifier may hold these letters too: without them it is shorter than the name says.
    (from > 0 && parses(&mended)).then_some(mended)
}

fn parses(name: &[u8]) -> bool {
    BorrowedSymbol::new(name).is_ok()
}
