//! Names of functions that compilers and linkers make: start-up code, functions that are added to a program, thunks.

use super::itanium_abi::{is_thunk, is_tls_init, is_tls_wrapper};
use super::linkers::is_thunk_of_lld;
use super::suffixes::{ends_as_made, whole_name};

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

/// Beginnings of names of functions that a compiler never merges: functions of LLVM's outliner, and the jump tables of
/// `-fsanitize=cfi-icall`.
const MADE_PREFIXES: &[&[u8]] = &[b"OUTLINED_FUNCTION_", b"__typeid_"];

/// The function that returns for others, where `-mfunction-return=thunk` forbids the instruction.
const RETURN_THUNK: &[u8] = b"__x86_return_thunk";

/// Functions that go where a register points; the name of the register follows. Code calls them where it may not call through a
/// register: `-mretpoline` and `-mlvi-hardening` of clang, `-mindirect-branch=thunk` of gcc.
const REGISTER_THUNKS: &[&[u8]] = &[b"__llvm_retpoline_", b"__llvm_lvi_thunk_", b"__x86_indirect_thunk_"];

/// Functions that compilers call without the source calling them: profilers, stack guards, sanitizers, retpolines (also
/// those of [`REGISTER_THUNKS`]).
const ADDED: &[&[u8]] =
    &[b"mcount", b"_mcount", b"__mcount", b"__fentry__", b"__stack_smash_handler", b"__x86_indirect_thunk"];
const ADDED_PREFIXES: &[&[u8]] = &[
    b"__stack_chk_",
    b"__cyg_profile_func_",
    RETURN_THUNK,
    b"__x86.get_pc_thunk",
    b"__llvm_",
    b"__xray_",
    b"__gcov_",
    b"__sanitizer_",
    b"__asan_",
    b"__hwasan_",
    b"__msan_",
    b"__tsan_",
    b"__ubsan_",
    b"__cfi_",
    b"__safestack_",
    b"__morestack",
];

/// The prefix that `ld --wrap` puts before the name of a function.
const WRAPPED: &[u8] = b"__wrap_";

/// True for the symbol of a Fortran program, whatever name its source has: of gfortran, and of flang.
pub(crate) fn is_main_program(name: &[u8]) -> bool {
    matches!(name, b"MAIN__" | b"_QQmain")
}

/// True for a name that rustc gave a function, in either of its manglings.
pub(crate) fn is_rust(name: &[u8]) -> bool {
    let hash = || name.strip_suffix(b"E").and_then(|name| name.split_last_chunk::<19>());
    // `17h` and 16 hexadecimal digits: the hash at the end of a name in rustc's legacy mangling
    // (`_ZN4main17h0123456789abcdefE`).
    let legacy = |hash: &[u8; 19]| hash.starts_with(b"17h") && hash[3..].iter().all(u8::is_ascii_hexdigit);
    // `_R` begins the v0 mangling (Rust RFC 2603).
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
    let of_abi = is_thunk(name) || is_tls_init(name) || is_tls_wrapper(name);
    let made = of_abi || MADE_PREFIXES.iter().any(|prefix| name.starts_with(prefix));
    let made = made || is_thunk_of_lld(name) || ends_as_made(name);
    !name.is_empty() && !made
}

/// True for a function that a compiler jumps to in place of a return.
pub(crate) fn is_return_thunk(name: &[u8]) -> bool {
    name == RETURN_THUNK
}

/// The register that a function goes to, if it is there for that alone.
pub(crate) fn register_thunk(name: &[u8]) -> Option<&[u8]> {
    REGISTER_THUNKS.iter().find_map(|prefix| name.strip_prefix(*prefix))
}

/// True for functions that compilers call without the source calling them: stack guards, profilers, sanitizers.
pub(crate) fn is_added(name: &[u8]) -> bool {
    if name.first().is_none_or(|first| !ADDED_LETTERS[usize::from(*first)]) {
        return false;
    }
    let name = name.strip_prefix(WRAPPED).unwrap_or(name);
    ADDED.contains(&name)
        || ADDED_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
        || register_thunk(name).is_some()
}

/// The letters that begin the names of added functions. Most names begin with another one, and are not searched for in
/// the lists.
const ADDED_LETTERS: [bool; 256] = first_letters(&[ADDED, ADDED_PREFIXES, REGISTER_THUNKS, &[WRAPPED]]);

const fn first_letters(lists: &[&[&[u8]]]) -> [bool; 256] {
    let mut letters = [false; 256];
    // A `for` loop cannot be evaluated in a const function.
    let mut list = 0;
    while list < lists.len() {
        let mut word = 0;
        while word < lists[list].len() {
            letters[lists[list][word][0] as usize] = true;
            word += 1;
        }
        list += 1;
    }
    letters
}

/// True for a name that C reserves for compilers and libraries, and for a name with a suffix: the function may be one
/// that no source of the program describes.
pub(crate) fn is_reserved(name: &[u8]) -> bool {
    // C 7.1.3 reserves names with an underscore at the start, at file scope.
    name.starts_with(b"_") || whole_name(name) != name
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first letter of a name decides whether the lists are searched at all.
    #[test]
    fn every_word_of_the_lists_is_added() {
        for word in ADDED.iter().chain(ADDED_PREFIXES).chain(REGISTER_THUNKS) {
            assert!(is_added(word), "{}", word.escape_ascii());
            assert!(is_added(&[WRAPPED, word].concat()), "{}", word.escape_ascii());
        }
        let letters = first_letters(&[&[b"zebra", b"_x"], &[b"m"]]);
        let found: Vec<usize> = (0..256).filter(|&letter| letters[letter]).collect();
        assert_eq!(found, b"_mz".map(usize::from));
    }
}
