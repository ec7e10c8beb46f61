//! Functions that LLVM replaced by a jump to another and no longer describes.

use crate::model::{AddressRange, FuncId, Function, How, ImageAddr, Member, NameId, UnitId};
use crate::place::aliases::may_be_merged_away;
use crate::place::bare_lines::{BareLinesOfAll, lines};
use crate::place::claim::{Claim, Claims, by_name_alone};
use crate::place::folding_evidence::FoldingEvidence;
use crate::place::limits::{MAX_THUNK, MAX_THUNK_NAMES, MAX_THUNK_STEPS};
use crate::place::placing::Placing;
use crate::place::thunks::merging_units::{may_merge, units_of};
use crate::program::machine::Machine;
use crate::program::names::relation::{Relation, relation};
use crate::program::symbols::Symbols;
use crate::toolchain::functions::may_be_merged;
use crate::toolchain::suffixes::{checked_name, split_number};
use crate::util::budget::Budget;
use crate::util::hash::{HashMap, HashSet};

/// Small code with the functions at it that no DIE describes.
struct Small {
    code: AddressRange,
    functions: Box<[Undecided]>,
}

/// A function that may be a jump to another.
#[derive(Clone, Copy)]
enum Undecided {
    Function(Member),
    /// A name that counts as an alias of a function there and may be a function folded into it.
    Alias(NameId),
}

/// Code that small code jumps to: an index into [`Claims::dies`], or into [`Claims::symbols`] of a function
/// with lines and without a DIE, as `-g1` leaves it.
#[derive(Clone, Copy)]
enum Described {
    Die(usize),
    Lines(usize, UnitId),
}

/// An address at which functions of LLVM's units begin and to which small code jumps.
struct JumpTarget {
    at: Described,
    /// The units, sorted, and whether all of them are taken to have merged functions already.
    units: Vec<UnitId>,
    counted: bool,
    /// The functions there, as far as names are compared with them.
    here: Vec<DescribedHere>,
}

/// A described function at the target of a jump.
struct DescribedHere {
    name: NameId,
    /// The function's own body is there and no symbol of it: its symbol may be at a jump.
    is_body: bool,
}

pub(crate) struct Llvm<'a, 'r, 'f> {
    pub(crate) placing: &'a mut Placing<'r, 'f>,
    pub(crate) machine: &'a Machine<'a, 'f>,
    pub(crate) folding: &'a FoldingEvidence,
    pub(crate) symbols: &'a Symbols<'f>,
}

impl Llvm<'_, '_, '_> {
    /// Adds the functions that LLVM merged, except those that gcc's units explain, and the units that may have merged
    /// them. True if a cap was reached: then more functions and units are added than necessary.
    pub(crate) fn add(
        self,
        claims: &mut Claims,
        of_gcc: &HashSet<(ImageAddr, FuncId)>,
        units: &mut Vec<UnitId>,
    ) -> bool {
        let bare = lines(self.placing);
        let small = self.small(claims, &bare);
        let lines = self.lines_of_others(&small);
        let steps = Budget::new(MAX_THUNK_STEPS);
        let mut targets: HashMap<ImageAddr, JumpTarget> = HashMap::default();
        for Small { code, functions: undecided } in small {
            let is_described =
                |target: ImageAddr| target != code.start && at(target, &bare, claims).is_some();
            let Some(address) = self.machine.passes_on(code, is_described) else { continue };
            let Some(place) = at(address, &bare, claims) else { continue };
            let target = targets.entry(address).or_insert_with(|| self.target(address, place, claims));
            let is_other = |one: &Undecided| self.is_other(*one, &claims.functions, target, &steps);
            let possible: Vec<Undecided> = undecided.into_iter().filter(is_other).collect();
            // If no compiler of the functions at the target merges without a record, the jump is a tail call of the source.
            if target.units.is_empty() || possible.is_empty() {
                continue;
            }
            // LLVM merges functions of one module. If the symbol table gives the file of the jump, units of its other files have not merged the
            // function. Otherwise any unit with a function at the target may have.
            match self.file_of(code.start, &lines) {
                Some(own) if steps.spend(target.units.len()) => {
                    let before = units.len();
                    units.extend(target.units.iter().filter(|unit| !self.is_of_another(&own, **unit)));
                    // The object of the jump has no function at the target: the jump is a tail call of the source.
                    if units.len() == before {
                        continue;
                    }
                }
                // Any number of jumps may go to one target: its units are listed once.
                _ if target.counted => {}
                _ => {
                    target.counted = true;
                    units.extend(&target.units);
                }
            }
            for one in possible {
                let member = match one {
                    Undecided::Function(member) => Member { rows: None, symbol: None, ..member },
                    Undecided::Alias(name) => {
                        by_name_alone(&mut self.placing.names, &mut claims.functions, name)
                    }
                };
                if !of_gcc.contains(&(address, member.function)) {
                    let members = match target.at {
                        Described::Die(at) => &mut claims.dies[at].members,
                        Described::Lines(at, _) => &mut claims.symbols[at].members,
                    };
                    members.push(member);
                }
            }
        }
        steps.is_short()
    }

    /// Small code that may be the remains of merged functions. The linker also folds such jumps, even with described
    /// functions; the symbol of a folded jump then counts as an alias of the described function.
    fn small(&self, claims: &Claims, bare: &BareLinesOfAll) -> Vec<Small> {
        let Claims { functions, dies, symbols, .. } = claims;
        // LLVM gives the remains of merged functions no lines. If a linker that folds left several names, the lines may be
        // those of a function that was folded into the remains.
        let has_own_lines = |claim: &&Claim| {
            let here = self.symbols.at(claim.start);
            let is_same = |name| relation(here[0].name, name) != Relation::Other;
            let has_one_name =
                || here.len() <= MAX_THUNK_NAMES && here.iter().all(|symbol| is_same(symbol.name));
            bare.unit_at(claim.start).is_some() && (!self.folding.may_fold() || has_one_name())
        };
        let (mut found, mut here) = (Vec::new(), Vec::new());
        for claim in symbols.iter().filter(|all| !has_own_lines(all)).chain(dies) {
            if claim.end - claim.start > MAX_THUNK {
                continue;
            }
            here.clear();
            for member in &claim.members {
                let function = &functions[member.function.index()];
                let own = self.placing.names.text(self.placing.names.of_function(function));
                if function.source.is_none() && may_be_merged(own) {
                    here.push(Undecided::Function(*member));
                }
                let is_entry = || self.entry(function).is_none_or(|entry| entry == claim.start);
                if function.aliases.is_empty() || !self.folding.may_fold() || !is_entry() {
                    continue;
                }
                let is_another = |alias: &&NameId| may_be_merged_away(own, self.placing.names.text(**alias));
                here.extend(function.aliases.iter().filter(is_another).map(|name| Undecided::Alias(*name)));
            }
            // If symbols have no size, the code behind a described function belongs to its symbol too.
            let is_behind = || dies.binary_search_by_key(&claim.start, |die| die.start).is_ok();
            if !here.is_empty() && (units_of(claim, functions).next().is_some() || !is_behind()) {
                let functions = here.as_slice().into();
                found.push(Small { code: claim.range(), functions });
            }
        }
        found
    }

    /// The entry of a described function: its aliases are there.
    fn entry(&self, function: &Function) -> Option<ImageAddr> {
        let source = function.source?;
        let unit = self.placing.recovered.unit(source.unit);
        let entry = unit.code.functions[source.function.index()].pieces.start;
        Some(unit.code.pieces[entry as usize].start)
    }

    fn target(&self, address: ImageAddr, place: Described, claims: &Claims) -> JumpTarget {
        let Claims { functions, dies, symbols, .. } = claims;
        let (at, of_lines) = match place {
            Described::Die(at) => (&dies[at], None),
            Described::Lines(at, unit) => (&symbols[at], Some(unit)),
        };
        let mut units: Vec<UnitId> =
            units_of(at, functions).chain(of_lines).filter(|&unit| may_merge(self.placing, unit)).collect();
        units.sort_unstable();
        units.dedup();
        let symbols: HashSet<&[u8]> = self.symbols.at(address).iter().map(|symbol| symbol.name).collect();
        let describe = |member: &Member| {
            let function = &functions[member.function.index()];
            let name = self.placing.names.of_function(function);
            let live = member.how == How::LiveRange;
            let own = function.source.is_some_and(|source| may_merge(self.placing, source.unit));
            let is_body = live && own && !symbols.contains(self.placing.names.text(name));
            DescribedHere { name, is_body }
        };
        let here = at.members.iter().map(describe).collect();
        JumpTarget { at: place, units, counted: false, here }
    }

    /// True if a function that jumps to an address is a different function from those there. It is the same function
    /// if it is another variant of one constructor, if the target is a body without a symbol (of a weak function), or
    /// if lld for Mach-O made the jump for a folded function.
    fn is_other(
        &self,
        undecided: Undecided,
        functions: &[Function],
        target: &JumpTarget,
        steps: &Budget,
    ) -> bool {
        // Without steps the function counts as another one, which adds a member and so only doubt.
        if !steps.spend(target.here.len()) {
            return true;
        }
        let name = match undecided {
            Undecided::Function(member) => {
                self.placing.names.of_function(&functions[member.function.index()])
            }
            Undecided::Alias(name) => name,
        };
        let name = self.placing.names.text(name);
        target.here.iter().all(|here| match relation(self.placing.names.text(here.name), name) {
            Relation::Other => checked_name(self.placing.names.text(here.name)) != Some(name),
            Relation::Variant => false,
            _ if self.machine.has_linkers_jumps() => false,
            Relation::Same | Relation::Mangled => !here.is_body,
            // Compilers number functions of one name from several files.
            Relation::Clone => !split_number(name).1.is_empty(),
        })
    }

    /// By address: units with lines that begin there and that none of their functions has. Only for code with a
    /// single symbol.
    fn lines_of_others(&self, small: &[Small]) -> HashMap<ImageAddr, UnitId> {
        let mut found: HashMap<ImageAddr, UnitId> = HashMap::default();
        // gold may have dropped a second symbol at the jump, so a single symbol does not show that the lines are those of its
        // function.
        if self.folding.may_hide_functions() {
            return found;
        }
        let starts: HashSet<ImageAddr> = small.iter().map(|small| small.code.start).collect();
        for (id, unit) in self.placing.recovered.numbered() {
            let lines = unit.traces.bare.iter().chain(&unit.traces.unclaimed);
            for lines in lines.filter(|lines| !lines.continues && !lines.in_doubt) {
                if starts.contains(&lines.start) && self.symbols.at(lines.start).len() == 1 {
                    found.insert(lines.start, id);
                }
            }
        }
        found
    }

    /// The object that the only function at an address belongs to, if that is known.
    fn file_of(&self, address: ImageAddr, lines: &HashMap<ImageAddr, UnitId>) -> Option<ObjectOf> {
        // With several symbols the linker may have folded jumps of several objects.
        let [symbol] = self.symbols.at(address) else { return None };
        if let Some(unit) = lines.get(&address) {
            return Some(ObjectOf::Unit(*unit));
        }
        self.symbols.sure_file(symbol).map(|file| ObjectOf::File(file.to_vec()))
    }

    fn is_of_another(&self, own: &ObjectOf, unit: UnitId) -> bool {
        let file = &self.placing.recovered.unit(unit).head.file_name;
        match own {
            ObjectOf::Unit(own) => *own != unit,
            // If the unit's file has no file symbol, its local symbols follow those of another file, and the jump may be its
            // own.
            ObjectOf::File(own) => own[..] != file[..] && self.symbols.has_file(file),
        }
    }
}

/// The described code that begins at an address: by a DIE, or by lines alone.
fn at(address: ImageAddr, bare: &BareLinesOfAll, claims: &Claims) -> Option<Described> {
    let first = |all: &[Claim]| {
        let at = all.partition_point(|claim| claim.start < address);
        all.get(at).filter(|claim| claim.start == address).map(|_| at)
    };
    if let Some(at) = first(&claims.dies) {
        return Some(Described::Die(at));
    }
    let at = first(&claims.symbols)?;
    Some(Described::Lines(at, bare.unit_at(address)?))
}

/// The object that a function belongs to.
enum ObjectOf {
    /// A unit with lines for it: LLVM gives the remains of merged functions no lines.
    Unit(UnitId),
    /// The base name of its file in the symbol table.
    File(Vec<u8>),
}
