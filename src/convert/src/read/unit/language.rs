//! Reads from the root DIE of a unit which language its source is written in, as far as that matters to folding.
//!
//! Two attributes say it: `DW_AT_language` (DWARF 5 3.1.1), and `DW_AT_language_name`, which DWARF 6 has in its place. gcc 16 writes
//! both, clang only the second one with `-gdwarf-6`. A unit is of a language if either says so.

/// `DW_AT_language_name`. Its values are the `DW_LNAME` codes, which do not depend on the version of the language.
pub(crate) const LANGUAGE_NAME: gimli::DwAt = gimli::DwAt(0x90);

/// `DW_LANG_Assembly`, a newer code of the assembly of every processor.
const ASSEMBLY: gimli::DwLang = gimli::DwLang(0x31);

/// The languages that this reader tells apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Language {
    C,
    CPlusPlus,
    Rust,
    Swift,
    Assembly,
}

/// The codes of `DW_AT_language`. GNU's assembler and clang write `DW_LANG_Mips_Assembler` for the assembly of every processor.
const LANGUAGES: &[(gimli::DwLang, Language)] = &[
    (gimli::DW_LANG_C89, Language::C),
    (gimli::DW_LANG_C, Language::C),
    (gimli::DW_LANG_C99, Language::C),
    (gimli::DW_LANG_C11, Language::C),
    (gimli::DW_LANG_C17, Language::C),
    (gimli::DW_LANG_C_plus_plus, Language::CPlusPlus),
    (gimli::DW_LANG_C_plus_plus_03, Language::CPlusPlus),
    (gimli::DW_LANG_C_plus_plus_11, Language::CPlusPlus),
    (gimli::DW_LANG_C_plus_plus_14, Language::CPlusPlus),
    (gimli::DW_LANG_C_plus_plus_17, Language::CPlusPlus),
    (gimli::DW_LANG_C_plus_plus_20, Language::CPlusPlus),
    (gimli::DW_LANG_Rust, Language::Rust),
    (gimli::DW_LANG_Swift, Language::Swift),
    (gimli::DW_LANG_Mips_Assembler, Language::Assembly),
    (ASSEMBLY, Language::Assembly),
];

/// The codes of `DW_AT_language_name`.
const NAMES: &[(u64, Language)] = &[
    (0x03, Language::C),
    (0x04, Language::CPlusPlus),
    (0x19, Language::Rust),
    (0x1a, Language::Swift),
    (0x1d, Language::Assembly),
];

/// What the attributes of one unit say.
#[derive(Clone, Copy, Default)]
pub(crate) struct Languages {
    language: Option<Language>,
    name: Option<Language>,
}

impl Languages {
    /// Notes an attribute of the root; other attributes change nothing.
    pub(crate) fn note(&mut self, name: gimli::DwAt, code: Option<u64>) {
        match name {
            gimli::DW_AT_language => self.language = find(LANGUAGES, |of| Some(u64::from(of.0)) == code),
            LANGUAGE_NAME => self.name = find(NAMES, |of| Some(of) == code),
            _ => {}
        }
    }

    pub(crate) fn are(self, language: Language) -> bool {
        self.language == Some(language) || self.name == Some(language)
    }
}

fn find<T: Copy>(known: &[(T, Language)], is_code: impl Fn(T) -> bool) -> Option<Language> {
    known.iter().find(|(code, _)| is_code(*code)).map(|(_, language)| *language)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(attributes: &[(gimli::DwAt, u64)]) -> Vec<Language> {
        let mut languages = Languages::default();
        attributes.iter().for_each(|&(name, code)| languages.note(name, Some(code)));
        let all = [Language::C, Language::CPlusPlus, Language::Rust, Language::Swift, Language::Assembly];
        all.into_iter().filter(|language| languages.are(*language)).collect()
    }

    #[test]
    fn either_attribute_says_the_language() {
        let language = gimli::DW_AT_language;
        assert_eq!(of(&[(LANGUAGE_NAME, 0x19)]), [Language::Rust]);
        assert_eq!(of(&[(LANGUAGE_NAME, 0x1a)]), [Language::Swift]);
        assert_eq!(of(&[(LANGUAGE_NAME, 0x03)]), [Language::C]);
        assert_eq!(of(&[(LANGUAGE_NAME, 0x1d)]), [Language::Assembly]);
        assert_eq!(of(&[(language, 0x8001)]), [Language::Assembly]);
        assert_eq!(of(&[(language, 0x31)]), [Language::Assembly]);
        assert_eq!(of(&[(language, 0x1c)]), [Language::Rust]);
        // gcc 16 with `-std=c23`: C11, since it has no older code for C23, beside C.
        assert_eq!(of(&[(language, 0x1d), (LANGUAGE_NAME, 0x03)]), [Language::C]);
        // 0x1a is C++14 as a language, and Swift as a name. The order of the attributes does not matter.
        assert_eq!(of(&[(LANGUAGE_NAME, 0x04), (language, 0x1a)]), [Language::CPlusPlus]);
        assert_eq!(of(&[(LANGUAGE_NAME, 0x1a), (language, 0x1a)]), [Language::CPlusPlus, Language::Swift]);
        // Unknown codes, and values that are no constants.
        assert_eq!(of(&[(LANGUAGE_NAME, u64::MAX), (language, 0)]), []);
        let mut languages = Languages::default();
        languages.note(LANGUAGE_NAME, None);
        assert!(!languages.are(Language::C));
    }
}
