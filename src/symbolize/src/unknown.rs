//! Why a frame of a stack has no function.

use std::fmt;
use std::sync::Arc;

use foldsym_store::StoreError;

/// Why a frame has no function. Absence, damage and failure need different remedies: an absent file can be supplied, a damaged file must be
/// made again, and after a failure a new attempt may succeed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Unknown {
    /// The stack has no address for the frame.
    NoAddress,
    /// The address is in none of the stack's modules.
    NoModule,
    /// The address is in none of the stack's modules, since no load address is known for some of them. The text names the first.
    NoBase(Arc<str>),
    /// The module's file was not found. The text has the module's name and the places that were searched.
    Absent(Arc<str>),
    /// The module's file is there and has no function at the address.
    NoFunction,
    /// The addresses of the module's mapping cannot be turned into link-time addresses. The text says what is missing.
    NoMapping(Arc<str>),
    /// The module's file is damaged, or belongs to another program. The text has its path.
    Damaged(Arc<str>),
    /// A file could not be read or fetched. The text says which file, and why.
    Failed(Arc<str>),
}

impl Unknown {
    /// The word for it in JSON.
    pub const fn text(&self) -> &'static str {
        match self {
            Self::NoAddress => "no_address",
            Self::NoModule | Self::NoBase(_) => "no_module",
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
        if let Self::NoBase(name) = self {
            return write!(f, "module {name:?} has no base address, so no frame can be assigned to it");
        }
        f.write_str(match self {
            Self::NoAddress => "the stack gives no address for the frame",
            Self::NoModule => "the address is in no module of the stack",
            Self::NoFunction => "no function is known at the address",
            Self::NoBase(text)
            | Self::Absent(text)
            | Self::NoMapping(text)
            | Self::Damaged(text)
            | Self::Failed(text) => text,
        })
    }
}

/// Whether an error of the system says nothing about the file: the process, or the system, has no descriptor left. Another attempt may
/// succeed at once, so such an error is not remembered.
pub(crate) fn is_passing(error: &std::io::Error) -> bool {
    // The standard library has no names for `ENFILE` and `EMFILE`, which have one number on all systems of the Unix family.
    cfg!(unix) && matches!(error.raw_os_error(), Some(23 | 24))
}

/// As [`is_passing`], for the error of a store.
pub(crate) fn is_passing_error(error: &StoreError) -> bool {
    matches!(error, StoreError::Io { error, .. } if is_passing(error))
}

/// The reason for an answer after an error of a store.
pub(crate) fn of_error(error: &StoreError) -> Unknown {
    let text: Arc<str> = error.to_string().into();
    if error.is_damage() { Unknown::Damaged(text) } else { Unknown::Failed(text) }
}
