//! Chooses, of the names of a function that has its code for itself, the one that answers show.
//!
//! A function of a C library has many names: glibc's `abort` is `__GI_abort` in its description and for calls inside of the library, and
//! `abort` for everybody else. People know the name that other modules can see, so that one is shown ([`Naming::Visible`]). The other
//! names stay its aliases. The members of a group keep the names that they were found by: a plain alias of a group may belong to any of
//! its members.
//!
//! The tools that foldsym stands in for choose otherwise ([`Naming::Llvm`], [`Naming::Gnu`]).

use rayon::prelude::*;

use crate::model::{FuncId, Function, Member, NameId, Origin};
use crate::open::Image;
use crate::place::claim::{Claim, Claims};
use crate::place::placing::Placing;
use crate::program::names::itanium::is_mangled;
use crate::program::symbols::{CodeSymbol, Symbols, principal};
use crate::util::hash::{HashMap, HashSet};

/// Which of the names of a function answers show. It decides nothing else: every name stays a name of the function.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Naming {
    /// The name that other modules can see: a global or weak symbol of default visibility, then one that is local to the module, then
    /// the name in the debug information. Of equals, the last of the symbol table, as `llvm-symbolizer` chooses.
    #[default]
    Visible,
    /// As `llvm-symbolizer` 22: the largest symbol at the function's start, of equals the last. It reads `.symtab`, or `.dynsym` of a
    /// program without one, and never the symbols of a separate debug file: a function without a symbol there has the name in the
    /// debug information.
    Llvm,
    /// As GNU `addr2line`: the linkage name in the debug information, or the name of a C function there.
    Gnu,
}

/// A name for a function; a name for the part of it at this claim, if it has one there.
struct Choice {
    function: FuncId,
    primary: Option<NameId>,
    /// The name that the part has in place of its symbol's (`f.cold`).
    part: Option<NameId>,
}

/// What makes one name of a function preferable to another: compared field by field.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Visibility {
    is_visible: bool,
    stays: bool,
    /// The position in the program's own table, which other modules read.
    own: Option<usize>,
    /// The position in all tables.
    order: u32,
}

/// The symbols that `llvm-symbolizer` reads, where they are not all: their positions in its table, by address and name.
type OwnTable<'f> = HashMap<(u64, &'f [u8]), usize>;

/// Sets [`Function::primary`] of the functions of all claims.
pub(crate) fn choose<'f>(
    naming: Naming,
    image: &Image<'f>,
    placing: &mut Placing<'_, 'f>,
    symbols: &Symbols<'f>,
    claims: &mut Claims,
) {
    if naming != Naming::Visible && image.own_symbols.is_empty() {
        set_files(placing, symbols, claims);
    }
    let own = image.own_symbols.iter().zip(0..).map(|(symbol, at)| (*symbol, at));
    let chooser = Chooser { naming, placing, symbols, own: own.collect() };
    let Claims { functions, dies, symbols, labels, .. } = claims;
    for list in [dies, symbols, labels] {
        let of = |claim: &Claim| chooser.of_claim(claim, functions);
        let chosen: Vec<(usize, Choice)> =
            list.par_iter().enumerate().filter_map(|(at, claim)| Some((at, of(claim)?))).collect();
        for (at, Choice { function, primary, part }) in chosen {
            let function = &mut functions[function.index()];
            // A name of the entry counts before that of another range.
            function.primary = function.primary.or(primary);
            if part.is_some() {
                list[at].members.iter_mut().for_each(|member| member.symbol = part);
            }
        }
    }
}

/// Gives each function that only a local symbol shows the file that the symbol table has for it: the tools print it in place of a file
/// and a line.
fn set_files<'f>(placing: &mut Placing<'_, 'f>, symbols: &Symbols<'f>, claims: &mut Claims) {
    let mut known = placing.names.files_by_path();
    for claim in claims.symbols.iter().chain(&claims.labels) {
        let [Member { function, .. }] = claim.members[..] else { continue };
        let function = &mut claims.functions[function.index()];
        let at_start = symbols.at(claim.start);
        let Some(symbol) = principal(at_start).filter(|symbol| symbol.local && !symbol.file.is_empty())
        else {
            continue;
        };
        let own = placing.names.origin(function.origin);
        if function.source.is_none() && own.file.is_none() && own.line == 0 {
            let file = match known.get(symbol.file) {
                Some(file) => *file,
                None => *known.entry(symbol.file.to_vec()).or_insert(placing.names.add_file(symbol.file)),
            };
            function.origin = placing.names.add_origin(Origin { file: Some(file), ..own });
        }
    }
}

struct Chooser<'a, 'r, 'f> {
    naming: Naming,
    placing: &'a Placing<'r, 'f>,
    symbols: &'a Symbols<'f>,
    own: OwnTable<'f>,
}

impl Chooser<'_, '_, '_> {
    /// The choice for a claim of one function; `None` if nothing changes.
    fn of_claim(&self, claim: &Claim, functions: &[Function]) -> Option<Choice> {
        let [Member { function: id, symbol: part, .. }] = claim.members[..] else { return None };
        let function = &functions[id.index()];
        if self.naming == Naming::Visible && function.aliases.is_empty() {
            return None;
        }
        let described = self.placing.names.of_origin(function.origin);
        let shown = self.placing.names.of_function(function);
        let at_start = self.symbols.at(claim.start);
        // A symbol of another size may be that of another function.
        let is_whole = |symbol: &CodeSymbol<'_>| !symbol.sized || symbol.end == claim.end;
        // Any number of symbols may begin here, and each may be an alias.
        let aliases: HashSet<NameId> = function.aliases.iter().copied().collect();
        let own = [Some(described), function.symbol];
        let names = |symbol: &CodeSymbol<'_>| {
            let name =
                self.placing.names.find(symbol.name).filter(|_| symbol.function && is_whole(symbol))?;
            (own.contains(&Some(name)) || aliases.contains(&name)).then_some(name)
        };
        let (name, hides_part) = match self.naming {
            Naming::Visible => {
                (best(at_start, names, |symbol, name| Some(self.visibility(symbol, name, shown)))?, false)
            }
            Naming::Llvm => {
                let own = best(at_start, names, |symbol, _| self.position(symbol));
                let is_part =
                    part.is_some() && !at_start.iter().any(|symbol| self.position(symbol).is_some());
                (own.or_else(|| self.of_description(at_start, function, described))?, is_part)
            }
            Naming::Gnu => {
                let source = function.source?;
                let is_linkage = self.placing.recovered.unit(source.unit).head.c
                    || is_mangled(self.placing.names.text(described));
                is_linkage.then_some((described, part.is_some()))?
            }
        };
        let primary = (name != shown).then_some(name);
        let part = hides_part.then_some(name);
        (primary.is_some() || part.is_some()).then_some(Choice { function: id, primary, part })
    }

    /// The name in the debug information, for a function without a symbol in the table that is read.
    fn of_description(
        &self,
        at_start: &[CodeSymbol<'_>],
        function: &Function,
        described: NameId,
    ) -> Option<NameId> {
        let has_own = at_start.iter().any(|symbol| self.position(symbol).is_some());
        (function.source.is_some() && !has_own && !self.own.is_empty()).then_some(described)
    }

    /// Orders symbols by who can see them. A constructor has two names of one kind (`C1`, `C2`): there the one that it was found by
    /// stays. A global and a weak name are equally visible: glibc's `strcoll_l` is weak, and its `__strcoll_l` is not.
    fn visibility(&self, symbol: &CodeSymbol<'_>, name: NameId, shown: NameId) -> Visibility {
        let stays = name == shown && is_mangled(symbol.name);
        let own = self.own.get(&(symbol.start.0, symbol.name)).copied();
        Visibility { is_visible: !symbol.hidden, stays, own, order: symbol.order }
    }

    /// The position of a symbol in the table that `llvm-symbolizer` reads; `None` if that table has it not.
    fn position(&self, symbol: &CodeSymbol<'_>) -> Option<usize> {
        match self.own.is_empty() {
            true => Some(symbol.order as usize),
            false => self.own.get(&(symbol.start.0, symbol.name)).copied(),
        }
    }
}

/// The name of the best symbol: of a size before none, then the largest, then by `rank`.
fn best<'f, R: Ord>(
    symbols: &[CodeSymbol<'f>],
    name: impl Fn(&CodeSymbol<'f>) -> Option<NameId>,
    rank: impl Fn(&CodeSymbol<'f>, NameId) -> Option<R>,
) -> Option<NameId> {
    let ranked = symbols.iter().filter_map(|symbol| {
        let name = name(symbol)?;
        Some(((symbol.sized, symbol.end, rank(symbol, name)?), name))
    });
    ranked.max_by(|one, other| one.0.cmp(&other.0)).map(|(_, name)| name)
}
