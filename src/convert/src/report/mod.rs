//! What a conversion kept, recovered and dropped, and the time and memory that its steps took: [`Report`], and the types of
//! its fields.

mod conversion;
mod counts;
mod json;
mod losses;
mod record;
mod recorded;

pub use crate::diagnostics::opening::{OpenDiagnostic, OpenDiagnosticKind};
pub use crate::diagnostics::{Cap, ClassCap, Diagnostics, DwoProblem, Kind, Seen};
pub use crate::model::{
    BlockCounts, CallCounts, EncodeStats, How, InlineCounts, LeftOut, ObjectCounts, Reason,
};
pub(crate) use conversion::OpenedProgram;
pub use conversion::{Decided, Report, Step, Steps};
pub use counts::Counts;
pub use losses::{DebugInfo, Warning, WarningKind};
pub use record::{
    ConversionRecord, RecordError, RecordedBlocks, RecordedCase, RecordedDecisions, RecordedUnkept,
    SectionOffset,
};
