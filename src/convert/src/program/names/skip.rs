//! Finds where the parts of an Itanium name end, without a meaning for them: template arguments, substitutions, source names.

use std::ops::Range;

/// What is open at a place in template arguments, up to its `E`.
enum Open {
    /// Types, and for template arguments also values.
    Types,
    /// A nested name (`N3std3mapE`).
    Name,
    /// The name of an enumeration's value: its digits follow (`LN1A5ColorE2E`).
    ValueType,
    /// The parameters of a lambda: its number follows (`UlvE0_`).
    Lambda,
}

/// The position after the template arguments that begin here (Itanium C++ ABI 5.1.5). `None` for expressions (`X`, `DT`), vectors and
/// types of vendors: only their grammar shows where they end.
pub(super) fn after_arguments(name: &[u8], mut at: usize) -> Option<usize> {
    let mut open = vec![Open::Types];
    while let Some(innermost) = open.last() {
        let in_name = matches!(innermost, Open::Name | Open::ValueType);
        let byte = *name.get(at)?;
        at = match byte {
            b'1'..=b'9' => counted(name, at).end,
            b'I' => {
                open.push(Open::Types);
                at + 1
            }
            b'J' | b'F' if !in_name => {
                open.push(Open::Types);
                at + 1
            }
            b'N' if !in_name => {
                open.push(Open::Name);
                after_qualifiers(name, at + 1)
            }
            // A name that is local to a function: the function up to its `E`, then the name (5.1.7).
            b'Z' if !in_name => {
                open.push(Open::Types);
                after_function_start(name, at + 1)?
            }
            b'E' => match open.pop()? {
                Open::Types | Open::Name => at + 1,
                Open::ValueType => after_value(name, at + 1)?,
                Open::Lambda => after_number(name, at + 1)?,
            },
            // Local names that are alike have a number: `_1`, `__10_` (5.1.7).
            b'_' => match name.get(at + 1)? {
                b'_' => after_number(name, at + 2)?,
                byte if byte.is_ascii_digit() => at + 2,
                _ => return None,
            },
            b'S' => after_substitution(name, at)?,
            b'T' => after_number(name, at + 1)?,
            // Types without names (5.1.7, 5.1.8): lambdas, and `Ut0_`.
            b'U' => match name.get(at + 1)? {
                b'l' => {
                    open.push(Open::Lambda);
                    at + 2
                }
                b't' => after_number(name, at + 2)?,
                _ => return None,
            },
            // An ABI tag.
            b'B' if name.get(at + 1)?.is_ascii_digit() => counted(name, at + 1).end,
            // Internal linkage (`N1aL1fE`); a lambda in the initializer of a member (`N1A1xMUlvE_E`).
            b'L' | b'M' if in_name => at + 1,
            // A constructor or destructor.
            b'C' | b'D' if in_name => {
                Some(at + 2).filter(|_| matches!(name.get(at + 1), Some(b'0'..=b'5')))?
            }
            _ if in_name => after_operator(name, at)?,
            b'L' => match name.get(at + 1)? {
                // A value: of a built-in type, of an enumeration, or the address of a function or variable (`L_Z1fvE`).
                b'1'..=b'9' => after_value(name, counted(name, at + 1).end)?,
                b'S' => {
                    let after = after_substitution(name, at + 1)?;
                    // A source name follows only `St`.
                    let is_name = matches!(name.get(after), Some(b'1'..=b'9')) && name[at + 2] == b't';
                    after_value(name, if is_name { counted(name, after).end } else { after })?
                }
                b'N' => {
                    open.push(Open::ValueType);
                    at + 2
                }
                b'_' if name.get(at + 2) == Some(&b'Z') => {
                    open.push(Open::Types);
                    after_function_start(name, at + 3)?
                }
                byte if byte.is_ascii_lowercase() => after_value(name, at)?,
                _ => return None,
            },
            // The bounds of an array: `A5_i`.
            b'A' => after_number(name, at + 1)?,
            // `nullptr_t`, the character types, `auto`, `decltype(auto)`, a pack, and `noexcept` of a function type.
            b'D' if matches!(name.get(at + 1)?, b'p' | b'n' | b'i' | b's' | b'u' | b'a' | b'c' | b'o') => {
                at + 2
            }
            // Pointers, references, qualifiers, and `extern "C"` of a function type.
            b'P' | b'R' | b'O' | b'K' | b'V' | b'M' | b'Y' => at + 1,
            b'u' => return None,
            byte if byte.is_ascii_lowercase() => at + 1,
            _ => return None,
        };
    }
    Some(at)
}

/// The position after the qualifiers of a nested name (`r`, `V`, `K`, and `R` or `O` of a method).
fn after_qualifiers(name: &[u8], at: usize) -> usize {
    at + name[at..].iter().take_while(|byte| matches!(byte, b'r' | b'V' | b'K' | b'R' | b'O')).count()
}

/// The position after what only the beginning of a function's name has: internal linkage, or an operator outside of a class. `None` for
/// names that are not of functions (`T`, `G`), and for the default argument of a function (`Zd_`).
fn after_function_start(name: &[u8], at: usize) -> Option<usize> {
    match name.get(at)? {
        b'L' => Some(at + 1),
        b'1'..=b'9' | b'N' | b'S' | b'Z' => Some(at),
        byte if byte.is_ascii_lowercase() => after_operator(name, at),
        _ => None,
    }
}

/// The position after the two letters of an operator. `None` for those that more belongs to: conversions (`cv`), literals (`li`), and
/// operators of vendors (`v1`).
fn after_operator(name: &[u8], at: usize) -> Option<usize> {
    match name.get(at..at + 2)? {
        b"cv" | b"li" => None,
        [first, second] => {
            Some(at + 2).filter(|_| first.is_ascii_lowercase() && second.is_ascii_alphabetic())
        }
        _ => None,
    }
}

/// The position after the digits of a value and the `E` that ends it.
fn after_value(name: &[u8], at: usize) -> Option<usize> {
    Some(at + 1 + name.get(at..)?.iter().position(|byte| *byte == b'E')?)
}

/// The position after a number, which may be absent, and the `_` that ends it. Its digits are decimal, or have base 36 (5.1.10).
fn after_number(name: &[u8], at: usize) -> Option<usize> {
    let is_digit = |byte: &&u8| byte.is_ascii_digit() || byte.is_ascii_uppercase();
    let end = at + name.get(at..)?.iter().take_while(is_digit).count();
    (name.get(end) == Some(&b'_')).then_some(end + 1)
}

/// The position after a substitution (`S_`, `S1A_`, `St`; Itanium C++ ABI 5.1.10).
pub(super) fn after_substitution(name: &[u8], at: usize) -> Option<usize> {
    match name.get(at + 1)? {
        byte if byte.is_ascii_lowercase() => Some(at + 2),
        _ => after_number(name, at + 1),
    }
}

/// The place of a source name, which has its length before it (Itanium C++ ABI 5.1.2).
pub(super) fn counted(name: &[u8], at: usize) -> Range<usize> {
    let digits = name[at..].iter().take(9).take_while(|byte| byte.is_ascii_digit()).count();
    let len = name[at..at + digits].iter().fold(0, |len, digit| len * 10 + usize::from(digit - b'0'));
    at + digits..at + digits + len
}

#[cfg(test)]
mod tests {
    use super::after_arguments;

    #[test]
    fn template_arguments_end_where_their_grammar_says() {
        for (arguments, is_read) in [
            ("iE", true),
            ("FvvEZN3foo3barEvEUlvE_E", true),
            ("FvvEZZN3foo3barEvENKUlvE0_clEvEUliE_E", true),
            ("FvvEZN2ns3barERNS_1AEE3$_1E", true),
            ("FvvEZN2nsL29RegisterBuiltinMergeOperatorsERNS_1AEE3$_1E", true),
            ("FvvEZN2ns1AaSERKS0_EUlvE_E", true),
            ("FvvEZN2ns1AD1EvEUlvE__0E", true),
            ("FvvEZlsRSoiEUlvE__10_E", false),
            ("FvvEZlsRSoiEUlvE___10_E", true),
            ("FvvEZN2ns1AcvbEvEUlvE_E", false),
            ("LN1A5ColorE2EE", true),
            ("L5Color0ELb1ELin3EE", true),
            ("LSt3EEE1EE", true),
            ("LS0_12EE", true),
            ("L_Z1fvEE", true),
            ("XadL_Z1fvEEE", false),
            ("JiA5_cM1AFvvEDpT_EE", true),
            ("DTcl1fEEE", false),
            ("N1A1xMUlvE_EE", true),
            ("NS_1AB5cxx11IiEE3mapE", true),
            ("NS", false),
            ("9999999999", false),
        ] {
            let end = Some(arguments.len()).filter(|_| is_read);
            let with_more = [arguments.as_bytes(), b"4nextEv"].concat();
            assert_eq!(after_arguments(with_more.as_slice(), 0), end, "{arguments}");
            // A cut name is never read past its end.
            (0..arguments.len()).for_each(|cut| _ = after_arguments(&with_more[..cut], 0));
        }
    }
}
