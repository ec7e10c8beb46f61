//! Distinguishes functions of a unit that have the same name, file and line of declaration.

use super::{CalleePlace, DieOffset};

/// The start of the description of a function without a linkage name: the DIE at the end of its chain of origins.
///
/// gcc writes no linkage name for functions that are local to a unit. So methods of a class template in an anonymous
/// namespace, and functions local to the instances of a local template, may have the same plain name, file and line,
/// and differ only in this.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Instance(u64);

impl Instance {
    /// A function with a linkage name, which identifies it.
    pub const NAMED: Instance = Instance(0);

    /// Set if the offset is meaningful only in its unit: in a `.dwo`, and in a supplementary file.
    const OF_UNIT: u64 = 1 << 63;

    /// A function whose chain of origins ends at this DIE.
    pub(crate) fn new(end: DieOffset, place: CalleePlace, split: bool) -> Instance {
        let of_unit = split || place == CalleePlace::OtherDebugFile;
        Instance(if of_unit { end.0 | Self::OF_UNIT } else { end.0 })
    }

    /// True if two functions may be the same one by their instances. LTO describes a function in another unit than
    /// its code.
    pub(crate) fn is_same_elsewhere(self, other: Instance) -> bool {
        // An offset in a `.dwo` or supplementary file counts from the start of that file: two units may have it for different
        // DIEs.
        self == other && self.0 & Self::OF_UNIT == 0
    }
}
