//! The device programs of a file, as they are collected from its containers.

use std::path::Path;

use crate::open::diagnostics::{OpenDiagnostic, OpenDiagnosticKind};
use crate::open::error::OpenError;

/// More device programs than this are refused: real containers have one for each processor and source file.
const MAX_OBJECTS: usize = 1 << 16;

/// Bytes of the names of targets, and of the strings that they are found among, of one file: a name has 40.
const MAX_TEXTS: usize = 8 << 20;

/// Names of entries that are no ELF file, as far as they are listed.
pub(super) const LISTED: usize = 16;

/// A device program in a container.
#[derive(Clone, Debug)]
pub struct CodeObject<'f> {
    /// What it was built for, as the container names it, without the kind of its source language:
    /// `amdgcn-amd-amdhsa--gfx90a:xnack+`. The second of one name has `#2` behind it, and so on.
    pub target: String,
    /// An ELF file.
    pub data: &'f [u8],
    /// Where it stands.
    pub place: DevicePlace,
}

/// Where a device program stands in its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DevicePlace {
    /// Which container, in the order of the file.
    pub(super) container: usize,
    /// Which ELF file of it.
    pub(super) entry: usize,
}

/// The device programs of a file.
#[derive(Default)]
pub struct DeviceCode<'f> {
    /// Each with a target of its own.
    pub objects: Vec<CodeObject<'f>>,
    /// Entries that are no ELF file: bitcode, SPIR-V, archives. And the first targets of them.
    pub passed_over: u64,
    pub(super) others: Vec<String>,
    /// Bytes of strings that were read.
    pub(super) texts: usize,
    /// The container that is read now, and how many programs were read before it.
    pub(super) container: usize,
    pub(super) before: usize,
    /// The one container to decompress; `None`: all.
    pub(super) only: Option<usize>,
    /// Bytes to decompress to come to each program by its place.
    pub(super) work: u64,
}

impl<'f> DeviceCode<'f> {
    /// Another container follows.
    pub(super) fn begin(&mut self) {
        self.container += 1;
        self.before = self.objects.len();
    }

    /// Takes an entry. Empty ones stand for the host, whose code is elsewhere.
    pub(super) fn add(&mut self, path: &Path, target: &str, data: &'f [u8]) -> Result<(), OpenError> {
        if data.is_empty() {
            return Ok(());
        }
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

    /// Counts bytes of names: containers may name one text any number of times.
    pub(super) fn charge(&mut self, path: &Path, bytes: usize) -> Result<(), OpenError> {
        self.texts = self.texts.saturating_add(bytes);
        match self.texts <= MAX_TEXTS {
            true => Ok(()),
            false => Err(too_large(path, "names of device programs", self.texts as u64, MAX_TEXTS as u64)),
        }
    }

    /// What was passed over, as a line of a report.
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

    /// Tells those of one target apart.
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

/// A number of `len` bytes at `at`, little-endian.
pub(super) fn number(data: &[u8], at: usize, len: usize) -> Option<u64> {
    let bytes = data.get(at..at.checked_add(len)?)?;
    Some(bytes.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte)))
}

/// Bytes at an offset and of a size that the file names.
pub(super) fn range(data: &[u8], offset: u64, size: u64) -> Option<&[u8]> {
    let start = usize::try_from(offset).ok()?;
    data.get(start..start.checked_add(usize::try_from(size).ok()?)?)
}
