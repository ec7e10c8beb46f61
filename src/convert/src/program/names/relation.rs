//! Decides whether a symbol's name and a function's name are of one function: a clone, a constructor variant, the
//! mangled name of a plain one.

use std::iter;

use super::itanium::{is_itanium, is_mangled, is_named, is_operator, plain_base, source_name};
use super::variants::differ_in_variant;
use crate::toolchain::suffixes::{beginnings, is_suffixed, whole_name, whole_suffixed};

/// How a symbol's name relates to the name of a function at the same address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Relation {
    /// The same name.
    Same,
    /// The function's name with a suffix that a compiler adds to a clone or a part (`.isra.0`, `.cold`,
    /// `.llvm.123`, `.lto_priv.0`).
    Clone,
    /// The mangled name of a function whose DIE has only a plain name (gcc writes no linkage name for a function that
    /// is local to its unit).
    Mangled,
    /// Two variants of one constructor or destructor (`C1`, `C2`, `D1`, `D2`), or two manglings of one function by
    /// versions of gcc's ABI.
    Variant,
    /// A name of another function, or an alias.
    Other,
}

/// Compares a symbol's name with a function's.
pub(crate) fn relation(function: &[u8], symbol: &[u8]) -> Relation {
    if function == symbol {
        return Relation::Same;
    }
    if is_suffixed(symbol, function) {
        return Relation::Clone;
    }
    if !function.is_empty() && !is_mangled(function) && is_named(symbol, plain_base(function)) {
        return Relation::Mangled;
    }
    // Last, since this may demangle both names.
    if differ_in_variant(function, symbol) { Relation::Variant } else { Relation::Other }
}

/// True if a symbol may be that of a function with this name and length, as far as no other function is known: a weaker
/// question than [`relation`]. `name` is the function's linkage name or, if it has none, its name in the source. Mangled
/// names (Itanium, Rust, Swift, D) have the length before each identifier: `_ZNK1W2upEi` contains `2up`.
pub(crate) fn may_be_symbol_of(symbol: &[u8], size: u64, name: &[u8], len: u64) -> bool {
    if symbol == name || beginnings(symbol).any(|whole| whole == name) {
        return true;
    }
    if size != 0 && size != len {
        return false;
    }
    if is_operator(name) {
        // The mangled name of an operator has a code (`pl` for `+`) instead of an identifier.
        return size != 0 && is_itanium(symbol);
    }
    // A mangled destructor has the identifier of its class, then `D1`.
    let name = name.strip_prefix(b"~").unwrap_or(name);
    let identifier = name.split(|&byte| byte == b'<').next().unwrap_or_default();
    let mangled = [identifier.len().to_string().as_bytes(), identifier].concat();
    !identifier.is_empty() && memchr::memmem::find(symbol, &mangled).is_some()
}

/// True if a symbol that neither C++ nor Rust mangled spells the name that a DIE has, which some languages give in place of a
/// linkage name: D's symbols have the length before each identifier (`_D3app4mainFZ4testMFiZi` of `test`), and Crystal's are a text
/// (`*Dir::current:String` of `current`), as no symbol of C is. A name without a letter (`->` of Crystal's procs) is no name that a symbol
/// could spell. Objective-C for GNU's runtime writes `_i_Foo__bar_with_` for `-[Foo bar:with:]`, and gfortran `master.0.f_` for
/// `master.0.f`, the code of a procedure with several entries.
pub(crate) fn spells(symbol: &[u8], name: &[u8]) -> bool {
    if let [kind @ (b'-' | b'+'), b'[', method @ .., b']'] = name {
        return is_method(symbol, if *kind == b'-' { b"_i_" } else { b"_c_" }, method);
    }
    if name.starts_with(MASTER) {
        return beginnings(symbol).chain([symbol]).any(|whole| whole.strip_suffix(b"_") == Some(name));
    }
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || !byte.is_ascii();
    if symbol.starts_with(b"_D") {
        let counted = [name.len().to_string().as_bytes(), name].concat();
        return !name.is_empty() && memchr::memmem::find(symbol, &counted).is_some();
    }
    if symbol.iter().all(|byte| is_letter(*byte) || matches!(byte, b'.' | b'$' | b'@')) {
        return false;
    }
    let is_free = |beside: Option<&u8>| beside.is_none_or(|byte| !is_letter(*byte));
    let is_word = |at: usize| {
        (!name.first().copied().is_some_and(is_letter) || is_free(symbol[..at].last()))
            && (!name.last().copied().is_some_and(is_letter) || is_free(symbol.get(at + name.len())))
    };
    !name.iter().copied().any(is_letter) || memchr::memmem::find_iter(symbol, name).any(is_word)
}

/// What gfortran puts before the code that all entries of a procedure share.
const MASTER: &[u8] = b"master.";

/// True if a symbol is that of a method of Objective-C (`Foo bar:with:`, or `Foo(Category) bar`): its class, its category, and its selector,
/// whose colons are underscores.
fn is_method(symbol: &[u8], prefix: &[u8], method: &[u8]) -> bool {
    let Some(space) = method.iter().position(|byte| *byte == b' ') else { return false };
    let (class, selector) = (&method[..space], &method[space + 1..]);
    let mut parts = class.splitn(2, |byte| *byte == b'(');
    let (class, category) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    let category = category.strip_suffix(b")").unwrap_or(category);
    let selector: Vec<u8> = selector.iter().map(|byte| if *byte == b':' { b'_' } else { *byte }).collect();
    symbol == [prefix, class, b"_", category, b"_", &selector].concat()
}

/// The names that the DIE of a symbol's function may have: the symbol's name, the name before a compiler's suffix,
/// and the plain name of a mangled one.
pub(crate) fn spellings(symbol: &[u8]) -> impl Iterator<Item = &[u8]> {
    let plain = || source_name(whole_name(symbol));
    iter::once(symbol).chain(whole_suffixed(symbol)).chain(iter::once_with(plain).flatten())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symbols_of_other_manglings_spell_names() {
        for (symbol, name, expected) in [
            ("*Dir::current:String", "current", true),
            ("*Dir::currents:String", "current", false),
            ("*File::Reader@IO#write<Bytes>:Nil", "write", true),
            ("*Int32@Int#+<Int32>:Int32", "+", true),
            ("~procProc(Thread, Nil)@/src/thread.cr:153", "->", true),
            ("_D3app4mainFAAyaZ12__lambda_L7MFNaNbZi", "__lambda_L7", false),
            ("_D3app4mainFAAyaZ11__lambda_L7MFNaNbZi", "__lambda_L7", true),
            ("_i_Foo__bar_with_", "-[Foo bar:with:]", true),
            ("_c_Foo_More_alloc", "+[Foo(More) alloc]", true),
            ("_i_Foo__baz", "+[Foo baz]", false),
            ("_i_Foo__baz", "-[Foo bar]", false),
            ("master.0.f_", "master.0.f", true),
            ("master.0.f_.isra.0", "master.0.f", true),
            ("master.0.g_", "master.0.f", false),
            // Names of C say nothing.
            ("read.part.0", "read", false),
            ("__read", "read", false),
            ("read@VERS_1", "read", false),
        ] {
            assert_eq!(spells(symbol.as_bytes(), name.as_bytes()), expected, "{symbol} {name}");
        }
    }

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
            ("_ZN1TIiEC2Ev", "_ZN1TIiEC1Ev", Relation::Variant),
            ("_ZN3fC1C2Ev", "_ZN3fC2C2Ev", Relation::Other),
            ("_ZN1SC9Ev", "_ZN1SC1Ev", Relation::Other),
            ("_ZN1SC5Ev", "_ZN1SC1Ev", Relation::Other),
            ("_ZN1SD3Ev", "_ZN1SD1Ev", Relation::Other),
            ("_ZN1SC2Ev@@V1", "_ZN1SC1Ev@@V1", Relation::Variant),
            ("_ZN1SI1AED2Ev", "_ZN1SI1AED1Ev", Relation::Variant),
            ("_ZN1DCI11BEi", "_ZN1DCI21BEi", Relation::Variant),
            ("_ZZN1SC1EvENKUlvE_clEv", "_ZZN1SC2EvENKUlvE_clEv", Relation::Variant),
            // The demangler cannot read the whole of these two.
            (
                "_ZN2ItC1IiEEPT_N2IfIXsr2IsIS1_E5valueEE4typeE",
                "_ZN2ItC2IiEEPT_N2IfIXsr2IsIS1_E5valueEE4typeE",
                Relation::Variant,
            ),
            (
                "_ZN1AIXsr2IsIiE5valueEEC1EXsr2IsIiE5valueE",
                "_ZN1AIXsr2IsIiE5valueEEC2EXsr2IsIiE5valueE",
                Relation::Variant,
            ),
            // An argument pack by gcc's ABI before version 6, and by later versions.
            (
                "_ZN5AllocI1AE9constructIS0_IRS0_EEEvPT_DpOT0_",
                "_ZN5AllocI1AE9constructIS0_JRS0_EEEvPT_DpOT0_",
                Relation::Variant,
            ),
            ("_ZN1TIIiEEC1Ev", "_ZN1TIJiEEC2Ev", Relation::Variant),
            ("_Z3xIyv", "_Z3xJyv", Relation::Other),
            ("_Z10longnamesIv", "_Z10longnamesJv", Relation::Other),
            ("_ZN1XIiE7blendC1Ev", "_ZN1XIiE7blendC2Ev", Relation::Other),
            ("_ZN1SD0Ev", "_ZN1SD1Ev", Relation::Other),
            ("local8", "_ZL6local8PK4Stepi", Relation::Mangled),
            ("f", "_ZN2nsL1fEi", Relation::Mangled),
            ("f", "_ZN12_GLOBAL__N_11fEi", Relation::Mangled),
            ("tf<int>", "_ZL2tfIiET_S0_", Relation::Mangled),
            ("tf<int>", "_ZL2tfIiET_S0_.constprop.0", Relation::Mangled),
            ("tg<int>", "_Z2tfIiET_S0_", Relation::Other),
            ("push<char>", "_ZN12_GLOBAL__N_16vectorIiN2ns1AILi3EEESaIcEE4pushIcEEvT_", Relation::Mangled),
            ("get", "_ZNSt3mapIiPKcE3getB5cxx11ERKS_", Relation::Mangled),
            ("operator()", "_ZNK12_GLOBAL__N_11SclEi", Relation::Mangled),
            ("operator()", "_ZZ4mainENKUliE_clEi", Relation::Mangled),
            ("operator()", "_ZZ4mainENKUliE_4_FUNEi", Relation::Other),
            ("_FUN", "_ZZ4mainENKUliE_4_FUNEi", Relation::Mangled),
            ("operator()", "_ZZZ4mainENKUliE_clEiENKUlvE_clEv", Relation::Mangled),
            ("go", "_ZZ2tlIN12_GLOBAL__N_11LEEiiEN1S2goEi", Relation::Mangled),
            ("go", "_ZZ2tlIN12_GLOBAL__N_11LEEiiEN1S2goEi.constprop.0", Relation::Mangled),
            ("go<int>", "_ZZ1fvEN1S2goIiEEiT_", Relation::Mangled),
            ("S", "_ZZ1fvEN1SC2Ev", Relation::Other),
            ("~A", "_ZN12_GLOBAL__N_11AD2Ev", Relation::Mangled),
            ("~A", "_ZN12_GLOBAL__N_11AIiED0Ev", Relation::Mangled),
            ("A", "_ZN12_GLOBAL__N_11AC1Ei", Relation::Mangled),
            ("A", "_ZN12_GLOBAL__N_11AD1Ev", Relation::Other),
            ("~B", "_ZN12_GLOBAL__N_11AD2Ev", Relation::Other),
            ("~A", "_ZN2ns1AD2Ev", Relation::Mangled),
            ("A", "_ZN2ns1AC2Ev", Relation::Mangled),
            ("f", "_ZZ1fvEN1S2goEi", Relation::Other),
            ("S", "_ZZ1fvEN1S2goEi", Relation::Other),
            ("operator<", "_ZNK12_GLOBAL__N_11SltERKS0_", Relation::Other),
            ("f", "_ZN1aIiE", Relation::Other),
            ("f", "_ZN1aIXadL_Z1gvEEE1fEv", Relation::Mangled),
            ("f", "_ZL1gi1f", Relation::Other),
            ("f", "_ZN1f1gEv", Relation::Other),
            ("f", "_ZL9", Relation::Other),
            ("_Z7blendC1v", "_Z7blendC2v", Relation::Other),
            ("_ZN7ClassC13runEv", "_ZN7ClassC23runEv", Relation::Other),
            ("_ZN5Vec3D3addEv", "_ZN5Vec2D3addEv", Relation::Other),
            ("_Z2f1v", "_Z2f2v", Relation::Other),
            ("_Z2f1v", "1Z2f1v", Relation::Other),
            ("read", "__read", Relation::Other),
        ] {
            assert_eq!(relation(function.as_bytes(), symbol.as_bytes()), expected, "{function} {symbol}");
        }
    }
}
