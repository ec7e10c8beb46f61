//! How sure an answer is. The types mirror the reader's, so that both crates can change independently. Only this module maps them.

use foldsym_lookup as lookup;

/// How sure it is that a frame's first function is the one that ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Certainty {
    /// The code belongs to one function, and a check proved that no other function has it.
    Unique,
    /// The code is folded, and the evidence proves which function ran.
    Exact,
    /// Only one function is known, but the check could not prove that there is no other ([`Reason`]). Or the code is folded, and only one
    /// function has evidence, which is no proof.
    Likely,
    /// The code is folded, and some of the functions are ruled out.
    Narrowed,
    /// The code is folded, and any of the functions may have run.
    Ambiguous,
}

impl Certainty {
    /// The word for it in text and JSON.
    pub const fn text(self) -> &'static str {
        match self {
            Self::Unique => "unique",
            Self::Exact => "exact",
            Self::Likely => "likely",
            Self::Narrowed => "narrowed",
            Self::Ambiguous => "ambiguous",
        }
    }
}

/// The evidence for an answer at folded code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Evidence {
    /// The compiler recorded the callee of the call.
    DirectCall,
    /// The linker kept the relocation of the call.
    Relocation,
    /// The caller is folded itself, and each of its functions calls another callee.
    MergedCaller,
    /// The call reaches the code by tail calls.
    TailCall,
    /// The call goes through a known slot of a vtable.
    VirtualSlot,
    /// The object's vtable pointer was given.
    Vtable,
    /// The caller's calls through pointers are of functions of this type.
    CallType,
}

impl Evidence {
    /// The word for it in text and JSON.
    pub const fn text(self) -> &'static str {
        match self {
            Self::DirectCall => "direct_call",
            Self::Relocation => "relocation",
            Self::MergedCaller => "merged_caller",
            Self::TailCall => "tail_call",
            Self::VirtualSlot => "virtual_slot",
            Self::Vtable => "vtable",
            Self::CallType => "call_type",
        }
    }
}

/// Why an answer with only one known function is [`Certainty::Likely`] and not [`Certainty::Unique`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Reason(&'static str);

impl Reason {
    /// The word for it in text and JSON.
    pub const fn text(self) -> &'static str {
        self.0
    }
}

impl From<lookup::Certainty> for Certainty {
    fn from(certainty: lookup::Certainty) -> Self {
        match certainty {
            lookup::Certainty::Unique => Self::Unique,
            lookup::Certainty::Exact => Self::Exact,
            lookup::Certainty::Likely => Self::Likely,
            lookup::Certainty::Narrowed => Self::Narrowed,
            lookup::Certainty::Ambiguous => Self::Ambiguous,
        }
    }
}

impl From<lookup::Evidence> for Evidence {
    fn from(evidence: lookup::Evidence) -> Self {
        match evidence {
            lookup::Evidence::DirectCall => Self::DirectCall,
            lookup::Evidence::Relocation => Self::Relocation,
            lookup::Evidence::MergedCaller => Self::MergedCaller,
            lookup::Evidence::TailCall => Self::TailCall,
            lookup::Evidence::VirtualSlot => Self::VirtualSlot,
            lookup::Evidence::Vtable => Self::Vtable,
            lookup::Evidence::CallType => Self::CallType,
        }
    }
}

impl From<lookup::Reason> for Reason {
    fn from(reason: lookup::Reason) -> Self {
        Self(reason.text())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_the_readers() {
        use lookup::{Certainty as C, Evidence as E};
        for word in [C::Unique, C::Exact, C::Likely, C::Narrowed, C::Ambiguous] {
            assert_eq!(Certainty::from(word).text(), word.text());
        }
        let of_calls =
            [E::DirectCall, E::Relocation, E::MergedCaller, E::TailCall, E::VirtualSlot, E::CallType];
        for word in of_calls.into_iter().chain([E::Vtable]) {
            assert_eq!(Evidence::from(word).text(), word.text());
        }
    }
}
