//! Tests what names mean: one table for all questions with a yes or no answer.

use super::assemblers;
use super::functions::{is_added, is_of_start, is_reserved, is_rust, may_be_merged};
use super::itanium_abi::{
    is_construction_vtable, is_no_method, is_special, is_thunk, is_tls_init, is_tls_wrapper, is_unnamed,
    is_vtable,
};
use super::libraries::{are_library_names, ends_outside};
use super::linkers::{
    bounded_section, has_elf_stubs, has_slots, has_stubs, is_macho_header, is_thunk_of_lld, names,
    names_linker,
};
use super::producers::Producer;

/// A question about a name, the names for which it holds, and the names for which it does not.
type Question = (&'static str, fn(&[u8]) -> bool, &'static [&'static str], &'static [&'static str]);

const QUESTIONS: &[Question] = &[
    (
        "is_rust",
        is_rust,
        &["_RNvC3lib3run", "_ZN4lib12f117hce08c6042f62d7caE"],
        &["_ZN4lib12f117hce08c6042f62d7cgE", "_ZN4lib16h17hce08c6042f62dE", "_ZN3lib3runEv", "run", "_ZNE"],
    ),
    (
        "is_of_start",
        is_of_start,
        &["frame_dummy", "_start", "__clang_call_terminate", "__asan_init"],
        &["_Z3foov", "_own", "__own", "main"],
    ),
    (
        "is_added",
        is_added,
        &[
            "__stack_chk_fail",
            "__wrap___stack_chk_fail",
            "__cyg_profile_func_enter",
            "__x86_return_thunk",
            "__x86_indirect_thunk",
            "__x86_indirect_thunk_rax",
            "__llvm_retpoline_r11",
            "mcount",
        ],
        &["__do_open", "main", ""],
    ),
    ("is_reserved", is_reserved, &["_start", "__x", "f.cold", ".L1"], &["main", "f", "m_", ""]),
    (
        "may_be_merged",
        may_be_merged,
        &["_Z2a2v", "b", "_ZN1SC1Ev"],
        &[
            "_ZThn8_N1S1fEv",
            "__AArch64ADRPThunk_far",
            "far$thunk",
            "_ZTW1x",
            "OUTLINED_FUNCTION_3",
            "__typeid__ZTSFiiE_global_addr",
            "f.cfi_jt",
            "",
        ],
    ),
    (
        // Functions of other programs have names that begin alike, and an operator may take a function.
        "ends_outside",
        ends_outside,
        &["free", "memcpy", "strlen", "wcsncpy", "_ZdlPvm", "_ZnwmSt11align_val_t", "_ZdaPv"],
        &[
            "apply",
            "mem",
            "str_apply",
            "freeze",
            "qsort",
            "_ZNSo5flushEv",
            "_Zd1f",
            "",
            "memberapply",
            "streamrun",
            "strwidth",
            "memory",
            "str",
            "wcs",
            "_ZnwmPFvvE",
            "_ZdlPvPFvvE",
        ],
    ),
    ("is_special", is_special, &["_ZTV1C", "_ZThn8_N1S1fEv", "_ZTH1x"], &["_Z1Tv", "_ZN1T1fEv"]),
    ("is_vtable", is_vtable, &["_ZTV1C", "_ZTVN1a1CE"], &["_ZTI1C", "_ZTC1C0_1B"]),
    ("is_construction_vtable", is_construction_vtable, &["_ZTC1C0_1B"], &["_ZTV1C", "_ZTc"]),
    (
        "is_thunk",
        is_thunk,
        &["_ZThn8_N1S1fEv", "_ZTv0_n24_N1CD1Ev", "_ZTchn16_h16_N1C5cloneEv"],
        &["_ZTH1x", "_ZTV1C", "_ZT"],
    ),
    ("is_tls_init", is_tls_init, &["_ZTH1x"], &["_ZTW1x", "_ZThn8_N1S1fEv"]),
    ("is_tls_wrapper", is_tls_wrapper, &["_ZTW1x"], &["_ZTH1x", "_ZTV1C"]),
    (
        "is_thunk_of_lld",
        is_thunk_of_lld,
        &["__AArch64ADRPThunk_far", "__ARMv7ABSLongThunk_far"],
        &["AArch64ADRPThunk_far", "__Thunk", "far$thunk"],
    ),
    ("is_macho_header", is_macho_header, &["_mh_execute_header", "_mh_dylib_header"], &["mh_", "__mh_", ""]),
    ("is_unnamed", is_unnamed, &["_ZN12_GLOBAL__N_11A1mEv"], &["_ZN1A1mEv", ""]),
    (
        "is_no_method",
        is_no_method,
        &["__cxa_pure_virtual", "__cxa_deleted_virtual"],
        &["__cxa_throw", "__cxa_pure_virtual2"],
    ),
    ("has_elf_stubs", has_elf_stubs, &[".plt", ".plt.sec", ".iplt"], &[".got.plt", "__stubs", ".text"]),
    (
        "has_stubs",
        has_stubs,
        &[".plt", ".plt.sec", ".iplt", "__stubs", "__auth_stubs"],
        &[".got", "__text", ""],
    ),
    (
        "has_slots",
        |section| has_slots(str::from_utf8(section).unwrap()),
        &[".got", ".got.plt", "__got", "__auth_got", "__DATA_CONST,__got", "__DATA,__la_symbol_ptr"],
        &[".plt", ".data", ".data.forgotten"],
    ),
    (
        "names LLD",
        |comment| names(comment, b"LLD", None),
        &["Linker: LLD 22.1.8\0clang version 22.1.8\0"],
        &["GCC: (Debian 12) 12.2.0\0", "IAR ELF Linker V9.50 for ARM\0", "Component: Tool: armlld2\0"],
    ),
    (
        "names mold",
        |comment| names(comment, b"mold", None),
        &["GCC: 12\0mold 2.40 (compatible with GNU ld)\0"],
        &["GCC: (Debian 12) 12.2.0\0", "remolded"],
    ),
    (
        "names mold from 2.2 on",
        |comment| names(comment, b"mold", Some((2, 2))),
        &[
            "mold 2.2.0 (compatible with GNU ld)\0",
            "GCC: 12\0mold 3.0 (compatible)\0",
            "mold\0",
            "mold main\0",
        ],
        &["mold 1.10.1 (compatible with GNU ld)\0", "GCC: 12\0mold 2.1.0 (compatible)\0", "remolded"],
    ),
    (
        "names_linker",
        names_linker,
        &["IAR ELF Linker V9.50 for ARM\0", "Component: ARM Compiler 5.06 Tool: armlink\0"],
        &["GCC: (Debian 12) 12.2.0\0", "lin", ""],
    ),
    ("is_local_label", assemblers::is_local_label, &[".L1", ".LBB0_1"], &["L1", ".text", "f.L1"]),
    ("is_section_label", assemblers::is_section_label, &["ltmp0"], &["_ltmp0", "tmp"]),
];

#[test]
fn questions_about_names() {
    for (question, answer, yes, no) in QUESTIONS {
        for name in *yes {
            assert!(answer(name.as_bytes()), "{question}: {name}");
        }
        for name in *no {
            assert!(!answer(name.as_bytes()), "{question}: {name}");
        }
    }
}

/// The part of a name that a question finds.
type Finder = (&'static str, fn(&[u8]) -> Option<&[u8]>, &'static str, Option<&'static str>);

#[test]
fn what_is_found_in_names() {
    const FOUND: &[Finder] = &[
        ("bounded_section", bounded_section, "__start_set", Some("set")),
        ("bounded_section", bounded_section, "_start", None),
        ("class_of_vtable", super::itanium_abi::class_of_vtable, "_ZTVN1a1CE", Some("N1a1CE")),
        ("class_of_vtable", super::itanium_abi::class_of_vtable, "_ZTI1C", None),
    ];
    for (question, found, name, expected) in FOUND {
        assert_eq!(found(name.as_bytes()), expected.map(str::as_bytes), "{question}: {name}");
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
}
