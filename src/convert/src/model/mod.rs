//! The data of a program between the steps: functions, inline trees, line rows, names. Data only, without logic.
//!
//! `read` fills one [`Unit`] for each compile unit, with ids local to the unit, so that units can be
//! read in parallel and in any order. `merge` gives names, files, origins and call edges their ids in
//! the whole program ([`UnitMap`]), and `place` decides which pieces of code exist ([`Program`]).

mod blocks;
mod bytes;
mod calls;
mod classes;
mod codeless;
mod ids;
mod instance;
mod keys;
mod locations;
mod name;
mod program;
mod unit;
mod unwind;

pub(crate) use crate::model::classes::UnitClasses;
pub use blocks::{Block, BlockCounts, BlockMap, BlockRange, SharedBlock};
pub use calls::{CalleePlace, Calls, UnitCall, UnitCallee};
pub use classes::{
    ClassPlaces, ClassUnit, OverriderKey, SlotKey, UnitBase, UnitClass, UnitMethod, UnitVtable, VtableKey,
};
pub use codeless::Codeless;
pub use foldsym_format::Reason;
pub use ids::{
    DieOffset, EdgeId, FileId, FuncId, GroupId, How, ImageAddr, LocalCallee, LocalEdge, LocalFunc,
    LocalOrigin, MAX_PIECE, NONE16, NameId, OriginId, UnitId,
};
pub use instance::Instance;
pub use keys::{CallCounts, CallHow, CallKey, Keys, TailKey};
pub use locations::{
    Located, LocatedValue, LocationEntry, LocationKind, LocationList, LocationReference, OPAQUE,
    UnitLocations,
};
pub use name::UnitName;
pub use program::{
    Edge, Function, Group, InlineCounts, Member, Origin, Owner, Piece, Program, Rows, Source, UnitMap,
};
pub use unit::{
    BareLines, LocalTables, Lost, LostScope, Row, RowRange, Scope, Together, Unit, UnitCode, UnitEdge,
    UnitErased, UnitFunction, UnitHead, UnitOrigin, UnitPiece, UnitRecords, UnitTraces,
};
pub use unwind::{UnwindCfa, UnwindRow, UnwindRows, UnwindRule};
