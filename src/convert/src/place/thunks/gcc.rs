//! Functions that gcc replaced by a jump to another and describes without an address.

use crate::model::{AddressRange, FuncId, Function, ImageAddr, Member, NameId, OriginId, UnitId};
use crate::place::claim::{Claim, Claims};
use crate::place::limits::{MAX_JUMP, MAX_THUNK_STEPS};
use crate::place::placing::Placing;
use crate::place::thunks::merging_units::units_of;
use crate::program::machine::Machine;
use crate::program::names::relation::{Relation, relation, spellings};
use crate::util::budget::Budget;
use crate::util::hash::{HashMap, HashSet};

/// A function that gcc replaced by a jump.
struct Jumping {
    code: AddressRange,
    /// Its place among the members at that code.
    member: Member,
}

/// The functions that gcc replaced by jumps.
#[derive(Default)]
pub(crate) struct OfGcc {
    pub(crate) units: Vec<UnitId>,
    /// The target of each jump with the function that jumps.
    pub(crate) added: HashSet<(ImageAddr, FuncId)>,
    /// A cap was reached.
    pub(crate) capped: bool,
}

/// Adds the functions that gcc replaced by a jump to the members at the target, with what gcc's DIE gives for them.
pub(crate) fn find(placing: &Placing<'_, '_>, machine: &Machine<'_, '_>, claims: &mut Claims) -> OfGcc {
    // gcc describes each function that it replaced by a jump. Without such DIEs no code need be read.
    let mut units = Vec::new();
    if placing.recovered.all().all(|unit| unit.records.codeless.is_empty()) {
        return OfGcc::default();
    }
    let jumping = may_jump(claims);
    let Claims { functions, dies, .. } = claims;
    let mut here: HashMap<ImageAddr, Vec<UnitId>> = HashMap::default();
    let mut added: HashSet<(ImageAddr, FuncId)> = HashSet::default();
    let steps = Budget::new(MAX_THUNK_STEPS);
    let mut described: HashMap<UnitId, HashMap<NameId, Vec<OriginId>>> = HashMap::default();
    for Jumping { code, member } in jumping {
        let is_described = |target: ImageAddr| {
            target != code.start && dies.binary_search_by_key(&target, |die| die.start).is_ok()
        };
        // gcc describes functions without an address for other reasons too (`foo` of `foo.constprop.0`): their code
        // does more than jump.
        let Some(target) = machine.passes_on(code, is_described) else { continue };
        // `is_described` accepted the target, so a claim begins there.
        let first = dies.partition_point(|die| die.start < target);
        let at = &mut dies[first];
        let here = here.entry(target).or_insert_with(|| units_with_codeless(placing, at, functions));
        let symbol = placing.names.of_function(&functions[member.function.index()]);
        let mut origins: Vec<OriginId> = Vec::new();
        let mut is_whole = steps.spend(here.len());
        for &unit in here.iter() {
            if !is_whole {
                break;
            }
            let described = described.entry(unit).or_insert_with(|| codeless(placing, unit));
            let before = origins.len();
            is_whole = add_fitting(placing, described, symbol, &mut origins, &steps);
            if origins.len() > before {
                units.push(unit);
            }
        }
        if !is_whole {
            // The function may be one that was not compared.
            if !here.is_empty() && added.insert((target, member.function)) {
                at.members.push(Member { rows: None, symbol: None, ..member });
                units.push(here[0]);
            }
            continue;
        }
        origins.sort_unstable();
        origins.dedup();
        if origins.is_empty() {
            continue;
        }
        // If several origins fit, none is chosen.
        if let [origin] = origins[..] {
            let function = &mut functions[member.function.index()];
            (function.origin, function.symbol) = (origin, Some(symbol));
        }
        if added.insert((target, member.function)) {
            at.members.push(Member { rows: None, symbol: None, ..member });
        }
    }
    OfGcc { units, added, capped: steps.is_short() }
}

/// The undescribed functions of small code. The linker also folds jumps, even with described functions.
fn may_jump(claims: &Claims) -> Vec<Jumping> {
    let Claims { functions, dies, symbols, .. } = claims;
    let small = symbols.iter().chain(dies).filter(|claim| claim.end - claim.start <= MAX_JUMP);
    small
        .flat_map(|claim| claim.members.iter().map(|&member| Jumping { code: claim.range(), member }))
        .filter(|jumping| functions[jumping.member.function.index()].source.is_none())
        .collect()
}

/// The units of the functions at an address that describe codeless functions, sorted.
fn units_with_codeless(placing: &Placing<'_, '_>, at: &Claim, functions: &[Function]) -> Vec<UnitId> {
    let mut here: Vec<UnitId> = units_of(at, functions)
        .filter(|unit| !placing.recovered.unit(*unit).records.codeless.is_empty())
        .collect();
    here.sort_unstable();
    here.dedup();
    here
}

/// Adds the origins of a unit's codeless functions whose name fits a symbol's. False if `steps` did not suffice.
fn add_fitting(
    placing: &Placing<'_, '_>,
    described: &HashMap<NameId, Vec<OriginId>>,
    symbol: NameId,
    origins: &mut Vec<OriginId>,
    steps: &Budget,
) -> bool {
    let names = spellings(placing.names.text(symbol)).filter_map(|name| placing.names.find(name));
    let of_unit = names.filter_map(|name| described.get(&name)).flatten().copied();
    let is_own = |origin: &OriginId| {
        let name = placing.names.text(placing.names.of_origin(*origin));
        relation(name, placing.names.text(symbol)) != Relation::Other
    };
    origins.extend(of_unit.take_while(|_| steps.spend(1)).filter(is_own));
    !steps.is_short()
}

/// The codeless functions of a unit, by name.
fn codeless(placing: &Placing<'_, '_>, unit: UnitId) -> HashMap<NameId, Vec<OriginId>> {
    let unit = placing.recovered.unit(unit);
    let mut by_name: HashMap<NameId, Vec<OriginId>> = HashMap::default();
    for codeless in &unit.records.codeless {
        let origin = unit.origin_of(codeless.origin);
        by_name.entry(placing.names.of_origin(origin)).or_default().push(origin);
    }
    by_name
}
