//! Makes walks through a call graph, with what the source knows of every frame of each: its function and line, how it was called, and
//! whether the return addresses can identify it.

use std::collections::{BTreeMap, BTreeSet};

use super::emit::{Place, file_name};
use super::graph::{Call, FamilyId, FunctionId, Graph, Written};
use crate::diff::SplitMix;

/// No stack is deeper.
const DEPTH: usize = 24;

/// One function of a walk, and where in it the walk goes on.
#[derive(Clone, Debug)]
pub(super) struct Step {
    pub(super) function: FunctionId,
    pub(super) site: usize,
    /// The table or object that the site calls through, as C++.
    pub(super) object: String,
    /// The text that the program prints for it.
    pub(super) who: String,
    /// The number of the class of `object`, or of the table.
    chosen: usize,
}

/// `count` walks: each site of each function that a walk can reach, then random ones.
pub(super) fn walks(
    graph: &Graph,
    places: &BTreeMap<(FunctionId, usize), Place>,
    seed: u64,
    count: usize,
) -> Vec<Vec<Step>> {
    let mut walker = Walker { graph, random: SplitMix(seed ^ 0x3a1c), used: BTreeMap::new() };
    (0..count)
        .map(|number| {
            let mut walk = walker.walk(graph.roots[number % graph.roots.len()]);
            tell(graph, places, &mut walk);
            walk
        })
        .collect()
}

/// Adds `%` to each step of which the slot of the call leaves no other function.
pub(super) fn tell_slots(graph: &Graph, walks: &mut [Vec<Step>]) {
    for walk in walks {
        for at in 0..walk.len() {
            let mark = slot_mark(graph, walk, at);
            walk[at].who.push_str(mark);
        }
    }
}

struct Walker<'a> {
    graph: &'a Graph,
    random: SplitMix,
    /// How often each site was taken: the least used goes first.
    used: BTreeMap<(FunctionId, usize), usize>,
}

impl Walker<'_> {
    fn below(&mut self, end: usize) -> usize {
        (self.random.next() % end.max(1) as u64) as usize
    }

    fn walk(&mut self, root: FamilyId) -> Vec<Step> {
        let mut function = self.graph.families[root].members[0];
        let mut steps: Vec<Step> = Vec::new();
        loop {
            let site = self.choose(function, steps.len());
            *self.used.entry((function, site)).or_default() += 1;
            let (object, chosen, next) = self.next(function, site);
            steps.push(Step { function, site, object, who: String::new(), chosen });
            match next {
                Some(next) => function = next,
                None => return steps,
            }
        }
    }

    /// The least used of some random sites. The last one, which ends the walk, is among them one time in four, and
    /// alone past the depth.
    fn choose(&mut self, function: FunctionId, depth: usize) -> usize {
        let last = self.graph.family(function).sites.len() - 1;
        let end = self.below(4) == 0;
        if depth > DEPTH || last == 0 {
            return last;
        }
        let drawn: Vec<usize> = (0..3).map(|_| self.below(if end { last + 1 } else { last })).collect();
        let used = |site: usize| self.used.get(&(function, site)).copied().unwrap_or(0);
        drawn.into_iter().min_by_key(|site| used(*site)).unwrap_or(last)
    }

    fn next(&mut self, function: FunctionId, number: usize) -> (String, usize, Option<FunctionId>) {
        let graph = self.graph;
        let site = &graph.family(function).sites[number];
        match site.call {
            Call::Probe | Call::Trap => ("nullptr".into(), 0, None),
            Call::Virtual | Call::Side => {
                let hierarchy = &graph.hierarchies[site.through];
                let class = self.below(hierarchy.classes.len());
                let base = if site.call == Call::Side { "Side" } else { "Base" };
                let name = &hierarchy.classes[class].name;
                let object = format!("static_cast<{base}{} *>(&o{name})", site.through);
                (object, class, hierarchy.overrider(class, site.slot))
            }
            Call::Table | Call::TailTable => {
                let table = self.below(graph.tables[site.through].len());
                let object = format!("(void *)&t{}_{table}", site.through);
                (object, table, Some(graph.tables[site.through][table][site.slot]))
            }
            _ => ("nullptr".into(), 0, graph.target(function, number)),
        }
    }
}

fn is_tail(call: Call) -> bool {
    matches!(call, Call::Tail | Call::TailTable)
}

/// Writes `who` of each step: `[~]NAME@FILE:LINE[+INLINED:LINE]/SHAPE[!][^]`. `~`: it ended in a tail call, and has no
/// frame. `!`: the return addresses and the call sites leave no other function. `^`: the class of the object leaves none.
fn tell(graph: &Graph, places: &BTreeMap<(FunctionId, usize), Place>, walk: &mut [Step]) {
    let call_of = |walk: &[Step], at: usize| graph.family(walk[at].function).sites[walk[at].site].call;
    // Whether the frame's caller is known, as steps are taken.
    let mut known = false;
    let mut first = 0;
    for at in 0..walk.len() {
        let call = call_of(walk, at);
        let shape = if at == 0 {
            // Not folded itself, but what compilers cut off it may be, and it is called through a pointer.
            "root".to_owned()
        } else {
            if !is_tail(call_of(walk, at - 1)) {
                first = at;
            }
            let caller = &walk[first.saturating_sub(1)];
            let entered = call_of(walk, first - 1);
            // Calls of functions that do not return are cut off: such a part of a root may be folded.
            let single = graph.family(caller.function).members.len() == 1 && entered != Call::NoReturn;
            let named = !matches!(entered, Call::Virtual | Call::Side | Call::Table);
            let (reached, open) = reach(graph, walk[first].function);
            let family = graph.functions[walk[at].function].family;
            let one = reached.iter().filter(|id| graph.functions[**id].family == family).count() == 1;
            let sure = named && one && !open && (known || single);
            let word = match entered {
                _ if !one || open => "tail-many",
                _ if first != at => "tail",
                Call::Inlined => "inlined",
                Call::NoReturn => "noreturn",
                Call::Construct => "constructor",
                Call::Virtual => "virtual",
                Call::Side => "side",
                Call::Table => "table",
                _ if single => "direct",
                _ => "folded",
            };
            if !is_tail(call) {
                known = sure;
            }
            let mark = if sure { "!" } else { "" };
            format!("{word}{mark}{}", class_mark(graph, walk, at))
        };
        let step = &walk[at];
        let function = &graph.functions[step.function];
        let place = &places[&(step.function, step.site)];
        let gone = if is_tail(call) { "~" } else { "" };
        let inlined = match &place.inlined {
            Some((name, line)) => format!("+{name}:{line}"),
            None => String::new(),
        };
        let (name, file) = (&function.linkage, file_name(function.file));
        walk[at].who = format!("{gone}{name}@{file}:{}{inlined}/{shape}", place.line);
    }
}

/// The functions that a function reaches by tail calls, itself included; and whether one of the tail calls has an unknown callee.
fn reach(graph: &Graph, from: FunctionId) -> (BTreeSet<FunctionId>, bool) {
    let (mut reached, mut todo, mut open) = (BTreeSet::from([from]), vec![from], false);
    while let Some(function) = todo.pop() {
        for (number, site) in graph.family(function).sites.iter().enumerate() {
            open |= site.call == Call::TailTable;
            let next = graph.target(function, number).filter(|_| site.call == Call::Tail);
            if let Some(next) = next
                && reached.insert(next)
            {
                todo.push(next);
            }
        }
    }
    (reached, open)
}

/// `%` for a method that was called through a slot at which no vtable of any class has another method of the family. The call instruction
/// and the vtables cannot show more.
fn slot_mark(graph: &Graph, walk: &[Step], at: usize) -> &'static str {
    let Some(before) = at.checked_sub(1).map(|before| &walk[before]) else { return "" };
    let site = &graph.family(before.function).sites[before.site];
    if !matches!(site.call, Call::Virtual | Call::Side) {
        return "";
    }
    let family = graph.functions[walk[at].function].family;
    let all = graph.hierarchies.iter().flat_map(|hierarchy| {
        (0..hierarchy.classes.len()).filter_map(|class| hierarchy.overrider(class, site.slot))
    });
    let taken: BTreeSet<FunctionId> =
        all.filter(|function| graph.functions[*function].family == family).collect();
    if taken.len() == 1 { "%" } else { "" }
}

/// `^` for a method that was called through an object whose class alone names it: the class takes no other method from
/// the family.
fn class_mark(graph: &Graph, walk: &[Step], at: usize) -> &'static str {
    let Some(before) = at.checked_sub(1).map(|before| &walk[before]) else { return "" };
    let site = &graph.family(before.function).sites[before.site];
    if graph.family(walk[at].function).kind != Written::Method {
        return "";
    }
    let family = graph.functions[walk[at].function].family;
    let taken: BTreeSet<FunctionId> = (0..4)
        .filter_map(|slot| graph.hierarchies[site.through].overrider(before.chosen, slot))
        .filter(|function| graph.functions[*function].family == family)
        .collect();
    if taken.len() == 1 { "^" } else { "" }
}

#[cfg(test)]
mod tests {
    use super::super::emit;
    use super::*;

    fn told(seed: u64, count: usize) -> Vec<Vec<Step>> {
        let graph = Graph::new(seed);
        walks(&graph, &emit::sources(&graph).places, seed, count)
    }

    #[test]
    fn walks_end_and_are_the_same_for_one_seed() {
        let text = |seed| format!("{:?}", told(seed, 50));
        assert_eq!(text(3), text(3));
        for seed in 1..10 {
            for walk in told(seed, 200) {
                assert!(walk.len() < DEPTH + 20);
                let last = walk.last().unwrap();
                assert!(!last.who.starts_with('~') && last.object == "nullptr", "{last:?}");
            }
        }
    }

    #[test]
    fn every_shape_is_walked() {
        let all: String =
            (1..8).flat_map(|seed| told(seed, 300)).flatten().map(|step| step.who + " ").collect();
        for shape in
            ["root", "direct!", "folded!", "tail!", "tail-many", "virtual", "side", "table", "inlined!"]
        {
            assert!(all.contains(&format!("/{shape}")), "{shape}");
        }
        for shape in ["noreturn!", "constructor!", "virtual^", "side^"] {
            assert!(all.contains(&format!("/{shape}")), "{shape}");
        }
        assert!(all.contains("+_ZL") && all.contains(" ~_Z"));
    }
}
