//! Resolves the frames of a stack at folded code: finds the functions that each frame may be, and puts the likeliest first. Each
//! frame comes with its file.
//!
//! The evidence for a frame is the call in its caller: the callee that the compiler recorded, the vtable word that the call goes
//! through, or, if the caller is in another file, the name that the call was linked to. If several functions remain, [`Ranker`] ranks
//! them by names and files.

#![warn(missing_docs)]
#![forbid(unsafe_code)]

mod rank;

use foldsym_lookup::{Error, Resolved, StackAddr, SymbolFile};

pub use rank::{Caller, Ranker};

/// Finds the functions of folded code that a frame may be, from its caller: by the callee that the compiler recorded, else by the
/// vtable word that the call goes through.
///
/// # Errors
/// Damage at a place that it reads.
pub fn frame(
    file: &SymbolFile<'_>,
    address: StackAddr,
    caller: Option<(StackAddr, &Resolved)>,
) -> Result<Resolved, Error> {
    let mut resolved = file.resolve_one(address, caller)?;
    // This comes second: it changes only a frame for which no record of a call gave a member.
    file.resolve_slot(&mut resolved, caller.map(|caller| caller.0))?;
    Ok(resolved)
}

/// The candidate at `index` in the order that puts candidate `front` first.
pub const fn behind(front: u32, index: u32) -> u32 {
    match index {
        0 => front,
        // The candidates before `front` move one place back, the others keep theirs.
        index if index <= front => index - 1,
        index => index,
    }
}

/// A frame of a stack.
#[derive(Clone, Copy)]
pub struct Frame<'f> {
    /// The file of its module.
    pub file: &'f SymbolFile<'f>,
    /// Identifies the file: equal for frames of the same file, and different otherwise.
    pub number: usize,
    /// Identifies the mapping of the file, which may be loaded several times: frames with equal `number` and `load` are in one module.
    pub load: u64,
    /// The address in the file.
    pub address: StackAddr,
}

impl Frame<'_> {
    fn shares_module(&self, other: &Frame<'_>) -> bool {
        (self.number, self.load) == (other.number, other.load)
    }
}

/// The resolved members of a frame at folded code, and the index of the candidate that comes first.
pub type Known = (Resolved, u32);

/// Finds for each frame of a stack at folded code the functions that it may be, and which of them comes first. Frames are innermost
/// first; `None` is a frame without a file. A frame at a damaged place stays unknown and is not evidence for others. A frame without a
/// caller may be any function of its code, so a stack of one frame leaves all of them.
///
/// `known` has a place for each frame, which holds [`Resolved::NONE`].
pub fn stack(frames: &[Option<Frame<'_>>], ranker: &mut Ranker, known: &mut [Known]) {
    if frames.len() < 2 {
        return;
    }
    let mut outer: Option<Frame<'_>> = None;
    for index in (0..frames.len().min(known.len())).rev() {
        // `take` ends the chain of callers at a frame without a file and at a damaged place.
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
    // A result names a group of its own file, and a call of another module is in IMPORTS and not in CALLS.
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

/// The name that the caller's call was linked to, if its file was converted with `--imports`. `None` if that is damaged.
fn import(caller: &Frame<'_>) -> Option<Vec<u8>> {
    let StackAddr::Return(returns_to) = caller.address else { return None };
    let name = caller.file.imported_callee(returns_to).ok()??;
    // Ids of names are of one file: the name itself is the only thing that both files have.
    let mut text = vec![0; caller.file.write_name(name, &mut [])?];
    caller.file.write_name(name, &mut text);
    Some(text)
}
