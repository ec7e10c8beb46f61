//! The object that a folded method runs on: the value of its `this` where the program stopped.
//!
//! The functions of a group share their code, but each has its own description of where its object is. The object is needed to find which
//! function ran, so it is unknown at first which description applies. Two functions may have equal code and take their objects in different
//! registers, since one of them returns its result through a hidden first argument. So every function that may have run must describe its
//! object here, and all of them at the same place. Then that is the object, whichever ran. If one has no description at this address, the
//! place that the others name may hold another argument of it, and no object is used.
//!
//! The object may also not be whole. If a compiler sees that a method does not read the pointer to the virtual functions, it
//! need not write the pointer for that call, and the memory may hold the pointer of an earlier object. A compiler can
//! do so only if it knows the callee. So the call must be one whose callee the compiler recorded as unknown.

use core::fmt;

use foldsym_expr::{Evaluation, Location, Problem, Storage};
use foldsym_lookup::locations::{LocationKind, Locations};
use foldsym_lookup::{
    Error, Frames, FunctionId, ImageAddr, Lookup, Resolved, ReturnAddr, StackAddr, SymbolFile,
};

use crate::frame::{Frame, Machine, evaluate, number};

/// Functions of a group that are evaluated; a larger group gives no object.
pub const MAX_ASKED: u32 = 1024;

/// An object that a method runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Object {
    /// Its address in the running program.
    pub address: u64,
    /// The value of its first word in the running program: for a method of a class with virtual functions, the vtable pointer.
    pub vptr: u64,
    /// Why that word may be left over from another object; `None` if it is the object's own.
    pub doubt: Option<Doubt>,
}

/// Why no object is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NoObject {
    /// The code is not folded, so the object decides nothing.
    NotFolded,
    /// The file does not describe where this function has its object here.
    NotDescribed(FunctionId),
    /// This function gives one location in memory for all its addresses. At the first of them the object pointer is not stored there yet.
    Unbounded(FunctionId),
    /// The file's expression for this function cannot be evaluated.
    Unknown(FunctionId, Problem),
    /// This function has its object elsewhere than the ones before it.
    Differs(FunctionId),
    /// The group has more than [`MAX_ASKED`] functions that may have run.
    TooMany,
    /// The memory at the object is not given: its address, and the bytes that are wanted.
    NoMemory(u64, u8),
}

/// Why an object may not be whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Doubt {
    /// It is not known which call led here.
    NoCaller,
    /// The compiler knew the callee of this call.
    Recorded,
    /// No record shows that the compiler did not know the callee of this call.
    NotShown(FunctionId),
}

impl NoObject {
    /// The function that it is about.
    pub fn function(&self) -> Option<FunctionId> {
        match *self {
            NoObject::NotDescribed(function)
            | NoObject::Unbounded(function)
            | NoObject::Unknown(function, _)
            | NoObject::Differs(function) => Some(function),
            NoObject::NotFolded | NoObject::TooMany | NoObject::NoMemory(..) => None,
        }
    }
}

impl Doubt {
    /// The function that it is about.
    pub fn function(&self) -> Option<FunctionId> {
        match *self {
            Doubt::NotShown(function) => Some(function),
            Doubt::NoCaller | Doubt::Recorded => None,
        }
    }
}

impl fmt::Display for NoObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            NoObject::NotFolded => f.write_str("the code is not folded"),
            NoObject::NotDescribed(_) => {
                f.write_str("the program does not describe where the object is at this address")
            }
            NoObject::Unbounded(_) => {
                f.write_str("the program gives one location of the object for all addresses of the function")
            }
            NoObject::Unknown(_, problem) => {
                write!(f, "the location of the object cannot be evaluated: {problem}")
            }
            NoObject::Differs(_) => {
                f.write_str("the object would be elsewhere than that of another possible function")
            }
            NoObject::TooMany => write!(f, "more than {MAX_ASKED} functions are possible"),
            NoObject::NoMemory(address, len) => {
                write!(f, "{len} bytes of memory at {address:#x}, the object, are not given")
            }
        }
    }
}

impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Doubt::NoCaller => "the caller is not given",
            Doubt::Recorded => {
                "the compiler knew the callee of this call, and need not have completed the object"
            }
            Doubt::NotShown(_) => "the compiler may have known the callee of this call",
        })
    }
}

/// Finds the object that the innermost frame's function runs on.
///
/// `stack` and `resolved` are the whole stack and the result of [`SymbolFile::resolve_stack`] for it. `bias` is added to link-time
/// addresses in the running program. `is_recorded` says whether [`SymbolFile::calls`] has a call that returns to an address. Takes an
/// evaluation for each function that may have run, at most [`MAX_ASKED`].
///
/// If there is no doubt, the result serves [`SymbolFile::resolve_object`].
///
/// # Errors
/// The file is damaged at a place that is read, or an error of `is_recorded`.
pub fn object<'d>(
    file: &SymbolFile<'d>,
    (stack, resolved): (&[StackAddr], &[Resolved]),
    bias: u64,
    machine: &dyn Machine,
    is_recorded: &mut dyn FnMut(ReturnAddr) -> Result<bool, Error>,
) -> Result<Result<Object, NoObject>, Error> {
    // The registers have their values at the running instruction. Only an exact address is the address of that instruction.
    let (Some(&StackAddr::Exact(pc)), Some(innermost)) = (stack.first(), resolved.first()) else {
        return Ok(Err(NoObject::NotFolded));
    };
    let Some(group) = innermost.group else { return Ok(Err(NoObject::NotFolded)) };
    let group = file.records().group(group)?;
    let count = innermost.candidate_count();
    // Each candidate costs an evaluation, and a group may have any size.
    if count > MAX_ASKED {
        return Ok(Err(NoObject::TooMany));
    }
    let locations = file.locations()?;
    let mut found = None;
    for index in (0..count).map_while(|index| innermost.candidate(index)) {
        let function = file.records().member(group, index)?.function;
        let Some(locations) = locations else { return Ok(Err(NoObject::NotDescribed(function))) };
        let address = match this(file, &locations, function, (machine, pc, bias))? {
            Ok(address) => address,
            Err(reason) => return Ok(Err(reason)),
        };
        if found.is_some_and(|found| found != address) {
            return Ok(Err(NoObject::Differs(function)));
        }
        found = Some(address);
    }
    let (Some(address), Some(locations)) = (found, locations) else { return Ok(Err(NoObject::NotFolded)) };
    let (mut bytes, size) = ([0; 8], file.header().address_size);
    let room = bytes.get_mut(..usize::from(size)).unwrap_or_default();
    let Some(()) = machine.memory(0, address, room) else {
        return Ok(Err(NoObject::NoMemory(address, size)));
    };
    let vptr = number(room, is_big_endian(file));
    let doubt = doubt(file, &locations, (stack.get(1), resolved.get(1)), is_recorded)?;
    Ok(Ok(Object { address, vptr, doubt }))
}

fn is_big_endian(file: &SymbolFile<'_>) -> bool {
    file.header().flags & foldsym_lookup::flags::BIG_ENDIAN != 0
}

/// The value of a function's pointer to its object.
fn this<'d>(
    file: &SymbolFile<'d>,
    locations: &Locations<'d>,
    function: FunctionId,
    at: (&dyn Machine, ImageAddr, u64),
) -> Result<Result<u64, NoObject>, Error> {
    let kind = LocationKind::Object;
    let Some((list, _)) = locations.of(function, kind)? else {
        return Ok(Err(NoObject::NotDescribed(function)));
    };
    // An entry that applies wherever no other does has length 0 (schema, section 10), so no address is in it.
    let is_bounded = list.entries().any(|(start, len, _)| at.1.0.wrapping_sub(start.0) < len);
    let size = usize::from(file.header().address_size);
    let read = |evaluation: &Evaluation<'_, 'd>, frame: &Frame<'_, 'd>, place: Location<'d>| {
        // Without optimisation compilers say of a variable in memory that it is there before anything was written.
        if !is_bounded && !matches!(place.storage, Storage::Register(_)) {
            return Err(NoObject::Unbounded(function));
        }
        let mut bytes = [0; 8];
        let unknown = |problem| NoObject::Unknown(function, problem);
        let room = bytes.get_mut(..size).ok_or(unknown(Problem::BadSize(size as u64)))?;
        evaluation.read(place, room, frame).map_err(unknown)?;
        Ok(number(room, is_big_endian(file)))
    };
    Ok(match evaluate(locations, file.header(), function, kind, at, read)? {
        Some(Ok(found)) => found,
        Some(Err(problem)) => Err(NoObject::Unknown(function, problem)),
        None => Err(NoObject::NotDescribed(function)),
    })
}

/// The reason why the compiler may have known the callee of the call that led to the innermost frame.
fn doubt(
    file: &SymbolFile<'_>,
    locations: &Locations<'_>,
    caller: (Option<&StackAddr>, Option<&Resolved>),
    is_recorded: &mut dyn FnMut(ReturnAddr) -> Result<bool, Error>,
) -> Result<Option<Doubt>, Error> {
    let (Some(&StackAddr::Return(address)), Some(resolved)) = caller else {
        return Ok(Some(Doubt::NoCaller));
    };
    if is_recorded(address)? {
        return Ok(Some(Doubt::Recorded));
    }
    let Some(group) = resolved.group else {
        let mut frames = Frames::new();
        return Ok(match file.lookup(address.lookup_address(), &mut frames)? {
            Lookup::Found(found) if found.padding || found.group.is_some() => Some(Doubt::NoCaller),
            Lookup::Found(found) if locations.is_unknown_call(found.function, address)? => None,
            Lookup::Found(found) => Some(Doubt::NotShown(found.function)),
            _ => Some(Doubt::NoCaller),
        });
    };
    // The members share their code, so a record of any member that kept its address counts for all.
    let mut first = None;
    for member in file.records().members(file.records().group(group)?) {
        let function = member?.function;
        if locations.is_unknown_call(function, address)? {
            return Ok(None);
        }
        first.get_or_insert(function);
    }
    Ok(Some(first.map_or(Doubt::NoCaller, Doubt::NotShown)))
}
