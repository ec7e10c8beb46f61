//! The program counter of each lane of a stopped wave (`DW_AT_LLVM_lane_pc`, `DW_AT_LLVM_active_lane`, `DW_AT_LLVM_lanes`).
//!
//! A wave has one pc, and a mask of the lanes that execute. Lanes that are masked off wait at other addresses. The compiler
//! describes them by an expression whose value is one address for each lane, undefined for lanes that did not enter the
//! function. Without such an expression, only the program counter of the executing lanes is known.

use foldsym_expr::amdgpu::{EXEC32, EXEC64, PC};
use foldsym_expr::{Evaluation, Location, Problem};
use foldsym_lookup::locations::{LocationKind, Locations};
use foldsym_lookup::{Error, Frames, FunctionId, ImageAddr, Lookup, SymbolFile};

use crate::frame::{Frame, Machine, evaluate, number};

/// The lanes that a wave may have.
pub const MAX_LANES: usize = 64;

/// The 32-bit program counter (`PC_32`).
const PC32: u64 = 0;

/// The program counter of a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// At this link-time address: it executes there, or continues there when it is enabled again.
    At(ImageAddr),
    /// It is not in the function: it was disabled before the function was entered. If the function does not describe its lanes: it is
    /// disabled.
    Inactive,
    /// It is not known, and why.
    Unknown(Problem),
}

/// A lane of a wave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lane {
    /// It executes.
    pub active: bool,
    /// Its program counter.
    pub place: Place,
}

/// All lanes of a wave.
#[derive(Clone, Copy, Debug)]
pub struct Wave {
    lanes: [Lane; MAX_LANES],
    count: usize,
    /// The function describes the program counters of its lanes at this address.
    pub described: bool,
    /// Why the function's own mask of active lanes is unknown, if it has one; then the wave's mask counts.
    pub active_problem: Option<Problem>,
    /// The function's number of lanes if it was refused: it is more than a wave has, or fewer than execute.
    pub lanes_refused: Option<u32>,
}

/// How many lanes a wave has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaneCount {
    /// As many; at most [`MAX_LANES`].
    pub count: u32,
    /// The function's number of lanes, if it is impossible.
    pub refused: Option<u32>,
}

impl Wave {
    /// The lanes, from 0.
    pub fn lanes(&self) -> &[Lane] {
        self.lanes.get(..self.count).unwrap_or_default()
    }
}

/// A wave that is stopped.
#[derive(Clone, Copy, Debug)]
pub struct WaveAt {
    /// Link-time address of its program counter.
    pub pc: ImageAddr,
    /// The bias that is added to link-time addresses in the running program.
    pub bias: u64,
    /// The lanes that execute.
    pub exec: u64,
    /// How many lanes the wave has, if that is at least as many as `exec` has; `None`: as many as the function says, else 32 or 64, as
    /// `exec` needs.
    pub lanes: Option<u32>,
}

/// The registers that a wave gives itself, and the caller's others.
struct WithWave<'a> {
    machine: &'a dyn Machine,
    at: WaveAt,
}

impl Machine for WithWave<'_> {
    fn register(&self, register: u64, offset: u64, bytes: &mut [u8]) -> Option<()> {
        let (value, size) = match register {
            PC => (self.at.pc.0.wrapping_add(self.at.bias), 8),
            PC32 => (self.at.pc.0.wrapping_add(self.at.bias), 4),
            EXEC64 => (self.at.exec, 8),
            EXEC32 => (self.at.exec, 4),
            _ => return self.machine.register(register, offset, bytes),
        };
        // AMD's GPUs are little-endian.
        let all = value.to_le_bytes();
        let start = usize::try_from(offset).ok()?;
        let from = all.get(..size)?.get(start..)?.get(..bytes.len())?;
        bytes.copy_from_slice(from);
        Some(())
    }

    fn memory(&self, space: u64, address: u64, bytes: &mut [u8]) -> Option<()> {
        self.machine.memory(space, address, bytes)
    }
}

/// Finds the program counter of each lane of a wave.
///
/// A lane that executes is at the wave's pc, whatever else is unknown. At folded code only the mask is used: it is unknown which function's
/// expression would apply.
///
/// # Errors
/// The file is damaged at the place of the answer.
pub fn wave<'d>(file: &SymbolFile<'d>, at: WaveAt, machine: &dyn Machine) -> Result<Wave, Error> {
    let locations = locations_at(file, at.pc)?;
    let lanes = count_of(locations, at)?;
    let count = lanes.count as usize;
    let machine = &WithWave { machine, at };
    let mut active = at.exec;
    let mut wave = Wave {
        lanes: [Lane { active: false, place: Place::Inactive }; MAX_LANES],
        count,
        described: false,
        active_problem: None,
        lanes_refused: lanes.refused,
    };
    if let Some((locations, function)) = locations {
        let here = (machine as &dyn Machine, at.pc, at.bias);
        let mask = |evaluation: &Evaluation<'_, 'd>, frame: &Frame<'_, 'd>, place| {
            lanes_of(evaluation, frame, place, count)
        };
        let found = evaluate(&locations, file.header(), function, LocationKind::ActiveLane, here, mask)?;
        match found {
            Some(Ok(Ok(mask))) => active = mask,
            // The wave's own mask is still known, so the answer uses it.
            Some(Ok(Err(problem)) | Err(problem)) => wave.active_problem = Some(problem),
            None => {}
        }
        let size = usize::from(file.header().address_size);
        let read = |evaluation: &Evaluation<'_, 'd>, frame: &Frame<'_, 'd>, place| {
            let elements = wave.lanes.iter_mut().take(count).zip(0u64..);
            elements.for_each(|(lane, index)| {
                lane.place = element(evaluation, frame, place, index, size, at.bias);
            });
        };
        let found = evaluate(&locations, file.header(), function, LocationKind::LanePc, here, read)?;
        wave.described = found.is_some();
        if let Some(Err(problem)) = found {
            wave.lanes.iter_mut().for_each(|lane| lane.place = Place::Unknown(problem));
        }
    }
    for (lane, index) in wave.lanes.iter_mut().zip(0u32..) {
        lane.active = active.wrapping_shr(index) & 1 != 0;
        let known = wave.described && matches!(lane.place, Place::At(_));
        if lane.active && !known {
            lane.place = Place::At(at.pc);
        }
    }
    Ok(wave)
}

/// How many lanes a wave has: as many as the caller says, or the function, or else 32 or 64, as the mask needs.
///
/// # Errors
/// As [`wave`].
pub fn lane_count(file: &SymbolFile<'_>, at: WaveAt) -> Result<LaneCount, Error> {
    count_of(locations_at(file, at.pc)?, at)
}

/// The expressions of the function at an address; none at folded code.
fn locations_at<'d>(
    file: &SymbolFile<'d>,
    pc: ImageAddr,
) -> Result<Option<(Locations<'d>, FunctionId)>, Error> {
    let function = match file.lookup(pc, &mut Frames::new())? {
        // Padding belongs to no function, so no expression applies to it.
        Lookup::Found(answer) if answer.group.is_none() && !answer.padding => Some(answer.function),
        _ => None,
    };
    Ok(file.locations()?.zip(function))
}

fn count_of(locations: Option<(Locations<'_>, FunctionId)>, at: WaveAt) -> Result<LaneCount, Error> {
    let own = match locations {
        Some((locations, function)) => locations.lanes(function)?,
        None => None,
    };
    // No lane that executes is left out.
    let has_all = |count: u32| count >= u64::BITS.wrapping_sub(at.exec.leading_zeros());
    let fits = |count: &u32| (1..=MAX_LANES).contains(&(*count as usize)) && has_all(*count);
    // A wave of AMD's GPUs has 32 or 64 lanes.
    let by_mask = if at.exec >> 32 == 0 { 32 } else { 64 };
    // The caller's number replaces the function's, unless it does not fit either.
    let is_given = at.lanes.as_ref().is_some_and(fits);
    let count = at.lanes.filter(fits).or(own.filter(fits)).unwrap_or(by_mask);
    Ok(LaneCount { count, refused: own.filter(|own| !is_given && !fits(own)) })
}

/// Element `index` of the addresses at a place.
fn element<'d>(
    evaluation: &Evaluation<'_, 'd>,
    frame: &Frame<'_, 'd>,
    place: Location<'d>,
    index: u64,
    size: usize,
    bias: u64,
) -> Place {
    let mut bytes = [0; 8];
    let Some(room) = bytes.get_mut(..size) else { return Place::Unknown(Problem::BadSize(size as u64)) };
    let bits = (size as u64).wrapping_mul(8);
    match evaluation.read_behind(place, index.wrapping_mul(bits), room, frame) {
        Ok(()) => Place::At(ImageAddr(number(room, false).wrapping_sub(bias))),
        // The compiler leaves the element of a lane that did not enter the function undefined.
        Err(Problem::Undefined) => Place::Inactive,
        Err(problem) => Place::Unknown(problem),
    }
}

/// The bits of a mask at a place, one for each lane.
fn lanes_of<'d>(
    evaluation: &Evaluation<'_, 'd>,
    frame: &Frame<'_, 'd>,
    place: Location<'d>,
    count: usize,
) -> Result<u64, Problem> {
    let mut bytes = [0; 8];
    let room = bytes.get_mut(..count.div_ceil(8)).ok_or(Problem::BadSize(count as u64))?;
    evaluation.read(place, room, frame)?;
    Ok(number(room, false))
}
