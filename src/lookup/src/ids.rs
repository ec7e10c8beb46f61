//! Addresses and ids, each a type of its own, so that mixing two does not compile.

/// A link-time virtual address, as the program's section headers give it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ImageAddr(pub u64);

/// A return address, in the same space as [`ImageAddr`]: it is the address after the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ReturnAddr(pub u64);

impl ReturnAddr {
    /// The address to look up: one byte back, inside the call instruction, which may be the last of its
    /// function.
    ///
    /// ```
    /// use foldsym_lookup::{ImageAddr, ReturnAddr};
    /// assert_eq!(ReturnAddr(0x1000).lookup_address(), ImageAddr(0xfff));
    /// ```
    #[inline]
    pub const fn lookup_address(self) -> ImageAddr {
        ImageAddr(self.0.wrapping_sub(1))
    }
}

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u32);
    )*};
}

ids! {
    /// A name in NAMES, in the order of their bytes.
    NameId;
    /// A path in FILES, in the order of their bytes.
    FileId;
    /// A range of code in PIECES.
    PieceId;
    /// A function in FUNCTIONS.
    FunctionId;
    /// A subprogram of the source in ORIGINS.
    OriginId;
    /// An inlined call of the source in EDGES.
    EdgeId;
    /// A group of folded functions in GROUPS.
    GroupId;
}

/// Byte offset of a row record in ROWS; never 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RowsOffset(pub u64);
