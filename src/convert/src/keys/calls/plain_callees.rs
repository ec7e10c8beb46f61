//! Finds the callee of a call that the compiler recorded without a linkage name.
//!
//! clang at `-g1` describes a callee by its plain name: `area` for `_Z4areaRK6Square`. Other functions may have that
//! name too. The call's target shows an address, and mostly one of the functions there has the name. Example: the
//! linker folded `_Z4areaRK6Square` and `_Z6volumeRK4Cube` at 0x2000, and the call to 0x2000 is recorded as a call of
//! `area`. A folded function may have left no name at all, or the demangler may spell its name in another way than the
//! compiler. So such a key rules no function out: it makes its callee `likely`.

use crate::keys::callee::Callee;
use crate::keys::calls::key_builder::CallKeyBuilder;
use crate::keys::functions::Functions;
use crate::keys::index::Index;
use crate::keys::limits::MAX_COMPARED;
use crate::model::{FuncId, ImageAddr, LocalCallee, NameId, Owner};
use crate::program::names::itanium::{PlainName, is_mangled};

impl Callee {
    /// The plain name of a callee that the record does not identify.
    pub(crate) fn plain_name<'p>(self, functions: &Functions<'p, '_>) -> Option<&'p [u8]> {
        match self {
            Callee::Plain(name) | Callee::OtherModule(name) => {
                Some(functions.text(name)).filter(|name| !is_mangled(name))
            }
            _ => None,
        }
    }
}

impl Index<'_, '_> {
    /// The callee of a call that returns to an address. If only a plain name is recorded, the callee is the function of that name at the
    /// address that the code calls.
    pub(crate) fn callee_at(
        &self,
        unit: usize,
        local: Option<LocalCallee>,
        return_addr: ImageAddr,
    ) -> Callee {
        let known = self.callee(unit, local);
        let Some(plain) = known.plain_name(&self.functions) else { return known };
        let target = self.functions.machine.call_before(return_addr);
        target.and_then(|target| self.of_plain_name(plain, target)).map_or(known, Callee::ByName)
    }

    /// The only function of a plain name whose code begins at an address. `None` too if a linker may have put another function there in its
    /// place, or if it has the name as an alias, which may be one of another function.
    fn of_plain_name(&self, plain: &[u8], address: ImageAddr) -> Option<FuncId> {
        let is_meant = |function: &FuncId| {
            let is_alias = |alias: &NameId| self.functions.text(*alias) == plain;
            let aliases = &self.functions.program.functions[function.index()].aliases;
            !self.replaced.contains(*function) && !aliases.iter().any(is_alias)
        };
        self.named_at(plain, address).filter(is_meant)
    }

    fn named_at(&self, plain: &[u8], address: ImageAddr) -> Option<FuncId> {
        let has_name = |function: &FuncId| self.functions.has_plain_name(*function, plain);
        match self.owner_at(address)? {
            Owner::Function(function) => Some(function).filter(has_name),
            Owner::Group(group) => {
                let members = &self.functions.program.groups[group.index()].members;
                if members.len() > MAX_COMPARED {
                    return None;
                }
                let mut named = members.iter().map(|member| member.function).filter(has_name);
                named.next().filter(|_| named.next().is_none())
            }
        }
    }
}

impl Functions<'_, '_> {
    /// True if a plain name is the function's, and a C++ function of its group may have the name too. (Example: `step` of C and
    /// `_Z4stepi`.) `has_mangled`: by group, whether a member has a mangled name.
    pub(crate) fn shares_plain_name(&self, name: NameId, function: FuncId, has_mangled: &[bool]) -> bool {
        let plain = self.text(name);
        let Some(group) = self.group(function).filter(|group| has_mangled[group.index()]) else {
            return false;
        };
        let members = &self.program.groups[group.index()].members;
        let mut others = members.iter().map(|member| member.function).filter(|other| *other != function);
        !is_mangled(plain)
            && (members.len() > MAX_COMPARED || others.any(|other| self.has_plain_name(other, plain)))
    }

    /// True if a DIE of the function may have the plain name; if that is empty, any function may.
    pub(crate) fn has_plain_name(&self, function: FuncId, plain: &[u8]) -> bool {
        let as_plain = PlainName::new(plain);
        self.names(function).any(|name| plain.is_empty() || name == plain || as_plain.may_be_of(name))
    }
}

impl CallKeyBuilder<'_, '_, '_> {
    /// The callee of a call whose address was erased, by the targets of the survivor's calls if it has only a plain name.
    pub(crate) fn callee_among(
        &self,
        unit: usize,
        local: Option<LocalCallee>,
        survivor: &[(ImageAddr, Callee)],
    ) -> Callee {
        let known = self.index.callee(unit, local);
        let Some(plain) = known.plain_name(&self.index.functions) else { return known };
        let target =
            |(_, callee): &(_, Callee)| Some(self.index.functions.starts[callee.function()?.0.index()]);
        // Both functions have the same code, so the folded function calls the addresses that the survivor calls.
        let mut targets: Vec<ImageAddr> = survivor.iter().filter_map(target).collect();
        targets.sort_unstable();
        targets.dedup();
        if !self.steps.spend(targets.len()) {
            return known;
        }
        let mut found = targets.into_iter().filter_map(|target| self.index.of_plain_name(plain, target));
        found.next().filter(|_| found.next().is_none()).map_or(known, Callee::ByName)
    }
}
