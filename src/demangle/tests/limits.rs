//! Which scheme a name is of, and what becomes of names that are too long or made to harm.

use std::fmt::Write;

use foldsym_demangle::{demangle, demangle_into, short};

/// As the documentation says.
const MAX_INPUT: usize = 16 << 10;

#[test]
fn each_scheme_has_its_demangler() {
    let of = |name: &str| demangle(name.as_bytes());
    assert_eq!(of("_Z11local_classi").as_deref(), Some("local_class(int)"));
    assert_eq!(of("__Z11local_classi").as_deref(), Some("local_class(int)"));
    assert_eq!(of("__ZTW1x").as_deref(), Some("thread-local wrapper routine for x"));
    assert_eq!(of("__ZTHN2ns1xE").as_deref(), Some("thread-local initialization routine for ns::x"));
    assert_eq!(of("_ZN4core3fmt5write17h0123456789abcdefE").as_deref(), Some("core::fmt::write"));
    assert_eq!(of("_ZN4core3fmt5write17h0123456789abcdefE.llvm.12345").as_deref(), Some("core::fmt::write"));
    assert_eq!(of("_RNvC6_123foo3bar").as_deref(), Some("123foo::bar"));
    assert_eq!(of("_ZN3foo3barEv").as_deref(), Some("foo::bar()"));
    for plain in ["main", "_start", "_", "", "i", "_Zzz", "_GLOBAL__sub_I_x", "__cxa_throw"] {
        assert_eq!(of(plain), None, "{plain}");
    }
    assert_eq!(demangle(b"_Z\xff"), None);
    assert_eq!(demangle(b"_Z1f\xffv"), None);
}

/// Rust's older scheme has dots in its names, `..` for `::`: they begin no suffix.
#[test]
fn rust_names_are_what_rustc_demangle_makes_of_them() {
    for name in [
        "_ZN10rayon_core26ThreadPoolBuilder$LT$S$GT$15get_num_threads17h2f570b9d7927efdaE",
        "_ZN60_$LT$alloc..string..String$u20$as$u20$core..fmt..Display$GT$3fmt17h0123456789abcdefE",
        "_ZN60_$LT$alloc..string..String$u20$as$u20$core..fmt..Display$GT$3fmt17h0123456789abcdefE.llvm.77",
        "_ZN60_$LT$alloc..string..String$u20$as$u20$core..fmt..Display$GT$3fmt17h0123456789abcdefE.cold",
        "_RINvCs3fZMFbg1rvm_6blake321compress_subtree_wideNtNtB2_4join10SerialJoinEB2_",
        "_RINvCs8kPVqPB9kOU_6subtle9black_boxhECs3N8bZftLAXa_5orion",
        "_RNvCs3f2YdIHZdkB_3log5STATE.llvm.10049175933440065476",
    ] {
        let theirs = format!("{:#}", rustc_demangle::try_demangle(name).unwrap());
        assert_eq!(demangle(name.as_bytes()).as_ref(), Some(&theirs), "{name}");
        assert!(!theirs.contains("$LT$") && !theirs.contains(".."), "{theirs}");
    }
}

#[test]
fn short_names_have_no_parameters() {
    let of = |name: &str| short(name.as_bytes());
    assert_eq!(of("_ZN2ns5Class6methodEiPKc").as_deref(), Some("ns::Class::method"));
    assert_eq!(of("_ZN5ClassC2Ei").as_deref(), Some("Class::Class"));
    assert_eq!(of("_Z5twiceIiEvT_").as_deref(), Some("twice<int>"));
    assert_eq!(of("_ZN4core3fmt5write17h0123456789abcdefE").as_deref(), Some("core::fmt::write"));
    assert_eq!(of("main"), None);
}

/// Each argument is twice the one before (`A<X, X>`): 2^60 bytes of spelling in 500 of name.
fn bomb() -> String {
    let mut bomb = String::from("_Z1f1AI1BS0_E");
    for n in 1..60 {
        let last = format!("S{}_", base36(n));
        write!(bomb, "S_I{last}{last}E").unwrap();
    }
    bomb
}

#[test]
fn long_names_stay_mangled() {
    assert_eq!(demangle(bomb().as_bytes()), None);
    let long = format!("_Z{}{}v", MAX_INPUT, "a".repeat(MAX_INPUT));
    assert_eq!(demangle(long.as_bytes()), None);
    // The previous text stays, even if the limit was reached in the middle of a name.
    let mut text = String::from("before");
    assert!(!demangle_into(bomb().as_bytes(), &mut text));
    assert_eq!(text, "before");
}

/// Text that the rules add counts toward the limit too.
#[test]
fn rules_do_not_lengthen_names_past_the_limit() {
    let types = "1AS_".repeat(2000);
    for name in [
        format!("_Z1fIJ{types}EEvDpOT_"),
        format!("_Z1fIJ{types}EEvDpRKT_"),
        format!("_Z1fIJ{}EEvDpT_", "UlvE8_".repeat(500)),
        format!("_Z1f{}", "FSsSsE".repeat(2000)),
        format!("_ZN{}C1Ev", "Ss".repeat(2000)),
    ] {
        assert!(demangle(name.as_bytes()).is_none_or(|text| text.len() <= 64 << 10), "{}", &name[..40]);
    }
}

/// Rules move text: a place that was noted before the move may be past its end.
#[test]
fn text_that_was_moved_is_not_looked_for_where_it_was() {
    let name = "_ZN4llv812hash_combineIJjNT_9hash_codeEEEES1_DpRKT_";
    let _ = demangle(name.as_bytes());
}

#[test]
fn hostile_names_end_soon() {
    // Prefixes that open something, repeated to the limit: each is a way to nest or to backtrack.
    let opening = [
        "N", "P", "1fI", "DT", "cl", "X", "T_", "St", "S_", "F", "A_", "M", "J", "L", "Z1f", "gs", "Dv", "U",
        "K", "cv", "on", "sr", "1fIX", "1fIDT", "N1fI", "L_Z1f", "IJ", "fL0p_", "qu", "cvN", "srN", "C1I",
        "C1IEE", "Ed_", "UlvE", "Ut_", "DpOT_", "1AE", "Z1fvEUl", "EE",
    ];
    for pattern in opening {
        for start in ["_Z", "_ZN", "_Z1f", "_Z1fI", "_ZN1fC1I", "_ZZ", "_R", "_RNv", "_RI", "_RINv"] {
            // To the limit, and so short that no limit on nesting is met first.
            for times in [(MAX_INPUT - start.len()) / pattern.len(), 90, 40, 25] {
                for end in ["", "v", "1fE"] {
                    let _ = demangle(format!("{start}{}{end}", pattern.repeat(times)).as_bytes());
                }
            }
        }
    }
}

/// A pack of empty packs, each with `width` times the one before: `width ^ depth` commas of which none is written.
fn nothing(depth: usize, width: usize) -> String {
    let mut name = String::from("_Z1fIJE");
    for level in 0..depth {
        let before = level.checked_sub(1).map_or("T_".to_owned(), |number| format!("T{number}_"));
        write!(name, "J{}E", before.repeat(width)).unwrap();
    }
    name + "Evv"
}

/// The limit on pieces is reached: these names have a short text, and without the limit they have it too, the last one after years.
#[test]
fn pieces_that_are_not_written_count() {
    assert!(demangle(nothing(2, 32).as_bytes()).is_some_and(|text| text.len() < 100));
    for (depth, width) in [(4, 32), (5, 32), (10, 20)] {
        assert_eq!(demangle(nothing(depth, width).as_bytes()), None, "{depth} {width}");
        assert_eq!(short(nothing(depth, width).as_bytes()), None, "{depth} {width}");
    }
}

fn base36(n: u32) -> String {
    let digit = |d: u32| char::from_digit(d, 36).unwrap().to_ascii_uppercase();
    if n < 36 { digit(n).to_string() } else { format!("{}{}", digit(n / 36), digit(n % 36)) }
}
