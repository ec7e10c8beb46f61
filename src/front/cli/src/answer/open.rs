//! Opens a `.fsym` and reads the parts of it that several commands need.

use foldsym_lookup::{FileId, NameId, Names, SymbolFile};

use crate::answer::address::Section;
use crate::io::failure::{Failure, exit};
use crate::io::mapped::Mapped;

/// Opens the file.
///
/// # Errors
/// It is no `.fsym`, of another version, or damaged at its head: exit code 3, with path and place. Of a program the message
/// says what to do.
pub(crate) fn open(mapped: &Mapped) -> Result<SymbolFile<'_>, Failure> {
    SymbolFile::open(mapped).map_err(|error| {
        if !is_program(mapped) {
            return damaged(mapped, error);
        }
        let path = mapped.path().display();
        let what = format!("a program, not a symbol file; convert it first: foldsym convert {path}");
        Failure::input(mapped.path(), what)
    })
}

/// True for the first bytes of ELF and Mach-O files and of archives.
fn is_program(bytes: &[u8]) -> bool {
    let starts: [&[u8]; 9] = [
        b"\x7fELF",
        b"\xfe\xed\xfa\xce",
        b"\xfe\xed\xfa\xcf",
        b"\xce\xfa\xed\xfe",
        b"\xcf\xfa\xed\xfe",
        b"\xca\xfe\xba\xbe",
        b"\xca\xfe\xba\xbf",
        b"!<arch>\n",
        b"__CLANG_OFFLOAD_BUNDLE__",
    ];
    starts.iter().any(|start| bytes.starts_with(start))
}

/// A part of the file that is not as the format has it.
pub(crate) fn damaged(mapped: &Mapped, error: foldsym_lookup::Error) -> Failure {
    Failure { message: damage_text(mapped, error), code: exit::BAD_INPUT }
}

pub(crate) fn damage_text(mapped: &Mapped, error: foldsym_lookup::Error) -> String {
    format!("{}: damaged: {error}", mapped.path().display())
}

/// The program's loaded sections, for `SECTION:OFFSET`.
pub(crate) fn sections(file: &SymbolFile<'_>) -> Vec<Section> {
    let section = |section: foldsym_lookup::ProgramSection<'_>| Section {
        name: String::from_utf8_lossy(section.name).into_owned(),
        start: section.start.0,
        size: section.len,
    };
    file.program_sections().map(section).collect()
}

/// The bytes of a function's name; `None` where the table of names is damaged.
pub(crate) fn name_bytes(file: &SymbolFile<'_>, id: NameId) -> Option<Vec<u8>> {
    bytes(file.names(), id.0)
}

/// The bytes of a path; `None` where the table of paths is damaged.
pub(crate) fn path_bytes(file: &SymbolFile<'_>, id: FileId) -> Option<Vec<u8>> {
    bytes(file.files(), id.0)
}

fn bytes(names: &Names<'_>, id: u32) -> Option<Vec<u8>> {
    let mut name = Vec::new();
    names.visit(id, |piece| name.extend_from_slice(piece))?;
    Some(name)
}
