//! Locations: a storage, and a place in it. In the heterogeneous extensions, locations are stack values.

use crate::op::DieRef;
use crate::value::Value;

/// A composite location in the caller's [`Node`]s.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeId(pub(crate) u32);

/// A sequence of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Storage<'e> {
    /// Memory. Space 0 is the program's own.
    Memory {
        /// The address space, in the numbers of the architecture.
        space: u64,
    },
    /// A register, in the numbers of the architecture.
    Register(u64),
    /// Bytes of the expression itself (`DW_OP_implicit_value`).
    Bytes(&'e [u8]),
    /// A value that was computed (`DW_OP_stack_value`).
    Value(Value),
    /// A pointer that is nowhere, to where another entry's object would be (DWARF 5 2.6.1.1.4).
    Pointer {
        /// Whose location it would point to.
        die: DieRef,
        /// Bytes from the start of that.
        offset: i64,
        /// The address space; `None` if pointers do not have one.
        space: Option<u64>,
    },
    /// Nowhere: optimised out.
    Undefined,
    /// Parts of other storages, one after another.
    Composite(NodeId),
}

/// A place in a storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Location<'e> {
    /// The storage that contains it.
    pub storage: Storage<'e>,
    /// Bytes from the start of the storage; in memory, the address.
    pub byte: u64,
    /// Bits on top of that: 0 to 7.
    pub bit: u8,
}

impl<'e> Location<'e> {
    /// The start of a storage.
    pub const fn start(storage: Storage<'e>) -> Location<'e> {
        Location { storage, byte: 0, bit: 0 }
    }

    /// An address in an address space.
    pub const fn memory(space: u64, address: u64) -> Location<'e> {
        Location { storage: Storage::Memory { space }, byte: address, bit: 0 }
    }

    /// Bits from the start of the storage; `None` if they are too many to count.
    pub(crate) fn in_bits(&self) -> Option<u64> {
        self.byte.checked_mul(8)?.checked_add(u64::from(self.bit))
    }
}

/// An entry of the stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry<'e> {
    /// A number with a type.
    Value(Value),
    /// A place.
    Location(Location<'e>),
    /// A composite that `DW_OP_piece` may still add parts to.
    Incomplete(NodeId),
}

/// A part of a composite, or a rule for many parts. A node refers only to nodes made before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Node<'e> {
    /// Room for a node.
    Free,
    /// Another composite's parts, and one more.
    Piece {
        /// The parts before this one.
        before: Option<NodeId>,
        /// Bits of all parts before this one.
        start: u64,
        /// Bits of this part.
        bits: u64,
        /// Where it is.
        of: Location<'e>,
    },
    /// `count` times the same part.
    Extend {
        /// The part.
        of: Location<'e>,
        /// Bits of each.
        bits: u64,
        /// How many.
        count: u64,
    },
    /// Part N of one of two locations, by bit N of a mask.
    Select {
        /// Where the bit is 0.
        zero: Location<'e>,
        /// Where the bit is 1.
        one: Location<'e>,
        /// The bits.
        mask: u64,
        /// Bits of each part.
        bits: u64,
        /// How many.
        count: u64,
    },
}

impl Node<'_> {
    /// Bits of the whole composite.
    pub(crate) fn len(&self) -> u64 {
        match self {
            Node::Free => 0,
            // Neither this sum nor the product saturates: `compose` checks them before it makes a node.
            Node::Piece { start, bits, .. } => start.saturating_add(*bits),
            Node::Extend { bits, count, .. } | Node::Select { bits, count, .. } => {
                bits.saturating_mul(*count)
            }
        }
    }
}
