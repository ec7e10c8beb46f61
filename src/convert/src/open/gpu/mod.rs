//! Finds the device programs in a container of GPU code, and selects one by its target.
//!
//! Containers are clang's offload bundles (uncompressed or compressed) and LLVM's offload binaries. A host program has them
//! in a section (`.hip_fatbin`, `.llvm.offloading`). Several containers may follow each other.

mod binary;
mod bundle;
mod device;
#[cfg(test)]
mod tests;

use std::path::Path;

use object::{Object, ObjectSection};

use super::error::OpenError;
use super::files::Files;
use crate::diagnostics::opening::OpenDiagnostic;
use device::CodeObject;
use device::too_large;
pub use device::{DeviceCode, DevicePlace};

/// The most bytes to decompress for all device programs of a file together. The conversion of each program decompresses
/// its container again, so a container counts once for each of its programs.
const MAX_DECOMPRESSED: u64 = 64 << 30;

/// Sections of host programs that hold containers.
const SECTIONS: &[&str] = &[".hip_fatbin", ".llvm.offloading", BUNDLE];

/// Prefix of section names in object files: there each device program has its own section, named by this and its target.
const BUNDLE: &str = "__CLANG_OFFLOAD_BUNDLE__";

/// True if the data begins with the magic of a container.
pub(super) fn is_container(data: &[u8]) -> bool {
    bundle::is_uncompressed(data) || bundle::is_compressed(data) || binary::is_binary(data)
}

/// The device programs of a file. Empty if it is not a container and has none, and also if it cannot be read.
///
/// # Errors
/// A container is damaged, claims more than [`Files`] allows, or has too much to decompress.
pub fn device_code<'f>(files: &'f Files, path: &Path) -> Result<DeviceCode<'f>, OpenError> {
    // The conversion of this path reports the error.
    let Ok(data) = files.map(path) else { return Ok(DeviceCode::default()) };
    let found = contents(files, path, data, None)?;
    if found.work > MAX_DECOMPRESSED {
        let place = "bytes to decompress for its device programs one by one (choose one with --target)";
        return Err(too_large(path, place, found.work, MAX_DECOMPRESSED));
    }
    Ok(found)
}

/// Reads all containers of a file. With `only`, compressed containers other than this one are skipped.
fn contents<'f>(
    files: &'f Files,
    path: &Path,
    data: &'f [u8],
    only: Option<usize>,
) -> Result<DeviceCode<'f>, OpenError> {
    let mut contents = DeviceCode { only, ..DeviceCode::default() };
    if is_container(data) {
        read_all(files, path, "offset 0x0", data, &mut contents)?;
    } else if data.starts_with(b"\x7fELF")
        && let Ok(file) = object::File::parse(data)
    {
        for section in file.sections() {
            let Ok(name) = section.name() else { continue };
            let alone = name.strip_prefix(BUNDLE).filter(|target| !target.is_empty());
            if alone.is_none() && !SECTIONS.contains(&name) {
                continue;
            }
            let bytes = section
                .data()
                .map_err(|error| OpenError::malformed(path, format!("section {name}"), error.to_string()))?;
            match alone {
                Some(target) => {
                    if let Some(target) = bundle::target(target) {
                        contents.begin();
                        contents.add(path, target, bytes)?;
                    }
                }
                None => read_all(files, path, &format!("section {name}"), bytes, &mut contents)?,
            }
        }
    }
    Ok(contents.number())
}

/// Reads containers that follow each other, with zero bytes between them.
fn read_all<'f>(
    files: &'f Files,
    path: &Path,
    place: &str,
    data: &'f [u8],
    contents: &mut DeviceCode<'f>,
) -> Result<(), OpenError> {
    let mut rest = data;
    loop {
        // A linker joins the sections of several object files, with padding to the alignment of each.
        let zeros = rest.iter().take_while(|byte| **byte == 0).count();
        rest = &rest[zeros..];
        if rest.is_empty() {
            return Ok(());
        }
        let at = data.len() - rest.len();
        let place = &format!("{place}, offload container at {at:#x}");
        contents.begin();
        let used = if bundle::is_uncompressed(rest) {
            bundle::read(path, place, rest, contents)?
        } else if bundle::is_compressed(rest) {
            bundle::read_compressed(files, path, place, rest, contents)?
        } else if binary::is_binary(rest) {
            binary::read(path, place, rest, contents)?
        } else {
            return Err(OpenError::malformed(path, place, "neither a bundle nor an offload binary"));
        };
        // A step of at least the magic's 4 bytes, so that the loop ends.
        rest = rest.get(used.max(4)..).unwrap_or_default();
    }
}

/// The selected device program, and a diagnostic for the entries that are not ELF files.
type Chosen<'f> = (&'f [u8], Option<OpenDiagnostic>);

/// Selects the wanted device program, or the only one. `None` if the file is not a container and `wanted` is `None`.
///
/// `wanted` is a target with or without its offload kind, a processor with its features (`gfx90a:xnack+`), or a processor
/// (`gfx90a`). The most exact of these forms that matches any program must match exactly one. `place` is the position at
/// which an earlier call found the program.
///
/// # Errors
/// As [`device_code`]. Also if no program or several match, or if `wanted` is `None` and there are several.
pub(super) fn choose<'f>(
    files: &'f Files,
    path: &Path,
    data: &'f [u8],
    wanted: Option<&str>,
    place: Option<DevicePlace>,
) -> Result<Option<Chosen<'f>>, OpenError> {
    if let Some(place) = place {
        let found = contents(files, path, data, Some(place.container))?;
        let note = found.note();
        if let Some(object) = found.objects.iter().find(|object| object.place == place) {
            return Ok(Some((object.data, note)));
        }
    }
    let alone = is_container(data);
    if wanted.is_none() && !alone {
        return Ok(None);
    }
    let found = contents(files, path, data, None)?;
    let (objects, note) = (&found.objects, found.note());
    let exactness = |object: &CodeObject<'_>| match wanted {
        Some(wanted) => fits(&object.target, bundle::target(wanted).unwrap_or(wanted)),
        None => Some(0),
    };
    let best = objects.iter().filter_map(exactness).min();
    let mut fitting = objects.iter().filter(|object| best.is_some() && exactness(object) == best);
    match (fitting.next(), fitting.next()) {
        (Some(object), None) => Ok(Some((object.data, note))),
        (None, _) if objects.is_empty() => {
            let what = match (&note, alone) {
                (Some(_), _) => format!("a file with device code that is no ELF file ({})", found.listed()),
                (None, true) => "a container without device code".to_owned(),
                (None, false) => "not a container of device code, so there is no target to choose".to_owned(),
            };
            Err(OpenError::Unsupported { path: path.to_owned(), what })
        }
        _ => Err(OpenError::ChooseTarget {
            path: path.to_owned(),
            wanted: wanted.map(str::to_owned),
            available: found.objects.into_iter().map(|object| object.target).collect(),
        }),
    }
}

/// How exactly `wanted` names the target: 0 the whole target, 1 the target without its number (`#2`), 2 the processor with
/// features and number, 3 the same without number, 4 the processor alone. `None` if it does not name it.
fn fits(target: &str, wanted: &str) -> Option<usize> {
    let without_number = target.split('#').next().unwrap_or(target);
    let numbered = processor(target);
    let processor = processor(without_number);
    let without_features = processor.split(':').next().unwrap_or(processor);
    [target, without_number, numbered, processor, without_features].iter().position(|name| *name == wanted)
}

/// The processor and features in a target, after its triple. The triple has four parts, of which the last may be empty
/// (`amdgcn-amd-amdhsa--gfx90a`). Older compilers wrote three parts (`amdgcn-amd-amdhsa-gfx90a`).
fn processor(target: &str) -> &str {
    let mut parts = target.splitn(4, '-');
    let Some(rest) = parts.nth(3) else { return target };
    let old = ["gfx", "sm_"].iter().any(|family| rest.starts_with(family));
    match rest.split_once('-') {
        Some((_, processor)) if !old => processor,
        _ => rest,
    }
}
