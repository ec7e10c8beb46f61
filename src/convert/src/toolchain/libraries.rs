//! Names of functions of the C and C++ libraries.

/// Prefixes and suffixes with which C libraries form further names of a function, after the underscores that make a
/// name reserved (C 7.1.3): `_IO_new_fclose` is `fclose`, `__libc_start_main_impl` is `__libc_start_main`.
const LIBRARY_PREFIXES: &[&[u8]] = &[b"GI_", b"IO_", b"new_"];
const LIBRARY_SUFFIXES: &[&[u8]] = &[b"_impl"];

/// Functions that allocate and free memory.
const MEMORY: &[&str] = &["free", "malloc", "calloc", "realloc"];

/// Functions on strings and memory, by what follows `str` and `wcs`, `str` alone, `wcs` alone, and `mem`.
const OF_BOTH: &[&str] = &[
    "casecmp", "cat", "chr", "chrnul", "cmp", "coll", "cpy", "cspn", "dup", "ftime", "lcat", "lcpy", "len",
    "ncasecmp", "ncat", "ncmp", "ncpy", "nlen", "pbrk", "rchr", "spn", "str", "tod", "tof", "tok", "tol",
    "told", "toll", "toul", "toull", "xfrm",
];
const OF_STRINGS: &[&str] = &["casestr", "error", "fmon", "ndup", "ptime", "sep", "signal", "verscmp"];
const OF_WIDE: &[&str] = &["nrtombs", "rtombs", "tombs", "width"];
const OF_MEMORY: &[&str] = &["ccpy", "chr", "cmp", "cpy", "mem", "move", "pcpy", "rchr", "set"];

/// Operators `new` and `delete` (C++20 17.6.3; Itanium C++ ABI 5.1.3), of both widths of a size, and the parameters that
/// may follow: of `new` and of `delete` without a size, and of `delete` with a size.
const NEW: &[&str] = &["_Znwm", "_Znwj", "_Znam", "_Znaj"];
const DELETE: &[&str] = &["_ZdlPv", "_ZdaPv"];
const DELETE_SIZED: &[&str] = &["_ZdlPvm", "_ZdlPvj", "_ZdaPvm", "_ZdaPvj"];
const AFTER_NEW: &[&str] = &["", "RKSt9nothrow_t", "St11align_val_t", "St11align_val_tRKSt9nothrow_t"];
const AFTER_SIZED: &[&str] = &["", "St11align_val_t"];

/// True if two different unmangled names are a pair that a C library gives to one function. One of them is reserved,
/// so programs do not define it.
pub(crate) fn are_library_names(one: &[u8], other: &[u8]) -> bool {
    let is_reserved = |name: &[u8]| matches!(name, [b'_', b'_' | b'A'..=b'Z', ..]);
    let word = |mut name| {
        loop {
            // glibc adds several prefixes to one name: `_IO_new_fclose` loses `_`, then `IO_`, then `new_`.
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

/// True for functions of the C and C++ libraries, by linkage name, that never end in a jump to code that a caller
/// gave them: functions that allocate and free memory, and functions on strings and memory. Functions of other
/// libraries have names with the same beginnings, so whole names are compared.
pub(crate) fn ends_outside(name: &[u8]) -> bool {
    let Ok(name) = str::from_utf8(name) else { return false };
    let is = |prefixes: &[&str], rests: &[&str]| {
        prefixes.iter().filter_map(|prefix| name.strip_prefix(prefix)).any(|rest| rests.contains(&rest))
    };
    MEMORY.contains(&name)
        || is(&["str", "wcs"], OF_BOTH)
        || is(&["str"], OF_STRINGS)
        || is(&["wcs"], OF_WIDE)
        || is(&["mem"], OF_MEMORY)
        || is(NEW, AFTER_NEW)
        || is(DELETE, AFTER_NEW)
        || is(DELETE_SIZED, AFTER_SIZED)
}
