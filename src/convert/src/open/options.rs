//! What the caller says about where files are and which part of them to take.

use std::path::{Path, PathBuf};

/// Where to look for the files of a program. The default looks beside the program and in `/usr/lib/debug`.
#[derive(Clone, Debug)]
pub struct OpenOptions {
    /// The architecture to take of a fat file, by Apple's or the ELF name (`arm64` and `aarch64` are one). A program of
    /// another architecture is refused.
    pub arch: Option<String>,
    /// The target of the device program to take, of a container of GPU code or of a host program that has one.
    pub target: Option<String>,
    /// Where that program was found: other containers of the file are not decompressed to find it again.
    pub device: Option<super::gpu::DevicePlace>,
    /// Roots of separate debug files (`DIR/.build-id/ab/cdef.debug`, `DIR/usr/bin/ls.debug`), in order. With one of these or
    /// of `dwo_dirs`, a dwz file is opened below them alone.
    pub debug_dirs: Vec<PathBuf>,
    /// The separate debug file or dSYM bundle to take, in place of what would be found. It must be of the same build.
    pub debug_file: Option<PathBuf>,
    /// Caches of debuginfod (`DIR/BUILDID/debuginfo`), after the roots of separate debug files.
    pub debuginfod_dirs: Vec<PathBuf>,
    /// The member of an archive to take, counted from 0.
    pub member: Option<usize>,
    /// Looks in `/usr/lib/debug` after `debug_dirs`.
    pub system_debug_dir: bool,
    /// Opens other files than the program at all: separate debug files, dSYM bundles, `.dwo`, `.dwp`.
    pub separate: bool,
    /// Directories of `.dwo` files, in order. Where there is one, no `.dwo` outside them is opened.
    pub dwo_dirs: Vec<PathBuf>,
    /// Rewrites the beginning of a path from debug information, whole components only; the first that fits is taken.
    pub map_prefix: Vec<(PathBuf, PathBuf)>,
    /// The `.dwp` to take instead of the one beside the program.
    pub dwp: Option<PathBuf>,
}

impl Default for OpenOptions {
    fn default() -> Self {
        Self {
            arch: None,
            target: None,
            device: None,
            debug_dirs: Vec::new(),
            debug_file: None,
            debuginfod_dirs: Vec::new(),
            member: None,
            system_debug_dir: true,
            separate: true,
            dwo_dirs: Vec::new(),
            map_prefix: Vec::new(),
            dwp: None,
        }
    }
}

impl OpenOptions {
    /// All roots of separate debug files, in the order in which they are searched.
    pub(super) fn debug_roots(&self) -> impl Iterator<Item = &Path> {
        let system = self.system_debug_dir.then_some(Path::new("/usr/lib/debug"));
        self.debug_dirs.iter().map(PathBuf::as_path).chain(system)
    }

    /// Where files may be that the program names by a path of its choice: with folders given, in those and below the roots
    /// of separate debug files, all links followed. `None` where none was given.
    pub(super) fn given_roots(&self) -> Option<Vec<PathBuf>> {
        let given = !self.dwo_dirs.is_empty() || !self.debug_dirs.is_empty();
        let dirs = self.dwo_dirs.iter().map(PathBuf::as_path).chain(self.debug_roots());
        given.then(|| dirs.filter_map(|dir| dir.canonicalize().ok()).collect())
    }

    /// The path with the first prefix of `map_prefix` that fits replaced.
    pub(super) fn mapped(&self, path: &Path) -> PathBuf {
        for (old, new) in &self.map_prefix {
            if let Ok(rest) = path.strip_prefix(old) {
                // `join("")` would end the path in a separator.
                return if rest.as_os_str().is_empty() { new.clone() } else { new.join(rest) };
            }
        }
        path.to_owned()
    }
}
