//! Lists the places in the code of a program that mention functions, in the order in which the objects have them.

use std::ops::Range;

use crate::keys::calls::key_builder::CallKeyBuilder;
use crate::keys::limits::{MAX_MENTIONS, MAX_SURVIVORS};
use crate::model::{
    CallFrom, EmittedSequence, FuncId, How, ImageAddr, LocalCallee, Member, Owner, Piece, UnitCall, UnitId,
};
use crate::program::machine::Transfer;
use crate::util::budget::Budget;
use crate::util::hash::{HashMap, HashSet};

/// A place in an object that mentions a function.
#[derive(Clone, Copy)]
pub(crate) struct Mention {
    /// Where the function begins.
    pub(crate) target: ImageAddr,
    /// `None` for a definition, and for a call in folded code if nothing shows which of its functions the unit defines.
    pub(crate) call: Option<CallFrom>,
    /// The compiler recorded the calls of the caller, and not this one: the unit does not define the callee.
    pub(crate) elsewhere: bool,
}

/// The DIE that a unit's calls name as their callee.
pub(crate) type CalleeDie = (UnitId, LocalCallee);

impl CallKeyBuilder<'_, '_, '_> {
    /// The mentions of all objects, in the order of the link, and by unit the indexes of its own. `dies` gets the DIEs that calls name as
    /// their callees.
    pub(crate) fn mentions(
        &self,
        dies: &mut HashMap<CallFrom, CalleeDie>,
        steps: &Budget,
    ) -> (Vec<Mention>, Vec<Range<usize>>) {
        let functions = &self.index.functions;
        let pieces = &functions.program.pieces;
        let (mut mentions, mut of_units) = (Vec::new(), Vec::with_capacity(functions.records.units.len()));
        let mut once: HashSet<ImageAddr> = HashSet::default();
        // Folded functions have one code: it is read once. Code of one function is listed once, whatever overlapping sequences say.
        let mut known: HashMap<ImageAddr, Vec<Transfer>> = HashMap::default();
        let mut listed: HashSet<ImageAddr> = HashSet::default();
        let is_start = |target| self.index.owner_at(target).is_some();
        for (number, unit) in (0..).zip(&functions.records.units) {
            let unit_id = UnitId::new(number);
            let from_unit = mentions.len();
            for EmittedSequence { range, .. } in unit.emitted.iter().filter(|sequence| sequence.live) {
                let first = pieces.partition_point(|piece| piece.start < range.start);
                let here = pieces[first..].iter().take_while(|piece| piece.start < range.end);
                for piece in here {
                    if mentions.len() >= MAX_MENTIONS {
                        break;
                    }
                    mentions.push(Mention { target: piece.start, call: None, elsewhere: false });
                    let read = || functions.machine.transfers(piece.code(), is_start);
                    let own;
                    let transfers = match piece.owner {
                        Owner::Group(_) => known.entry(piece.start).or_insert_with(read),
                        Owner::Function(_) if !listed.insert(piece.start) => continue,
                        Owner::Function(_) => {
                            own = read();
                            &own
                        }
                    };
                    if !steps.spend(transfers.len()) {
                        break;
                    }
                    let caller = self.caller(piece, unit_id, steps);
                    let records = caller.is_some_and(|caller| self.add_dies(piece, caller, dies, steps));
                    let room = MAX_MENTIONS.saturating_sub(mentions.len());
                    for transfer in transfers.iter().take(room) {
                        let target = transfer.target;
                        // Of a function alone, the first mention is enough.
                        let is_grouped = matches!(self.index.owner_at(target), Some(Owner::Group(_)));
                        if !is_grouped && !once.insert(target) {
                            continue;
                        }
                        let from =
                            |(_, of_group): (FuncId, Option<FuncId>)| Some((transfer.return_addr?, of_group));
                        let call = caller.and_then(from);
                        let elsewhere = records && call.is_some_and(|call| !dies.contains_key(&call));
                        mentions.push(Mention { target, call, elsewhere });
                    }
                }
            }
            of_units.push(from_unit..mentions.len());
        }
        (mentions, of_units)
    }

    /// The function of a unit that has a piece; with it the same function, if the piece is folded. `None` if the unit describes none of the
    /// functions there, or several.
    fn caller(&self, piece: &Piece, unit: UnitId, steps: &Budget) -> Option<(FuncId, Option<FuncId>)> {
        let program = self.index.functions.program;
        let group = match piece.owner {
            Owner::Function(function) => return Some((function, None)),
            Owner::Group(group) => &program.groups[group.index()],
        };
        if !steps.spend(group.members.len()) {
            return None;
        }
        let is_own = |member: &&Member| {
            program.functions[member.function.index()].source.is_some_and(|source| source.unit == unit)
        };
        let mut own = group.members.iter().filter(is_own).map(|member| member.function);
        let only = own.next()?;
        own.next().is_none().then_some((only, Some(only)))
    }

    /// Adds the DIEs that the calls of a function name as their callees. A folded function's calls have no addresses: they are those of the
    /// survivor, in its order. False if nothing recorded the function's calls.
    fn add_dies(
        &self,
        piece: &Piece,
        (function, of_group): (FuncId, Option<FuncId>),
        dies: &mut HashMap<CallFrom, CalleeDie>,
        steps: &Budget,
    ) -> bool {
        let functions = &self.index.functions;
        let Some((unit, _, listed)) = functions.calls(function) else { return false };
        let made = |listed: &'_ [UnitCall]| -> Vec<UnitCall> {
            listed.iter().filter(|call| !call.is_tail()).copied().collect()
        };
        let own = made(listed);
        if own.is_empty() || !steps.spend(listed.len()) {
            return false;
        }
        let here = |call: &UnitCall| {
            let within = |at: &ImageAddr| piece.start < *at && *at <= piece.code().end;
            call.return_addr().filter(within)
        };
        let addresses: Vec<Option<ImageAddr>> =
            match (own.iter().any(|call| here(call).is_some()), piece.owner) {
                (true, _) => own.iter().map(here).collect(),
                (false, Owner::Group(group)) => {
                    // Only clang lists calls in the order of the code.
                    let members = &functions.program.groups[group.index()].members;
                    let survivors =
                        members.iter().filter(|member| member.how == How::LiveRange).take(MAX_SURVIVORS);
                    let charged = survivors
                        .filter_map(|member| functions.calls(member.function))
                        .take_while(|(_, _, listed)| steps.spend(listed.len()));
                    let same = charged.map(|(_, _, listed)| made(listed));
                    match same
                        .filter(|calls| calls.len() == own.len())
                        .find(|calls| calls.iter().any(|call| here(call).is_some()))
                    {
                        Some(calls) if !functions.program.heads[unit].keeps_callees => {
                            calls.iter().map(here).collect()
                        }
                        _ => return false,
                    }
                }
                (false, Owner::Function(_)) => return false,
            };
        let named = own.iter().zip(addresses).filter_map(|(call, address)| Some((address?, call.callee()?)));
        let unit = UnitId::new(unit as u32);
        dies.extend(named.map(|(address, callee)| ((address, of_group), (unit, callee))));
        true
    }
}
