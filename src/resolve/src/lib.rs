//! The frames of a stack, each in a file, to what is known of each at folded code: the functions that may have run, and which of them
//! stands first.
//!
//! A caller tells whom it called: by what its compiler recorded of the call, by the word of a table that the call goes through, or,
//! where the caller is in another file, by the name that the call was linked to. Where several functions are left, names and files say
//! which is the likeliest ([`Ranker`]).

#![warn(missing_docs)]
#![forbid(unsafe_code)]

mod rank;

use foldsym_lookup::{Error, Resolved, StackAddr, SymbolFile};

pub use rank::{Caller, Ranker};

/// Says which functions of folded code a frame may be, by its caller: what the compiler recorded of the call, else the word of a table
/// that the call goes through.
///
/// # Errors
/// Damage at a place that it reads.
pub fn frame(
    file: &SymbolFile<'_>,
    address: StackAddr,
    caller: Option<(StackAddr, &Resolved)>,
) -> Result<Resolved, Error> {
    let mut resolved = file.resolve_one(address, caller)?;
    file.resolve_slot(&mut resolved, caller.map(|caller| caller.0))?;
    Ok(resolved)
}

/// The candidate that stands at an index where candidate `front` stands before the others.
pub const fn behind(front: u32, index: u32) -> u32 {
    match index {
        0 => front,
        index if index <= front => index - 1,
        index => index,
    }
}

/// A frame of a stack.
#[derive(Clone, Copy)]
pub struct Frame<'f> {
    /// The file of its module.
    pub file: &'f SymbolFile<'f>,
    /// Frames of one file have one number, and others have others.
    pub number: usize,
    /// Calls from frames with the same of one file stay within it: a file may be loaded several times.
    pub load: u64,
    /// The address in the file.
    pub address: StackAddr,
}

impl Frame<'_> {
    fn shares_module(&self, other: &Frame<'_>) -> bool {
        (self.number, self.load) == (other.number, other.load)
    }
}

/// What is known of a frame at folded code, and which of its candidates stands first.
pub type Known = (Resolved, u32);

/// Says of each frame of a stack which functions of folded code it may be, and which of them stands first. Frames are innermost first;
/// `None` is one without a file. What is at a damaged place is not known, and tells nothing of others. A frame without a caller may be
/// any function of its code: of a stack of one frame nothing is told.
///
/// `known` has a place for each frame, which holds [`Resolved::NONE`].
pub fn stack(frames: &[Option<Frame<'_>>], ranker: &mut Ranker, known: &mut [Known]) {
    if frames.len() < 2 {
        return;
    }
    let mut outer: Option<Frame<'_>> = None;
    for index in (0..frames.len().min(known.len())).rev() {
        let called_by = outer.take();
        let Some(Some(frame)) = frames.get(index) else { continue };
        let by = known.get(index + 1).copied().unwrap_or((Resolved::NONE, 0));
        let Ok(found) = of_frame(frame, called_by.map(|caller| (caller, &by)), ranker) else { continue };
        if let Some(place) = known.get_mut(index) {
            *place = found;
        }
        outer = Some(*frame);
    }
}

fn of_frame(
    called: &Frame<'_>,
    caller: Option<(Frame<'_>, &Known)>,
    ranker: &mut Ranker,
) -> Result<Known, Error> {
    let here = caller.filter(|(caller, _)| called.shares_module(caller));
    let mut resolved = frame(called.file, called.address, here.map(|(caller, by)| (caller.address, &by.0)))?;
    if let (Some((caller, _)), None) = (caller, here)
        && let Some(name) = import(&caller)
    {
        called.file.resolve_import(&mut resolved, &name)?;
    }
    let here = here.map(|(caller, by)| Caller { address: caller.address, resolved: &by.0, first: by.1 });
    let first = ranker.first((called.number, called.file), called.address, &resolved, here);
    Ok((resolved, first))
}

/// The name that the call of a caller was linked to, where its file was converted with its imports. A damaged one tells nothing.
fn import(caller: &Frame<'_>) -> Option<Vec<u8>> {
    let StackAddr::Return(returns_to) = caller.address else { return None };
    let name = caller.file.imports().ok()?.callee(returns_to).ok()??;
    let mut text = vec![0; caller.file.write_name(name, &mut [])?];
    caller.file.write_name(name, &mut text);
    Some(text)
}
