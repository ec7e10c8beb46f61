//! The data of a program between the steps: functions, inline trees, line rows, names. Data only, without logic.
//!
//! `read` fills one [`Unit`] for each compile unit, with ids local to the unit, so that units can be
//! read in parallel and in any order. `merge` gives names, files, origins and call edges their ids in
//! the whole program ([`UnitMap`]), and `place` decides which pieces of code exist ([`Program`]).

mod blocks;
mod bytes;
mod call_graph;
mod calls;
mod classes;
mod codeless;
mod ids;
mod instance;
mod keys;
mod locations;
mod name;
mod program;
mod range;
mod sequence_uses;
mod stats;
mod unit;
mod unwind;

pub(crate) use crate::model::classes::UnitClasses;
pub use blocks::{Block, BlockCounts};
pub(crate) use blocks::{BlockMap, BlockRange, SharedBlock};
pub(crate) use call_graph::{CallGraph, CallGraphRecord, CallTypes, FunctionType, TypeHash, UnitTypes};
pub use calls::Calls;
pub(crate) use calls::{CalleePlace, UnitCall, UnitCallee};
pub use classes::VtableKey;
pub(crate) use classes::{
    ClassPlaces, ClassUnit, DispatchKey, OverriderKey, SlotKey, TargetKey, UnitBase, UnitClass, UnitMethod,
    UnitVtable,
};
pub(crate) use codeless::Codeless;
pub use foldsym_format::Reason;
pub use ids::{
    DieOffset, EdgeId, FileId, FuncId, GroupId, How, ImageAddr, LocalEdge, LocalFunc, LocalOrigin, NONE16,
    NameId, OriginId, UnitId,
};
pub(crate) use ids::{LocalCallee, MAX_PIECE};
pub use instance::Instance;
pub(crate) use keys::CallFrom;
pub use keys::{CallCounts, CallHow, CallKey, Keys, TailKey};
pub(crate) use locations::{
    Located, LocatedValue, LocationEntry, LocationKind, LocationList, LocationReference, OPAQUE,
    UnitLocations,
};
pub(crate) use name::UnitName;
pub(crate) use program::Variable;
pub use program::{
    Edge, Function, Group, InlineCounts, Member, Origin, Owner, Piece, Program, Rows, Source, UnitMap,
};
pub(crate) use range::AddressRange;
pub(crate) use sequence_uses::SequenceUses;
pub use stats::{EncodeStats, LeftOut, ObjectCounts};
pub(crate) use unit::{
    BareLines, EmittedSequence, LocalTables, LostScope, OffsetRange, Stray, Together, Unit, UnitEdge,
    UnitErased, UnitHead, UnitOrigin, UnitPiece, UnitRecords, UnitTraces, UnitVariable,
};
pub use unit::{Lost, Row, RowRange, Scope, UnitCode, UnitFunction};
pub use unwind::{UnwindCfa, UnwindRow, UnwindRows, UnwindRule};
