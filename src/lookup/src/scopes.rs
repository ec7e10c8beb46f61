//! Reads the nodes of a function's inline tree from a scope record (schema, section 6).

use foldsym_format::bits::{self, u8_at, u16_at};
use foldsym_format::records::scopes as layout;
use foldsym_format::{SectionId, What, varint};

use crate::error::Error;

/// A node of an inline tree: one inlined call as it was compiled into one function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scope {
    /// The node that it was inlined into; 0: the function itself. Less than this node's own number.
    pub parent: u32,
    /// Which of the edges of the parent's origin it is, from 0.
    pub edge: u32,
}

/// The inline tree of a function; nodes are numbered from 1, parents before their children.
#[derive(Clone, Copy)]
pub struct Scopes<'d> {
    data: &'d [u8],
    count: u32,
    place_width: u8,
    directory: u64,
    first_block: usize,
}

/// A block of nodes: where its first one begins, and the widths.
#[derive(Clone, Copy)]
pub(crate) struct NodeBlock {
    bit: u64,
    parent_width: u32,
    edge_width: u32,
    /// The bits of a parent and of an edge, from bit 0.
    parent_mask: u64,
    edge_mask: u64,
}

impl NodeBlock {
    #[inline(always)]
    const fn bits_of_node(&self) -> u32 {
        self.parent_width.wrapping_add(self.edge_width)
    }

    /// Where a node of the block begins.
    #[inline(always)]
    fn bit_of(&self, node: u32) -> u64 {
        let index = node.wrapping_sub(1) & layout::BLOCK_NODES.wrapping_sub(1);
        self.bit.wrapping_add(u64::from(self.bits_of_node()).wrapping_mul(index.into()))
    }
}

#[cold]
fn wrong(what: What, offset: u64) -> Error {
    Error::new(SectionId::SCOPES, what, offset)
}

impl<'d> Scopes<'d> {
    #[inline(always)]
    pub(crate) fn open(data: &'d [u8], offset: u64) -> Result<Self, Error> {
        let early = || wrong(What::Truncated, offset);
        let at = usize::try_from(offset).map_err(|_| early())?;
        let (count, next) = varint::read(data, at).ok_or_else(early)?;
        let count = match u32::try_from(count) {
            Ok(count) if count > 0 => count,
            _ => return Err(wrong(What::Length, offset)),
        };
        let mut scopes = Self { data, count, place_width: 0, directory: 0, first_block: next };
        if count > layout::BLOCK_NODES {
            scopes.place_width = u8_at(data, next).ok_or_else(early)?;
            if scopes.place_width > layout::MAX_DIRECTORY_WIDTH {
                return Err(wrong(What::Width, next as u64));
            }
            let directory = (next as u64).wrapping_add(1);
            scopes.directory = directory.wrapping_shl(3);
            // The first block is at place 0 and has no entry.
            let entries = u64::from(count.div_ceil(layout::BLOCK_NODES).wrapping_sub(1));
            let len = entries.wrapping_mul(scopes.place_width.into()).div_ceil(8);
            scopes.first_block = usize::try_from(directory.wrapping_add(len)).map_err(|_| early())?;
        }
        Ok(scopes)
    }

    /// The number of nodes without node 0; at least 1.
    #[allow(clippy::len_without_is_empty)] // never empty
    #[inline]
    pub const fn len(&self) -> u32 {
        self.count
    }

    /// The block of a node, which is not 0.
    #[inline(always)]
    pub(crate) const fn block_of(node: u32) -> u32 {
        node.wrapping_sub(1).wrapping_div(layout::BLOCK_NODES)
    }

    /// The offset of a block's first word.
    #[inline(always)]
    fn place_of(&self, block: u32) -> Option<usize> {
        let Some(entry) = block.checked_sub(1) else { return Some(self.first_block) };
        let width = u32::from(self.place_width);
        // A record of one block has no directory. Callers compare a node with `count` first, so no node leads past that block.
        let bit = self.directory.wrapping_add(u64::from(width).wrapping_mul(entry.into()));
        Some(self.first_block.wrapping_add(bits::read(self.data, bit, width)? as usize))
    }

    #[inline(always)]
    pub(crate) fn block(&self, block: u32) -> Option<NodeBlock> {
        let place = self.place_of(block)?;
        let word = u16_at(self.data, place)?;
        let width = |shift| u32::from(word.wrapping_shr(shift) & layout::WIDTH_MASK);
        let used = word & !layout::USED_BITS == 0;
        let (parent_width, edge_width) = (width(layout::PARENT_WIDTH_SHIFT), width(layout::EDGE_WIDTH_SHIFT));
        used.then_some(NodeBlock {
            bit: (place as u64).wrapping_add(2).wrapping_shl(3),
            parent_width,
            edge_width,
            parent_mask: bits::mask(parent_width),
            edge_mask: bits::mask(edge_width),
        })
    }

    /// Reads a node of a block that the caller has read; `node` is from 1 to [`Scopes::len`].
    #[inline(always)]
    pub(crate) fn in_block(&self, block: &NodeBlock, node: u32) -> Option<Scope> {
        let bits_of_node = block.bits_of_node();
        let bit = block.bit_of(node);
        // Widths are at most 31 bits; both are in the one word unless they are wide.
        let (up, edge) = if bits_of_node <= bits::MAX_WIDTH {
            let both = bits::word(self.data, usize::try_from(bit >> 3).ok()?)? >> (bit & 7);
            (both & block.parent_mask, both.wrapping_shr(block.parent_width) & block.edge_mask)
        } else {
            let edge_bit = bit.wrapping_add(block.parent_width.into());
            let up = bits::read(self.data, bit, block.parent_width)?;
            (up, bits::read(self.data, edge_bit, block.edge_width)?)
        };
        // The distance has at most 31 bits, so adding 1 does not wrap it: parents have lower numbers, and every walk up ends.
        let parent = node.checked_sub((up as u32).wrapping_add(1))?;
        Some(Scope { parent, edge: edge as u32 })
    }

    /// Reads a node.
    ///
    /// # Errors
    /// A number that is 0 or past the last node, or damage.
    pub fn node(&self, node: u32) -> Result<Scope, Error> {
        match node.checked_sub(1) {
            Some(index) if index < self.count => {
                let read = || self.in_block(&self.block(Self::block_of(node))?, node);
                read().ok_or_else(|| self.refused(node))
            }
            _ => Err(wrong(What::NoRecord, node.into())),
        }
    }

    /// Why a node cannot be read, which is from 1 to [`Scopes::len`].
    #[cold]
    #[inline(never)]
    pub(crate) fn refused(&self, node: u32) -> Error {
        let number = Self::block_of(node);
        let Some(place) = self.place_of(number) else { return wrong(What::Truncated, self.directory >> 3) };
        let Some(block) = self.block(number) else {
            let what = if u16_at(self.data, place).is_some() { What::Reserved } else { What::Truncated };
            return wrong(what, place as u64);
        };
        // The parent must be node 0 or later; else the bits of this node are missing.
        let bit = block.bit_of(node);
        let bits = bits::read(self.data, bit, block.parent_width).and(bits::read(
            self.data,
            bit.wrapping_add(block.parent_width.into()),
            block.edge_width,
        ));
        wrong(if bits.is_some() { What::Depth } else { What::Truncated }, bit >> 3)
    }

    /// All nodes, in order: first node 1. Goes on past damaged ones.
    pub fn iter(&self) -> impl Iterator<Item = Result<Scope, Error>> + use<'d> {
        let scopes = *self;
        (1..=self.count).map(move |node| scopes.node(node))
    }
}
