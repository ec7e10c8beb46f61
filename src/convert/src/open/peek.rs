//! Turns a file of a folder into what it takes to find it by: its identity and names, from a bounded number of its bytes.

use std::fs::File;
use std::io::{Error, ErrorKind, Read, Result, Seek, SeekFrom};
use std::path::Path;

use object::elf::{self, FileHeader32, FileHeader64};
use object::endian::Endianness;
use object::macho::{MachHeader32, MachHeader64};
use object::read::ReadRef;
use object::read::elf::{Dyn, FileHeader, SectionHeader};
use object::read::macho::MachHeader;
use object::read::{FileKind, ReadCache};

use super::compressed::{decompressed, is_compressed};

/// Bytes that are read of one file, at most. A program with a million sections has 64 MiB of headers; those of others fit.
const MOST_READ: u64 = 4 << 20;
/// Compressed files of this size are decompressed, at most, and to this many times their size.
const MOST_COMPRESSED: u64 = 32 << 20;
const RATIO: u64 = 16;
/// The bytes of `.text` that Breakpad makes an identity of, where there is no build id.
pub(crate) const PAGE: u64 = 4096;

/// What the headers and notes of a file say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Peeked {
    /// The build id, or for Mach-O the UUID; empty if there is none.
    pub build_id: Vec<u8>,
    /// Without a build id, the first page of `.text`, of which crash reporters make an identity; else empty.
    pub text: Vec<u8>,
    /// The file is big-endian.
    pub big_endian: bool,
    /// The file is Mach-O.
    pub mach_o: bool,
    /// There is code.
    pub code: bool,
    /// There is debug information.
    pub units: bool,
    /// The name in the debug link; empty without one.
    pub debug_link: Vec<u8>,
    /// The names by which others know it, whatever its file is called: `DT_SONAME`, `NAME.ko` of a kernel module, `vmlinux` of a kernel.
    pub names: Vec<String>,
}

/// Looks at a regular file. `None` if it is no ELF or Mach-O file, or its tables are damaged or too large.
pub fn peek(path: &Path) -> Option<Peeked> {
    // Before the file is opened: opening a FIFO would wait for its writer.
    let found = path.metadata().ok().filter(|found| found.is_file())?;
    let mut file = File::open(path).ok()?;
    let mut head = [0; 20];
    file.read_exact(&mut head).ok()?;
    if is_compressed(&head) {
        if found.len() > MOST_COMPRESSED {
            return None;
        }
        let mut bytes = Vec::new();
        file.rewind().ok()?;
        file.take(MOST_COMPRESSED).read_to_end(&mut bytes).ok()?;
        return of_data(decompressed(&bytes, MOST_READ.max(found.len() * RATIO))?.ok()?.as_slice());
    }
    if !head.starts_with(&elf::ELFMAG) && !super::macho::is_macho(&head) {
        return None;
    }
    of_data(&ReadCache::new(Bounded { file, left: MOST_READ }))
}

/// A file of which a number of bytes may be read.
#[derive(Debug)]
struct Bounded {
    file: File,
    left: u64,
}

impl Read for Bounded {
    fn read(&mut self, into: &mut [u8]) -> Result<usize> {
        self.left = self
            .left
            .checked_sub(into.len() as u64)
            .ok_or_else(|| Error::new(ErrorKind::InvalidData, "more bytes than are read of a file"))?;
        self.file.read(into)
    }
}

impl Seek for Bounded {
    fn seek(&mut self, to: SeekFrom) -> Result<u64> {
        self.file.seek(to)
    }
}

fn of_data<'d, R: ReadRef<'d>>(data: R) -> Option<Peeked> {
    match FileKind::parse(data).ok()? {
        FileKind::Elf32 => of_elf::<FileHeader32<Endianness>, _>(data),
        FileKind::Elf64 => of_elf::<FileHeader64<Endianness>, _>(data),
        FileKind::MachO32 => of_macho::<MachHeader32<Endianness>, _>(data),
        FileKind::MachO64 => of_macho::<MachHeader64<Endianness>, _>(data),
        _ => None,
    }
}

fn of_elf<'d, Elf: FileHeader<Endian = Endianness>, R: ReadRef<'d>>(data: R) -> Option<Peeked> {
    let header = Elf::parse(data).ok()?;
    let endian = header.endian().ok()?;
    let mut peeked = Peeked { big_endian: header.is_big_endian(), ..Peeked::default() };
    let sections = header.sections(endian, data).ok()?;
    let mut text = None;
    for section in sections.iter() {
        let name = sections.section_name(endian, section).unwrap_or_default();
        let kind = section.sh_type(endian);
        let is_there = kind != elf::SHT_NOBITS && section.sh_size(endian).into() > 0;
        peeked.code |= is_there && section.sh_flags(endian).0 & elf::SHF_EXECINSTR.0 != 0;
        match name {
            b".text" if text.is_none() && is_there => {
                let size = section.sh_size(endian).into().min(PAGE);
                text = data.read_bytes_at(section.sh_offset(endian).into(), size).ok();
            }
            b".gnu_debuglink" if section.sh_size(endian).into() < PAGE => {
                let link = section.data(endian, data).unwrap_or_default();
                peeked.debug_link = link.split(|&byte| byte == 0).next().unwrap_or_default().to_vec();
            }
            b".debug_info" | b".zdebug_info" => peeked.units |= is_there,
            // Kernels alone export symbols so. In a module the section is relocatable.
            b"__ksymtab" if header.e_type(endian) != elf::ET_REL => peeked.names.push("vmlinux".to_owned()),
            b".modinfo" if is_there && header.e_type(endian) == elf::ET_REL => {
                let text = section.data(endian, data).unwrap_or_default();
                let name = text.split(|&byte| byte == 0).find_map(|field| field.strip_prefix(b"name="));
                peeked.names.extend(name.map(|name| format!("{}.ko", String::from_utf8_lossy(name))));
            }
            _ => {}
        }
        if let (true, Ok(Some(mut notes))) = (peeked.build_id.is_empty(), section.notes(endian, data)) {
            while let Ok(Some(note)) = notes.next() {
                if note.name() == elf::ELF_NOTE_GNU && note.n_type(endian) == elf::NT_GNU_BUILD_ID {
                    peeked.build_id = note.desc().to_vec();
                }
            }
        }
        if let Ok(Some((entries, link))) = section.dynamic(endian, data)
            && let Ok(strings) = sections.strings(endian, data, link)
        {
            let soname = entries.iter().find(|entry| entry.d_tag(endian) == elf::DT_SONAME);
            let soname =
                soname.and_then(|entry| strings.get(entry.d_val(endian).into().try_into().ok()?).ok());
            peeked.names.extend(soname.map(|name| String::from_utf8_lossy(name).into_owned()));
        }
    }
    if peeked.build_id.is_empty() {
        peeked.text = text.unwrap_or_default().to_vec();
    }
    Some(peeked)
}

fn of_macho<'d, Mach: MachHeader<Endian = Endianness>, R: ReadRef<'d>>(data: R) -> Option<Peeked> {
    let header = Mach::parse(data, 0).ok()?;
    let endian = header.endian().ok()?;
    let id = header.uuid(endian, data, 0).ok()??;
    let is_debug_file = header.filetype(endian) == object::macho::MH_DSYM;
    Some(Peeked {
        build_id: id.to_vec(),
        text: Vec::new(),
        debug_link: Vec::new(),
        big_endian: header.is_big_endian(),
        mach_o: true,
        code: !is_debug_file,
        units: is_debug_file,
        names: Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Options, identify};

    #[test]
    fn the_identity_is_that_of_the_conversion() {
        let built = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testbins/built");
        let mut seen = 0;
        for name in
            ["demo.elf", "inline.mips-be", "macho.arm64", "split.gcc-dwarf4.set/stripped", "symbols.clang"]
        {
            let (peeked, own) =
                (peek(&built.join(name)).unwrap(), identify(&built.join(name), &Options::default()));
            let own = own.unwrap();
            assert_eq!(
                (&peeked.build_id, peeked.mach_o, peeked.big_endian),
                (&own.build_id, own.mach_o, own.big_endian),
                "{name}"
            );
            assert!(!own.build_id.is_empty() || peeked.text == own.text, "{name}");
            assert!(peeked.code, "{name}");
            seen += usize::from(!own.build_id.is_empty());
        }
        assert!(seen >= 3);
        let debug = peek(&built.join("split.gcc-dwarf4.set/stripped.debug")).unwrap();
        assert!(debug.units && !debug.code);
        assert!(!peek(&built.join("split.gcc-dwarf4.set/stripped")).unwrap().units);
        assert_eq!(peek(Path::new("/dev/zero")), None);
        assert_eq!(peek(&built.join("gone")), None);
    }

    #[test]
    fn headers_that_are_too_large_are_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let built = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testbins/built");
        let mut bytes = std::fs::read(built.join("demo.elf")).unwrap();
        // `e_shnum` of 0 is in the first header's `sh_size` then (System V gABI): 64 MiB of headers in a sparse file.
        let table = u64::from_le_bytes(bytes[0x28..0x30].try_into().unwrap()) as usize;
        bytes[0x3c..0x3e].fill(0);
        bytes[table + 0x20..table + 0x28].copy_from_slice(&(1u64 << 20).to_le_bytes());
        let path = folder.path().join("large");
        std::fs::write(&path, bytes).unwrap();
        File::options().write(true).open(&path).unwrap().set_len(1 << 30).unwrap();
        assert_eq!(peek(&path), None);
    }
}
