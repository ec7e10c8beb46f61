//! What LLVM's and binutils' readers of programs (`nm`, `readelf`, `objdump`, `dwarfdump`) print, as values. No other module starts
//! them, but for two tasks that compare one whole listing (`cfi`, `blocks`), and [`xtask::build_id`], which a chore needs too.

pub(crate) mod dwarfdump;
pub(crate) mod nm;
pub(crate) mod objdump;
pub(crate) mod readelf;

use std::path::Path;
use std::process::Command;

use xtask::sh;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// `STT_FUNC` and `STT_GNU_IFUNC`; every symbol of Mach-O, which has no types.
    Function,
    /// `STT_NOTYPE`: a label of assembly code.
    Label,
    Object,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Symbol {
    pub(crate) address: u64,
    pub(crate) size: u64,
    pub(crate) kind: Kind,
    pub(crate) name: String,
    /// The last `STT_FILE` symbol before a local symbol.
    pub(crate) file: Option<String>,
}

impl Symbol {
    pub(crate) fn covers(&self, address: u64) -> bool {
        self.address <= address && (self.size == 0 || address - self.address < self.size)
    }
}

/// A section with code, as addresses `start .. start + size`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Code {
    pub(crate) name: String,
    pub(crate) start: u64,
    pub(crate) size: u64,
}

/// What a tool of LLVM prints of a file.
///
/// # Errors
/// The tool is missing or fails.
fn printed(tool: &str, options: &[&str], file: &Path) -> Result<String, String> {
    sh::output(Command::new(sh::llvm(tool)?).args(options).arg(file))
}

/// The option that chooses one architecture of a fat file.
fn of_arch(arch: Option<&str>) -> Option<String> {
    arch.map(|arch| format!("--arch={arch}"))
}

/// A number of a listing, which has no prefix.
fn hex(digits: &str) -> Option<u64> {
    u64::from_str_radix(digits, 16).ok()
}
