//! Why a frame of a stack has no function.

use std::fmt;
use std::sync::Arc;

use foldsym_store::StoreError;

/// Why a frame has no function. Absence, damage and failure are three things: what is absent may be given, what is damaged must be made
/// again, what failed may be tried again.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Unknown {
    /// The stack does not say where the frame is.
    NoAddress,
    /// The address is in none of the stack's modules.
    NoModule,
    /// The module's file was not found. The text names the module and says where it was looked for.
    Absent(Arc<str>),
    /// The module's file is there and has no function at the address.
    NoFunction,
    /// The module's mapping cannot be turned into link-time addresses. The text says what is missing.
    NoMapping(Arc<str>),
    /// The module's file is damaged, or of another program. The text names the file.
    Damaged(Arc<str>),
    /// A file could not be read or fetched. The text says which and why.
    Failed(Arc<str>),
}

impl Unknown {
    /// The word for it in JSON.
    pub const fn text(&self) -> &'static str {
        match self {
            Self::NoAddress => "no_address",
            Self::NoModule => "no_module",
            Self::Absent(_) => "absent",
            Self::NoFunction => "no_function",
            Self::NoMapping(_) => "no_mapping",
            Self::Damaged(_) => "damaged",
            Self::Failed(_) => "failed",
        }
    }
}

impl fmt::Display for Unknown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoAddress => "the stack does not say where the frame is",
            Self::NoModule => "the address is in no module of the stack",
            Self::NoFunction => "no function is known at the address",
            Self::Absent(text) | Self::NoMapping(text) | Self::Damaged(text) | Self::Failed(text) => text,
        })
    }
}

/// A store's error as the reason of an answer.
pub(crate) fn of_error(error: &StoreError) -> Unknown {
    let text: Arc<str> = error.to_string().into();
    if error.is_damage() { Unknown::Damaged(text) } else { Unknown::Failed(text) }
}
