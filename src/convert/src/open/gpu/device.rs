//! Collects the device programs from the containers of a file.

use std::path::Path;

use crate::diagnostics::opening::{OpenDiagnostic, OpenDiagnosticKind};
use crate::open::error::OpenError;

/// The most device programs of a file. Real containers have one for each processor and source file.
const MAX_OBJECTS: usize = 1 << 16;

/// The most bytes of target names and other strings in the containers of one file. A target name has about 40 bytes.
const MAX_TEXTS: usize = 8 << 20;

/// The most names of non-ELF entries that a message lists.
pub(super) const LISTED: usize = 16;

/// A device program in a container.
#[derive(Clone, Debug)]
pub struct CodeObject<'f> {
    /// The target in the container, without the offload kind: `amdgcn-amd-amdhsa--gfx90a:xnack+`. If several device programs
    /// have the same target, `#2` is appended for the second, and so on.
    pub target: String,
    /// An ELF file.
    pub data: &'f [u8],
    /// Its position in the file.
    pub place: DevicePlace,
}

/// The position of a device program in its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DevicePlace {
    /// The number of the container, in file order.
    pub(super) container: usize,
    /// The number of the ELF file in this container.
    pub(super) entry: usize,
}

/// The device programs of a file.
#[derive(Default)]
pub struct DeviceCode<'f> {
    /// The device programs. No two have the same target.
    pub objects: Vec<CodeObject<'f>>,
    /// The number of entries that are not ELF files: bitcode, SPIR-V, archives. `others` has the first of their targets.
    pub passed_over: u64,
    pub(super) others: Vec<String>,
    /// Bytes of strings that were read so far.
    pub(super) texts: usize,
    /// The number of the current container, and how many programs were read before it.
    pub(super) container: usize,
    pub(super) before: usize,
    /// The only container to decompress; `None` for all.
    pub(super) only: Option<usize>,
    /// The bytes that must be decompressed to convert each program by itself: for each program the size of its container.
    pub(super) work: u64,
}

impl<'f> DeviceCode<'f> {
    /// Begins the next container.
    pub(super) fn begin(&mut self) {
        self.container += 1;
        self.before = self.objects.len();
    }

    /// Adds an entry. Empty entries are skipped: they represent the host, whose code is not in the container.
    pub(super) fn add(&mut self, path: &Path, target: &str, data: &'f [u8]) -> Result<(), OpenError> {
        if data.is_empty() {
            return Ok(());
        }
        // Before the magic is looked at, since names of other entries are kept for the message too.
        self.charge(path, target.len())?;
        if !data.starts_with(b"\x7fELF") {
            self.passed_over += 1;
            if self.others.len() < LISTED {
                self.others.push(target.to_owned());
            }
            return Ok(());
        }
        if self.objects.len() >= MAX_OBJECTS {
            return Err(too_large(
                path,
                "device programs",
                self.objects.len() as u64 + 1,
                MAX_OBJECTS as u64,
            ));
        }
        let place = DevicePlace { container: self.container, entry: self.objects.len() - self.before };
        self.objects.push(CodeObject { target: target.to_owned(), data, place });
        Ok(())
    }

    /// Counts bytes of strings against the limit, since a container may name the same string any number of times.
    pub(super) fn charge(&mut self, path: &Path, bytes: usize) -> Result<(), OpenError> {
        self.texts = self.texts.saturating_add(bytes);
        match self.texts <= MAX_TEXTS {
            true => Ok(()),
            false => Err(too_large(path, "names of device programs", self.texts as u64, MAX_TEXTS as u64)),
        }
    }

    /// The skipped entries as a diagnostic for the report.
    pub fn note(&self) -> Option<OpenDiagnostic> {
        (self.passed_over > 0).then(|| OpenDiagnostic {
            kind: OpenDiagnosticKind::DeviceCodeNotElf,
            count: self.passed_over,
            first: self.listed(),
        })
    }

    pub(super) fn listed(&self) -> String {
        let more = if self.passed_over > self.others.len() as u64 { ", ..." } else { "" };
        format!("{}{more}", self.others.join(", "))
    }

    /// Appends a number to repeated targets.
    pub(super) fn number(mut self) -> Self {
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

pub(super) fn too_large(path: &Path, place: &str, claimed: u64, allowed: u64) -> OpenError {
    OpenError::TooLarge { path: path.to_owned(), place: place.to_owned(), claimed, allowed }
}

/// The little-endian number of `len` bytes at offset `at`.
pub(super) fn number(data: &[u8], at: usize, len: usize) -> Option<u64> {
    let bytes = data.get(at..at.checked_add(len)?)?;
    Some(bytes.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte)))
}

/// The bytes at an offset, with a size, that the file gives; `None` if they are outside of `data`.
pub(super) fn range(data: &[u8], offset: u64, size: u64) -> Option<&[u8]> {
    let start = usize::try_from(offset).ok()?;
    data.get(start..start.checked_add(usize::try_from(size).ok()?)?)
}
