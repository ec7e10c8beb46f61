//! Turns a linkage name into the spelling of its language, within limits.
//!
//! Which demangler a name is for is read off the name: `_R` is Rust's own scheme, `_ZN...17h<hash>E` the
//! older one of Rust, which borrows C++'s, and the rest of `_Z` is C++ (Itanium). Anything else, and
//! any name past a limit, stays as it is.

use std::fmt::{self, Write};

/// Longer names are left mangled.
const MAX_INPUT: usize = 16 << 10;
/// Names whose spelling is longer are left mangled: a few bytes of substitutions can stand for gigabytes.
const MAX_OUTPUT: usize = 64 << 10;

/// The readable spelling of a linkage name; `None` where it has none, or none within the limits.
pub fn demangle(name: &[u8]) -> Option<String> {
    with(name, &cpp_demangle::DemangleOptions::new())
}

/// As [`demangle`], of C++ without the parameters and the type that is returned: `ns::Class::method`.
pub fn short(name: &[u8]) -> Option<String> {
    with(name, &cpp_demangle::DemangleOptions::new().no_params().no_return_type())
}

fn with(name: &[u8], options: &cpp_demangle::DemangleOptions) -> Option<String> {
    if name.len() > MAX_INPUT || !name.starts_with(b"_") {
        return None;
    }
    let text = std::str::from_utf8(name).ok()?;
    // Mach-O symbols carry one more underscore.
    let scheme = text.strip_prefix("__").map_or(&text[1..], |rest| rest);
    if scheme.starts_with('R') || is_legacy_rust(scheme) {
        let parsed = rustc_demangle::try_demangle(text).ok()?;
        let mut out = Capped::default();
        write!(out, "{parsed:#}").ok()?;
        return Some(out.text);
    }
    if !scheme.starts_with('Z') {
        return None;
    }
    let symbol = cpp_demangle::BorrowedSymbol::new(name).ok()?;
    let mut out = Capped::default();
    symbol.structured_demangle(&mut out, options).ok()?;
    Some(out.text)
}

/// True for `ZN...17h<16 hexadecimal digits>E`, with any suffix that a compiler put after a dot. A C++
/// name without that hash would also satisfy the Rust demangler, and lose its parameters.
fn is_legacy_rust(scheme: &str) -> bool {
    let body = scheme.split_once('.').map_or(scheme, |(body, _)| body);
    let Some(hash) = body.strip_prefix("ZN").and_then(|rest| rest.strip_suffix('E')) else { return false };
    let Some(hash) = hash.len().checked_sub(19).and_then(|at| hash.get(at..)) else { return false };
    hash.strip_prefix("17h").is_some_and(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit()))
}

/// A string that refuses to grow past [`MAX_OUTPUT`].
#[derive(Default)]
struct Capped {
    text: String,
}

impl Write for Capped {
    fn write_str(&mut self, piece: &str) -> fmt::Result {
        if self.text.len() + piece.len() > MAX_OUTPUT {
            return Err(fmt::Error);
        }
        self.text.push_str(piece);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_scheme_has_its_demangler() {
        let of = |name: &str| demangle(name.as_bytes());
        assert_eq!(of("_Z11local_classi").as_deref(), Some("local_class(int)"));
        assert_eq!(of("__Z11local_classi").as_deref(), Some("local_class(int)"));
        assert_eq!(of("_ZN4core3fmt5write17h0123456789abcdefE").as_deref(), Some("core::fmt::write"));
        assert_eq!(
            of("_ZN4core3fmt5write17h0123456789abcdefE.llvm.12345").as_deref(),
            Some("core::fmt::write")
        );
        assert_eq!(of("_RNvC6_123foo3bar").as_deref(), Some("123foo::bar"));
        assert_eq!(of("_ZN3foo3barEv").as_deref(), Some("foo::bar()"));
        for plain in ["main", "_start", "_", "", "i", "_Zzz", "_GLOBAL__sub_I_x", "__cxa_throw"] {
            assert_eq!(of(plain), None, "{plain}");
        }
        assert_eq!(demangle(b"_Z\xff"), None);
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

    #[test]
    fn long_names_stay_mangled() {
        // Each argument is twice the one before (`A<X, X>`): 2^60 bytes of spelling in 500 of name.
        let mut bomb = String::from("_Z1f1AI1BS0_E");
        for n in 1..60 {
            let last = format!("S{}_", base36(n));
            write!(bomb, "S_I{last}{last}E").unwrap();
        }
        assert_eq!(demangle(bomb.as_bytes()), None);
        let long = format!("_Z{}{}v", MAX_INPUT, "a".repeat(MAX_INPUT));
        assert_eq!(demangle(long.as_bytes()), None);
    }

    #[test]
    fn hostile_names_end_soon() {
        // Prefixes that open something, repeated to the limit: each is a way to nest or to backtrack.
        let opening = [
            "N", "P", "1fI", "DT", "cl", "X", "T_", "St", "S_", "F", "A_", "M", "J", "L", "Z1f", "gs", "Dv",
            "U", "K", "cv", "on", "sr", "1fIX", "1fIDT", "N1fI", "L_Z1f", "IJ", "fL0p_", "qu", "cvN", "srN",
        ];
        for pattern in opening {
            for start in ["_Z", "_ZN", "_Z1f", "_Z1fI", "_ZN1f", "_R", "_RNv", "_RI", "_RINv"] {
                // To the limit, and so short that no limit on nesting is met first.
                for times in [(MAX_INPUT - start.len()) / pattern.len(), 90, 60, 40, 30, 20] {
                    for end in ["", "i", "v", "E", "1fE"] {
                        let _ = demangle(format!("{start}{}{end}", pattern.repeat(times)).as_bytes());
                    }
                }
            }
        }
    }

    fn base36(n: u32) -> String {
        let digit = |d: u32| char::from_digit(d, 36).unwrap().to_ascii_uppercase();
        if n < 36 { digit(n).to_string() } else { format!("{}{}", digit(n / 36), digit(n % 36)) }
    }
}
