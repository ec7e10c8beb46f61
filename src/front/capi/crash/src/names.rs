//! Turns linkage names of a simple form into the names that people write.

/// Parts of a name that are followed.
const PARTS: usize = 32;

/// Calls `put` with each component of a C++ name without templates, operators and local parts: `_ZN5weigh5gramsEPKl` has `weigh` and
/// `grams`, `_ZSt9terminatev` has `std` and `terminate`. False, and nothing is put, for any other name: it is shown as it is.
pub(crate) fn components<'n>(name: &'n [u8], put: &mut dyn FnMut(&'n [u8])) -> bool {
    let mut count = 0usize;
    // The name is read twice, so that half of a name is never shown.
    if each(name, &mut |_| count = count.wrapping_add(1)).is_none() || count == 0 {
        return false;
    }
    each(name, put).is_some()
}

/// Walks the components (Itanium C++ ABI, "Name mangling"); `None` where it is of another form.
fn each<'n>(name: &'n [u8], put: &mut dyn FnMut(&'n [u8])) -> Option<()> {
    let mut rest = name.strip_prefix(b"_Z")?;
    let is_nested = rest.first() == Some(&b'N');
    if is_nested {
        rest = rest.get(1..)?;
        // Qualifiers of member functions.
        while let Some((b'K' | b'V' | b'r' | b'R' | b'O', tail)) = rest.split_first() {
            rest = tail;
        }
    }
    let is_standard = rest.starts_with(b"St");
    if is_standard {
        put(b"std");
        rest = rest.get(2..)?;
    }
    for turn in 0..PARTS {
        if is_nested && rest.first() == Some(&b'E') && turn > 0 {
            return Some(());
        }
        // A name that only its own file has (`static`).
        rest = rest.strip_prefix(b"L").unwrap_or(rest);
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let mut len = 0usize;
        for digit in rest.get(..digits)? {
            len = len.checked_mul(10)?.checked_add(usize::from(digit.wrapping_sub(b'0')))?;
        }
        let text = rest.get(digits..digits.checked_add(len)?).filter(|text| !text.is_empty())?;
        put(if text.starts_with(b"_GLOBAL__N") { b"(anonymous namespace)" } else { text });
        rest = rest.get(digits.checked_add(len)?..)?;
        if !is_nested {
            // Types of parameters follow; `I` begins arguments of a template, `B` a tag.
            return (!matches!(rest.first(), Some(b'I' | b'B' | b'.' | b'@'))).then_some(());
        }
    }
    None
}
