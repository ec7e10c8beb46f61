//! The names that compilers, linkers and rewriters give to what they make: suffixes of clones and parts, start-up
//! code, thunks, bounds of sections, and the names by which compilers identify themselves.
//!
//! The lists come first: support for a new suffix is one more word in a list. Functions that compilers call in every
//! function (stack guards, profilers) are listed beside the code that looks at calls, [`is_added`].

use crate::program::machine::is_added;

/// Suffixes, after a dot, of a function part that is placed elsewhere: gcc and clang for cold code, clang for
/// sections of basic blocks and of landing pads, BOLT.
const PARTS: &[&[u8]] = &[b"cold", b"__part", b"eh", b"warm"];

/// The word between name and number (`.llvm.HASH`, `.lto_priv.N`) with which link-time optimization distinguishes
/// functions of one name from several files that it joins.
const NUMBERED: &[&[u8]] = &[b".lto_priv.", b".llvm."];

/// Compilers' start-up code: objects of every program, without debug information, in which nothing folds.
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

/// The file names that tools give to an object made of all units: LLVM's link-time optimization, Go's linker. No
/// described unit has such a name.
pub(crate) const WHOLE_PROGRAM_FILES: &[&[u8]] = &[b"ld-temp.o", b"go.go"];

/// The functions that begin and end a program, and the functions that compilers add to it: of `crtstuff.c` and the C
/// library.
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

/// Beginnings of names of functions that a compiler never merges: C++ thunks and initializers of thread-local
/// variables (Itanium C++ ABI 5.1.4.4, 5.1.4.5), functions of LLVM's outliner, and the jump tables of
/// `-fsanitize=cfi-icall`.
const MADE_PREFIXES: &[&[u8]] =
    &[b"_ZTh", b"_ZTv", b"_ZTc", b"_ZTW", b"_ZTH", b"OUTLINED_FUNCTION_", b"__typeid_"];

/// Endings of such names: lld's thunks for 32-bit Arm and PowerPC, entries of such a jump table.
const MADE_SUFFIXES: &[&[u8]] = &[b"$thunk", b".cfi_jt"];

/// Prefixes and suffixes with which C libraries form further names of a function, after the underscores that make a
/// name reserved (C 7.1.3): `_IO_new_fclose` is `fclose`, `__libc_start_main_impl` is `__libc_start_main`.
const LIBRARY_PREFIXES: &[&[u8]] = &[b"GI_", b"IO_", b"new_"];
const LIBRARY_SUFFIXES: &[&[u8]] = &[b"_impl"];

/// Linkers' names for the end of the program's code.
pub(crate) const SECTION_ENDS: &[&[u8]] = &[b"etext", b"_etext", b"__etext"];

/// Linkers' prefixes for the name of a section, for its start and its end.
const SECTION_BOUNDS: &[&[u8]] = &[b"__start_", b"__stop_"];

/// Beginnings of gcc's `DW_AT_producer`, and of the producer of the compiler that `-flto` runs at the link.
const GNU: &[u8] = b"GNU ";
const GNU_LINK: &[u8] = b"GNU GIMPLE ";

/// Go's own compiler.
const GO: &[u8] = b"Go cmd/compile";

/// Options that make clang merge functions, in a recorded command line (`-grecord-command-line`): an option of clang,
/// and one of LLVM (`-mllvm`), which may have a value.
const MERGES: &[u8] = b"-fmerge-functions";
const LLVM_MERGES: &[u8] = b"-enable-merge-functions";

/// The prefix of an LLVM option in one word with it, the beginning of a word of linker options, and the values that
/// mean "no".
const LLVM_OPTION: &[&[u8]] = &[b"-mllvm=", b"-plugin-opt="];
const LINKER_OPTIONS: &[u8] = b"-Wl,";
const NO: &[&[u8]] = &[b"=false", b"=FALSE", b"=False", b"=0"];

/// True for the name of a function part that is placed elsewhere (`f.cold`, `f.isra.0.cold.1`, `f.__part.2`).
pub(crate) fn names_part(symbol: &[u8]) -> bool {
    let dot = memchr::memchr(b'.', symbol);
    dot.is_some_and(|at| symbol[at + 1..].split(|byte| *byte == b'.').any(|word| PARTS.contains(&word)))
}

/// True for a name with a suffix after a dot: the name of a clone or a part.
pub(crate) fn has_suffix(symbol: &[u8]) -> bool {
    let rest = symbol.get(1..).unwrap_or_default();
    memchr::memchr(b'.', rest).is_some_and(|at| at + 1 < rest.len())
}

/// A name without the suffix that a compiler added.
pub(crate) fn whole_name(symbol: &[u8]) -> &[u8] {
    memchr::memchr(b'.', symbol).map_or(symbol, |dot| &symbol[..dot])
}

/// A name without the suffix that a compiler added; `None` if it has none.
pub(crate) fn whole_suffixed(symbol: &[u8]) -> Option<&[u8]> {
    Some(whole_name(symbol)).filter(|whole| !whole.is_empty() && whole.len() < symbol.len())
}

/// Splits off the number that compilers add to functions of one name from several files.
pub(crate) fn numbered(name: &[u8]) -> (&[u8], &[u8]) {
    let digits = |text: &[u8]| !text.is_empty() && text.iter().all(u8::is_ascii_digit);
    let mut dots = memchr::memchr_iter(b'.', name).filter(|at| *at > 0);
    let first = dots.clone().next();
    // A number after another word belongs to a clone of one function (`f.isra.0`).
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

/// True for functions that begin and end a program, and functions that a compiler adds: of `crtstuff.c` and the C
/// library (`crt1.o`, `crti.o`).
pub(crate) fn is_of_start(name: &[u8]) -> bool {
    START_UP_FUNCTIONS.contains(&name) || is_added(name)
}

/// True if the function of this name may have been merged. Never merged are C++ thunks, initializers of thread-local
/// variables, code that linkers make, functions of LLVM's outliner, and the jump tables of `-fsanitize=cfi-icall`.
pub(crate) fn may_be_merged(name: &[u8]) -> bool {
    let made = MADE_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
        || (name.starts_with(b"__") && name.windows(6).any(|part| part == b"Thunk_"))
        || MADE_SUFFIXES.iter().any(|suffix| name.ends_with(suffix));
    !name.is_empty() && !made
}

/// True if two different unmangled names are a pair that a C library gives to one function. One of them is reserved,
/// so programs do not define it.
pub(crate) fn are_library_names(one: &[u8], other: &[u8]) -> bool {
    let is_reserved = |name: &[u8]| matches!(name, [b'_', b'_' | b'A'..=b'Z', ..]);
    let word = |mut name| {
        loop {
            let shorter = <[u8]>::strip_prefix(name, b"_");
            let shorter =
                shorter.or_else(|| LIBRARY_PREFIXES.iter().find_map(|prefix| name.strip_prefix(*prefix)));
            match shorter {
                Some(rest) => name = rest,
                None => {
                    break LIBRARY_SUFFIXES.iter().find_map(|end| name.strip_suffix(*end)).unwrap_or(name);
                }
            }
        }
    };
    (is_reserved(one) || is_reserved(other)) && !word(one).is_empty() && word(one) == word(other)
}

/// The name that jumps to a body have (`-fsanitize=cfi-icall`), from the name of the body.
pub(crate) fn checked_name(body: &[u8]) -> Option<&[u8]> {
    body.strip_suffix(b".cfi")
}

/// The section whose start or end a symbol of this name marks, if a linker made the symbol.
pub(crate) fn bounded_section(name: &[u8]) -> Option<&[u8]> {
    SECTION_BOUNDS.iter().find_map(|prefix| name.strip_prefix(*prefix))
}

/// How a compiler merges functions, by its `DW_AT_producer` with the command line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Producer {
    /// It merges functions, and recorded calls keep the callee that the source names (gcc's ipa-icf).
    pub(crate) keeps_callees: bool,
    /// It is gcc at the link: the unit is made of all units that were compiled with `-flto`.
    pub(crate) of_link: bool,
    /// It merges no functions (Go).
    pub(crate) merges_nothing: bool,
    /// It was told to merge functions, and rewrites the calls of merged ones.
    pub(crate) merges: bool,
}

impl Producer {
    pub(crate) fn of(name: &[u8]) -> Producer {
        Producer {
            keeps_callees: name.starts_with(GNU),
            of_link: name.starts_with(GNU_LINK),
            merges_nothing: name.starts_with(GO),
            merges: asks_to_merge(name),
        }
    }
}

/// True if a recorded command line has an option that makes the compiler merge functions. A backslash escapes spaces
/// and backslashes within a word; linker options (the linker compiles at `-flto`) are one word with commas.
fn asks_to_merge(producer: &[u8]) -> bool {
    if memchr::memmem::find(producer, b"merge-functions").is_none() {
        return false;
    }
    let mut continued = false;
    producer.split(|byte| *byte == b' ').any(|word| {
        let backslashes = word.iter().rev().take_while(|byte| **byte == b'\\').count();
        let is_whole = !std::mem::replace(&mut continued, backslashes % 2 == 1) && !continued;
        let mut options = word.strip_prefix(LINKER_OPTIONS).unwrap_or(word).split(|byte| *byte == b',');
        is_whole && options.any(option_asks_to_merge)
    })
}

fn option_asks_to_merge(option: &[u8]) -> bool {
    // LLVM's options may begin with two dashes.
    let has_two_dashes = |option: &[u8]| option.strip_prefix(b"-").is_some_and(|rest| rest.starts_with(b"-"));
    let of_llvm = if has_two_dashes(option) { &option[1..] } else { option };
    let of_llvm = LLVM_OPTION.iter().find_map(|prefix| of_llvm.strip_prefix(*prefix)).unwrap_or(of_llvm);
    let of_llvm = if has_two_dashes(of_llvm) { &of_llvm[1..] } else { of_llvm };
    option == MERGES
        || of_llvm
            .strip_prefix(LLVM_MERGES)
            .is_some_and(|value| value.is_empty() || (value.starts_with(b"=") && !NO.contains(&value)))
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
    fn names_of_a_c_library() {
        for (one, other, expected) in [
            ("read", "__read", true),
            ("_IO_fclose", "fclose", true),
            ("_IO_new_file_setbuf", "_IO_file_setbuf", true),
            ("__libc_start_main", "__libc_start_main_impl", true),
            ("___asprintf", "__asprintf", true),
            // Any program may define both.
            ("new_list", "list", false),
            ("_list", "list", false),
            ("list_impl", "list", false),
            ("gsignal", "raise", false),
            ("__strtol", "strtoll", false),
            ("__", "___", false),
        ] {
            assert_eq!(are_library_names(one.as_bytes(), other.as_bytes()), expected, "{one} {other}");
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
            ("clang version 22 -mllvm -enable-merge-functions", Producer { merges: true, ..none }),
            ("clang version 22 -mllvm=-enable-merge-functions=1 -O2", Producer { merges: true, ..none }),
            ("clang version 22 -mllvm --enable-merge-functions=true", Producer { merges: true, ..none }),
            ("clang version 22 -mllvm -enable-merge-functions=false", none),
            ("clang version 22 -mllvm -enable-merge-functions=0 -O2", none),
            ("clang version 22 -I/src/merge-functions -c merge-functions.c", none),
            ("clang version 22 -DFLAGS=a\\ -fmerge-functions\\ b", none),
            ("clang version 22 -DFLAGS=a\\ -fmerge-functions", none),
            ("clang version 22 -IC:\\\\inc\\\\ -fmerge-functions", Producer { merges: true, ..none }),
            ("clang version 22 -Wl,-mllvm,-enable-merge-functions a.c", Producer { merges: true, ..none }),
            ("clang version 22 -Wl,--plugin-opt=-enable-merge-functions", Producer { merges: true, ..none }),
            ("clang version 22 -Wl,-plugin-opt=-enable-merge-functions=0", none),
            ("clang version 22 -fmerge-functions-not", none),
            ("clang version 22 -mllvm -enable-merge-functions-not", none),
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
