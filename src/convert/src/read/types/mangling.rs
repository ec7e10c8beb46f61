//! Writes the type of a function as the name of its type information (`_ZTSFiP1SE`; Itanium C++ ABI 5.1.5), with substitutions.

use crate::read::types::parts::{PartId, Qualifiers, TypePart, TypeParts};
use crate::util::hash::HashMap;

/// Longer names are not written.
const MAX_NAME: usize = 1 << 14;

/// Types within types: the bound of the recursion.
const MAX_DEPTH: usize = 128;

/// The name of the type; `None` if it is too long.
pub(crate) fn type_name(parts: &TypeParts<'_, '_>, of: PartId) -> Option<Vec<u8>> {
    let mut writer = TypeNameWriter { parts, out: b"_ZTS".to_vec(), seen: HashMap::default() };
    writer.write(of, 0)?;
    Some(writer.out)
}

struct TypeNameWriter<'p, 'e, 'f> {
    parts: &'p TypeParts<'e, 'f>,
    out: Vec<u8>,
    /// The numbers of what a substitution may stand for, in the order in which it was written.
    seen: HashMap<PartId, usize>,
}

impl<'p, 'f> TypeNameWriter<'p, '_, 'f> {
    fn write(&mut self, id: PartId, depth: usize) -> Option<()> {
        if depth > MAX_DEPTH || self.out.len() > MAX_NAME {
            return None;
        }
        let parts = self.parts;
        match parts.at(id) {
            TypePart::Builtin(letters) => {
                self.text(letters);
                return Some(());
            }
            TypePart::Std => return None,
            TypePart::Number(of, number) => {
                self.text("L");
                self.write(*of, depth + 1)?;
                self.text(if *number < 0 { "n" } else { "" });
                self.text(&number.unsigned_abs().to_string());
                self.text("E");
                return Some(());
            }
            TypePart::Pack(all) => {
                self.text("J");
                all.iter().try_for_each(|of| self.write(*of, depth + 1))?;
                self.text("E");
                return Some(());
            }
            _ => {}
        }
        if self.substituted(id) {
            return Some(());
        }
        match parts.at(id) {
            TypePart::Named { .. } | TypePart::Instance { .. } => {
                if self.is_nested(id) {
                    self.text("N");
                    self.prefix(id, depth)?;
                    self.text("E");
                } else {
                    self.prefix(id, depth)?;
                }
                // Both have added it.
                return Some(());
            }
            TypePart::Qualified(qualifiers, of) => {
                self.qualifiers(*qualifiers);
                self.write(*of, depth + 1)?;
            }
            TypePart::Leading(letter, of) => {
                self.out.push(*letter);
                self.write(*of, depth + 1)?;
            }
            TypePart::Array(count, of) => {
                self.text("A");
                self.text(&count.map(|count| count.to_string()).unwrap_or_default());
                self.text("_");
                self.write(*of, depth + 1)?;
            }
            TypePart::Vector(count, of) => {
                self.text(&format!("Dv{count}_"));
                self.write(*of, depth + 1)?;
            }
            TypePart::Complex(of) => {
                self.text("C");
                self.text(of);
            }
            TypePart::Function { qualifiers, returned, parameters, ending, ref_qualifier } => {
                self.qualifiers(*qualifiers);
                self.text("F");
                self.write(*returned, depth + 1)?;
                parameters.iter().try_for_each(|of| self.write(*of, depth + 1))?;
                self.text(ending);
                self.out.extend(*ref_qualifier);
                self.text("E");
            }
            TypePart::Member { class, of } => {
                self.text("M");
                self.write(*class, depth + 1)?;
                self.write(*of, depth + 1)?;
            }
            TypePart::Builtin(_) | TypePart::Std | TypePart::Number(..) | TypePart::Pack(_) => return None,
        }
        self.add(id);
        Some(())
    }

    /// A name without `N` and `E` around it.
    fn prefix(&mut self, id: PartId, depth: usize) -> Option<()> {
        if depth > MAX_DEPTH || self.out.len() > MAX_NAME {
            return None;
        }
        let parts = self.parts;
        if self.substituted(id) {
            return Some(());
        }
        match parts.at(id) {
            TypePart::Std => {
                self.text("St");
                return Some(());
            }
            TypePart::Named { scope, name } => {
                if let Some(short) = self.short_name(id) {
                    self.text(short);
                    return Some(());
                }
                if let Some(scope) = scope {
                    self.prefix(*scope, depth + 1)?;
                }
                self.text(&name.len().to_string());
                self.out.extend_from_slice(name);
            }
            TypePart::Instance { template, arguments } => {
                if let Some(short) = self.short_instance(*template, arguments) {
                    self.text(short);
                    return Some(());
                }
                self.prefix(*template, depth + 1)?;
                self.text("I");
                arguments.iter().try_for_each(|of| self.write(*of, depth + 1))?;
                self.text("E");
            }
            _ => return None,
        }
        self.add(id);
        Some(())
    }

    /// The name of an entity in a scope other than `std`, whose name is a nested one.
    fn is_nested(&self, id: PartId) -> bool {
        let named = match self.parts.at(id) {
            TypePart::Instance { template, .. } => self.parts.at(*template),
            named => named,
        };
        let TypePart::Named { scope: Some(scope), .. } = named else { return false };
        !matches!(self.parts.at(*scope), TypePart::Std)
    }

    /// The name of an entity directly in `std`.
    fn in_std(&self, id: PartId) -> Option<&'f [u8]> {
        let TypePart::Named { scope: Some(scope), name } = self.parts.at(id) else { return None };
        matches!(self.parts.at(*scope), TypePart::Std).then_some(*name)
    }

    /// The abbreviation of a template (Itanium C++ ABI 5.1.10).
    fn short_name(&self, id: PartId) -> Option<&'static str> {
        match self.in_std(id)? {
            b"allocator" => Some("Sa"),
            b"basic_string" => Some("Sb"),
            _ => None,
        }
    }

    /// The abbreviation of an instance of a template for `char`.
    fn short_instance(&self, template: PartId, arguments: &[PartId]) -> Option<&'static str> {
        let (short, len) = match self.in_std(template)? {
            b"basic_string" => ("Ss", 3),
            b"basic_istream" => ("Si", 2),
            b"basic_ostream" => ("So", 2),
            b"basic_iostream" => ("Sd", 2),
            _ => return None,
        };
        let is_char = |id: PartId| *self.parts.at(id) == TypePart::Builtin("c");
        let is_of_char = |id: PartId, name: &[u8]| match self.parts.at(id) {
            TypePart::Instance { template, arguments } => {
                self.in_std(*template) == Some(name) && matches!(arguments[..], [of] if is_char(of))
            }
            _ => false,
        };
        let all: [(usize, &[u8]); 2] = [(1, b"char_traits"), (2, b"allocator")];
        let fits = arguments.len() == len
            && is_char(arguments[0])
            && all.iter().take(len - 1).all(|&(at, name)| is_of_char(arguments[at], name));
        fits.then_some(short)
    }

    fn qualifiers(&mut self, of: Qualifiers) {
        let all = [(of.is_restrict, "r"), (of.is_volatile, "V"), (of.is_const, "K")];
        all.iter().filter(|(is_set, _)| *is_set).for_each(|(_, letter)| self.text(letter));
    }

    fn text(&mut self, text: &str) {
        self.out.extend_from_slice(text.as_bytes());
    }

    fn add(&mut self, id: PartId) {
        let next = self.seen.len();
        self.seen.entry(id).or_insert(next);
    }

    /// Writes a substitution if this was written before: `S_`, then `S0_`, in base 36.
    fn substituted(&mut self, id: PartId) -> bool {
        let Some(&number) = self.seen.get(&id) else { return false };
        self.text("S");
        if let Some(mut rest) = number.checked_sub(1) {
            let mut digits = Vec::new();
            loop {
                digits.push(b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[rest % 36]);
                rest /= 36;
                if rest == 0 {
                    break;
                }
            }
            self.out.extend(digits.iter().rev());
        }
        self.text("_");
        true
    }
}
