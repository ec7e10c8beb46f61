//! Turns the name of a file or of a module into the key by which they are compared: debug files, symbol files and compressed kernel modules
//! have the name of their module and an ending.

use std::borrow::Cow;

/// Endings of files that are no programs, and hold none that a build id names. A build folder has many of them.
const OTHERS: [&str; 36] = [
    "a", "c", "cc", "cmake", "cpp", "css", "cxx", "d", "dwo", "dwp", "go", "h", "hh", "hpp", "html", "hxx",
    "in", "java", "js", "json", "log", "m4", "md", "o", "obj", "png", "py", "pyc", "rlib", "rmeta", "rs",
    "svg", "tar", "txt", "xml", "yaml",
];

/// Whether a file of this name is worth a look.
pub(super) fn may_be_program(name: &str) -> bool {
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    !OTHERS.contains(&ending)
}

/// What is left of a name without the endings of debug files, symbol files and compressed modules. The kernel writes `_` where
/// files of modules have `-`.
pub(super) fn key_of(name: &str) -> Cow<'_, str> {
    let name = name.strip_suffix(".fsym").unwrap_or(name);
    let packed = [".xz", ".zst", ".gz"].iter().find_map(|ending| name.strip_suffix(ending));
    let packed = packed.filter(|inner| inner.ends_with(".ko") || inner.ends_with(".ko.debug"));
    let name = packed.unwrap_or(name);
    let name = [".debug", ".dbg"].iter().find_map(|ending| name.strip_suffix(ending)).unwrap_or(name);
    if name.ends_with(".ko") && name.contains('-') {
        return name.replace('-', "_").into();
    }
    name.into()
}

/// Whether a file that the user named may be of a module that is called so: its name goes on with a version (`vmlinux-6.1.0`).
pub(super) fn is_version_of(file: &str, module: &str) -> bool {
    let rest = file
        .strip_prefix(module)
        .filter(|_| !module.is_empty())
        .and_then(|rest| rest.strip_prefix(['-', '.', '_']));
    rest.is_some_and(|rest| rest.starts_with(|digit: char| digit.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_one_module() {
        for (name, key) in [
            ("libx.so", "libx.so"),
            ("libx.so.fsym", "libx.so"),
            ("libx.so.debug", "libx.so"),
            ("libx.so.debug.fsym", "libx.so"),
            ("snd-hda-intel.ko", "snd_hda_intel.ko"),
            ("snd-hda-intel.ko.xz", "snd_hda_intel.ko"),
            ("ext4.ko.debug", "ext4.ko"),
            ("ext4.ko.zst", "ext4.ko"),
            ("ext4.ko.debug.gz", "ext4.ko"),
            ("data.xz", "data.xz"),
            ("my-app", "my-app"),
            ("", ""),
        ] {
            assert_eq!(key_of(name), key, "{name}");
        }
        assert!(
            is_version_of("vmlinux-6.1.0-18-amd64", "vmlinux") && is_version_of("libx.so.1.2", "libx.so")
        );
        assert!(!is_version_of("app-helper", "app") && !is_version_of("vmlinux", "vmlinux"));
        assert!(may_be_program("app") && may_be_program("x.so.1") && !may_be_program("main.cpp"));
    }
}
