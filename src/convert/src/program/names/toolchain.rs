//! What compilers, linkers and rewriters name the things that they make: suffixes of clones and parts, start-up code, thunks,
//! bounds of sections, and the names that compilers give themselves.
//!
//! The lists come first: a tool that invents a suffix is one more word in one of them. What compilers call in every function
//! (guards of the stack, profilers) is listed beside the code that looks at calls, [`is_added`].

use crate::program::machine::is_added;

/// What compilers and rewriters add, behind a dot, to the name of a function for a part of it that stands elsewhere:
/// gcc and clang for what seldom runs, clang for sections of basic blocks and of landing pads, BOLT.
const PARTS: &[&[u8]] = &[b"cold", b"__part", b"eh", b"warm"];

/// What LLVM (`.llvm.HASH`) and gcc (`.lto_priv.N`) put between a name and a number, where several files have a function of
/// this name and link-time optimization makes one file of them.
const NUMBERED: &[&[u8]] = &[b".lto_priv.", b".llvm."];

/// Compilers' start-up code: objects of every program, without debug information, and nothing in them folds.
pub(crate) const START_UP_FILES: &[&[u8]] = &[
    b"crtstuff.c",
    b"crtbegin.c",
    b"crtend.c",
    b"crtfastmath.c",
    b"crt1.c",
    b"Scrt1.c",
    b"rcrt1.c",
    b"crt1.S",
    b"crti.S",
    b"crtn.S",
    b"crti.s",
    b"crtn.s",
    b"crt1.o",
    b"Scrt1.o",
    b"rcrt1.o",
    b"gcrt1.o",
    b"crti.o",
    b"crtn.o",
];

/// The files that tools name for the object which they make of all units: LLVM's link-time optimization, Go's linker. Units
/// that are described are not named so.
pub(crate) const WHOLE_PROGRAM_FILES: &[&[u8]] = &[b"ld-temp.o", b"go.go"];

/// The functions that begin and end a program, and those that compilers put into one: of `crtstuff.c`, of C's library.
const START_UP_FUNCTIONS: &[&[u8]] = &[
    b"register_tm_clones",
    b"deregister_tm_clones",
    b"frame_dummy",
    b"call_weak_fn",
    b"_start",
    b"_start_c",
    b"_init",
    b"_fini",
    b"_dl_relocate_static_pie",
    b"__do_global_dtors_aux",
    b"__do_global_ctors_aux",
    b"__do_init",
    b"__do_fini",
    b"__libc_csu_init",
    b"__libc_csu_fini",
    b"__tls_init",
    b"__clang_call_terminate",
];

/// How names begin that are not of functions which a compiler may have merged: C++'s own thunks and the functions that make its
/// thread-local variables (Itanium C++ ABI 5.1.4.4, 5.1.4.5), what LLVM's outliner makes, and the tables of jumps for checked
/// types of callers (`-fsanitize=cfi-icall`).
const MADE_PREFIXES: &[&[u8]] =
    &[b"_ZTh", b"_ZTv", b"_ZTc", b"_ZTW", b"_ZTH", b"OUTLINED_FUNCTION_", b"__typeid_"];

/// And how they end: lld's thunks for 32-bit Arm and PowerPC, entries of such a table.
const MADE_SUFFIXES: &[&[u8]] = &[b"$thunk", b".cfi_jt"];

/// Where the code of a program ends, as linkers name it.
pub(crate) const SECTION_ENDS: &[&[u8]] = &[b"etext", b"_etext", b"__etext"];

/// What linkers put before the name of a section for where it begins and ends.
const SECTION_BOUNDS: &[&[u8]] = &[b"__start_", b"__stop_"];

/// How gcc's names of itself begin (`DW_AT_producer`), and those of the compiler that `-flto` runs at the link.
const GNU: &[u8] = b"GNU ";
const GNU_LINK: &[u8] = b"GNU GIMPLE ";

/// Go's own compiler.
const GO: &[u8] = b"Go cmd/compile";

/// How clang is asked to merge functions, where it writes its command line (`-grecord-command-line`): `-fmerge-functions`, or
/// `-enable-merge-functions` of LLVM.
const MERGES: &[u8] = b"merge-functions";

/// True for the name of a part of a function that stands elsewhere (`f.cold`, `f.isra.0.cold.1`, `f.__part.2`).
pub(crate) fn names_part(symbol: &[u8]) -> bool {
    let dot = memchr::memchr(b'.', symbol);
    dot.is_some_and(|at| symbol[at + 1..].split(|byte| *byte == b'.').any(|word| PARTS.contains(&word)))
}

/// True where something was added to a name, behind a dot: it is that of a copy or of a part.
pub(crate) fn has_suffix(symbol: &[u8]) -> bool {
    let rest = symbol.get(1..).unwrap_or_default();
    memchr::memchr(b'.', rest).is_some_and(|at| at + 1 < rest.len())
}

/// A name up to the suffix that a compiler adds.
pub(crate) fn whole_name(symbol: &[u8]) -> &[u8] {
    memchr::memchr(b'.', symbol).map_or(symbol, |dot| &symbol[..dot])
}

/// A name up to the suffix that a compiler adds, if it has one.
pub(crate) fn whole_suffixed(symbol: &[u8]) -> Option<&[u8]> {
    Some(whole_name(symbol)).filter(|whole| !whole.is_empty() && whole.len() < symbol.len())
}

/// A symbol's name without the number that compilers add where several files have a function of this name, and the
/// rest of it.
pub(crate) fn numbered(name: &[u8]) -> (&[u8], &[u8]) {
    let digits = |text: &[u8]| !text.is_empty() && text.iter().all(u8::is_ascii_digit);
    let mut dots = memchr::memchr_iter(b'.', name).filter(|at| *at > 0);
    let first = dots.clone().next();
    // The number behind another word is that of a copy of one function (`f.isra.0`).
    let found = dots.find(|&at| {
        let rest = &name[at..];
        NUMBERED.iter().any(|word| rest.starts_with(word)) || (Some(at) == first && digits(&rest[1..]))
    });
    name.split_at(found.unwrap_or(name.len()))
}

/// True for a name that rustc gave a function, in either of its manglings.
pub(crate) fn is_rust(name: &[u8]) -> bool {
    let hash = || name.strip_suffix(b"E").and_then(|name| name.split_last_chunk::<19>());
    let legacy = |hash: &[u8; 19]| hash.starts_with(b"17h") && hash[3..].iter().all(u8::is_ascii_hexdigit);
    name.starts_with(b"_R") || (name.starts_with(b"_ZN") && hash().is_some_and(|(_, hash)| legacy(hash)))
}

/// True for what begins and ends a program, and what a compiler adds to it: its `crtstuff.c`, C's library (`crt1.o`, `crti.o`).
pub(crate) fn is_of_start(name: &[u8]) -> bool {
    START_UP_FUNCTIONS.contains(&name) || is_added(name)
}

/// True where a name is that of a function which may have been merged: not for what C++ calls a thunk, the functions that make
/// its thread-local variables, what linkers make, what LLVM's outliner does, and the tables of jumps to functions whose
/// callers' types are checked (`-fsanitize=cfi-icall`).
pub(crate) fn may_be_merged(name: &[u8]) -> bool {
    let made = MADE_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
        || (name.starts_with(b"__") && name.windows(6).any(|part| part == b"Thunk_"))
        || MADE_SUFFIXES.iter().any(|suffix| name.ends_with(suffix));
    !name.is_empty() && !made
}

/// The name of the function whose body has this name: where the types of callers are checked, a jump to the body has it.
pub(crate) fn checked_name(body: &[u8]) -> Option<&[u8]> {
    body.strip_suffix(b".cfi")
}

/// The section whose begin or end a symbol of this name is, if a linker made it.
pub(crate) fn bounded_section(name: &[u8]) -> Option<&[u8]> {
    SECTION_BOUNDS.iter().find_map(|prefix| name.strip_prefix(*prefix))
}

/// What a compiler's name of itself, with its command line, says of how it merges functions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Producer {
    /// It merges functions, and calls keep naming the one that was called (gcc's ipa-icf).
    pub(crate) keeps_callees: bool,
    /// It is gcc at the link: the unit is of all units that were compiled with `-flto`.
    pub(crate) of_link: bool,
    /// It merges none (Go's).
    pub(crate) merges_nothing: bool,
    /// It was asked to merge functions, and rewrites the calls of those that it merged.
    pub(crate) merges: bool,
}

impl Producer {
    pub(crate) fn of(name: &[u8]) -> Producer {
        Producer {
            keeps_callees: name.starts_with(GNU),
            of_link: name.starts_with(GNU_LINK),
            merges_nothing: name.starts_with(GO),
            merges: memchr::memmem::find(name, MERGES).is_some(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_parts() {
        for (name, suffix, part) in [
            ("f", false, false),
            (".f", false, false),
            ("f.", false, false),
            ("f.cold", true, true),
            ("f.cold.12", true, true),
            ("f.isra.0.cold", true, true),
            ("_Z1fv.__part.3", true, true),
            ("f.llvm.17.__part.3", true, true),
            ("f.eh", true, true),
            ("f.warm", true, true),
            ("f.part.0", true, false),
            ("f.colder", true, false),
            ("f.isra.0", true, false),
            ("cold.f", true, false),
        ] {
            let name = name.as_bytes();
            assert_eq!((has_suffix(name), names_part(name)), (suffix, part), "{name:?}");
        }
    }

    #[test]
    fn names_that_rustc_gave() {
        for (name, expected) in [
            ("_RNvC3lib3run", true),
            ("_ZN4lib12f117hce08c6042f62d7caE", true),
            ("_ZN4lib12f117hce08c6042f62d7cgE", false),
            ("_ZN4lib16h17hce08c6042f62dE", false),
            ("_ZN3lib3runEv", false),
            ("run", false),
            ("_ZNE", false),
        ] {
            assert_eq!(is_rust(name.as_bytes()), expected, "{name}");
        }
    }

    #[test]
    fn numbers_of_files() {
        for (name, expected) in [
            ("f", ("f", "")),
            ("f.lto_priv.0", ("f", ".lto_priv.0")),
            ("f.lto_priv.1.cold", ("f", ".lto_priv.1.cold")),
            ("_ZL1fv.llvm.123", ("_ZL1fv", ".llvm.123")),
            ("f.12", ("f", ".12")),
            ("f.isra.0", ("f.isra.0", "")),
            ("f.constprop.0.isra.0", ("f.constprop.0.isra.0", "")),
            ("f.cold", ("f.cold", "")),
            (".L1", (".L1", "")),
        ] {
            let (base, number) = numbered(name.as_bytes());
            assert_eq!((base, number), (expected.0.as_bytes(), expected.1.as_bytes()), "{name}");
        }
    }

    #[test]
    fn names_of_what_begins_a_program() {
        for (name, expected) in [
            ("frame_dummy", true),
            ("_start", true),
            ("__clang_call_terminate", true),
            ("__asan_init", true),
            ("_Z3foov", false),
            ("_own", false),
            ("__own", false),
            ("main", false),
        ] {
            assert_eq!(is_of_start(name.as_bytes()), expected, "{name}");
        }
    }

    #[test]
    fn names_of_merged_functions() {
        for (name, expected) in [
            ("_Z2a2v", true),
            ("b", true),
            ("_ZN1SC1Ev", true),
            ("_ZThn8_N1S1fEv", false),
            ("__AArch64ADRPThunk_far", false),
            ("far$thunk", false),
            ("_ZTW1x", false),
            ("OUTLINED_FUNCTION_3", false),
            ("__typeid__ZTSFiiE_global_addr", false),
            ("f.cfi_jt", false),
            ("", false),
        ] {
            assert_eq!(may_be_merged(name.as_bytes()), expected, "{name}");
        }
    }

    #[test]
    fn names_that_compilers_give_themselves() {
        let none = Producer::default();
        let gnu = Producer { keeps_callees: true, ..none };
        for (name, expected) in [
            ("GNU C++17 13.2.0 -O2", gnu),
            ("GNU GIMPLE 13.2.0 -flto", Producer { of_link: true, ..gnu }),
            ("Go cmd/compile go1.22", Producer { merges_nothing: true, ..none }),
            ("clang version 22 -O2 -mllvm -fmerge-functions", Producer { merges: true, ..none }),
            ("clang version 22 -O2", none),
            ("Debian clang version 22", none),
            ("", none),
        ] {
            assert_eq!(Producer::of(name.as_bytes()), expected, "{name}");
        }
        assert_eq!(bounded_section(b"__start_set"), Some(&b"set"[..]));
        assert_eq!(bounded_section(b"_start"), None);
    }
}
