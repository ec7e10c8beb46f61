//! Writes DATA: global variables (schema, section 3).

use super::calls::{add, offset};
use super::plan::Plan;
use super::section::{MAX_SPAN, Section};
use crate::model::{Program, Variable};
use foldsym_format::SectionId;

/// Returns the section, if the program has variables, and the number of variables left out because the file cannot store their addresses.
pub(super) fn section(program: &Program<'_>, plan: &Plan, image_base: u64) -> (Vec<Section>, u64) {
    let record = |variable: &Variable| {
        // No memory of the program is so large: such a size is damage.
        let size = if variable.size < MAX_SPAN { variable.size as i64 } else { 0 };
        let name = i64::from(plan.name(variable.name));
        let file = variable.file.map_or(0, |file| i64::from(plan.file(file)) + 1);
        Some([offset(variable.start, image_base)?, size, name, file, variable.line.into()])
    };
    let records: Vec<[i64; 5]> = program.variables.iter().filter_map(record).collect();
    let left_out = (program.variables.len() - records.len()) as u64;
    let mut sections = Vec::new();
    add(&mut sections, SectionId::DATA, &records);
    (sections, left_out)
}
