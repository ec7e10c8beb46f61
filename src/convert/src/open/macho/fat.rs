//! Selects one architecture of a fat Mach-O file.

use std::path::Path;

use object::macho::{self, CpuSubtype, CpuType, FatArch32, FatArch64};
use object::read::macho::{FatArch, MachOFatFile};

use crate::open::error::OpenError;

/// The most architectures of a fat file. Java class files have the same magic, and have a version of 45 or more in place of
/// the count.
const MAX_ARCHES: u32 = 44;

/// One architecture's file.
pub(in crate::open) struct Slice<'f> {
    /// Apple's name.
    pub(in crate::open) name: String,
    pub(in crate::open) data: &'f [u8],
}

/// True if the data begins with the header of a fat file.
pub(in crate::open) fn is_fat(data: &[u8]) -> bool {
    let word = |offset: usize| data.get(offset..)?.first_chunk().map(|word| u32::from_be_bytes(*word));
    matches!(word(0), Some(macho::FAT_MAGIC | macho::FAT_MAGIC_64))
        && word(4).is_some_and(|count| count <= MAX_ARCHES)
}

/// All architectures of a fat file, in file order.
///
/// # Errors
/// The table or an architecture is outside the file.
pub(in crate::open) fn slices<'f>(path: &Path, data: &'f [u8]) -> Result<Vec<Slice<'f>>, OpenError> {
    if data.starts_with(&macho::FAT_MAGIC_64.to_be_bytes()) {
        slices_of::<FatArch64>(path, data)
    } else {
        slices_of::<FatArch32>(path, data)
    }
}

fn slices_of<'f, Fat: FatArch>(path: &Path, data: &'f [u8]) -> Result<Vec<Slice<'f>>, OpenError> {
    let malformed =
        |error: object::read::Error| OpenError::malformed(path, "fat header, offset 0x0", error.to_string());
    let fat = MachOFatFile::<Fat>::parse(data).map_err(malformed)?;
    let slice = |arch: &Fat| {
        Ok(Slice {
            name: arch_name(arch.cputype(), arch.cpusubtype()),
            data: arch.data(data).map_err(malformed)?,
        })
    };
    fat.arches().iter().map(slice).collect()
}

/// The wanted architecture, or the only one.
///
/// # Errors
/// The wanted one is missing, or `wanted` is `None` and there is not exactly one.
pub(in crate::open) fn choose<'f>(
    path: &Path,
    mut slices: Vec<Slice<'f>>,
    wanted: Option<&str>,
) -> Result<&'f [u8], OpenError> {
    let found = match wanted {
        Some(wanted) => slices.iter().position(|slice| same_arch(&slice.name, wanted)),
        // A build id, and so an output, belongs to one architecture: none is a better default than the others.
        None => (slices.len() == 1).then_some(0),
    };
    match found {
        Some(index) => Ok(slices.swap_remove(index).data),
        None => Err(OpenError::ChooseArch {
            path: path.to_owned(),
            wanted: wanted.map(str::to_owned),
            available: slices.into_iter().map(|slice| slice.name).collect(),
        }),
    }
}

/// True if `wanted` names the architecture whose Apple name is `apple`.
pub(in crate::open) fn same_arch(apple: &str, wanted: &str) -> bool {
    let apple_name = match wanted {
        "aarch64" => "arm64",
        "x86-64" | "amd64" => "x86_64",
        "i686" | "x86" => "i386",
        other => other,
    };
    apple == apple_name
}

/// Apple's name of the architecture of a thin Mach-O file.
pub(in crate::open) fn arch_of(data: &[u8]) -> Option<String> {
    let word = |offset: usize| data.get(offset..)?.first_chunk::<4>().copied();
    // The magic is read as big-endian, so that of a little-endian file has its bytes swapped (`MH_CIGAM`).
    let little = matches!(u32::from_be_bytes(word(0)?), macho::MH_CIGAM | macho::MH_CIGAM_64);
    let number = |bytes| if little { u32::from_le_bytes(bytes) } else { u32::from_be_bytes(bytes) };
    Some(arch_name(CpuType(number(word(4)?)), CpuSubtype(number(word(8)?))))
}

fn arch_name(cpu: CpuType, subtype: CpuSubtype) -> String {
    // The upper byte has capabilities: `CPU_SUBTYPE_LIB64`, the version of pointer authentication of arm64e.
    let subtype = subtype.0 & !macho::CPU_SUBTYPE_MASK;
    match (cpu, subtype) {
        (macho::CPU_TYPE_X86_64, 8) => "x86_64h",
        (macho::CPU_TYPE_X86_64, _) => "x86_64",
        (macho::CPU_TYPE_X86, _) => "i386",
        (macho::CPU_TYPE_ARM64, 2) => "arm64e",
        (macho::CPU_TYPE_ARM64, _) => "arm64",
        (macho::CPU_TYPE_ARM64_32, _) => "arm64_32",
        (macho::CPU_TYPE_ARM, 6) => "armv6",
        (macho::CPU_TYPE_ARM, 9) => "armv7",
        (macho::CPU_TYPE_ARM, 11) => "armv7s",
        (macho::CPU_TYPE_ARM, 12) => "armv7k",
        (macho::CPU_TYPE_ARM, _) => "arm",
        (macho::CPU_TYPE_POWERPC, _) => "ppc",
        (macho::CPU_TYPE_POWERPC64, _) => "ppc64",
        _ => return format!("cpu{}-{subtype}", cpu.0),
    }
    .to_owned()
}
