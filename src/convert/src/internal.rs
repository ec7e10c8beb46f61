//! What the other crates of this workspace need besides the public names, and why. It changes with the code, without a
//! new version: programs outside of the workspace do not use it.

/// The encoder: its tests, and the tests of readers, encode programs that no tool would make.
pub mod encode {
    pub use crate::encode::{EncodeError, EncodeOptions, Encoded, ImageInfo, LoadedSection, body, names};
}

/// The model of a program: the tests of the encoder and of readers build it by hand.
pub mod model {
    pub use crate::model::{
        Block, CallHow, CallKey, Calls, DieOffset, Edge, EdgeId, EncodeStats, FileId, FuncId, Function,
        Group, GroupId, How, ImageAddr, Instance, Keys, LeftOut, LocalEdge, LocalFunc, LocalOrigin, Lost,
        Member, NONE16, NameId, Origin, OriginId, Owner, Piece, Program, Reason, Row, RowRange, Rows, Scope,
        Source, TailKey, UnitCode, UnitFunction, UnitId, UnitMap, UnwindCfa, UnwindRow, UnwindRows,
        UnwindRule, VtableKey,
    };
}

/// Files and their parts: the command lists the programs in an archive, a fat file or a GPU bundle, finds out which of
/// several files holds the debug information, looks for files in folders, and shows call frame information as it is in the program.
pub mod open {
    pub use crate::open::{
        DeviceCode, Files, FrameBytes, Holdings, Part, Peeked, device_code, frame_sections, holdings,
        is_compressed, is_linked, parts, peek,
    };
}

// `foldsym import` takes these files of a folder, and no others.
#[cfg(feature = "import")]
pub use crate::import::is_symbol_file;
// A search decides whether several files are one program.
pub use crate::identity::are_of_one_program;
// The command and the Python module write reports, tables and exported files as `convert` writes its file.
pub use crate::util::output::{replaceable, write_whole};
// `foldsym verify` and the tests of the test programs compare with a second reader.
pub use crate::verify::verify_by_addr2line;
