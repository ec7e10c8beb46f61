//! The reasons why an answer is `likely` and not `unique`: their numbers in FUNCTIONS, and their words.

/// Why it is not certain that a function is the only one with its code. No second function left a trace there, but the check that there is
/// none was incomplete. If there are several reasons, the first in this order is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
#[non_exhaustive]
pub enum Reason {
    /// The program's symbol table lacks its local symbols or is missing, and with them may have gone the name of a function
    /// that the linker folded, or that the compiler of code without debug information merged. Also of what was imported from a
    /// Breakpad symbol file, which has no symbol table.
    Stripped = 1,
    /// The linker may fold functions, and a plain name (of C, of assembly code) is at the address. Nothing shows
    /// whether they are names of one function or of several that were folded.
    PlainNames = 2,
    /// The linker may fold functions, and the line table has a sequence for this code that no function has.
    UnclaimedLines = 3,
    /// The compiler of the function's unit merges equal functions and leaves neither a name nor an entry of a merged one (rustc, Swift,
    /// `-fmerge-functions`, link-time optimization of gcc). Or a Breakpad symbol file marks the code as that of several symbols (`m`), and
    /// does not name them.
    MergedWithoutTrace = 4,
    /// The compiler may have merged functions and left jumps in their places. The code that would show these jumps is missing (a debug file
    /// without code), or of a processor whose code is not read.
    NoCode = 5,
    /// Code without debug information is involved: either this function has none, so its compiler is unknown; or the linker may have folded
    /// a function of an object without debug information into this one.
    UndescribedObject = 6,
    /// The file has more symbols or entries at one address than the converter compares.
    CapReached = 7,
}

impl Reason {
    /// All of them, in their order.
    pub const ALL: [Reason; 7] = [
        Reason::Stripped,
        Reason::PlainNames,
        Reason::UnclaimedLines,
        Reason::MergedWithoutTrace,
        Reason::NoCode,
        Reason::UndescribedObject,
        Reason::CapReached,
    ];

    /// The reason with a number in FUNCTIONS; `None` for 0, and for a number that this version does not know.
    pub const fn from_code(code: u64) -> Option<Reason> {
        Some(match code {
            1 => Reason::Stripped,
            2 => Reason::PlainNames,
            3 => Reason::UnclaimedLines,
            4 => Reason::MergedWithoutTrace,
            5 => Reason::NoCode,
            6 => Reason::UndescribedObject,
            7 => Reason::CapReached,
            _ => return None,
        })
    }

    /// The number in FUNCTIONS, from 1.
    pub const fn code(self) -> u64 {
        self as u64
    }

    /// The word for it in text, JSON and reports.
    ///
    /// ```
    /// assert_eq!(foldsym_format::Reason::PlainNames.text(), "plain_names");
    /// ```
    pub const fn text(self) -> &'static str {
        match self {
            Reason::Stripped => "stripped",
            Reason::PlainNames => "plain_names",
            Reason::UnclaimedLines => "unclaimed_lines",
            Reason::MergedWithoutTrace => "merged_without_trace",
            Reason::NoCode => "no_code",
            Reason::UndescribedObject => "undescribed_object",
            Reason::CapReached => "cap_reached",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Reason;

    #[test]
    fn a_number_is_that_of_one_reason() {
        for (at, reason) in (1..).zip(Reason::ALL) {
            assert_eq!((reason.code(), Reason::from_code(at)), (at, Some(reason)));
        }
        assert_eq!((Reason::from_code(0), Reason::from_code(8)), (None, None));
    }
}
