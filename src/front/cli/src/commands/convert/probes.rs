//! Tells from the path of a file below a build folder whether the build system made it only to try the compiler.
//!
//! Such programs run nowhere, and a store with them has an entry for each configuration. They are recognised by the names that build
//! systems give them, since they are ordinary programs otherwise.

use std::path::Path;
use std::sync::LazyLock;

use glob::{MatchOptions, Pattern};

/// Paths of compiler probes, and the build system that makes them. A path is matched from each of its folders on, and `**` matches any
/// number of folders. A probe is also each file below a folder that matches.
const PROBES: [(&str, &str); 27] = [
    ("CMake: the compiler's identity", "CMakeFiles/*/CompilerId*"),
    ("CMake before 2.8.10", "CMakeFiles/CompilerId*"),
    ("CMake: the compiler's ABI", "CMakeFiles/**/CMakeDetermineCompilerABI_*.bin"),
    ("CMake: try_compile", "CMakeFiles/CMakeTmp"),
    ("CMake 3.25 and later: try_compile", "CMakeFiles/CMakeScratch"),
    ("CMake: try_compile, kept by --debug-trycompile", "cmTC_*"),
    ("CMake: check_type_size", "CMakeFiles/CheckTypeSize"),
    ("CMake: CheckIPOSupported", "CMakeFiles/_CMakeLTOTest-*"),
    ("CMake: FindOpenMP", "CMakeFiles/FindOpenMP"),
    ("CMake: FindMPI", "CMakeFiles/FindMPI"),
    ("CMake before 3.20: compiler features", "CMakeFiles/feature_tests.bin"),
    ("Meson: sanity checks and checks", "meson-private"),
    ("autoconf", "conftest"),
    ("autoconf", "conftest.o"),
    ("autoconf on Windows", "conftest.exe"),
    ("autoconf on Windows", "conftest.obj"),
    ("autoconf on macOS", "conftest.dSYM"),
    ("libtool", "conftest.a"),
    ("libtool", "libconftest.a"),
    ("autoconf: folders of its checks", "conftest.dir"),
    ("Cargo: build scripts", "build/*/build-script-*"),
    ("Cargo: build scripts, by their crates", "build/*/build_script_*"),
    ("waf", ".conf_check_*"),
    ("SCons", ".sconf_temp"),
    ("qmake", "config.tests"),
    ("Zig: build scripts", ".zig-cache/o/*/build"),
    ("Zig before 0.13: build scripts", "zig-cache/o/*/build"),
];

static PATTERNS: LazyLock<Vec<Pattern>> =
    LazyLock::new(|| PROBES.iter().filter_map(|(_, path)| Pattern::new(path).ok()).collect());

/// Whether a file or folder is a compiler probe. `below` is its path below the folder that the user named: what the user names is no probe.
pub(super) fn is_probe(below: &Path) -> bool {
    let options = MatchOptions { require_literal_separator: true, ..MatchOptions::new() };
    let mut from = below.components();
    while from.clone().next().is_some() {
        if PATTERNS.iter().any(|pattern| pattern.matches_path_with(from.as_path(), options)) {
            return true;
        }
        from.next();
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Paths in build folders of real projects, as their build systems made them. A folder that is a probe is not entered.
    #[test]
    fn paths_of_build_folders() {
        for probe in [
            "CMakeFiles/3.25.1/CompilerIdC",
            "CMakeFiles/3.25.1/CompilerIdCXX",
            "CMakeFiles/4.0.2/CompilerIdCUDA",
            "CMakeFiles/3.25.1/CMakeDetermineCompilerABI_C.bin",
            "third_party/zlib-build/CMakeFiles/3.31.6/CMakeDetermineCompilerABI_CXX.bin",
            "CMakeFiles/CMakeTmp",
            "CMakeFiles/CMakeScratch",
            "CMakeFiles/CMakeTmp/cmTC_1f2d4",
            "CMakeFiles/CheckTypeSize",
            "CMakeFiles/_CMakeLTOTest-CXX",
            "CMakeFiles/feature_tests.bin",
            "meson-private",
            "subprojects/x/meson-private",
            "conftest",
            "src/conftest.o",
            "conftest.dSYM",
            "libconftest.a",
            "release/build/libc-4f1f5ad3b6ac2b9a/build-script-build",
            "target/debug/build/serde-0c1d/build_script_build-0c1d",
            ".conf_check_5cd0f1b7",
            ".sconf_temp",
        ] {
            assert!(is_probe(Path::new(probe)), "{probe}");
        }
        for program in [
            "app",
            "CMakeFiles",
            "CMakeFiles/app.dir/main.cpp.o",
            "src/CompilerIdC/a.out",
            "a.out",
            "bin/conftester",
            // Tests in Python.
            "tests/conftest.py",
            "meson-private-tool",
            "meson/src/app",
            "debug/deps/app-0c1d",
            "debug/build/openssl-sys-0c1d/out/lib.so",
            "debug/build-script-runner",
            "build/x/y/build-script-build",
            "lib/libcmTC.so",
        ] {
            assert!(!is_probe(Path::new(program)), "{program}");
        }
    }
}
