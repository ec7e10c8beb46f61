//! Answers what expressions ask about the innermost frame of a stopped program: registers and memory from the caller, procedures and
//! base types from the file.

use core::cell::Cell;

use foldsym_expr::{
    Buffers, Context, Dialect, DieRef, Entry, Evaluation, Location, Problem, Settings, Storage, Type, Want,
    amdgpu,
};
use foldsym_lookup::locations::{LocationKey, LocationKind, LocationTarget, LocationUnit, Locations};
use foldsym_lookup::{Error, FunctionId, Header, ImageAddr, flags};

/// ELF's number of AMD's GPUs (`EM_AMDGPU`).
const AMDGPU: u16 = 224;

/// The stopped program, as far as the caller knows it. What it does not know it answers with `None`.
pub trait Machine {
    /// Fills `bytes` from a register, by DWARF's number for the processor, beginning at byte `offset`.
    fn register(&self, number: u64, offset: u64, bytes: &mut [u8]) -> Option<()>;

    /// Fills `bytes` from memory at an address of the running program. Space 0 is the program's memory; others have the
    /// processor's numbers for DWARF.
    fn memory(&self, space: u64, address: u64, bytes: &mut [u8]) -> Option<()>;
}

/// The data that an expression of the innermost frame may use.
pub(crate) struct Frame<'a, 'd> {
    pub(crate) machine: &'a dyn Machine,
    pub(crate) unit: LocationUnit<'d>,
    /// Link-time program counter.
    pub(crate) pc: ImageAddr,
    /// The bias that is added to link-time addresses in the running program.
    pub(crate) bias: u64,
    pub(crate) gpu: bool,
    /// The function's frame base; the error where its list or a part of the file that it needs is damaged.
    pub(crate) base: Result<Option<Location<'d>>, Error>,
    /// The first damage that an expression met. An expression only learns that something is missing.
    damage: Cell<Option<Error>>,
}

impl<'a, 'd> Frame<'a, 'd> {
    /// The frame of a function, with its `DW_AT_frame_base` where that can be evaluated. An expression that needs the base then says that
    /// it is missing, or [`Frame::sound`] that it is damaged.
    pub(crate) fn new(
        locations: &Locations<'d>,
        function: FunctionId,
        unit: LocationUnit<'d>,
        header: &Header,
        (machine, pc, bias): (&'a dyn Machine, ImageAddr, u64),
    ) -> Frame<'a, 'd> {
        let gpu = header.machine == AMDGPU;
        let mut frame = Frame { machine, unit, pc, bias, gpu, base: Ok(None), damage: Cell::new(None) };
        frame.base = frame.find_base(locations, function, header);
        frame
    }

    /// The location of the frame base; `None` where it is not known. `self` has no base yet.
    fn find_base(
        &self,
        locations: &Locations<'d>,
        function: FunctionId,
        header: &Header,
    ) -> Result<Option<Location<'d>>, Error> {
        let Some((list, _)) = locations.of(function, LocationKind::FrameBase)? else { return Ok(None) };
        let Some(expression) = list.at(self.pc)? else { return Ok(None) };
        let mut buffers: Buffers<'d, 16, 8, 4> = Buffers::new();
        let settings = settings(header, &self.unit);
        let mut evaluation = Evaluation::new(expression, Want::Location, settings, buffers.scratch());
        // A `DW_OP_fbreg` in the base's own expression finds no base instead of evaluating it again.
        let base = match evaluation.run(self) {
            Ok(Entry::Location(place @ Location { storage: Storage::Memory { .. }, .. })) => Some(place),
            // A register holds the base. On a GPU it counts from another address space, which no producer of these
            // attributes has shown.
            Ok(Entry::Location(place @ Location { storage: Storage::Register(_), .. })) if !self.gpu => {
                let mut bytes = [0; 8];
                let size = usize::from(settings.address_size);
                let room = bytes.get_mut(..size).unwrap_or_default();
                evaluation
                    .read(place, room, self)
                    .ok()
                    .map(|()| Location::memory(0, number(room, settings.big_endian)))
            }
            _ => None,
        };
        self.sound(base)
    }

    /// The result of an evaluation, unless the evaluation met damage.
    fn sound<T>(&self, result: T) -> Result<T, Error> {
        self.damage.take().map_or(Ok(result), Err)
    }

    /// What a part of the file gives; damage is noted for [`Frame::sound`].
    fn noted<T>(&self, found: Result<Option<T>, Error>) -> Option<T> {
        found.unwrap_or_else(|error| {
            self.damage.set(self.damage.get().or(Some(error)));
            None
        })
    }
}

/// How the expressions of a unit are read.
pub(crate) fn settings(header: &Header, unit: &LocationUnit<'_>) -> Settings {
    Settings {
        address_size: header.address_size,
        offset_size: unit.offset_size,
        version: unit.version,
        big_endian: header.flags & flags::BIG_ENDIAN != 0,
        dialect: if unit.first_codes { Dialect::First } else { Dialect::User },
        xderef_is_place: header.machine == AMDGPU,
        ..Settings::default()
    }
}

/// The number that up to 8 bytes hold.
pub(crate) fn number(bytes: &[u8], big_endian: bool) -> u64 {
    let add = |sum: u64, byte: &u8| sum.wrapping_shl(8) | u64::from(*byte);
    if big_endian { bytes.iter().fold(0, add) } else { bytes.iter().rev().fold(0, add) }
}

impl<'d> Context<'d> for Frame<'_, 'd> {
    fn read_register(&self, register: u64, offset: u64, bytes: &mut [u8]) -> Option<()> {
        self.machine.register(register, offset, bytes)
    }

    fn read_memory(&self, space: u64, address: u64, bytes: &mut [u8]) -> Option<()> {
        self.machine.memory(space, address, bytes)
    }

    fn register_size(&self, register: u64) -> Option<u64> {
        self.gpu.then(|| amdgpu::register_size(register)).flatten()
    }

    fn address_size(&self, space: u64) -> Option<u8> {
        self.gpu.then(|| amdgpu::address_size(space))
    }

    fn frame_base(&self) -> Option<Location<'d>> {
        self.noted(self.base)
    }

    fn relocate(&self, address: u64) -> u64 {
        address.wrapping_add(self.bias)
    }

    fn indexed_address(&self, index: u64) -> Option<u64> {
        match self.noted(self.unit.find(LocationKey::Address(index)))? {
            LocationTarget::Address(address) => Some(address),
            _ => None,
        }
    }

    fn procedure(&self, die: DieRef) -> Option<&'d [u8]> {
        let key = match die {
            DieRef::Unit(offset) => LocationKey::InUnit(offset),
            DieRef::Section(offset) => LocationKey::InSection(offset),
        };
        // A variable without a location at this address would push nothing, and the next value on the stack would be taken for it.
        match self.noted(self.unit.find(key))? {
            LocationTarget::List(list) => self.noted(list.at(self.pc)),
            _ => None,
        }
    }

    fn base_type(&self, die: u64) -> Option<Type> {
        match self.noted(self.unit.find(LocationKey::BaseType(die)))? {
            LocationTarget::BaseType(encoding, size) => Type::of_encoding(encoding, size.into()),
            _ => None,
        }
    }
}

/// Evaluates the expression of a kind that a function has at the frame's pc, and passes its result on. `None` if it has none there.
///
/// # Errors
/// The list, or another part of the file that the expression needs, is damaged.
pub(crate) fn evaluate<'d, T>(
    locations: &Locations<'d>,
    header: &Header,
    function: FunctionId,
    kind: LocationKind,
    at: (&dyn Machine, ImageAddr, u64),
    take: impl FnOnce(&Evaluation<'_, 'd>, &Frame<'_, 'd>, Location<'d>) -> T,
) -> Result<Option<Result<T, Problem>>, Error> {
    let Some((list, unit)) = locations.of(function, kind)? else { return Ok(None) };
    // If there is no expression, the frame base need not be evaluated.
    let Some(expression) = list.at(at.1)? else { return Ok(None) };
    let frame = Frame::new(locations, function, unit, header, at);
    let settings = settings(header, &unit);
    let mut buffers: Buffers<'d> = Buffers::new();
    let mut evaluation = Evaluation::new(expression, Want::Location, settings, buffers.scratch());
    let result = match evaluation.run(&frame) {
        Ok(Entry::Location(place)) => Ok(take(&evaluation, &frame, place)),
        Ok(_) => Err(Problem::NotConvertible),
        Err(problem) => Err(problem),
    };
    frame.sound(Some(result))
}
