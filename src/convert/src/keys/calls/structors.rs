//! Finds the constructors and destructors that gcc calls by a name that no symbol has.

use crate::keys::callee::Callee;
use crate::keys::functions::Functions;
use crate::keys::limits::MAX_VARIANTS;

impl Functions<'_, '_> {
    /// The constructor or destructor that gcc calls by the common name of its variants (`C4`, `D4`). `None` if the
    /// name is not of that form, or the program has no variant.
    pub(crate) fn variant(&self, name: &[u8]) -> Option<Callee> {
        let mut found = None;
        let is_variant = |at: &usize| name[*at] == b'4' && matches!(name[at - 1], b'C' | b'D');
        let mut places = (2..name.len()).filter(is_variant);
        for at in places.by_ref().take(MAX_VARIANTS) {
            // The complete and the base object variant (Itanium C++ ABI 5.1.4).
            for digit in b'1'..=b'2' {
                let mut variant = name.to_vec();
                variant[at] = digit;
                let Some(known) = self.placed.name_of(&variant).and_then(|name| self.of_name(name)) else {
                    continue;
                };
                match (found, known) {
                    (None, Some(function)) => found = Some(Callee::Function(function)),
                    (Some(Callee::Function(first)), Some(second)) if first == second => {}
                    // `C1` and `C2` are two functions here, or a name has several: the record does not show which one is
                    // called.
                    _ => return Some(Callee::Unknown),
                }
            }
        }
        // A later place may be the digit of another constructor.
        if places.next().is_some() { Some(Callee::Unknown) } else { found }
    }
}
