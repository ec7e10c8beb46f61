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
    /// `header`: that of the unit's line program ([`Info::line_header`](crate::read::space::Info::line_header)).
    pub(crate) fn of(
        dwarf: &'a Dwarf<'f, E>,
        unit: &'a gimli::Unit<Bytes<'f, E>>,
        header: Option<&'a gimli::LineProgramHeader<Bytes<'f, E>>>,
    ) -> Self {
        FileTable { dwarf, unit, header }
    }

    /// The full path of a file; `None` if the table does not have this file.
    pub(crate) fn path(&self, index: u64) -> Option<Vec<u8>> {
        path(self.dwarf, self.unit, self.header?, index)
    }

    /// The same of a file that the line program adds to the table: of these, in the order of their opcodes.
    pub(crate) fn defined_path(&self, index: u64, defined: &[DefinedFile]) -> Option<Vec<u8>> {
        let header = self.header?;
        let of_header = header.file_names().len() as u64;
        let file = defined.get(usize::try_from(index.checked_sub(of_header + 1)?).ok()?)?;
        Some(join(self.dwarf, self.unit, header, &file.name, file.directory))
    }
}

/// The full path of the file with this index in the line program and in `DW_AT_decl_file`. Before DWARF 5, indexes count from 1,
/// and 0 means no file. `None` if the table does not have this file.
fn path<'f, E: Endianity>(
    dwarf: &Dwarf<'f, E>,
    unit: &gimli::Unit<Bytes<'f, E>>,
    header: &gimli::LineProgramHeader<Bytes<'f, E>>,
    index: u64,
) -> Option<Vec<u8>> {
    if header.version() < 5 && index == 0 {
        return None;
    }
    let file = header.file(index)?;
    let name = string(dwarf, unit, file.path_name())?.slice();
    Some(join(dwarf, unit, header, name, file.directory_index()))
}

/// The full path of a file with this name, in the directory with this index.
fn join<'f, E: Endianity>(
    dwarf: &Dwarf<'f, E>,
    unit: &gimli::Unit<Bytes<'f, E>>,
    header: &gimli::LineProgramHeader<Bytes<'f, E>>,
    name: &[u8],
    directory_index: u64,
) -> Vec<u8> {
    if is_absolute(name) {
        return name.to_vec();
    }
    let text = |value| string(dwarf, unit, value).map(|text| text.slice());
    // Before DWARF 5, directory 0 is the compilation directory and not in the table (DWARF 4 6.2.4). It is put before the
    // path below.
    let directory = if header.version() >= 5 || directory_index != 0 {
        header.directory(directory_index).and_then(text)
    } else {
        None
    };
    let directory = directory.unwrap_or(&[]);
    let mut path = Vec::with_capacity(directory.len() + name.len() + 2);
    // Since DWARF 5, directory 0 is the compilation directory itself (6.2.4), so this is not put before it again.
    let in_comp_dir = header.version() >= 5 && directory_index == 0;
    if !in_comp_dir
        && !is_absolute(directory)
        && let Some(comp_dir) = unit.comp_dir
    {
        append(&mut path, comp_dir.slice());
    }
    append(&mut path, directory);
    append(&mut path, name);
    path
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
