//! Finds the device programs in a container of GPU code, and picks one by its target.
//!
//! Containers are clang's offload bundles, plain and compressed, LLVM's offload binaries, and host programs with either
//! in a section (`.hip_fatbin`, `.llvm.offloading`). Several of one kind may stand one after the other.

mod binary;
mod bundle;
#[cfg(test)]
mod tests;

use std::path::Path;

use object::{Object, ObjectSection};

use super::error::OpenError;
use super::files::Files;

/// More device programs than this are refused: real containers have one for each processor and source file.
const MAX_OBJECTS: usize = 1 << 16;

/// Sections of host programs that hold containers.
const SECTIONS: &[&str] = &[".hip_fatbin", ".llvm.offloading", "__CLANG_OFFLOAD_BUNDLE__"];

/// A device program in a container.
#[derive(Clone, Debug)]
pub struct CodeObject<'f> {
    /// What it was built for, as the container names it, without the kind of its source language:
    /// `amdgcn-amd-amdhsa--gfx90a:xnack+`. The second of one name has `#2` behind it, and so on.
    pub target: String,
    /// An ELF file.
    pub data: &'f [u8],
}

/// What a container holds.
#[derive(Default)]
struct Contents<'f> {
    objects: Vec<CodeObject<'f>>,
    /// Targets of what is no ELF file: bitcode, SPIR-V, archives.
    others: Vec<String>,
}

impl<'f> Contents<'f> {
    /// Takes an entry. Empty ones stand for the host, whose code is elsewhere.
    fn add(&mut self, path: &Path, target: &str, data: &'f [u8]) -> Result<(), OpenError> {
        if data.is_empty() {
            return Ok(());
        }
        if !data.starts_with(b"\x7fELF") {
            self.others.push(target.to_owned());
            return Ok(());
        }
        if self.objects.len() >= MAX_OBJECTS {
            let claimed = self.objects.len() as u64 + 1;
            let place = "device programs".to_owned();
            return Err(OpenError::TooLarge {
                path: path.to_owned(),
                place,
                claimed,
                allowed: MAX_OBJECTS as u64,
            });
        }
        self.objects.push(CodeObject { target: target.to_owned(), data });
        Ok(())
    }

    /// Tells those of one target apart.
    fn number(mut self) -> Self {
        let mut seen: std::collections::HashMap<String, u32> = std::collections::HashMap::new();
        for object in &mut self.objects {
            let count = seen.entry(object.target.clone()).or_default();
            *count += 1;
            if *count > 1 {
                object.target = format!("{}#{count}", object.target);
            }
        }
        self
    }
}

/// True for the first bytes of a container that is a file of its own.
pub(super) fn is_container(data: &[u8]) -> bool {
    bundle::is_plain(data) || bundle::is_compressed(data) || binary::is_binary(data)
}

/// The device programs of a file, each with a target of its own: none where it is no container and has none.
///
/// # Errors
/// The file cannot be read, or is a container that is damaged or claims more than [`Files`] allows.
pub fn code_objects<'f>(files: &'f Files, path: &Path) -> Result<Vec<CodeObject<'f>>, OpenError> {
    let Ok(data) = files.map(path) else { return Ok(Vec::new()) };
    Ok(contents(files, path, data)?.objects)
}

fn contents<'f>(files: &'f Files, path: &Path, data: &'f [u8]) -> Result<Contents<'f>, OpenError> {
    let mut contents = Contents::default();
    if is_container(data) {
        read_all(files, path, "offset 0x0", data, &mut contents)?;
    } else if data.starts_with(b"\x7fELF")
        && let Ok(file) = object::File::parse(data)
    {
        for name in SECTIONS {
            for section in file.sections().filter(|section| section.name() == Ok(name)) {
                let bytes = section.data().map_err(|error| {
                    OpenError::malformed(path, format!("section {name}"), error.to_string())
                })?;
                read_all(files, path, &format!("section {name}"), bytes, &mut contents)?;
            }
        }
    }
    Ok(contents.number())
}

/// Reads containers that stand one after the other, with zeros between them.
fn read_all<'f>(
    files: &'f Files,
    path: &Path,
    place: &str,
    data: &'f [u8],
    contents: &mut Contents<'f>,
) -> Result<(), OpenError> {
    let mut rest = data;
    loop {
        let zeros = rest.iter().take_while(|byte| **byte == 0).count();
        rest = &rest[zeros..];
        if rest.is_empty() {
            return Ok(());
        }
        let at = data.len() - rest.len();
        let place = &format!("{place}, offload container at {at:#x}");
        let used = if bundle::is_plain(rest) {
            bundle::read(path, place, rest, contents)?
        } else if bundle::is_compressed(rest) {
            bundle::read_compressed(files, path, place, rest, contents)?
        } else if binary::is_binary(rest) {
            binary::read(path, place, rest, contents)?
        } else {
            return Err(OpenError::malformed(path, place, "neither a bundle nor an offload binary"));
        };
        // Every container is longer than its magic number, so this ends.
        rest = rest.get(used.max(4)..).unwrap_or_default();
    }
}

/// The device program that was asked for, or the only one; `None` where the file is no container and none was asked for.
///
/// `wanted` is a target, its end (`gfx90a`), or its end without the processor's features; it must mean one program.
///
/// # Errors
/// As [`code_objects`]; and none or several programs fit, or none is wanted and there are several.
pub(super) fn choose<'f>(
    files: &'f Files,
    path: &Path,
    data: &'f [u8],
    wanted: Option<&str>,
) -> Result<Option<&'f [u8]>, OpenError> {
    let alone = is_container(data);
    if wanted.is_none() && !alone {
        return Ok(None);
    }
    let Contents { objects, others } = contents(files, path, data)?;
    let fits = |object: &&CodeObject<'_>| wanted.is_none_or(|wanted| is_target(&object.target, wanted));
    let exact = objects.iter().find(|object| wanted == Some(&*object.target));
    let mut fitting = objects.iter().filter(fits);
    match (exact, fitting.next(), fitting.next()) {
        (Some(object), ..) | (None, Some(object), None) => Ok(Some(object.data)),
        (None, None, _) if objects.is_empty() => {
            let found = match others.as_slice() {
                [] => "without device code".to_owned(),
                others => format!("with device code that is no ELF file ({})", others.join(", ")),
            };
            Err(OpenError::Unsupported { path: path.to_owned(), what: format!("a file {found}") })
        }
        _ => Err(OpenError::ChooseTarget {
            path: path.to_owned(),
            wanted: wanted.map(str::to_owned),
            available: objects.into_iter().map(|object| object.target).collect(),
        }),
    }
}

/// True where `wanted` names the target: whole, its processor with features, or its processor alone.
fn is_target(target: &str, wanted: &str) -> bool {
    let without_number = target.split('#').next().unwrap_or(target);
    let processor = without_number.rsplit("--").next().unwrap_or(without_number);
    let plain = processor.split(':').next().unwrap_or(processor);
    [target, without_number, processor, plain].contains(&wanted)
}

/// A number of `len` bytes at `at`, little-endian.
fn number(data: &[u8], at: usize, len: usize) -> Option<u64> {
    let bytes = data.get(at..at.checked_add(len)?)?;
    Some(bytes.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte)))
}

/// Bytes at an offset and of a size that the file names.
fn range(data: &[u8], offset: u64, size: u64) -> Option<&[u8]> {
    let start = usize::try_from(offset).ok()?;
    data.get(start..start.checked_add(usize::try_from(size).ok()?)?)
}
