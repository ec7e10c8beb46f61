//! What a conversion kept, recovered and dropped, and the time and memory that its steps took.

mod conversion;
mod counts;
mod losses;
mod record;
mod recorded;

pub use crate::diagnostics::{Cap, Diagnostics, Kind, Seen};
pub use conversion::{Decided, Report, Step, Steps};
pub use counts::Counts;
pub use losses::{DebugInfo, Warning, WarningKind};
pub use record::{
    ConversionRecord, RecordError, RecordedBlocks, RecordedCase, RecordedDecisions, RecordedUnkept,
    SectionOffset,
};
