//! The words that options and requests share: a module, a number, a build id.

/// The module that a request names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum NamedModule {
    /// A path, as it was written.
    Path(String),
    BuildId(Vec<u8>),
}

/// The path and the architecture of `PATH:ARCH`, where LLVM knows an architecture of that name.
pub(super) fn with_arch(path: &str) -> Option<(&str, &str)> {
    let (path, arch) = path.rsplit_once(':')?;
    let families = [
        "aarch64",
        "amd64",
        "arm",
        "bpf",
        "hexagon",
        "loongarch",
        "mips",
        "powerpc",
        "ppc",
        "riscv",
        "s390x",
        "sparc",
        "thumb",
        "wasm",
        "x86_64",
    ];
    let i86 = matches!(arch.as_bytes(), [b'i', b'3'..=b'9', b'8', b'6']);
    (i86 || families.iter().any(|family| arch.starts_with(family))).then_some((path, arch))
}

/// Reads a number with the prefix of its base, as LLVM does: `0x`, `0b`, `0o`, `0` for octal, else decimal.
pub(super) fn number(text: &str) -> Option<u64> {
    let lower = text.to_ascii_lowercase();
    let (digits, radix) = match lower.as_str() {
        text if text.starts_with("0x") => (&text[2..], 16),
        text if text.starts_with("0b") => (&text[2..], 2),
        text if text.starts_with("0o") => (&text[2..], 8),
        // A single `0` is decimal.
        text if text.starts_with('0') && text.len() > 1 => (&text[1..], 8),
        text => (text, 10),
    };
    // `from_str_radix` would take a plus sign.
    if digits.starts_with(['+', '-']) {
        return None;
    }
    u64::from_str_radix(digits, radix).ok()
}

/// Reads a build id of hexadecimal digits. The first byte may lack its first digit, as LLVM reads it.
pub(super) fn build_id(text: &str) -> Option<Vec<u8>> {
    if text.is_empty() || !text.is_ascii() {
        return None;
    }
    let text = if text.len().is_multiple_of(2) { text.to_owned() } else { format!("0{text}") };
    let pair = |at: usize| u8::from_str_radix(&text[at..at + 2], 16).ok();
    text.bytes().all(|digit| digit.is_ascii_hexdigit()).then_some(())?;
    (0..text.len()).step_by(2).map(pair).collect()
}
