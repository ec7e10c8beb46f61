//! A file that is ready to be written.

use foldsym_format::Header;

use super::section::Section;
use crate::model::EncodeStats;

/// A file that is ready to be written.
#[derive(Clone, Debug)]
pub struct Encoded {
    pub(super) header: Header,
    /// In the order of the file.
    pub sections: Vec<Section>,
    pub stats: EncodeStats,
}
