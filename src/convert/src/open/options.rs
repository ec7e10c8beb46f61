//! The caller's options: where to look for files, and which program in a file to open.

use std::path::{Path, PathBuf};

/// Where to look for the files of a program. The default looks next to the program and in `/usr/lib/debug`.
#[derive(Clone, Debug)]
pub(crate) struct OpenOptions {
    /// The architecture to open in a fat file, by Apple's name or the ELF name (`arm64` and `aarch64` mean the same). A
    /// program of another architecture is refused.
    pub arch: Option<String>,
    /// The target of the device program to open, in a container of GPU code or in a host program with such a container.
    pub target: Option<String>,
    /// Where an earlier search found that device program, so that other containers of the file need not be decompressed again.
    pub device: Option<super::gpu::DevicePlace>,
    /// Roots of separate debug files (`DIR/.build-id/ab/cdef.debug`, `DIR/usr/bin/ls.debug`), in order. If there is one of
    /// these or of `dwo_dirs`, a dwz file is opened only below one of them or below `/usr/lib/debug`.
    pub debug_dirs: Vec<PathBuf>,
    /// The separate debug file or dSYM bundle to use instead of a search. It must be of the same build.
    pub debug_file: Option<PathBuf>,
    /// Caches of debuginfod (`DIR/BUILDID/debuginfo`). They are searched after the roots of separate debug files.
    pub debuginfod_dirs: Vec<PathBuf>,
    /// The member of an archive to open, counted from 0.
    pub member: Option<usize>,
    /// If true, `/usr/lib/debug` is searched after `debug_dirs`.
    pub system_debug_dir: bool,
    /// If false, no other file than the program is opened: no separate debug file, dSYM bundle, `.dwo` or `.dwp`.
    pub separate: bool,
    /// Directories of `.dwo` files, in order. If there is one, no `.dwo` outside of them is opened.
    pub dwo_dirs: Vec<PathBuf>,
    /// (old, new) prefixes of paths in debug information. Only whole components match, and the first match is applied.
    pub map_prefix: Vec<(PathBuf, PathBuf)>,
    /// The `.dwp` to use instead of the one next to the program.
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
    /// All roots of separate debug files, in search order.
    pub(super) fn debug_roots(&self) -> impl Iterator<Item = &Path> {
        let system = self.system_debug_dir.then_some(Path::new("/usr/lib/debug"));
        self.debug_dirs.iter().map(PathBuf::as_path).chain(system)
    }

    /// The folders (real paths) in which a file may lie that the program names by a path of its choice: `dwo_dirs` and the
    /// roots of separate debug files. `None` if the user gave neither, which allows any folder.
    pub(super) fn given_roots(&self) -> Option<Vec<PathBuf>> {
        let given = !self.dwo_dirs.is_empty() || !self.debug_dirs.is_empty();
        let dirs = self.dwo_dirs.iter().map(PathBuf::as_path).chain(self.debug_roots());
        // Real paths, since the real path of a candidate is compared: a symbolic link must not lead out of these folders.
        given.then(|| dirs.filter_map(|dir| dir.canonicalize().ok()).collect())
    }

    /// The path after `map_prefix`: the first matching prefix is replaced.
    pub(super) fn mapped(&self, path: &Path) -> PathBuf {
        for (old, new) in &self.map_prefix {
            if let Ok(rest) = path.strip_prefix(old) {
                // `join("")` would append a separator.
                return if rest.as_os_str().is_empty() { new.clone() } else { new.join(rest) };
            }
        }
        path.to_owned()
    }
}
