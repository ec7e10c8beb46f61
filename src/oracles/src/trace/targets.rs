//! The processors whose programs are traced: what their tools are called, and how a program is run step by step.

use std::path::PathBuf;

use xtask::sh;

/// A processor with its Linux.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Target {
    pub(super) name: &'static str,
    /// As clang and the names of gcc's cross tools have it.
    triple: &'static str,
    pub(super) is_host: bool,
    pub(super) is_x86: bool,
    /// The emulator that runs the program, if this machine cannot.
    pub(super) emulator: Option<Emulated>,
}

/// How `qemu-user` is called, and what its instructions and its log are read as.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Emulated {
    AArch64,
    RiscV64,
}

pub(super) static TARGETS: &[Target] = &[
    Target { name: "x86_64", triple: "x86_64-linux-gnu", is_host: true, is_x86: true, emulator: None },
    Target { name: "i386", triple: "i686-linux-gnu", is_host: false, is_x86: true, emulator: None },
    Target {
        name: "aarch64",
        triple: "aarch64-linux-gnu",
        is_host: false,
        is_x86: false,
        emulator: Some(Emulated::AArch64),
    },
    Target {
        name: "riscv64",
        triple: "riscv64-linux-gnu",
        is_host: false,
        is_x86: false,
        emulator: Some(Emulated::RiscV64),
    },
];

impl Target {
    /// A compiler's driver, and its options for the target.
    ///
    /// # Errors
    /// It is not installed.
    pub(super) fn driver(&self, compiler: &str, is_cpp: bool) -> Result<(PathBuf, Vec<String>), String> {
        let triple = self.triple;
        match (compiler, self.is_host) {
            ("clang", _) => {
                let driver = sh::llvm(if is_cpp { "clang++" } else { "clang" })?;
                Ok((driver, vec![format!("--target={triple}")]))
            }
            (_, true) => {
                let driver = if is_cpp { "g++" } else { "gcc" };
                Ok((sh::tool(driver, driver)?, Vec::new()))
            }
            (_, false) => {
                let driver = format!("{triple}-{}", if is_cpp { "g++" } else { "gcc" });
                Ok((sh::tool(&driver, &format!("g++-{triple}"))?, Vec::new()))
            }
        }
    }

    /// GNU's objcopy.
    ///
    /// # Errors
    /// It is not installed.
    pub(super) fn objcopy(&self) -> Result<PathBuf, String> {
        match self.is_host {
            true => sh::tool("objcopy", "binutils"),
            false => sh::tool(&format!("{}-objcopy", self.triple), &format!("binutils-{}", self.triple)),
        }
    }
}
