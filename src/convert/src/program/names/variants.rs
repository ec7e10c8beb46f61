//! Decides by their bytes whether two mangled names are of one function: variants of a constructor or destructor, and
//! manglings of gcc's ABI before and since version 6.

use std::iter;

use super::itanium::{Component, is_itanium, own_component_at};
use super::skip::counted;
use foldsym_demangle::demangle;

/// True for a name that may be that of one variant of a constructor or destructor.
pub(crate) fn may_be_variant(name: &[u8]) -> bool {
    name.windows(2).any(|pair| matches!(pair, [b'C' | b'D' | b'I', b'1'..=b'9']))
}

/// True for two Itanium names of one constructor or destructor that differ in the variant (`C1`, `C2`, `CI1`, `D1`,
/// `D2`, ...; Itanium C++ ABI 5.1.4.3), and for two manglings of one function: gcc's ABI before version 6 begins an
/// argument pack with `I`, later versions with `J`, and `-fabi-compat-version` emits both names. A deleting
/// destructor (`D0`) also frees the object: it is a function of its own.
pub(super) fn differ_in_variant(a: &[u8], b: &[u8]) -> bool {
    if a.len() != b.len() || !is_itanium(a) || !is_itanium(b) {
        return false;
    }
    // Many names have the same beginning.
    let same =
        a.as_chunks::<16>().0.iter().zip(b.as_chunks::<16>().0).take_while(|(a, b)| a == b).count() * 16;
    let mut differing = (same..a.len()).filter(|&at| a[at] != b[at]).peekable();
    // Both names begin with `_Z`, so there are two bytes before each difference.
    let variant = |at: usize| {
        let digit = |name: &[u8]| matches!(name[at], b'1'..=b'9');
        let kind = if a[at - 1] == b'I' { a[at - 2] } else { a[at - 1] };
        digit(a) && digit(b) && matches!(kind, b'C' | b'D')
    };
    let pack = |at: usize| matches!((a[at], b[at]), (b'I', b'J') | (b'J', b'I'));
    let Some(first) = differing.next().filter(|at| variant(*at) || pack(*at)) else { return false };
    // Nearly always the only difference is the digit of the function itself, next to its end.
    let usual = |name: &[u8]| matches!(name[first], b'1' | b'2' | b'4') && is_structor_at(name, first - 1);
    if differing.peek().is_none() && usual(a) && usual(b) {
        return true;
    }
    // A source name may contain these letters too (`blendC1`). If no number before them can be the length of such a
    // name, they mean a variant.
    let known = |at: usize| {
        let digits = matches!((a[at], b[at]), (b'1' | b'2' | b'4', b'1' | b'2' | b'4'));
        (pack(at) || (variant(at) && digits)) && !may_be_counted(a, at)
    };
    let differing: Vec<usize> = iter::once(first).chain(differing).collect();
    // `known` reads the name up to the place, so a name that differs in all bytes would take quadratic time.
    if differing.len() <= MAX_DIFFERING && differing.iter().all(|at| known(*at)) {
        return true;
    }
    // The demangler gives all variants the same text.
    differing.iter().all(|at| variant(*at)) && demangle(a).is_some_and(|text| Some(text) == demangle(b))
}

/// Differing bytes that are examined one by one. Real names differ in a few.
const MAX_DIFFERING: usize = 64;

/// True if some number in a mangled name may be the length of a source name that includes this byte.
fn may_be_counted(name: &[u8], at: usize) -> bool {
    let starts = (2..at).filter(|&start| matches!(name[start], b'1'..=b'9'));
    starts.map(|start| counted(name, start)).any(|own| own.contains(&at))
}

/// True for a constructor or destructor that is not local to a function and that is named as such here.
fn is_structor_at(name: &[u8], at: usize) -> bool {
    let own = own_component_at(name).filter(|(own, _)| !matches!(own, Component::Plain(_)));
    own.is_some_and(|(_, found)| found == at)
}
