//! Builds the paths of the files in a line table, as `llvm-symbolizer` does.
//!
//! A file name may be relative to a directory, and a directory may be relative to the compilation directory. Each of them may
//! be missing. Paths are not normalised: `dir/../x.c` stays as the compiler wrote it.

use crate::read::sections::bytes::{Bytes, Dwarf, Endianity};
use crate::read::sections::line::DefinedFile;
use crate::read::space::string;

/// The file table of a line program header, with the unit whose strings and directory it uses.
pub(crate) struct FileTable<'a, 'f, E: Endianity> {
    dwarf: &'a Dwarf<'f, E>,
    unit: &'a gimli::Unit<Bytes<'f, E>>,
    relative: bool,
    /// `None` for a unit without a line program.
    pub(crate) header: Option<&'a gimli::LineProgramHeader<Bytes<'f, E>>>,
}

impl<E: Endianity> Clone for FileTable<'_, '_, E> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<E: Endianity> Copy for FileTable<'_, '_, E> {}

impl<'a, 'f, E: Endianity> FileTable<'a, 'f, E> {
    /// With `relative`, paths lack the folder of the compiler. `header`: that of the unit's line program ([`Info::line_header`](crate::read::space::Info::line_header)).
    pub(crate) fn of(
        (dwarf, relative): (&'a Dwarf<'f, E>, bool),
        unit: &'a gimli::Unit<Bytes<'f, E>>,
        header: Option<&'a gimli::LineProgramHeader<Bytes<'f, E>>>,
    ) -> Self {
        FileTable { dwarf, unit, relative, header }
    }

    /// The path of the file with this index in the line program and in `DW_AT_decl_file`. Before DWARF 5, indexes count from 1,
    /// and 0 means no file. `None` if the table does not have this file.
    pub(crate) fn path(&self, index: u64) -> Option<Vec<u8>> {
        let header = self.header?;
        if header.version() < 5 && index == 0 {
            return None;
        }
        let file = header.file(index)?;
        let name = string(self.dwarf, self.unit, file.path_name())?.slice();
        Some(self.join(header, name, file.directory_index()))
    }

    /// The same of a file that the line program adds to the table: of these, in the order of their opcodes.
    pub(crate) fn defined_path(&self, index: u64, defined: &[DefinedFile]) -> Option<Vec<u8>> {
        let header = self.header?;
        let of_header = header.file_names().len() as u64;
        let file = defined.get(usize::try_from(index.checked_sub(of_header + 1)?).ok()?)?;
        Some(self.join(header, &file.name, file.directory))
    }

    /// The path of a file with this name, in the directory with this index.
    fn join(
        &self,
        header: &gimli::LineProgramHeader<Bytes<'f, E>>,
        name: &[u8],
        directory_index: u64,
    ) -> Vec<u8> {
        if is_absolute(name) {
            return name.to_vec();
        }
        let text = |value| string(self.dwarf, self.unit, value).map(|text| text.slice());
        // Since DWARF 5, directory 0 is the compilation directory itself (6.2.4), so this is not put before it again. Before, it is not
        // in the table (DWARF 4 6.2.4).
        let (is_new, is_first) = (header.version() >= 5, directory_index == 0);
        let in_table = if is_new { !(is_first && self.relative) } else { !is_first };
        let directory = if in_table { header.directory(directory_index).and_then(text) } else { None };
        let directory = directory.unwrap_or(&[]);
        let mut path = Vec::with_capacity(directory.len() + name.len() + 2);
        let is_whole = self.relative || is_absolute(directory) || (is_new && is_first);
        if !is_whole && let Some(comp_dir) = self.unit.comp_dir {
            append(&mut path, comp_dir.slice());
        }
        append(&mut path, directory);
        append(&mut path, name);
        path
    }
}

/// Appends a component, with one separator before it. An empty component adds nothing.
fn append(path: &mut Vec<u8>, component: &[u8]) {
    if component.is_empty() {
        return;
    }
    let component = if path.is_empty() {
        component
    } else {
        // As LLVM's `path::append`, by which llvm-symbolizer joins paths.
        let leading = component.iter().take_while(|&&c| c == b'/').count();
        if path.last() != Some(&b'/') {
            path.push(b'/');
        }
        &component[leading..]
    };
    path.extend_from_slice(component);
}

/// True for a path that is absolute on Unix or on Windows.
fn is_absolute(path: &[u8]) -> bool {
    match path {
        // The compiler may have run on another system than this converter does.
        [b'/' | b'\\', ..] => true,
        [drive, b':', b'/' | b'\\', ..] => drive.is_ascii_alphabetic(),
        _ => false,
    }
}
