//! Linkage names as people read them.
//!
//! [`demangle`] gives the whole name, with parameters; [`short`] gives it without them; a [`Query`] finds functions by what people type. A
//! name shows its scheme: `_R` is Rust's own, `_ZN...17h<hash>E` is Rust's older one, which borrows C++'s, and the rest of `_Z` is C++
//! (Itanium). Rust names are printed by the `rustc-demangle` crate with `{:#}`, without hashes. C++ names are parsed by the `cpp_demangle`
//! crate and spelled as LLVM's demangler spells them (`llvm-cxxfilt`, `llvm-symbolizer`). This crate's README lists the differences.
//!
//! Names come from strangers. A name of more than 16 KiB has no readable name here, and neither has one whose readable
//! name would be longer than 64 KiB, or is made of more than 262,144 pieces of text; nesting is bounded. A name without a readable name is
//! shown as it is.
//!
//! **Stack**: `cpp_demangle` calls itself for each level of a nested name, up to its bound. In an optimized build a hostile name takes up to
//! 256 KiB of stack. A thread that demangles names of strangers needs at least 512 KiB; Rust's own threads have 2 MiB.
//!
//! The crate reads no files and depends on no other crate of foldsym. It allocates the result, and `cpp_demangle` a tree
//! of the name while it is parsed.
//!
//! ```
//! use foldsym_demangle::{demangle, short};
//!
//! assert_eq!(demangle(b"_ZNSt6vectorIS_IiEE4growEv").unwrap(), "std::vector<std::vector<int>>::grow()");
//! assert_eq!(short(b"_ZN3geo6crashyEiPKc").unwrap(), "geo::crashy");
//! assert_eq!(demangle(b"_ZN4core3fmt5write17h0123456789abcdefE").unwrap(), "core::fmt::write");
//! assert_eq!(demangle(b"main"), None);
//! ```

#![warn(missing_docs)]
#![forbid(unsafe_code)]

mod bucket;
mod cpp;
mod pack;
mod parts;
mod query;
mod spelling;
mod words;

pub use bucket::BucketNames;
pub use parts::is_operator_at;
pub use query::Query;

use std::fmt::{self, Write};

use cpp_demangle::DemangleOptions;

/// Longer names are left mangled.
const MAX_INPUT: usize = 16 << 10;

/// The readable name of a linkage name, with parameters; `None` if it has none, or none within the limits.
///
/// ```
/// use foldsym_demangle::demangle;
///
/// assert_eq!(demangle(b"_ZN2io4readILm16EEEvRSi").unwrap(), "void io::read<16ul>(std::istream&)");
/// assert_eq!(demangle(b"_ZN2io5flushEv.cold").unwrap(), "io::flush() (.cold)");
/// ```
pub fn demangle(name: &[u8]) -> Option<String> {
    let mut out = String::with_capacity(room(name));
    demangle_into(name, &mut out).then_some(out)
}

/// As [`demangle`], of C++ without the parameters and the type that is returned: `ns::Class::method`.
///
/// ```
/// assert_eq!(foldsym_demangle::short(b"_Z5twiceIiEvT_").unwrap(), "twice<int>");
/// ```
pub fn short(name: &[u8]) -> Option<String> {
    let mut out = String::with_capacity(room(name));
    append(name, &DemangleOptions::new().no_params().no_return_type(), &mut out).then_some(out)
}

/// Appends the readable name to a text, as [`demangle`] gives it. Returns false, and leaves the text unchanged, if there is none. The
/// text's memory is reused, so that many names do not need an allocation each.
///
/// ```
/// use foldsym_demangle::demangle_into;
///
/// let mut text = String::from("at ");
/// assert!(demangle_into(b"_ZN3geo4areaEv", &mut text));
/// assert!(!demangle_into(b"memcpy", &mut text));
/// assert_eq!(text, "at geo::area()");
/// ```
pub fn demangle_into(name: &[u8], out: &mut String) -> bool {
    append(name, &DemangleOptions::new(), out)
}

/// Room for most names: a readable name is longer than its linkage name, since substitutions are written out.
fn room(name: &[u8]) -> usize {
    if name.starts_with(b"_") { 2 * name.len().min(512) } else { 0 }
}

fn append(name: &[u8], options: &DemangleOptions, out: &mut String) -> bool {
    let start = out.len();
    let done = try_append(name, options, out).is_some();
    if !done {
        out.truncate(start);
    }
    done
}

fn try_append(name: &[u8], options: &DemangleOptions, out: &mut String) -> Option<()> {
    if name.len() > MAX_INPUT {
        return None;
    }
    // Mach-O symbols carry one more underscore.
    let scheme = name.strip_prefix(b"_")?;
    let scheme = scheme.strip_prefix(b"_").unwrap_or(scheme);
    if scheme.starts_with(b"R") || is_legacy_rust(scheme) {
        let parsed = rustc_demangle::try_demangle(std::str::from_utf8(name).ok()?).ok()?;
        return write!(Capped { start: out.len(), out }, "{parsed:#}").ok();
    }
    if !scheme.starts_with(b"Z") || !name.is_ascii() && std::str::from_utf8(name).is_err() {
        return None;
    }
    cpp::append(name, options, out).ok()
}

/// True for `ZN...17h<16 hexadecimal digits>E`, with any suffix that a compiler put after a dot. A C++
/// name without that hash would also satisfy the Rust demangler, and lose its parameters.
fn is_legacy_rust(scheme: &[u8]) -> bool {
    const HASH: usize = b"17h0123456789abcdefE".len();
    let is_hash = |text: &[u8]| {
        let digits = text.strip_prefix(b"17h").and_then(|rest| rest.strip_suffix(b"E"));
        digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
    };
    if !scheme.starts_with(b"ZN") {
        return false;
    }
    // Dots are in names too (`..` for `::`): any of them may be the one before the suffix.
    let mut ends = memchr::memchr_iter(b'.', scheme).chain([scheme.len()]);
    ends.any(|end| end.checked_sub(HASH).is_some_and(|at| is_hash(&scheme[at..end])))
}

/// A text that refuses to grow past the limit.
struct Capped<'o> {
    start: usize,
    out: &'o mut String,
}

impl Write for Capped<'_> {
    fn write_str(&mut self, piece: &str) -> fmt::Result {
        if self.out.len() - self.start + piece.len() > spelling::MAX_OUTPUT {
            return Err(fmt::Error);
        }
        self.out.push_str(piece);
        Ok(())
    }
}
