//! Prints a basic block: its addresses and flags, as text and as JSON.

use std::sync::LazyLock;

use foldsym_lookup::BasicBlock;

use crate::io::json::{address, hex, number};

/// The flags of a block in both forms, by their bits: they are printed with every block.
pub(crate) struct Flags {
    /// ` HasReturn HasTailCall`.
    pub(crate) text: String,
    /// `["HasReturn","HasTailCall"]`.
    pub(crate) json: String,
}

static FLAGS: LazyLock<Vec<Flags>> = LazyLock::new(|| {
    let of = |flags| {
        let words: Vec<&str> = BasicBlock::words_of(flags).collect();
        // The words need no escape.
        let json = words.iter().map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(",");
        Flags { text: words.iter().map(|word| format!(" {word}")).collect(), json: format!("[{json}]") }
    };
    (0..=u8::MAX).map(of).collect()
});

/// The flags of a block as they are printed.
pub(crate) fn flags(block: &BasicBlock) -> &'static Flags {
    &FLAGS[usize::from(block.flags)]
}

/// Puts the addresses of a block, the end excluded, and its flags.
pub(crate) fn block_range(out: &mut Vec<u8>, block: &BasicBlock) {
    hex(out, block.start.0);
    out.push(b'-');
    hex(out, block.start.0.saturating_add(block.size));
    out.extend_from_slice(flags(block).text.as_bytes());
}

/// Puts what is known of a block itself, without braces.
pub(crate) fn block_members(out: &mut Vec<u8>, block: &BasicBlock) {
    out.extend_from_slice(b"\"Id\":");
    number(out, block.id);
    out.extend_from_slice(b",\"Start\":");
    address(out, block.start.0);
    out.extend_from_slice(b",\"Size\":");
    number(out, block.size);
    out.extend_from_slice(b",\"Flags\":");
    out.extend_from_slice(flags(block).json.as_bytes());
}
