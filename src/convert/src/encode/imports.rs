//! Writes IMPORTS: calls to functions of other modules (schema, section 3).

use super::calls::{add, offset};
use super::plan::Plan;
use super::section::Section;
use crate::model::Program;
use foldsym_format::SectionId;

/// Returns the section, if the program has imports, and the number of calls left out because the file cannot store their addresses.
pub(super) fn section(program: &Program<'_>, plan: &Plan, image_base: u64) -> (Vec<Section>, u64) {
    let record = |&(address, name): &(_, crate::model::NameId)| {
        Some([offset(address, image_base)?, i64::from(plan.names.ranks[name.index()])])
    };
    let mut records: Vec<[i64; 2]> = program.imports.iter().filter_map(record).collect();
    let left_out = (program.imports.len() - records.len()) as u64;
    records.sort_unstable();
    // Pieces do not overlap, so no call is in two of them. If a program has a call twice nevertheless, the first one is kept.
    records.dedup_by_key(|record| record[0]);
    let mut sections = Vec::new();
    add(&mut sections, SectionId::IMPORTS, &records);
    (sections, left_out)
}
