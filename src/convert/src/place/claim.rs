//! Ranges of code with the functions that have them. The files of this folder build them, and `pieces` cuts them into
//! pieces.

use std::cmp::Ordering;

use thin_vec::ThinVec;

use crate::merge::names::Names;
use crate::model::{
    AddressRange, FuncId, Function, How, ImageAddr, Member, NameId, Origin, OriginId, Reason, RowRange, Rows,
    UnitId,
};
use crate::util::hash::{HashMap, HashSet};

/// A range of code with the functions that have it: more than one if they were folded.
pub(crate) struct Claim {
    pub(crate) start: ImageAddr,
    pub(crate) end: ImageAddr,
    /// The order of [`crate::model::Group::members`]; functions are in [`Claims::functions`].
    pub(crate) members: Vec<Member>,
    /// Why a single member is not certain to be the only function there. A rule sets it if it leaves out a second
    /// function that it cannot exclude and that [`crate::place::certainty`] does not notice by itself. If several
    /// members are known by name alone: why the lines of their code are not known to be those of any of them.
    pub(crate) doubt: Option<Reason>,
}

impl Claim {
    /// The addresses of its code.
    pub(crate) fn range(&self) -> AddressRange {
        AddressRange::new(self.start, self.end)
    }
}

/// Every range that may become a piece.
#[derive(Default)]
pub(crate) struct Claims {
    /// Functions in no final order: `pieces` numbers them. The functions of all units come first, in the order of the
    /// units.
    pub(crate) functions: Vec<Function>,
    /// Functions that turned out to be the same as another function, with the other one.
    pub(crate) same: HashMap<FuncId, FuncId>,
    /// Code of subprograms.
    pub(crate) dies: Vec<Claim>,
    /// Code of function symbols, whether a subprogram covers it or not.
    pub(crate) symbols: Vec<Claim>,
    /// Code after labels of assembly code.
    pub(crate) labels: Vec<Claim>,
}

/// Makes a function of which only a name is known.
pub(crate) fn by_name_alone(names: &mut Names<'_>, functions: &mut Vec<Function>, name: NameId) -> Member {
    // Line 0 means that no line is given (DWARF 5 2.14). Functions of one name that only symbols show have one origin and stay
    // several functions.
    let origin = names.add_origin(Origin { name, file: None, line: 0 });
    let function = symbol_function(functions, origin);
    Member { function, how: How::SymbolOnly, rows: None, symbol: None }
}

/// Sorts members into the order that answers list them in, and the aliases of functions that are not in `ordered` by their bytes: a
/// function with many aliases may be a member at many ranges.
pub(crate) fn order(
    names: &Names<'_>,
    members: &mut [Member],
    functions: &mut [Function],
    ordered: &mut HashSet<FuncId>,
) {
    for member in members.iter() {
        if functions[member.function.index()].aliases.is_empty() || !ordered.insert(member.function) {
            continue;
        }
        let aliases = &mut functions[member.function.index()].aliases;
        // By bytes: the order of the symbol table depends on the order of the objects at the link.
        aliases.sort_by(|&a, &b| names.text(a).cmp(names.text(b)));
        aliases.dedup();
    }
    // Members came sorted by (how, DIE offset): the first is the live DIE with the lowest offset, if there is a live
    // one.
    let named = usize::from(members.first().is_some_and(|first| first.how == How::LiveRange));
    if members.len() > named + 1 {
        let name = |member: &Member| names.of_function(&functions[member.function.index()]);
        // Many members may have one long name: equal names are not compared byte by byte.
        // Stable: members of one name stay in the order of their evidence and DIE offset.
        // A function without a name comes last: it is the least useful answer.
        members[named..].sort_by(|a, b| match (name(a), name(b)) {
            (a, b) if a == b => Ordering::Equal,
            (a, b) => {
                let (a, b) = (names.text(a), names.text(b));
                a.is_empty().cmp(&b.is_empty()).then(a.cmp(b))
            }
        });
    }
}

fn symbol_function(functions: &mut Vec<Function>, origin: OriginId) -> FuncId {
    // The functions of all units are in the list already, and few are added.
    if functions.len() == functions.capacity() {
        functions.reserve_exact(functions.len() / 8 + 1);
    }
    functions.push(Function {
        origin,
        symbol: None,
        aliases: ThinVec::new(),
        primary: None,
        source: None,
        how: How::SymbolOnly,
        partial: false,
        reason: None,
    });
    FuncId((functions.len() - 1) as u32)
}

/// Rows that begin at `skip` bytes into a range of rows.
pub(crate) fn rows_from(unit: UnitId, range: RowRange, skip: u32) -> Rows {
    Rows { unit, range, skip }
}
