//! Compares a program's processor with the name that a user gave it.

use super::image::Arch;

/// True if `wanted` is a name of the processor. Names that the Linux kernel, compilers and Apple use are accepted, in upper
/// or lower case. A name that implies a byte order or an address size (`ppc64le`, `x32`) must match these too.
pub(super) fn is_arch(arch: &Arch, wanted: &str) -> bool {
    let wanted = plain(wanted);
    let (name, big_endian, address_size) = meant(&wanted);
    arch.name == name
        && big_endian.is_none_or(|big| big == arch.big_endian)
        && address_size.is_none_or(|size| size == arch.address_size)
}

/// True if some processor has this name: as [`is_arch`] accepts it, or Apple's name for it.
pub(super) fn is_known(wanted: &str) -> bool {
    let wanted = plain(wanted);
    NAMES.contains(&meant(&wanted).0) || APPLE_NAMES.contains(&wanted.as_str())
}

/// The names of [`Arch`].
const NAMES: [&str; 31] = [
    "aarch64",
    "alpha",
    "amdgcn",
    "arm",
    "avr",
    "bpf",
    "csky",
    "hexagon",
    "hppa",
    "hppa64",
    "i386",
    "ia64",
    "loongarch32",
    "loongarch64",
    "m68k",
    "mips",
    "mips64",
    "msp430",
    "nvptx",
    "ppc",
    "ppc64",
    "riscv32",
    "riscv64",
    "s390",
    "s390x",
    "sh",
    "sparc",
    "sparc64",
    "x86_64",
    "xtensa",
    "unknown",
];

/// Names of variants, in fat files.
const APPLE_NAMES: [&str; 5] = ["x86_64h", "arm64e", "arm64_32", "armv7s", "armv7k"];

fn plain(wanted: &str) -> String {
    // Names are in use with both signs: gcc has `-march=x86-64`, and triples begin with `x86_64`.
    wanted.to_ascii_lowercase().replace('-', "_")
}

/// The name of [`Arch`] that a name means, with the byte order and the address size if the name implies them.
fn meant(wanted: &str) -> (&str, Option<bool>, Option<u8>) {
    match wanted {
        "x64" | "amd64" => ("x86_64", None, None),
        // An x32 program has the machine of x86-64 in a file of class 32.
        "x32" => ("x86_64", None, Some(4)),
        "x86" | "i486" | "i586" | "i686" => ("i386", None, None),
        "arm64" => ("aarch64", None, None),
        "aarch64_be" | "arm64_be" => ("aarch64", Some(true), None),
        // Debian calls its ports `armel` and `armhf`, and `uname -m` prints `armv7l`. All of these are little-endian.
        "armel" | "armhf" | "armv6" | "armv7" | "armv7a" | "armv7l" => ("arm", Some(false), None),
        "armeb" => ("arm", Some(true), None),
        "powerpc" => ("ppc", None, None),
        "powerpc64" => ("ppc64", None, None),
        // Triples have `powerpc64le`, `uname -m` prints `ppc64le`, and Debian calls its port `ppc64el`.
        "powerpc64le" | "ppc64le" | "ppc64el" => ("ppc64", Some(false), None),
        // LLVM's back end for s390x is called `SystemZ`.
        "systemz" => ("s390x", None, None),
        "mipsel" => ("mips", Some(false), None),
        "mips64el" => ("mips64", Some(false), None),
        "riscv" => ("riscv64", None, None),
        "loongarch" => ("loongarch64", None, None),
        "sparcv9" => ("sparc64", None, None),
        "amdgpu" => ("amdgcn", None, None),
        name => (name, None, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_processor_has_many_names() {
        let arch = |name, address_size, big_endian| Arch { machine: 0, name, address_size, big_endian };
        let x86_64 = arch("x86_64", 8, false);
        let big_ppc = arch("ppc64", 8, true);
        for (arch, yes, no) in [
            (&x86_64, &["x86_64", "X86-64", "amd64"][..], &["i386", "x86", "x32", "arm64", ""][..]),
            (&arch("x86_64", 4, false), &["x86_64", "x32"], &["i386"]),
            (&arch("i386", 4, false), &["i386", "x86", "i686"], &["x86_64"]),
            (&arch("aarch64", 8, false), &["aarch64", "arm64", "ARM64"], &["aarch64_be", "arm"]),
            (&arch("arm", 4, false), &["arm", "armv7"], &["armeb", "arm64"]),
            (&big_ppc, &["ppc64", "powerpc64"], &["ppc64le", "ppc"]),
            (&arch("ppc64", 8, false), &["ppc64", "ppc64le"], &["s390x"]),
            (&arch("riscv64", 8, false), &["riscv64"], &["riscv32"]),
            (&arch("s390x", 8, true), &["s390x"], &["ppc64"]),
        ] {
            assert!(yes.iter().all(|name| is_arch(arch, name)), "{arch:?}");
            assert!(no.iter().all(|name| !is_arch(arch, name)), "{arch:?}");
            assert!(yes.iter().all(|name| is_known(name)), "{arch:?}");
        }
        assert!(is_known("arm64e") && is_known("riscv32") && !is_known("x") && !is_known(""));
    }
}
