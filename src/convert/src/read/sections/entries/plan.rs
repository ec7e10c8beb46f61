//! Makes the plan of an abbreviation: how many bytes to skip before each wanted attribute and to the end of the entry.

use gimli::{AttributeSpecification, DwAt};

use crate::read::sections::abbreviations::Abbreviation;
use crate::read::sections::bytes::{Bytes, Endianity};
use crate::read::sections::entries::forms::{Form, FormClass, Past, past, take};
use crate::read::sections::entries::plan_cache::Kept;
use crate::util::hash::HashMap;
use crate::util::reuse;

/// A value without a fixed size, and the number of bytes with fixed sizes after it.
#[derive(Clone, Copy)]
pub(crate) struct VariableStep {
    pub(crate) past: Past,
    pub(crate) then: u32,
}

/// A number of bytes to skip, and then an attribute that is wanted or has no fixed size.
#[derive(Clone, Copy)]
pub(crate) struct Field {
    pub(crate) skip: u32,
    pub(crate) name: DwAt,
    pub(crate) action: FieldAction,
}

#[derive(Clone, Copy)]
pub(crate) enum FieldAction {
    Pass(Past),
    Take(Form, FormClass),
}

/// A part of a list, by its indexes. It is no [`std::ops::Range`], which cannot be copied.
#[derive(Clone, Copy)]
pub(crate) struct ListPart {
    pub(crate) first: u32,
    pub(crate) end: u32,
}

impl ListPart {
    #[inline(always)]
    pub(crate) fn is_empty(self) -> bool {
        self.first >= self.end
    }
}

/// The plan of an abbreviation.
#[derive(Clone, Copy)]
pub(crate) struct EntryPlan<R> {
    /// False if the unit has not used the abbreviation yet.
    pub(crate) known: bool,
    pub(crate) children: bool,
    /// See [`Wanted::inner`](super::Wanted::inner).
    pub(crate) inner: bool,
    pub(crate) role: Option<R>,
    /// The number of bytes before the first value without a fixed size, and the steps ([`Plans::steps`]) from there to the
    /// end of the entry.
    pub(crate) skip: u32,
    pub(crate) steps: ListPart,
    /// The same with a stop at each wanted attribute ([`Plans::fields`]).
    pub(crate) fields: ListPart,
}

/// Codes below this number are looked up in a vector instead of a hash map. Compilers number codes from 1 on.
const DENSE: u64 = 1 << 14;

/// Set in [`Plans::quick`] for an entry with children.
const CHILDREN: u16 = 1 << 15;

/// The plans of a unit's abbreviations, and plans of earlier units for reuse.
pub(crate) struct Plans<R> {
    /// By code: the size of the entry plus 1, with the bit [`CHILDREN`], if entries of this code are not wanted and have a fixed
    /// size; else 0. Most entries need only these two bytes of their plan.
    quick: Vec<u16>,
    /// By code.
    pub(crate) dense: Vec<EntryPlan<R>>,
    pub(crate) sparse: HashMap<u64, EntryPlan<R>>,
    pub(crate) steps: Vec<VariableStep>,
    pub(crate) fields: Vec<Field>,
    /// The attributes that need `gimli`, or whose value is in the abbreviation.
    pub(crate) specs: Vec<AttributeSpecification>,
    /// The codes that have a plan in `dense`.
    met: Vec<u32>,
    /// The plans of all units so far.
    pub(crate) kept: Kept<EntryPlan<R>>,
}

impl<R> Default for Plans<R> {
    fn default() -> Self {
        Plans {
            quick: Vec::new(),
            dense: Vec::new(),
            sparse: HashMap::default(),
            steps: Vec::new(),
            fields: Vec::new(),
            specs: Vec::new(),
            met: Vec::new(),
            kept: Kept::default(),
        }
    }
}

impl<R: Copy> Plans<R> {
    #[inline(always)]
    pub(crate) fn get(&self, code: u64) -> Option<&EntryPlan<R>> {
        if code < DENSE {
            self.dense.get(code as usize).filter(|plan| plan.known)
        } else {
            self.sparse.get(&code)
        }
    }

    /// For an entry that is skipped in one step: its size, and 1 if it has children, else 0.
    #[inline(always)]
    pub(crate) fn quick(&self, code: u64) -> Option<(usize, isize)> {
        let quick = *self.quick.get(code as usize).filter(|&&quick| quick != 0)?;
        Some((usize::from(quick & !CHILDREN) - 1, isize::from(quick & CHILDREN != 0)))
    }

    pub(crate) fn insert(&mut self, code: u64, plan: EntryPlan<R>) {
        if code >= DENSE {
            self.sparse.insert(code, plan);
            return;
        }
        if self.dense.len() <= code as usize {
            self.dense.resize(code as usize + 1, EntryPlan { known: false, ..plan });
            self.quick.resize(code as usize + 1, 0);
        }
        let one_more = u16::try_from(plan.skip).ok().and_then(|skip| skip.checked_add(1));
        let at_once = plan.role.is_none() && plan.steps.is_empty();
        // An entry of 2^15 - 1 bytes or more does not fit next to the bit `CHILDREN`. Its 0 sends it the long way, by its
        // plan.
        let quick = one_more.filter(|&one_more| at_once && one_more & CHILDREN == 0);
        let children = if plan.children { CHILDREN } else { 0 };
        self.quick[code as usize] = quick.map_or(0, |one_more| one_more | children);
        self.dense[code as usize] = plan;
        self.met.push(code as u32);
    }

    /// Prepares for the next unit.
    pub(crate) fn begin(&mut self) {
        // The cached plans have indexes into `steps`, `fields` and `specs`, so the cache cannot be emptied without
        // these.
        if self.kept.is_full() {
            *self = Plans::default();
            return;
        }
        // Only the used codes are reset: a unit of few entries may have the highest code of a large table.
        for code in self.met.drain(..) {
            self.dense[code as usize].known = false;
            self.quick[code as usize] = 0;
        }
        reuse::empty(&mut self.sparse);
    }

    /// Makes the plan of an abbreviation.
    pub(crate) fn make<'f, E: Endianity>(
        &mut self,
        header: &gimli::UnitHeader<Bytes<'f, E>>,
        abbreviation: &Abbreviation,
        role: Option<R>,
        is_wanted: fn(DwAt) -> bool,
    ) -> EntryPlan<R> {
        let (first_step, first_field) = (self.steps.len(), self.fields.len());
        // The number of bytes before the first step, and since the last field. A saturated sum is past the end of any unit.
        let (mut skip, mut since) = (0u32, 0u32);
        for &spec in &abbreviation.attributes {
            let size = spec.size(header).and_then(|size| u8::try_from(size).ok());
            let index = self.specs.len() as u32;
            let past = size.map_or_else(|| past(spec.form(), index), |_| Past::Nothing);
            let bytes = size.map_or(0, u32::from);
            // A value of fixed size lengthens the step before it, so that a run of such values costs one addition.
            match self.steps[first_step..].last_mut() {
                _ if size.is_none() => self.steps.push(VariableStep { past, then: 0 }),
                Some(step) => step.then = step.then.saturating_add(bytes),
                None => skip = skip.saturating_add(bytes),
            }
            // Entries without a role are only skipped, so their fields are not needed.
            let wanted = role.is_some() && is_wanted(spec.name());
            let take = wanted.then(|| take(spec, header.encoding(), size, index));
            // `past` and `take` got the index of the next element of `specs`. If one of them kept it, this attribute must
            // become that element.
            if matches!((past, take), (Past::Other(_), _) | (_, Some((Form::Given(_) | Form::Other(_), _)))) {
                self.specs.push(spec);
            }
            if role.is_none() {
                continue;
            }
            let action = match take {
                Some((form, class)) => FieldAction::Take(form, class),
                None if size.is_none() => FieldAction::Pass(past),
                None => {
                    since = since.saturating_add(bytes);
                    continue;
                }
            };
            self.fields.push(Field { skip: since, name: spec.name(), action });
            since = 0;
        }
        // The bytes after the last wanted attribute. When all fields were read, the cursor must be at the next entry.
        if since > 0 {
            let action = FieldAction::Pass(Past::Nothing);
            self.fields.push(Field { skip: since, name: gimli::DW_AT_null, action });
        }
        EntryPlan {
            known: true,
            children: abbreviation.has_children,
            inner: false,
            role,
            skip,
            steps: ListPart { first: first_step as u32, end: self.steps.len() as u32 },
            fields: ListPart { first: first_field as u32, end: self.fields.len() as u32 },
        }
    }
}
