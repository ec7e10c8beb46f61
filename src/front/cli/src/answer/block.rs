//! The basic block of an address, and its addresses and flags as text and as JSON.

use std::sync::LazyLock;

use foldsym_lookup::basic_blocks::{BasicBlock, BasicBlocks};
use foldsym_lookup::{Error, Frames, ImageAddr, Lookup, NameId, SymbolFile};
use foldsym_symbolize::json::{address, hex, number};
use foldsym_symbolize::{Answer, Names};
use rustc_hash::FxHashMap;

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

/// Puts the members of a block's object, without braces.
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

/// Puts the object of a block.
pub(crate) fn object(out: &mut Vec<u8>, found: &Block, names: &mut Names<'_>) {
    out.push(b'{');
    block_members(out, &found.block);
    out.extend_from_slice(b",\"Function\":");
    out.extend_from_slice(names.linkage(found.function));
    if found.folded {
        out.extend_from_slice(b",\"Folded\":true");
    }
    out.push(b'}');
}

/// The basic block that holds an address.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    pub(crate) block: BasicBlock,
    /// The function whose blocks these are.
    pub(crate) function: Option<NameId>,
    /// Other functions were folded into it: numbers and flags are those of the survivor.
    pub(crate) folded: bool,
}

/// The basic blocks of a program.
pub(crate) struct BlockFinder<'f> {
    file: SymbolFile<'f>,
    /// Without a map, no address has one.
    map: Option<BasicBlocks<'f>>,
    /// The function of each range of blocks that was looked up.
    functions: FxHashMap<u32, Option<NameId>>,
    frames: Frames,
}

impl<'f> BlockFinder<'f> {
    pub(crate) fn new(file: SymbolFile<'f>, map: Option<BasicBlocks<'f>>) -> Self {
        Self { file, map, functions: FxHashMap::default(), frames: Frames::new() }
    }

    /// The block that has the address of an answer.
    ///
    /// # Errors
    /// The file is damaged there.
    pub(crate) fn of(&mut self, answer: &Answer) -> Result<Option<Block>, Error> {
        let (Some(map), Some(image)) = (&self.map, answer.image_address) else { return Ok(None) };
        // A block is looked up by address alone: members of a group share it.
        let Some(block) = map.at(ImageAddr(image))? else { return Ok(None) };
        // A part of a function may be shared even if its entry is not.
        let folded = answer.candidate_count.is_some();
        if let Some(&function) = self.functions.get(&block.range) {
            return Ok(Some(Block { block, function, folded }));
        }
        // The map has no names: the name is that of the function at the start that the map gives.
        let start = map.function_start(&block)?;
        let function = match self.file.lookup(start, &mut self.frames)? {
            Lookup::Found(found) if !found.padding => self.file.records().function_name(found.function)?,
            _ => None,
        };
        self.functions.insert(block.range, function);
        Ok(Some(Block { block, function, folded }))
    }
}
