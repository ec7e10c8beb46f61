//! Spells the paths of a line table's files as `llvm-symbolizer` does.
//!
//! A file has a directory, a directory may be relative to the compilation directory, and each of them
//! may be missing. Nothing is normalised: `dir/../x.c` stays as the compiler wrote it.

use crate::read::sections::bytes::{Bytes, Dwarf, Endianity};
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
    pub(crate) fn of(dwarf: &'a Dwarf<'f, E>, unit: &'a gimli::Unit<Bytes<'f, E>>) -> Self {
        FileTable { dwarf, unit, header: unit.line_program.as_ref().map(|program| program.header()) }
    }

    /// The full path of a file; `None` where the table has no such file.
    pub(crate) fn path(&self, index: u64) -> Option<Vec<u8>> {
        path(self.dwarf, self.unit, self.header?, index)
    }
}

/// The full path of file `index` as the program and `DW_AT_decl_file` write it (from 1 before DWARF 5,
/// where 0 means none); `None` where the table has no such file.
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
    let text = |value| string(dwarf, unit, value).map(|text| text.slice());
    let name = text(file.path_name())?;
    if is_absolute(name) {
        return Some(name.to_vec());
    }
    let directory_index = file.directory_index();
    let directory = if header.version() >= 5 || directory_index != 0 {
        header.directory(directory_index).and_then(text)
    } else {
        None
    };
    let directory = directory.unwrap_or(&[]);
    let mut path = Vec::with_capacity(directory.len() + name.len() + 2);
    let in_comp_dir = header.version() >= 5 && directory_index == 0;
    if !in_comp_dir
        && !is_absolute(directory)
        && let Some(comp_dir) = unit.comp_dir
    {
        append(&mut path, comp_dir.slice());
    }
    append(&mut path, directory);
    append(&mut path, name);
    Some(path)
}

/// Adds a component with one separator between it and what stands before it. Empty ones add nothing.
fn append(path: &mut Vec<u8>, component: &[u8]) {
    if component.is_empty() {
        return;
    }
    let component = if path.is_empty() {
        component
    } else {
        let leading = component.iter().take_while(|&&c| c == b'/').count();
        if path.last() != Some(&b'/') {
            path.push(b'/');
        }
        &component[leading..]
    };
    path.extend_from_slice(component);
}

/// True for a path that is absolute on Unix or on Windows, whichever wrote it.
fn is_absolute(path: &[u8]) -> bool {
    match path {
        [b'/' | b'\\', ..] => true,
        [drive, b':', b'/' | b'\\', ..] => drive.is_ascii_alphabetic(),
        _ => false,
    }
}
