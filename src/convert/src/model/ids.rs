//! Ids and addresses, each a type of its own, and the evidence by which a function's address is known.

use std::fmt::{self, Formatter, LowerHex};
use std::num::NonZeroU32;
use std::ops::{Add, Sub};

/// Marks the absence of an id in a packed field.
pub const NONE16: u16 = u16::MAX;

/// The longest piece of code, in bytes: offsets in it fit 31 bits. Longer code is cut, and counted.
pub(crate) const MAX_PIECE: u64 = (u32::MAX >> 1) as u64;

macro_rules! ids {
    ($($(#[$doc:meta])* $vis:vis $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        $vis struct $name(pub u32);

        impl $name {
            /// The id as an index into the table that it numbers.
            $vis fn index(self) -> usize {
                self.0 as usize
            }
        }
    )*};
}

/// Ids of which an `Option` takes no more bytes: a large program has millions.
macro_rules! packed_ids {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(NonZeroU32);

        impl $name {
            /// The id of this number, less than `u32::MAX`.
            pub const fn new(number: u32) -> $name {
                debug_assert!(number < u32::MAX);
                $name(NonZeroU32::MIN.saturating_add(number))
            }

            /// The number of the id.
            pub const fn number(self) -> u32 {
                self.0.get() - 1
            }

            /// The id as an index into the table that it numbers.
            pub const fn index(self) -> usize {
                self.number() as usize
            }
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, "{}({})", stringify!($name), self.number())
            }
        }
    )*};
}

packed_ids! {
    /// A name in [`super::Program::names`].
    NameId;
    /// A source file in [`super::Program::files`].
    FileId;
    /// A unit in [`super::Program::code`], in the order of the file.
    UnitId;
}

ids! {
    /// An origin in [`super::Program::origins`].
    pub OriginId;
    /// A call edge in [`super::Program::edges`].
    pub EdgeId;
    /// A function in [`super::Program::functions`].
    pub FuncId;
    /// A group of folded functions in [`super::Program::groups`].
    pub GroupId;
    /// An origin in `LocalTables::origins`.
    pub LocalOrigin;
    /// A call edge in `LocalTables::edges`.
    pub LocalEdge;
    /// A callee in [`super::UnitRecords::callees`].
    pub(crate) LocalCallee;
    /// A function in [`super::UnitCode::functions`].
    pub LocalFunc;
}

/// A link-time virtual address, as the image's section headers give it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ImageAddr(pub u64);

impl ImageAddr {
    /// The address so many bytes further on; the highest address if that is too high.
    pub(crate) fn saturating_add(self, bytes: u64) -> ImageAddr {
        ImageAddr(self.0.saturating_add(bytes))
    }

    /// The address so many bytes further on, if there is one.
    pub(crate) fn checked_add(self, bytes: u64) -> Option<ImageAddr> {
        self.0.checked_add(bytes).map(ImageAddr)
    }

    /// The address so many bytes before this one, if there is one.
    pub(crate) fn checked_sub(self, bytes: u64) -> Option<ImageAddr> {
        self.0.checked_sub(bytes).map(ImageAddr)
    }
}

impl Add<u64> for ImageAddr {
    type Output = ImageAddr;

    /// The address so many bytes further on.
    fn add(self, bytes: u64) -> ImageAddr {
        ImageAddr(self.0 + bytes)
    }
}

impl Sub for ImageAddr {
    type Output = u64;

    /// The bytes from a lower address to this one.
    fn sub(self, lower: ImageAddr) -> u64 {
        self.0 - lower.0
    }
}

impl LowerHex for ImageAddr {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        LowerHex::fmt(&self.0, f)
    }
}

/// Offset of a debugging information entry in its `.debug_info` (or `.debug_info.dwo`, `.debug_types`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DieOffset(pub u64);

/// The evidence for the address of a function, in order of trust: the first is trusted most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum How {
    /// The DIE has a live address.
    LiveRange = 0,
    /// Tombstoned; its `DW_AT_LLVM_stmt_sequence` starts at a live address.
    StmtSequence = 1,
    /// Tombstoned; a relocation kept by the linker holds the address.
    Relocation = 2,
    /// Tombstoned; the symbol table has its linkage name there.
    Symbol = 3,
    /// Tombstoned; an unclaimed line sequence of its unit fits only this function.
    LineSequence = 4,
    /// Merged by the compiler; a call site names it.
    CallSite = 5,
    /// A symbol without a DIE.
    SymbolOnly = 6,
    /// The same, and the order of symbols and line sequences shows which of the sequences there is probably its own.
    SymbolOrder = 7,
}

impl How {
    /// All of them, in order.
    pub const ALL: [How; 8] = [
        How::LiveRange,
        How::StmtSequence,
        How::Relocation,
        How::Symbol,
        How::LineSequence,
        How::CallSite,
        How::SymbolOnly,
        How::SymbolOrder,
    ];

    /// True if no DIE describes the function.
    pub fn is_undescribed(self) -> bool {
        matches!(self, How::SymbolOnly | How::SymbolOrder)
    }

    /// The word for it in the report and in answers.
    pub const fn text(self) -> &'static str {
        match self {
            How::LiveRange => "live_range",
            How::StmtSequence => "stmt_sequence",
            How::Relocation => "relocation",
            How::Symbol => "symbol",
            How::LineSequence => "line_sequence",
            How::CallSite => "call_site",
            How::SymbolOnly => "symbol_only",
            How::SymbolOrder => "symbol_order",
        }
    }
}
