//! Tells whether two names at one address are one function: the spellings that compilers and linkers
//! derive from one source function.

/// How a symbol's name relates to the name of a function at the same address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Relation {
    /// The same name.
    Same,
    /// The function's name with a suffix that a compiler adds to a clone or a part (`.isra.0`, `.cold`,
    /// `.llvm.123`, `.lto_priv.0`).
    Clone,
    /// Names of one constructor or destructor that differ in the variant alone (`C1`, `C2`, `D1`, `D2`).
    Variant,
    /// Another function, or another name that nothing explains.
    Other,
}

/// Compares a symbol's name with a function's.
pub(super) fn relation(function: &[u8], symbol: &[u8]) -> Relation {
    if function == symbol {
        return Relation::Same;
    }
    if let Some([b'.', _, ..]) = symbol.strip_prefix(function)
        && !function.is_empty()
    {
        return Relation::Clone;
    }
    if differ_in_variant(function, symbol) { Relation::Variant } else { Relation::Other }
}

/// True for two Itanium names that are equal but for the digit of one `C1`..`C5` or `D0`..`D5`.
fn differ_in_variant(a: &[u8], b: &[u8]) -> bool {
    if a.len() != b.len() || !a.starts_with(b"_Z") || !b.starts_with(b"_Z") {
        return false;
    }
    let mut differing = a.iter().zip(b).enumerate().filter(|(_, (x, y))| x != y).map(|(i, _)| i);
    let (Some(at), None) = (differing.next(), differing.next()) else { return false };
    matches!(a[at - 1], b'C' | b'D') && a[at].is_ascii_digit() && b[at].is_ascii_digit()
}

/// True for a name that a C++ or Rust compiler mangled: it names one function and no alias of another.
pub(super) fn is_mangled(name: &[u8]) -> bool {
    name.starts_with(b"_Z") || name.starts_with(b"_R")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relations_of_names() {
        for (function, symbol, expected) in [
            ("foo", "foo", Relation::Same),
            ("foo", "foo.isra.0", Relation::Clone),
            ("foo", "foo.cold", Relation::Clone),
            ("foo", "foobar", Relation::Other),
            ("", ".text", Relation::Other),
            ("_ZN1SC2Ev", "_ZN1SC1Ev", Relation::Variant),
            ("_ZN1SD2Ev", "_ZN1SD1Ev", Relation::Variant),
            ("_ZN1SC4Ev", "_ZN1SC1Ev", Relation::Variant),
            ("_Z2f1v", "_Z2f2v", Relation::Other),
            ("_Z2f1v", "1Z2f1v", Relation::Other),
            ("read", "__read", Relation::Other),
        ] {
            assert_eq!(relation(function.as_bytes(), symbol.as_bytes()), expected, "{function} {symbol}");
        }
    }
}
