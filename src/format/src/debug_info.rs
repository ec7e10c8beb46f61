//! How much of a program's debug information a symbol file has: the level by which a store chooses the better of two files.

use crate::header::flags;

/// How much of a program's debug information a symbol file has, from the least to the most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DebugInfo {
    /// No unit: functions are known by their symbols only.
    None,
    /// Units with line tables, but without a description of any function: assembly code, or a program whose `.dwo` files are missing.
    Lines,
    /// A part of it is missing or damaged: the warnings of the conversion say which.
    Partial,
    /// All debug information that the program has or refers to.
    #[default]
    Full,
}

impl DebugInfo {
    /// All of them, in their order.
    pub const ALL: [DebugInfo; 4] = [Self::None, Self::Lines, Self::Partial, Self::Full];

    /// The word in reports: `none`, `lines`, `partial`, `full`.
    pub const fn text(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Lines => "lines",
            Self::Partial => "partial",
            Self::Full => "full",
        }
    }

    /// The number in the header's flags: 0 `full`, 1 `partial`, 2 `lines`, 3 `none`.
    pub const fn code(self) -> u8 {
        match self {
            Self::Full => 0,
            Self::Partial => 1,
            Self::Lines => 2,
            Self::None => 3,
        }
    }

    /// The level in a header's flags.
    pub const fn of_flags(flags: u8) -> Self {
        match (flags & flags::DEBUG_INFO) >> flags::DEBUG_INFO_SHIFT {
            0 => Self::Full,
            1 => Self::Partial,
            2 => Self::Lines,
            _ => Self::None,
        }
    }

    /// The level with this word; `None` for any other text.
    pub fn of_text(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.text() == text)
    }

    /// The level in words for people, which fit after "has".
    pub const fn words(self) -> &'static str {
        match self {
            Self::None => "symbols alone",
            Self::Lines => "lines without functions",
            Self::Partial => "a part of the debug information",
            Self::Full => "all debug information",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_grow_and_have_words() {
        assert!(DebugInfo::ALL.is_sorted());
        for level in DebugInfo::ALL {
            assert_eq!(DebugInfo::of_text(level.text()), Some(level));
            // Other flags do not change it.
            let flags = level.code() << flags::DEBUG_INFO_SHIFT;
            assert_eq!(
                (DebugInfo::of_flags(flags), DebugInfo::of_flags(!flags::DEBUG_INFO | flags)),
                (level, level)
            );
        }
        assert_eq!(DebugInfo::of_text("whole"), None);
    }
}
