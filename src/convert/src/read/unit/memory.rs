//! Tables that a thread reuses for each unit that it reads, so that their memory is not allocated again.

use crate::model::{LocalCallee, LocalEdge};
use crate::read::sections::abbreviations::AbbreviationTable;
use crate::read::sections::entries::Plans;
use crate::read::unit::edges::InlinedCall;
use crate::read::unit::origins::{DiePlace, Ids};
use crate::read::unit::roles::{MemberRole, Role};
use crate::util::hash::HashMap;
use crate::util::numbers::NumberedMap;

/// The tables, empty.
#[derive(Default)]
pub(crate) struct Memory {
    pub(crate) edges: NumberedMap<InlinedCall, LocalEdge>,
    pub(crate) callees: HashMap<DiePlace, LocalCallee>,
    pub(crate) ids: Ids,
    pub(crate) abbreviations: AbbreviationTable,
    pub(crate) plans: Plans<Role>,
    pub(crate) identities: Plans<()>,
    pub(crate) members: Plans<MemberRole>,
}
