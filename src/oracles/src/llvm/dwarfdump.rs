//! The text of `llvm-dwarfdump`: the code that call frame entries cover, and where declarations have their files.

use std::path::Path;

use super::{hex, of_arch, printed};

/// Whether an abbreviation of a subprogram of a program holds the file of the declaration itself (`DW_FORM_implicit_const`).
///
/// # Errors
/// The tool is missing or fails.
pub(crate) fn has_implicit_files(program: &Path, arch: Option<&str>) -> Result<bool, String> {
    let arch = of_arch(arch);
    let options: Vec<&str> = ["--debug-abbrev"].into_iter().chain(arch.as_deref()).collect();
    Ok(files_in_abbreviations(&printed("llvm-dwarfdump", &options, program)?))
}

/// As [`has_implicit_files`], of the lines of all abbreviations.
fn files_in_abbreviations(abbreviations: &str) -> bool {
    let mut subprogram = false;
    abbreviations.lines().any(|line| {
        if line.starts_with('[') {
            subprogram = line.contains("DW_TAG_subprogram");
        }
        let line = line.trim_start();
        subprogram && line.starts_with("DW_AT_decl_file") && line.contains("DW_FORM_implicit_const")
    })
}

/// The ranges of code that entries of a program's `.eh_frame` cover, each from its start to its end.
///
/// # Errors
/// The tool is missing or fails.
pub(crate) fn covered(program: &Path) -> Result<Vec<(u64, u64)>, String> {
    Ok(printed("llvm-dwarfdump", &["--eh-frame"], program)?.lines().filter_map(entry).collect())
}

/// `00000018 00000014 0000001c FDE cie=00000000 pc=00001040...00001066`.
fn entry(line: &str) -> Option<(u64, u64)> {
    let (start, end) = line.split_once(" FDE cie=")?.1.split_once(" pc=")?.1.split_once("...")?;
    Some((hex(start)?, hex(end)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_in_abbreviations_of_subprograms_are_seen() {
        let of = |tag: &str, form: &str| {
            format!("[1] {tag}\tDW_CHILDREN_no\n\tDW_AT_name\tDW_FORM_strp\n\tDW_AT_decl_file\t{form}\n\n")
        };
        let implicit = "DW_FORM_implicit_const\t1";
        assert!(files_in_abbreviations(&of("DW_TAG_subprogram", implicit)));
        let others = of("DW_TAG_subprogram", "DW_FORM_data1") + &of("DW_TAG_variable", implicit);
        assert!(!files_in_abbreviations(&others));
    }

    #[test]
    fn an_entry_covers_a_range() {
        assert_eq!(
            entry("00000018 00000014 0000001c FDE cie=00000000 pc=00001040...00001066"),
            Some((0x1040, 0x1066))
        );
        assert_eq!(entry("00000000 00000014 00000000 CIE"), None);
    }
}
