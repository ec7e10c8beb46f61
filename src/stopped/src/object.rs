//! The object that a folded method runs on: what its `this` holds where the program stands.
//!
//! The functions of a group have one code, and each has its own description of where its object is; which of them
//! counts is the question that the object is to answer. So all that may have run must say the same.

use foldsym_expr::{Evaluation, Location, Problem};
use foldsym_lookup::{Error, Frames, FunctionId, ImageAddr, LocationKind, Lookup, Resolved, SymbolFile};

use crate::frame::{Frame, Machine, evaluate, number};

/// Functions of a group that are asked; of more nothing is said.
pub const MAX_ASKED: u32 = 1024;

/// An object that a method runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Object {
    /// Its address in the running program.
    pub address: u64,
    /// What its pointer to its virtual functions holds, in the running program.
    pub vptr: u64,
}

/// Why no object is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NoObject {
    /// The code is not folded: the object is not asked for.
    NotFolded,
    /// The file does not say where this function has its object here.
    NotDescribed(FunctionId),
    /// What the file says of this function cannot be evaluated.
    Unknown(FunctionId, Problem),
    /// This function has its object elsewhere than the ones before it.
    Differs(FunctionId),
    /// This function may have run, and is not virtual: its object may have no pointer to virtual functions.
    NotVirtual(FunctionId),
    /// The group has more than [`MAX_ASKED`] functions that may have run.
    TooMany,
    /// The memory of the object is not given.
    NoMemory(u64),
}

/// Finds the object that the innermost frame's function runs on.
///
/// `resolved` is what the stack says of the frame; `bias` is what is added to link-time addresses in the running program;
/// `is_virtual` says of a function of the group whether some table of virtual functions has it.
///
/// # Errors
/// The file is damaged where the answer should be, or what `is_virtual` gives.
pub fn object<'d>(
    file: &SymbolFile<'d>,
    (pc, bias): (ImageAddr, u64),
    resolved: &Resolved,
    machine: &dyn Machine,
    is_virtual: &mut dyn FnMut(FunctionId) -> Result<bool, Error>,
) -> Result<Result<Object, NoObject>, Error> {
    let mut frames = Frames::new();
    let Lookup::Found(answer) = file.lookup(pc, &mut frames)? else { return Ok(Err(NoObject::NotFolded)) };
    let Some(group) = answer.group.filter(|_| resolved.group == answer.group) else {
        return Ok(Err(NoObject::NotFolded));
    };
    let group = file.group(group)?;
    let count = resolved.candidate_count();
    if count > MAX_ASKED {
        return Ok(Err(NoObject::TooMany));
    }
    let size = usize::from(file.header().address_size);
    let big_endian = file.header().flags & foldsym_lookup::flags::BIG_ENDIAN != 0;
    let locations = file.locations()?;
    let mut found = None;
    for index in (0..count).map_while(|index| resolved.candidate(index)) {
        let function = file.member(group, index)?.function;
        if !is_virtual(function)? {
            return Ok(Err(NoObject::NotVirtual(function)));
        }
        let Some(locations) = locations else { return Ok(Err(NoObject::NotDescribed(function))) };
        let read = |evaluation: &Evaluation<'_, 'd>, frame: &Frame<'_, 'd>, place: Location<'d>| {
            let mut bytes = [0; 8];
            let room = bytes.get_mut(..size).ok_or(Problem::BadSize(size as u64))?;
            evaluation.read(place, room, frame)?;
            Ok(number(room, big_endian))
        };
        let kind = LocationKind::Object;
        match evaluate(&locations, file.header(), function, kind, (machine, pc, bias), read)? {
            Some(Ok(Ok(address))) => {
                if found.is_some_and(|found| found != address) {
                    return Ok(Err(NoObject::Differs(function)));
                }
                found = Some(address);
            }
            Some(Ok(Err(problem)) | Err(problem)) => return Ok(Err(NoObject::Unknown(function, problem))),
            None => return Ok(Err(NoObject::NotDescribed(function))),
        }
    }
    let Some(address) = found else { return Ok(Err(NoObject::NotFolded)) };
    let mut bytes = [0; 8];
    let room = bytes.get_mut(..size).unwrap_or_default();
    Ok(match machine.memory(0, address, room) {
        Some(()) => Ok(Object { address, vptr: number(room, big_endian) }),
        None => Err(NoObject::NoMemory(address)),
    })
}
