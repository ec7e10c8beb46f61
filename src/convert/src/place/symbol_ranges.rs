//! Code that only symbols name: ranges without a subprogram, and the gaps behind subprograms.

use crate::diagnostics::Diagnostics;
use crate::model::{FuncId, Member};
use crate::place::aliases::AliasRules;
use crate::place::candidate::{Candidate, Candidates, by_name_alone, order};
use crate::place::named_functions::NamedFunctions;
use crate::place::placing::Placing;
use crate::program::names::itanium::is_mangled;
use crate::program::names::relation::Relation;
use crate::program::symbols::{CodeSymbol, principal};

/// The bytes between the end of a subprogram and the next symbol, under the subprogram's name, as `llvm-symbolizer`
/// answers. Folded functions get no such range.
pub(crate) fn padding(die: &Candidate, end: u64) -> Option<Candidate> {
    let [member] = die.members[..] else { return None };
    Some(Candidate { start: die.start, end, members: vec![Member { rows: None, ..member }], doubt: None })
}

/// Makes candidates of the symbols at one address, for code that no subprogram covers.
pub(crate) fn symbol_candidates<'f>(
    placing: &mut Placing<'_, 'f>,
    at_address: &[CodeSymbol<'f>],
    alias_rules: &AliasRules,
    candidates: &mut Candidates,
    diagnostics: &mut Diagnostics,
) {
    let Some(first) = principal(at_address) else { return };
    if first.end <= first.start {
        return;
    }
    let name = placing.names.add(first.name);
    let mut members = vec![by_name_alone(&mut placing.names, &mut candidates.functions, name)];
    let function = members[0].function;
    let mut known = NamedFunctions::default();
    known.add(&placing.names, name, function);
    // The code of an indirect function is that of its resolver.
    let chooser = at_address.iter().filter(|symbol| first.indirect && symbol.function && !symbol.indirect);
    let base = principal(&chooser.copied().collect::<Vec<_>>()).copied();
    if let Some(base) = base {
        let name = placing.names.add(base.name);
        known.add(&placing.names, name, function);
        candidates.functions[function.index()].aliases.push(name);
    }
    let base = base.unwrap_or(*first);
    for symbol in at_address {
        let name = placing.names.add(symbol.name);
        let folded = alias_rules.may_be_two_functions(placing, &base, symbol);
        if symbol.name == first.name && !folded {
            continue;
        }
        let same = |relation| matches!(relation, Relation::Same | Relation::Variant);
        let explained = known.best(&placing.names, symbol.name, None, same);
        let own = !symbol.indirect
            && is_mangled(symbol.name)
            && ((symbol.function && symbol.end == first.end)
                || (alias_rules.may_fold() && base.may_share(symbol)));
        let of_another = folded && (explained.is_none() || symbol.of_another_object(&base));
        if (own && explained.is_none()) || of_another {
            known.add(&placing.names, name, FuncId(candidates.functions.len() as u32));
            members.push(by_name_alone(&mut placing.names, &mut candidates.functions, name));
        } else if !matches!(explained, Some((Relation::Same, _))) {
            let of = explained.map_or(function, |(_, function)| function);
            candidates.functions[of.index()].aliases.push(name);
        }
    }
    if first.function && alias_rules.has_lines_of_another(placing, at_address) {
        let name = placing.names.add(b"");
        members.push(by_name_alone(&mut placing.names, &mut candidates.functions, name));
    }
    known.report(first.start, diagnostics);
    order(&placing.names, &mut members, &mut candidates.functions);
    let candidate = Candidate { start: first.start, end: first.end, members, doubt: None };
    if first.function { candidates.symbols.push(candidate) } else { candidates.labels.push(candidate) }
}
