//! What `place` works with: the names, which grow by those of symbols, and the units, which stay as they are.

use crate::merge::names::Names;
use crate::recover::recovered::Recovered;

pub(crate) struct Placing<'r, 'f> {
    pub(crate) names: Names<'f>,
    pub(crate) recovered: &'r Recovered<'r, 'f>,
}
