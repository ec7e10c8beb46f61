//! A seed to a call graph: families of functions that are one code under several names, and the calls between them.
//!
//! The members of a family have the same body except for their callees, and their callees are members of one other family: so a linker that
//! folds the callees folds the callers too. A constant in each body keeps families apart. Families are made from the leaves up. A call goes
//! to a family that was made before, or (`Call::Tail` only) to its own one, so every walk ends.

use crate::diff::SplitMix;

/// How many files the functions are spread over.
pub(super) const FILES: usize = 3;
/// `Function::file` of those that each file includes.
pub(super) const HEADER: usize = FILES;
/// Slots of a table of function pointers.
pub(super) const SLOTS: usize = 3;

pub(super) type FunctionId = usize;
pub(super) type FamilyId = usize;

/// How a function is written, and so what its linkage name is and who can call it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Written {
    Plain,
    /// `static`, all members of the same name: one in each file.
    Local,
    /// `inline`: a copy in each object that calls it.
    Comdat,
    /// An instance of a template: the members are on the same lines.
    Template,
    NoReturn,
    /// A virtual method; the family's members are methods of the classes of one hierarchy.
    Method,
    Constructor,
}

/// How a place in a body goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Call {
    Direct,
    /// The call is in a function that is always inlined.
    Inlined,
    Tail,
    /// A tail call through a table, whose callee cannot be known.
    TailTable,
    NoReturn,
    Construct,
    /// Through a pointer to the first base.
    Virtual,
    /// Through a pointer to the second base.
    Side,
    Table,
    /// The end: the program prints its stack from a function that it calls.
    Probe,
    /// The end: the program prints its stack from a signal's handler.
    Trap,
}

#[derive(Clone, Debug)]
pub(super) struct Site {
    pub(super) call: Call,
    /// The callee of each member, if the source names one.
    pub(super) targets: Vec<FunctionId>,
    /// The hierarchy or the set of tables, and the slot, of an indirect call.
    pub(super) through: usize,
    pub(super) slot: usize,
}

#[derive(Clone, Debug)]
pub(super) struct Family {
    pub(super) kind: Written,
    pub(super) members: Vec<FunctionId>,
    pub(super) sites: Vec<Site>,
}

#[derive(Clone, Debug)]
pub(super) struct Function {
    pub(super) family: FamilyId,
    pub(super) member: usize,
    /// As the source calls it; of a method, without its class.
    pub(super) name: String,
    pub(super) linkage: String,
    pub(super) file: usize,
    /// The class of a method or constructor.
    pub(super) class: String,
}

/// Classes with the bases `Base` and `Side`, which have two virtual methods each.
#[derive(Clone, Debug, Default)]
pub(super) struct Hierarchy {
    pub(super) classes: Vec<Class>,
}

#[derive(Clone, Debug)]
pub(super) struct Class {
    pub(super) name: String,
    /// The class it derives from; without one, from both bases.
    pub(super) parent: Option<usize>,
    /// What it overrides: `Base` slots 0 and 1, `Side` slots 0 and 1.
    pub(super) methods: [Option<FunctionId>; 4],
}

impl Hierarchy {
    /// The function that a call of `slot` reaches in an object of `class`.
    pub(super) fn overrider(&self, class: usize, slot: usize) -> Option<FunctionId> {
        let mut class = self.classes.get(class)?;
        loop {
            match class.methods[slot] {
                Some(function) => return Some(function),
                None => class = self.classes.get(class.parent?)?,
            }
        }
    }
}

#[derive(Clone, Debug, Default)]
pub(super) struct Graph {
    pub(super) families: Vec<Family>,
    pub(super) functions: Vec<Function>,
    pub(super) hierarchies: Vec<Hierarchy>,
    /// Sets of tables of one type.
    pub(super) tables: Vec<Vec<[FunctionId; SLOTS]>>,
    /// Families with one member each, where walks begin.
    pub(super) roots: Vec<FamilyId>,
}

impl Graph {
    pub(super) fn new(seed: u64) -> Graph {
        let mut make = Make { random: SplitMix(seed ^ 0xf01d), graph: Graph::default() };
        make.all();
        make.graph
    }

    pub(super) fn family(&self, function: FunctionId) -> &Family {
        &self.families[self.functions[function].family]
    }

    /// The other methods that may run in place of the method `name` on objects of a class, each with whether the two are of one family. The
    /// call's slot, if it is known, is the same in both bases: so it leaves one method of each base.
    pub(super) fn rivals(&self, class: &str, name: &str, knows_slot: bool) -> Vec<(&str, bool)> {
        let Some(hierarchy) =
            self.hierarchies.iter().find(|all| all.classes.iter().any(|of| of.name == class))
        else {
            return Vec::new();
        };
        let class = hierarchy.classes.iter().position(|of| of.name == class).unwrap_or_default();
        let methods =
            (0..4).filter_map(|slot| Some((slot, &self.functions[hierarchy.overrider(class, slot)?])));
        let of_name = |of: &(usize, &Function)| of.1.linkage == name;
        let (mine, others): (Vec<_>, Vec<_>) = methods.partition(of_name);
        let Some((slot, method)) = mine.first() else { return Vec::new() };
        let others = others.into_iter().filter(|(of, _)| !knows_slot || of % 2 == slot % 2);
        others.map(|(_, of)| (of.linkage.as_str(), of.family == method.family)).collect()
    }

    /// The callee of a member at a site that names one.
    pub(super) fn target(&self, function: FunctionId, site: usize) -> Option<FunctionId> {
        let at = self.functions.get(function)?;
        self.families[at.family].sites.get(site)?.targets.get(at.member).copied()
    }
}

struct Make {
    random: SplitMix,
    graph: Graph,
}

impl Make {
    fn below(&mut self, end: usize) -> usize {
        (self.random.next() % end.max(1) as u64) as usize
    }

    fn all(&mut self) {
        use Written::{Comdat, Constructor, Local, NoReturn, Plain, Template};
        for kind in [Plain, Local, Comdat, Template, NoReturn, Constructor, Plain] {
            let members = 2 + self.below(4);
            self.family(kind, members, 0);
        }
        self.table_set();
        for kind in [Plain, Local, Comdat, NoReturn, Plain, Plain] {
            let members = 2 + self.below(3);
            let sites = 2 + self.below(2);
            self.family(kind, members, sites);
        }
        self.hierarchy();
        self.table_set();
        for kind in [Plain, Local, Comdat, Constructor, Plain, Plain] {
            let members = 2 + self.below(3);
            let sites = 2 + self.below(3);
            self.family(kind, members, sites);
        }
        self.hierarchy();
        for _ in 0..5 {
            let members = 2 + self.below(3);
            self.family(Plain, members, 3);
        }
        for _ in 0..8 {
            let root = self.family(Plain, 1, 5);
            self.graph.roots.push(root);
        }
    }

    /// A family with `calls` calls and one site that ends the walk.
    fn family(&mut self, kind: Written, members: usize, calls: usize) -> FamilyId {
        let members = if kind == Written::Local { FILES } else { members };
        let id = self.graph.families.len();
        let first = self.graph.functions.len();
        for member in 0..members {
            let mut made = function(id, kind, member);
            if members == 1 {
                made.file = id % FILES;
            }
            self.graph.functions.push(made);
        }
        let members: Vec<FunctionId> = (first..first + members).collect();
        self.graph.families.push(Family { kind, members, sites: Vec::new() });
        self.sites(id, calls);
        id
    }

    fn sites(&mut self, family: FamilyId, calls: usize) {
        let kind = self.graph.families[family].kind;
        for _ in 0..calls {
            if let Some(site) = self.site(family, kind) {
                self.graph.families[family].sites.push(site);
            }
        }
        // A family whose members end in each other: one name at the call, another in the frame.
        let own = matches!(kind, Written::Plain | Written::Comdat)
            && self.graph.families[family].members.len() > 1
            && self.below(9) == 0;
        if own {
            let members = &self.graph.families[family].members;
            let targets = members[1..].iter().chain(&members[..1]).copied().collect();
            self.push(family, Site { call: Call::Tail, targets, through: 0, slot: 0 });
        }
        // A method stops in itself: only there the test has its object.
        let probe = kind != Written::Method && self.below(2) == 0;
        let call = if probe { Call::Probe } else { Call::Trap };
        self.push(family, Site { call, targets: Vec::new(), through: 0, slot: 0 });
    }

    fn push(&mut self, family: FamilyId, site: Site) {
        self.graph.families[family].sites.push(site);
    }

    fn site(&mut self, family: FamilyId, kind: Written) -> Option<Site> {
        // A walk's first function is called through a pointer: it stays on the stack, where it is known.
        let root = self.graph.families[family].members.len() == 1;
        let tails = matches!(kind, Written::Plain | Written::Local | Written::Comdat) && !root;
        let call = match self.below(16) {
            0..=4 => Call::Direct,
            5 | 6 => Call::Inlined,
            7..=10 if tails && self.below(8) > 0 => Call::Tail,
            7..=10 if tails => Call::TailTable,
            11 => Call::NoReturn,
            12 => Call::Construct,
            13 => Call::Virtual,
            14 => Call::Side,
            15 => Call::Table,
            _ => Call::Direct,
        };
        // What a header holds cannot call a function of one file.
        let call = if kind == Written::NoReturn && call != Call::NoReturn { Call::Direct } else { call };
        match call {
            Call::Virtual | Call::Side if !self.graph.hierarchies.is_empty() => {
                let through = self.below(self.graph.hierarchies.len());
                let slot = self.below(2) + if call == Call::Side { 2 } else { 0 };
                Some(Site { call, targets: Vec::new(), through, slot })
            }
            Call::Table | Call::TailTable if !self.graph.tables.is_empty() => {
                let through = self.below(self.graph.tables.len());
                let slot = self.below(SLOTS);
                Some(Site { call, targets: Vec::new(), through, slot })
            }
            Call::Direct | Call::Inlined | Call::Tail | Call::NoReturn | Call::Construct => {
                let target = self.target_family(family, call)?;
                let targets = self.targets(family, target);
                Some(Site { call, targets, through: 0, slot: 0 })
            }
            _ => None,
        }
    }

    fn target_family(&mut self, family: FamilyId, call: Call) -> Option<FamilyId> {
        let in_header = matches!(self.graph.families[family].kind, Written::Comdat | Written::Template);
        let fits = |kind: Written| match call {
            Call::NoReturn => kind == Written::NoReturn,
            Call::Construct => kind == Written::Constructor,
            Call::Tail => {
                matches!(kind, Written::Plain | Written::Comdat) || kind == Written::Local && !in_header
            }
            _ => {
                matches!(kind, Written::Plain | Written::Comdat | Written::Template)
                    || kind == Written::Local && !in_header
            }
        };
        let all: Vec<FamilyId> = (0..family)
            .filter(|other| fits(self.graph.families[*other].kind) && !self.graph.roots.contains(other))
            .collect();
        // The later ones call further: prefer them, so that stacks get deep.
        let (a, b) = (self.below(all.len()), self.below(all.len()));
        all.get(a.max(b)).copied()
    }

    /// One callee for each member. Two members may call the same one; local functions are called in their file.
    fn targets(&mut self, family: FamilyId, target: FamilyId) -> Vec<FunctionId> {
        let callers = self.graph.families[family].members.clone();
        let local = self.graph.families[target].kind == Written::Local;
        let callees = self.graph.families[target].members.clone();
        // Two sites of one member that call the same function could be compiled as one call.
        let taken = |graph: &Graph, caller: FunctionId, callee: FunctionId| {
            (0..graph.families[family].sites.len()).any(|site| graph.target(caller, site) == Some(callee))
        };
        let mut targets = Vec::new();
        for caller in callers {
            let file = self.graph.functions[caller].file;
            let start = self.below(callees.len());
            let callee = match callees.iter().find(|callee| self.graph.functions[**callee].file == file) {
                Some(callee) if local => *callee,
                _ => {
                    let turned = (0..callees.len()).map(|n| callees[(start + n) % callees.len()]);
                    turned
                        .clone()
                        .find(|callee| !taken(&self.graph, caller, *callee))
                        .unwrap_or(callees[start])
                }
            };
            targets.push(callee);
        }
        targets
    }

    /// Tables of one type; the slots hold members of one family in turned order, so that a slot says nothing.
    fn table_set(&mut self) {
        let fits: Vec<FamilyId> = (0..self.graph.families.len())
            .filter(|id| matches!(self.graph.families[*id].kind, Written::Plain | Written::Comdat))
            .collect();
        let families: Vec<FamilyId> = (0..SLOTS).map(|_| fits[self.below(fits.len())]).collect();
        let mut set = Vec::new();
        for table in 0..3 {
            let pick = |slot: usize| {
                let members = &self.graph.families[families[slot]].members;
                members[(table + slot) % members.len()]
            };
            set.push(std::array::from_fn(pick));
        }
        self.graph.tables.push(set);
    }

    /// Classes and their methods. Methods of different slots may be one family.
    fn hierarchy(&mut self) {
        let through = self.graph.hierarchies.len();
        let count = 4 + self.below(3);
        let mut classes: Vec<Class> = Vec::new();
        for class in 0..count {
            let parent = (class > 1 && self.below(2) == 0).then(|| self.below(class - 1));
            let name = format!("C{through}x{class}");
            classes.push(Class { name, parent, methods: [None; 4] });
        }
        let shared = self.below(4);
        let mut family_of: [Option<FamilyId>; 4] = [None; 4];
        for slot in 0..4_usize {
            let overriding: Vec<usize> = (0..count)
                .filter(|class| classes[*class].parent.is_none() || self.random.next().is_multiple_of(3))
                .collect();
            // `shared` takes the family of the slot before it, where that has the same bodies.
            let family = match family_of[slot.saturating_sub(1)] {
                Some(before) if slot == shared => before,
                _ => {
                    let id = self.graph.families.len();
                    self.graph.families.push(Family {
                        kind: Written::Method,
                        members: Vec::new(),
                        sites: Vec::new(),
                    });
                    id
                }
            };
            family_of[slot] = Some(family);
            for class in overriding {
                let id = self.graph.functions.len();
                let member = self.graph.families[family].members.len();
                self.graph.functions.push(method(family, member, &classes[class].name, slot, class));
                self.graph.families[family].members.push(id);
                classes[class].methods[slot] = Some(id);
            }
        }
        let mut families: Vec<FamilyId> = family_of.into_iter().flatten().collect();
        families.dedup();
        // Methods are called through this hierarchy only once it exists: their own calls go elsewhere.
        for family in families {
            let calls = self.below(3);
            self.sites(family, calls);
        }
        self.graph.hierarchies.push(Hierarchy { classes });
    }
}

/// The names of a function by the rules of the Itanium ABI: its parameters are `const Step *` and `int`.
fn function(family: FamilyId, kind: Written, member: usize) -> Function {
    let name = match kind {
        Written::Local => format!("local{family}"),
        Written::Template => format!("instance{family}"),
        Written::Constructor => String::new(),
        _ => format!("{}{family}_{member}", if kind == Written::NoReturn { "fail" } else { "f" }),
    };
    let class = if kind == Written::Constructor { format!("K{family}_{member}") } else { String::new() };
    let len = name.len();
    let linkage = match kind {
        Written::Local => format!("_ZL{len}{name}PK4Stepi"),
        Written::Template => format!("_Z{len}{name}ILi{member}EEiPK4Stepi"),
        Written::Constructor => format!("_ZN{}{class}C2EPK4Stepi", class.len()),
        _ => format!("_Z{len}{name}PK4Stepi"),
    };
    let file = match kind {
        Written::Comdat | Written::Template => HEADER,
        _ => member % FILES,
    };
    Function { family, member, name, linkage, file, class }
}

fn method(family: FamilyId, member: usize, class: &str, slot: usize, file: usize) -> Function {
    let name = ["m0", "m1", "q0", "q1"][slot];
    let linkage = format!("_ZN{}{class}{}{name}EPK4Stepi", class.len(), name.len());
    Function { family, member, name: name.to_owned(), linkage, file: file % FILES, class: class.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_one_graph_with_every_kind_of_call() {
        let text = |seed| format!("{:?}", Graph::new(seed));
        assert_eq!(text(1), text(1));
        assert_ne!(text(1), text(2));
        let calls: Vec<Call> = (1..6)
            .flat_map(|seed| Graph::new(seed).families)
            .flat_map(|family| family.sites)
            .map(|site| site.call)
            .collect();
        use Call::*;
        for call in [Direct, Inlined, Tail, TailTable, NoReturn, Construct, Virtual, Side, Table, Probe, Trap]
        {
            assert!(calls.contains(&call), "{call:?}");
        }
    }

    #[test]
    fn a_call_goes_to_one_family_and_inward() {
        for seed in 1..20 {
            let graph = Graph::new(seed);
            for (id, family) in graph.families.iter().enumerate() {
                assert!(!family.sites.is_empty() && !family.members.is_empty(), "{seed} {family:?}");
                for site in &family.sites {
                    assert!(site.targets.is_empty() || site.targets.len() == family.members.len());
                    let to: Vec<FamilyId> = site.targets.iter().map(|f| graph.functions[*f].family).collect();
                    assert!(to.iter().all(|other| *other == to[0]), "{seed}");
                    assert!(to.iter().all(|other| *other < id || *other == id && site.call == Call::Tail));
                }
            }
        }
    }
}
