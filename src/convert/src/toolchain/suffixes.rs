//! Suffixes that compilers, linkers and assemblers add to the names of functions. Only this file cuts names at them:
//! support for a new suffix is one more line of [`WORDS`] or [`ENDINGS`], and one more line of the table of tests. One
//! suffix has no word, a bare number (`f.12`): [`split_number`] knows it.
//!
//! A suffix follows a dot, and a name may have several (`f.isra.0.cold`). A word that is not in [`WORDS`] makes a
//! clone of the function, so new words for clones need no line.
//!
//! | suffix | by | the DIE |
//! |---|---|---|
//! | `.cold`, `.warm` | gcc, clang's splitting of functions, BOLT | the part is a range of `f` |
//! | `.cold.N` | LLVM's splitting before code generation | one of its own, named `f.cold.N` |
//! | `.__part.N`, `.eh` | sections of basic blocks | the part is a range of `f` |
//! | `.constprop.N`, `.isra.N`, `.part.N` | gcc | nameless, its abstract origin is `f` |
//! | `.specialized.N` | LLVM's specialization of functions | named `f` |
//! | `.llvm.N`, `.lto_priv.N` | link-time optimization | named `f` |
//! | `.__uniq.N`, `.memprof.N` | unique names of local functions, MemProf | its linkage name has the suffix |
//! | `.resume`, `.destroy`, `.cleanup`, `.noalloc` | coroutines | its linkage name has the suffix |
//! | `.Tgm` | LLVM's global merging of functions | that of `f` describes `f.Tgm`; the symbol `f` is a jump to it without a DIE |
//! | `OUTLINED_FUNCTION_N.content.N` | LLVM's outliner | one of its own |

/// What a word after a dot says of a function.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SuffixWord {
    /// The symbol is a part of the function that is placed elsewhere.
    Part,
    /// A number follows. It distinguishes functions of one name from several files that link-time optimization joins.
    File,
}

/// The words that do not make a clone.
const WORDS: &[(&[u8], SuffixWord)] = &[
    (b"cold", SuffixWord::Part),     // gcc and clang
    (b"__part", SuffixWord::Part),   // clang, sections of basic blocks
    (b"eh", SuffixWord::Part),       // clang, landing pads in sections of basic blocks
    (b"warm", SuffixWord::Part),     // BOLT
    (b"lto_priv", SuffixWord::File), // gcc
    (b"llvm", SuffixWord::File),     // LLVM
];

/// What the end of a name says of a symbol.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ending {
    /// The body of a function to which a jump in a table leads. The jump has the function's name.
    CheckedBody,
    /// Code that a tool made and that no compiler merges.
    Made,
    /// A stub of mold that calls a function of another module, or its slot.
    StubOfMold,
}

/// The endings that are no suffix of a clone or a part.
const ENDINGS: &[(&[u8], Ending)] = &[
    (b".cfi", Ending::CheckedBody),   // clang, `-fsanitize=cfi-icall`
    (b".cfi_jt", Ending::Made),       // the same, the entry of the table
    (b"$thunk", Ending::Made),        // lld, 32-bit Arm and PowerPC
    (b"$plt", Ending::StubOfMold),    // mold
    (b"$pltgot", Ending::StubOfMold), // mold
];

/// Begins the version of an ELF symbol (`f@V1`, `f@@V2`).
const VERSION: u8 = b'@';

/// The positions of the dots of a name.
fn dots(name: &[u8]) -> memchr::Memchr<'_> {
    memchr::memchr_iter(b'.', name)
}

/// What the text after a dot begins with.
fn word_at(rest: &[u8]) -> Option<SuffixWord> {
    let word = &rest[..dots(rest).next().unwrap_or(rest.len())];
    WORDS.iter().find(|(known, _)| *known == word).map(|(_, meaning)| *meaning)
}

/// A name without this ending; `None` if it has another one or none.
fn without_ending(name: &[u8], wanted: Ending) -> Option<&[u8]> {
    ENDINGS.iter().filter(|(_, ending)| *ending == wanted).find_map(|(text, _)| name.strip_suffix(*text))
}

/// True for the name of a function part that is placed elsewhere (`f.cold`, `f.isra.0.cold.1`, `f.__part.2`).
pub(crate) fn names_part(symbol: &[u8]) -> bool {
    dots(symbol).any(|dot| word_at(&symbol[dot + 1..]) == Some(SuffixWord::Part))
}

/// True for a name with a suffix after a dot: the name of a clone or a part.
pub(crate) fn has_suffix(symbol: &[u8]) -> bool {
    // A dot at the start belongs to the name of a section or to a local label (`.L1`).
    dots(symbol).find(|dot| *dot > 0).is_some_and(|dot| dot + 1 < symbol.len())
}

/// True if a symbol is this name with a suffix.
pub(crate) fn is_suffixed(symbol: &[u8], name: &[u8]) -> bool {
    !name.is_empty() && symbol.strip_prefix(name).is_some_and(|rest| matches!(rest, [b'.', _, ..]))
}

/// A name without its suffixes.
pub(crate) fn whole_name(symbol: &[u8]) -> &[u8] {
    beginnings(symbol).next().unwrap_or(symbol)
}

/// A name without its suffixes; `None` if it has none.
pub(crate) fn whole_suffixed(symbol: &[u8]) -> Option<&[u8]> {
    beginnings(symbol).next().filter(|whole| !whole.is_empty())
}

/// The names that a name may be a clone or a part of: the text before each dot, the shortest first.
pub(crate) fn beginnings(symbol: &[u8]) -> impl Iterator<Item = &[u8]> {
    dots(symbol).map(|dot| &symbol[..dot])
}

/// Splits off the number that compilers give functions of one name: after a word of [`WORDS`] (`f.lto_priv.0`,
/// `f.llvm.17`), with all that follows it, or alone. LLVM and gcc number local functions without a word (`f.12`: a
/// second static function, a nested function). Such a number must be the whole rest: `f.12.isra.0` is a clone of
/// `f.12`, and has no number.
pub(crate) fn split_number(name: &[u8]) -> (&[u8], &[u8]) {
    let digits = |text: &[u8]| !text.is_empty() && text.iter().all(u8::is_ascii_digit);
    let mut ends = dots(name).filter(|dot| *dot > 0).enumerate();
    let found = ends.find(|&(index, dot)| {
        let rest = &name[dot + 1..];
        // A number after another word belongs to a clone of one function (`f.isra.0`).
        (index == 0 && digits(rest))
            || (word_at(rest) == Some(SuffixWord::File) && dots(rest).next().is_some())
    });
    name.split_at(found.map_or(name.len(), |(_, dot)| dot))
}

/// The name that jumps to a body have, from the name of the body (`f.cfi`).
pub(crate) fn checked_name(body: &[u8]) -> Option<&[u8]> {
    without_ending(body, Ending::CheckedBody)
}

/// True for an ending of code that a tool made and that no compiler merges.
pub(crate) fn ends_as_made(name: &[u8]) -> bool {
    without_ending(name, Ending::Made).is_some()
}

/// True for mold's symbol of a stub or of its slot.
pub(crate) fn is_stub_of_mold(symbol: &[u8]) -> bool {
    without_ending(symbol, Ending::StubOfMold).is_some()
}

/// The name of an ELF symbol without its version, which is one of those that the file's tables define. Other names have an `@` of their
/// own: Crystal's methods (`*Type@Base#method`), Zig's, and those that a tool renamed. GNU ld defines a version for each of these in a
/// program that exports them, so a version must also look like one.
pub(crate) fn without_version(name: &[u8], is_defined: impl Fn(&[u8]) -> bool) -> &[u8] {
    let is_version = |text: &[u8]| may_be_version(text) && is_defined(text);
    // The version is the last part of the name, so it is found from the end.
    let Some(at) = memchr::memrchr(VERSION, name).filter(|at| is_version(&name[at + 1..])) else {
        return name;
    };
    match name[..at].strip_suffix(&[VERSION]).unwrap_or(&name[..at]) {
        // Nothing would be left of the name.
        [] => name,
        plain => plain,
    }
}

/// The part of a name that GNU ld writes into `.dynsym`: it takes what follows the first `@` for a version. `None` for a name without.
pub(crate) fn exported_part(name: &[u8]) -> Option<&[u8]> {
    memchr::memchr(VERSION, name).map(|at| &name[..at])
}

/// True if a text may be the name of a version, as linkers' scripts define them (`GLIBC_2.2.5`), or `--default-symver` of the name of a
/// library (`libdb-5.3.so`).
fn may_be_version(text: &[u8]) -> bool {
    let fits = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-' | b'+' | b'~');
    !text.is_empty() && text.iter().all(fits)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Everything that this file reads from a name.
    #[derive(Debug, PartialEq, Eq)]
    struct Read<'n> {
        whole: &'n str,
        /// The rest of the name after the function of one file.
        number: &'n str,
        suffixed: bool,
        part: bool,
    }

    #[test]
    fn suffixes_of_names() {
        // Name, name without suffixes, number of a file, and whether it has a suffix and is a part.
        for (name, whole, number, suffixed, part) in [
            ("f", "f", "", false, false),
            ("_Z1fv", "_Z1fv", "", false, false),
            // Parts.
            ("f.cold", "f", "", true, true),
            ("f.cold.12", "f", "", true, true),
            ("f.warm.1", "f", "", true, true),
            ("f.isra.0.cold", "f", "", true, true),
            ("_Z1fv.__part.3", "_Z1fv", "", true, true),
            ("f.llvm.17.__part.3", "f", ".llvm.17.__part.3", true, true),
            ("f.eh", "f", "", true, true),
            ("f.warm", "f", "", true, true),
            ("f.lto_priv.1.cold", "f", ".lto_priv.1.cold", true, true),
            // Functions of several files.
            ("f.lto_priv.0", "f", ".lto_priv.0", true, false),
            ("_ZL1fv.llvm.123", "_ZL1fv", ".llvm.123", true, false),
            ("f.isra.0.llvm.7", "f", ".llvm.7", true, false),
            ("f.12", "f", ".12", true, false),
            ("f.12.cold", "f", "", true, true),
            ("f.12.isra.0", "f", "", true, false),
            ("f.lto_priv.12.cold", "f", ".lto_priv.12.cold", true, true),
            ("f.llvm", "f", "", true, false),
            ("f.llvmx.1", "f", "", true, false),
            // Clones.
            ("f.isra.0", "f", "", true, false),
            ("f.part.0", "f", "", true, false),
            ("f.constprop.0.isra.0", "f", "", true, false),
            ("f.__uniq.123", "f", "", true, false),
            ("_ZL3loci.__uniq.834", "_ZL3loci", "", true, false),
            ("f.__uniq.123.llvm.7", "f", ".llvm.7", true, false),
            ("f.specialized.1", "f", "", true, false),
            ("f.memprof.2", "f", "", true, false),
            ("_Z2coi.resume", "_Z2coi", "", true, false),
            ("_Z2coi.destroy", "_Z2coi", "", true, false),
            ("_Z2coi.cleanup", "_Z2coi", "", true, false),
            ("_Z2coi.noalloc", "_Z2coi", "", true, false),
            ("f.Tgm", "f", "", true, false),
            ("f.Tgm.llvm.7", "f", ".llvm.7", true, false),
            ("OUTLINED_FUNCTION_3", "OUTLINED_FUNCTION_3", "", false, false),
            ("OUTLINED_FUNCTION_3.content.123", "OUTLINED_FUNCTION_3", "", true, false),
            ("f.localalias", "f", "", true, false),
            ("f.colder", "f", "", true, false),
            ("cold.f", "cold", "", true, false),
            // No suffixes of a function.
            ("f.", "f", "", false, false),
            (".f", "", "", false, false),
            (".L1", "", "", false, false),
            ("", "", "", false, false),
        ] {
            let bytes = name.as_bytes();
            let text = |bytes| str::from_utf8(bytes).unwrap();
            let (base, found) = split_number(bytes);
            assert_eq!([base, found].concat(), bytes);
            let read = Read {
                whole: text(whole_name(bytes)),
                number: text(found),
                suffixed: has_suffix(bytes),
                part: names_part(bytes),
            };
            assert_eq!(read, Read { whole, number, suffixed, part }, "{name}");
            assert_eq!(suffixed, !whole.is_empty() && is_suffixed(bytes, whole.as_bytes()), "{name}");
            let cut = Some(whole).filter(|whole| !whole.is_empty() && *whole != name);
            assert_eq!(whole_suffixed(bytes).map(text), cut, "{name}");
        }
        let all: Vec<&[u8]> = beginnings(b"f.isra.0.cold").collect();
        assert_eq!(all, [&b"f"[..], b"f.isra", b"f.isra.0"]);
        assert!(!is_suffixed(b"fg.cold", b"f") && !is_suffixed(b".text", b""));
    }

    #[test]
    fn endings_of_names() {
        for (name, checked, made, stub) in [
            ("f.cfi", Some("f"), false, false),
            ("f.cfi_jt", None, true, false),
            ("far$thunk", None, true, false),
            ("_Znwm$plt", None, false, true),
            ("__cxa_finalize$pltgot", None, false, true),
            ("f", None, false, false),
            ("plt", None, false, false),
            ("a$plt1", None, false, false),
        ] {
            let name = name.as_bytes();
            let found = (checked_name(name), ends_as_made(name), is_stub_of_mold(name));
            assert_eq!(found, (checked.map(str::as_bytes), made, stub), "{}", name.escape_ascii());
        }
    }

    #[test]
    fn versions_of_names() {
        for (name, expected) in [
            ("f@V1", "f"),
            ("f@@V2", "f"),
            ("f", "f"),
            ("@V1", "@V1"),
            ("@@V1", "@@V1"),
            ("f@", "f@"),
            // No version of this file: a part of the name.
            ("step@first.kind", "step@first.kind"),
            ("*Type@Base#method<Int32>:Nil", "*Type@Base#method<Int32>:Nil"),
            ("*Type@Base#method@V1", "*Type@Base#method"),
            // GNU ld defines such a version.
            ("*Type@V#m", "*Type@V#m"),
        ] {
            let found = without_version(name.as_bytes(), |text| matches!(text, b"V1" | b"V2" | b"V#m"));
            assert_eq!(found, expected.as_bytes(), "{name}");
        }
        assert_eq!(exported_part(b"*Type@V#m@x"), Some(&b"*Type"[..]));
        assert_eq!(exported_part(b"f"), None);
        for (text, expected) in
            [("GLIBC_2.2.5", true), ("libstdc++-5.3.so", true), ("", false), ("Base#method<Int32>", false)]
        {
            assert_eq!(may_be_version(text.as_bytes()), expected, "{text}");
        }
    }
}
