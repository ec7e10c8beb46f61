//! Tells functions of a unit apart that have one name, file and line of declaration.

use super::{CalleePlace, DieOffset};

/// Where the description of a function begins that has no linkage name: the DIE that its chain of origins ends at.
///
/// gcc writes no linkage name for what is local to a unit. So methods of a class template in an anonymous namespace, and what
/// is local to the instances of a local template, have one plain name, file and line, and differ in this alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Instance(u64);

impl Instance {
    /// Of a function with a linkage name, which tells it apart.
    pub const NAMED: Instance = Instance(0);

    /// Set where the offset means something in its unit alone: in a `.dwo`, and in a supplementary file.
    const OF_UNIT: u64 = 1 << 63;

    /// Of a function whose chain of origins ends there.
    pub(crate) fn new(end: DieOffset, place: CalleePlace, split: bool) -> Instance {
        let of_unit = split || place == CalleePlace::Elsewhere;
        Instance(if of_unit { end.0 | Self::OF_UNIT } else { end.0 })
    }

    /// True where functions of two units are one, as far as this tells: LTO describes code in another unit than its function.
    pub(crate) fn is_same_elsewhere(self, other: Instance) -> bool {
        self == other && self.0 & Self::OF_UNIT == 0
    }
}
