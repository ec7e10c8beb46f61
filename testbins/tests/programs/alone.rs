//! Functions that seem to be the only ones with their code: if others were folded or merged into them, the answer must not be `unique`; if
//! none were, it must be.
//!
//! The same objects linked without folding show which functions were folded: there each function has an address of its own.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use foldsym_convert::{NoProgress, Options, convert};
use foldsym_lookup::records::Owner;
use foldsym_lookup::{
    Certainty, Frames, How, ImageAddr, Lookup, Reason, Resolved, ReturnAddr, StackAddr, SymbolFile,
};
use foldsym_testbins::root;
use object::{Object as _, ObjectSection as _, ObjectSymbol as _};

struct Program {
    path: PathBuf,
    fsym: Vec<u8>,
}

/// Name and address of a function.
type Symbol = (String, u64);

impl Program {
    fn new(name: &str) -> Program {
        Program::converted(root().join("built").join(name))
    }

    fn converted(path: PathBuf) -> Program {
        let folder = tempfile::tempdir().unwrap();
        let output = folder.path().join("out.fsym");
        convert(&path, &output, &Options::default(), &NoProgress).unwrap();
        Program { path, fsym: std::fs::read(output).unwrap() }
    }

    /// The symbols of its code, including symbols for the loader only.
    fn symbols(&self) -> Vec<Symbol> {
        let bytes = std::fs::read(&self.path).unwrap();
        let file = object::File::parse(&*bytes).unwrap();
        let symbols = file.symbols().chain(file.dynamic_symbols());
        let code =
            symbols.filter(|symbol| symbol.kind() == object::SymbolKind::Text && symbol.is_definition());
        code.map(|symbol| (symbol.name().unwrap().to_owned(), symbol.address())).collect()
    }

    fn address(&self, name: &str) -> u64 {
        self.symbols().iter().find(|symbol| symbol.0 == name).unwrap().1
    }

    /// The certainty and the reason of the answer at an address, and the names of all functions that it may be. A stack of that address has
    /// the same certainty.
    fn at(&self, address: u64) -> (Certainty, Option<Reason>, Vec<String>) {
        let file = SymbolFile::open(&self.fsym).unwrap();
        file.verify().unwrap();
        let mut frames = Frames::new();
        let Lookup::Found(found) = file.lookup(ImageAddr(address), &mut frames).unwrap() else {
            panic!("nothing at {address:#x}")
        };
        let mut resolved = [Resolved::NONE];
        file.resolve_stack(&[StackAddr::Exact(ImageAddr(address))], &mut resolved).unwrap();
        assert_eq!((resolved[0].certainty, resolved[0].reason), (Some(found.certainty), found.reason));
        assert_eq!(found.certainty == Certainty::Likely, found.reason.is_some());
        let names = (0..found.member_count()).map(|index| {
            file.member_frames(&found, index, &mut frames).unwrap();
            let frame = file.frames(&frames).last().unwrap().unwrap();
            let mut buffer = [0; 256];
            let len = frame.name.map_or(0, |id| file.write_name(id, &mut buffer).unwrap());
            String::from_utf8(buffer[..len].to_vec()).unwrap()
        });
        let mut names: Vec<String> = names.collect();
        names.sort();
        (found.certainty, found.reason, names)
    }

    /// How many pieces of code have several functions.
    fn groups(&self) -> usize {
        let file = SymbolFile::open(&self.fsym).unwrap();
        let owner = |piece| file.records().piece(foldsym_lookup::PieceId(piece)).unwrap().owner;
        (0..file.records().piece_count()).filter(|&piece| matches!(owner(piece), Owner::Group(_))).count()
    }

    /// By certainty: the recorded calls of functions of groups, each answered at the group's first byte.
    fn certainties_of_calls(&self) -> BTreeMap<Certainty, usize> {
        let file = SymbolFile::open(&self.fsym).unwrap();
        let records = file.records();
        let mut starts = BTreeMap::new();
        for piece in
            (0..records.piece_count()).map(|piece| records.piece(foldsym_lookup::PieceId(piece)).unwrap())
        {
            let Owner::Group(group) = piece.owner else { continue };
            for member in records.members(records.group(group).unwrap()) {
                starts.insert(member.unwrap().function.0, piece.start);
            }
        }
        let mut certainties = BTreeMap::new();
        for call in records.calls().map(Result::unwrap) {
            let Some(start) = starts.get(&call.callee.0) else { continue };
            let mut resolved = [Resolved::NONE; 2];
            file.resolve_stack(&[StackAddr::Exact(*start), StackAddr::Return(call.address)], &mut resolved)
                .unwrap();
            *certainties.entry(resolved[0].certainty.unwrap()).or_default() += 1;
        }
        certainties
    }

    /// The number of functions that are the only ones with their code, by reason.
    fn reasons(&self) -> BTreeMap<Option<Reason>, usize> {
        let file = SymbolFile::open(&self.fsym).unwrap();
        let owner = |piece| file.records().piece(foldsym_lookup::PieceId(piece)).unwrap().owner;
        let alone: BTreeSet<u32> = (0..file.records().piece_count())
            .filter_map(|piece| match owner(piece) {
                Owner::Function(function) => Some(function.0),
                Owner::Group(_) => None,
            })
            .collect();
        let mut reasons = BTreeMap::new();
        for function in alone {
            *reasons
                .entry(file.records().function(foldsym_lookup::FunctionId(function)).unwrap().reason)
                .or_default() += 1;
        }
        reasons
    }
}

/// The line of the symbol `weigh_parcel`'s code is not known at `-g1`: two functions have it, with a line sequence each.
#[test]
fn functions_of_which_mold_dropped_the_symbols_are_found_by_their_lines() {
    for (program, names) in [
        ("lines", ["", "weigh_parcel"]),
        ("undescribed_first", ["weigh_letter", "weigh_parcel"]),
        ("lines_first", ["weigh_letter", "weigh_parcel"]),
    ] {
        let program = Program::new(&format!("dropped.mold.set/{program}"));
        let (certainty, _, found) = program.at(program.address("weigh_parcel"));
        assert_eq!((certainty, found), (Certainty::Ambiguous, names.map(str::to_owned).to_vec()));
    }
}

/// Without the symbols of folded functions, a line sequence shows one. But here the sequence is that of the function whose code it is.
#[test]
fn a_removed_function_is_not_found_by_the_lines_of_another() {
    let program = Program::new("collected.mold");
    let (_, reason, names) = program.at(program.address("weigh_parcel"));
    assert_eq!((reason, names), (Some(Reason::Stripped), vec!["weigh_parcel".to_owned()]));
}

/// At any address no function has the inlined code of another instance of its template: the order of clones shows nothing.
#[test]
fn clones_of_gcc_have_the_names_that_their_inlined_code_shows() {
    let program = Program::new("clones.gcc-lld");
    let start = program.symbols().iter().find(|(name, _)| name.contains("weigh")).unwrap().1;
    let file = SymbolFile::open(&program.fsym).unwrap();
    let (mut frames, mut shown) = (Frames::new(), BTreeSet::new());
    for address in start..start + 64 {
        let Lookup::Found(found) = file.lookup(ImageAddr(address), &mut frames).unwrap() else { continue };
        if found.piece_start.0 != start {
            continue;
        }
        assert_eq!(found.member_count(), 2);
        for member in 0..2 {
            file.member_frames(&found, member, &mut frames).unwrap();
            let names = file.frames(&frames).map(|frame| {
                let mut buffer = [0; 256];
                let len = frame.unwrap().name.map_or(0, |id| file.write_name(id, &mut buffer).unwrap());
                String::from_utf8(buffer[..len].to_vec()).unwrap()
            });
            shown.insert(names.collect::<Vec<_>>());
        }
    }
    let weigh = |class: &str| format!("_ZN12_GLOBAL__N_13BoxI{class}E5weighEl.isra.0");
    let both = |class| [vec![weigh(class)], vec![format!("_Z3getI{class}ElPT_"), weigh(class)]];
    let expected: Vec<Vec<String>> = ["3Car", "3Bus"].into_iter().flat_map(both).collect();
    assert_eq!(shown, expected.into_iter().collect());
}

/// C functions that no entry describes, or of which the entries are gone: each is a member of the group.
#[test]
fn folded_functions_without_an_entry_are_functions() {
    for (set, name, functions) in [
        // Two line sequences of one range, of a unit that has no entries.
        ("lines", "half_long", &["half_long", "half_size"][..]),
        // Calls that name both functions of an object without debug information.
        ("called", "first", &["first", "second"]),
        // Symbols of one name, each local to an object; llvm-dwarfutil removed the entries and the names of the files.
        ("locals", "helper", &["helper", "helper", "helper"]),
        // A described function whose own symbol is gone, at the symbol of another.
        ("discarded", "other", &["other", "own"]),
    ] {
        let unfolded = Program::new(&format!("alone.{set}.set/program.unfolded"));
        let known = unfolded.symbols();
        let apart: BTreeSet<u64> =
            known.iter().filter(|symbol| functions.contains(&&*symbol.0)).map(|symbol| symbol.1).collect();
        // The symbol of `own` is gone there too.
        assert_eq!(apart.len(), if set == "discarded" { 1 } else { functions.len() }, "{set}");
        let program = Program::new(&format!("alone.{set}.set/program"));
        let (certainty, _, names) = program.at(program.address(name));
        assert_eq!(
            (certainty, names),
            (Certainty::Ambiguous, functions.iter().map(|&name| name.to_owned()).collect()),
            "{set}"
        );
    }
}

/// Two names and two line sequences at one address: the order of symbols and sequences shows which name probably has which lines.
#[test]
fn names_get_lines_by_order() {
    let program = Program::new("alone.lines.set/program");
    let file = SymbolFile::open(&program.fsym).unwrap();
    let mut frames = Frames::new();
    let address = ImageAddr(program.address("half_long"));
    let Lookup::Found(found) = file.lookup(address, &mut frames).unwrap() else { panic!() };
    let mut lines = BTreeMap::new();
    for index in 0..found.member_count() {
        let member = file.member_frames(&found, index, &mut frames).unwrap();
        assert_eq!(member.how, How::SymbolOrder);
        let frame = file.frames(&frames).last().unwrap().unwrap();
        let mut buffer = [0; 32];
        let len = file.write_name(frame.name.unwrap(), &mut buffer).unwrap();
        lines.insert(String::from_utf8(buffer[..len].to_vec()).unwrap(), frame.line);
    }
    assert_eq!(lines, BTreeMap::from([("half_long".to_owned(), 4), ("half_size".to_owned(), 6)]));
    // Unfolded, each has its own.
    let unfolded = Program::new("alone.lines.set/program.unfolded");
    let file = SymbolFile::open(&unfolded.fsym).unwrap();
    for (name, line) in [("half_long", 4), ("half_size", 6)] {
        let address = ImageAddr(unfolded.address(name));
        assert!(matches!(file.lookup(address, &mut frames).unwrap(), Lookup::Found(_)));
        assert_eq!(file.frames(&frames).last().unwrap().unwrap().line, line);
    }
}

/// At most a name remains of a folded function, and the data that would show it was stripped.
#[test]
fn a_stripped_program_is_never_unique() {
    for set in ["stripped", "library"] {
        let unfolded = Program::new(&format!("alone.{set}.set/program.unfolded"));
        assert_ne!(unfolded.address("own"), unfolded.address("other"));
        let program = Program::new(&format!("alone.{set}.set/program"));
        assert_eq!(program.address("own"), program.address("other"));
        let (certainty, reason, _) = program.at(program.address("other"));
        assert_eq!((certainty, reason), (Certainty::Likely, Some(Reason::Stripped)), "{set}");
        assert_eq!(program.reasons().keys().collect::<Vec<_>>(), [&Some(Reason::Stripped)], "{set}");
    }
    // With its entries, and all objects described: only the local symbols are missing.
    let discarded = Program::new("alone.discarded.set/program");
    assert!(!discarded.reasons().contains_key(&None));
}

/// The linker folded a local function of an object without debug information into a described one, and was called with an option that drops
/// local symbols. No described function is local, so no trace of it is left.
#[test]
fn local_symbols_that_a_linker_dropped_may_have_been_of_folded_functions() {
    let whole = Program::new("alone.vendor.set/whole");
    assert_eq!(whole.address("own"), whole.address("hidden"));
    assert_eq!(whole.at(whole.address("own")).2, ["hidden", "own"]);
    for linker in ["lld", "mold", "gold"] {
        let program = Program::new(&format!("alone.vendor.set/{linker}"));
        assert!(program.symbols().iter().all(|symbol| symbol.0 != "hidden"));
        let (certainty, reason, _) = program.at(program.address("own"));
        assert_eq!((certainty, reason), (Certainty::Likely, Some(Reason::Stripped)), "{linker}");
        assert!(!program.reasons().contains_key(&None), "{linker}");
    }
}

/// mold from 2.2 on drops the symbols of the functions that it folds, so nothing shows that a function is the only one with its code, and
/// any caller may hide another.
#[test]
fn a_linker_that_drops_symbols_leaves_nothing_unique_and_no_call_exact() {
    let kept = Program::new("fold.clang-mold.set/program");
    let bytes = std::fs::read(&kept.path).unwrap();
    let (old, new) = (b"mold 1.10.1", b"mold 2.2.01");
    let at = bytes.windows(old.len()).position(|window| window == old).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("program");
    let mut renamed = bytes;
    renamed[at..at + new.len()].copy_from_slice(new);
    std::fs::write(&path, renamed).unwrap();
    let dropped = Program::converted(path);
    assert!(kept.reasons().contains_key(&None));
    assert!(!dropped.reasons().contains_key(&None), "{:?}", dropped.reasons());
    let [kept, dropped] = [kept, dropped].map(|program| program.certainties_of_calls());
    assert!(kept.get(&Certainty::Exact).is_some_and(|calls| *calls > 10), "{kept:?}");
    assert!(!dropped.contains_key(&Certainty::Exact), "{dropped:?}");
    // What the compiler recorded still says which member is likely.
    assert!(dropped.get(&Certainty::Likely).is_some_and(|calls| *calls > 10), "{dropped:?}");
}

/// LLVM left a jump in the place of a merged function. With `-gline-tables-only`, neither function has an entry. A function that only calls
/// another one has lines of its own, and is not such a jump.
#[test]
fn jumps_of_merged_functions_show_without_entries_too() {
    for debug in ["g", "g1"] {
        let apart = Program::new(&format!("alone.jumps.set/{debug}.apart"));
        let program = Program::new(&format!("alone.jumps.set/{debug}"));
        for name in ["first", "target"] {
            let (certainty, reason, names) = apart.at(apart.address(name));
            assert_eq!((certainty, reason), (Certainty::Unique, None), "{debug} {name}: {names:?}");
        }
        let (certainty, _, names) = program.at(program.address("first"));
        assert_eq!(
            (certainty, names),
            (Certainty::Ambiguous, vec!["first".into(), "second".into()]),
            "{debug}"
        );
        let (certainty, reason, _) = program.at(program.address("target"));
        assert_eq!((certainty, reason), (Certainty::Likely, Some(Reason::MergedWithoutTrace)), "{debug}");
    }
}

/// A symbol of one of several functions of one plain name is not a name of the others.
#[test]
fn a_symbol_of_several_functions_names_none_of_them() {
    for linker in ["lld", "mold", "gold"] {
        let program = Program::new(&format!("alone.classes.set/{linker}"));
        let address = program.symbols().iter().find(|symbol| symbol.0.contains("3getEv")).unwrap().1;
        let (certainty, _, names) = program.at(address);
        assert_eq!((certainty, names), (Certainty::Ambiguous, vec!["get".into(), "get".into()]), "{linker}");
        let file = SymbolFile::open(&program.fsym).unwrap();
        let records = file.records();
        for id in 0..records.function_count() {
            let function = records.function(foldsym_lookup::FunctionId(id)).unwrap();
            assert_eq!(records.aliases(&function).count(), 0, "{linker}");
        }
    }
}

/// Mach-O symbols have no size. Without the local ones, code after a function may be another function.
#[test]
fn code_behind_a_function_is_its_own_only_if_nothing_was_removed() {
    for arch in ["arm64", "x86_64"] {
        let whole = Program::new(&format!("alone.inside.set/{arch}.debug"));
        let local = whole.address("_local");
        assert_eq!(whole.at(local).2, ["local"], "{arch}");
        let program = Program::new(&format!("alone.inside.set/{arch}-x.debug"));
        let file = SymbolFile::open(&program.fsym).unwrap();
        let found = file.lookup(ImageAddr(local), &mut Frames::new()).unwrap();
        assert!(!matches!(found, Lookup::Found(_)), "{arch}: {found:?}");
    }
}

/// In a program that has its local symbols, some units have names for functions that are not symbols: the symbols were renamed, and no
/// function was folded. If two new names are at one address, nothing shows that both belong to one function.
#[test]
fn a_unit_of_which_no_name_is_a_symbol_is_renamed() {
    let program = Program::new("alone.misnamed.set/program");
    for (name, expected) in [
        ("skip.run", (Certainty::Unique, None)),
        ("skip.global", (Certainty::Likely, Some(Reason::PlainNames))),
    ] {
        let (certainty, reason, names) = program.at(program.address(name));
        assert_eq!((certainty, reason), expected, "{name}");
        assert!(names[0].starts_with("skip."), "{names:?}");
    }
    assert_eq!(program.reasons(), BTreeMap::from([(None, 3), (Some(Reason::PlainNames), 1)]));
}

/// Compilers of D, Crystal and Fortran write other names into DIEs than into symbols, and so do those of C++ for the function that
/// initializes thread-local variables. Where the symbol spells the name, nothing was folded.
#[test]
fn a_symbol_that_spells_the_name_of_a_function_is_its_symbol() {
    let program = Program::new("alone.spelt.set/program");
    for name in ["*Dir::current:String", "_D3app4testFiZi", "MAIN__", "_ZTH1a", "run"] {
        let (certainty, reason, names) = program.at(program.address(name));
        assert_eq!((certainty, reason, &*names[0]), (Certainty::Unique, None, name));
    }
    // Of a name of C nothing shows that it is the same function.
    let (certainty, _, names) = program.at(program.address("another"));
    assert_eq!((certainty, names.len()), (Certainty::Ambiguous, 2), "{names:?}");
}

/// In a program of which some functions are folded, an alias of C is still an alias, and the symbol of a static function that the source
/// calls by another name is its symbol.
#[test]
fn folded_functions_elsewhere_make_no_alias_a_function() {
    let program = Program::new("alone.aliases.set/program");
    for (symbol, shown) in [("shown", "shown"), ("strong", "strong_alias")] {
        let (certainty, reason, names) = program.at(program.address(symbol));
        let expected = (Certainty::Likely, Some(Reason::PlainNames), vec![shown.to_owned()]);
        assert_eq!((certainty, reason, names), expected, "{symbol}");
    }
    let (certainty, reason, names) = program.at(program.address("local_symbol"));
    assert_eq!((certainty, reason, names), (Certainty::Unique, None, vec!["local_symbol".to_owned()]));
    let (certainty, _, names) = program.at(program.address("one"));
    assert_eq!((certainty, names.len()), (Certainty::Ambiguous, 2), "{names:?}");
}

/// An object without debug information in a program that a linker made which folds.
#[test]
fn an_object_without_debug_information_makes_all_less_certain() {
    let program = Program::new("alone.plain.set/half.unfolded");
    assert!(!program.reasons().contains_key(&None), "{:?}", program.reasons());
    let (certainty, reason, _) = program.at(program.address("run"));
    assert_eq!((certainty, reason), (Certainty::Likely, Some(Reason::UndescribedObject)));
    // `more` and `also_more` may be two functions that were folded; nothing shows it.
    let (certainty, reason, _) = program.at(program.address("more"));
    assert_eq!((certainty, reason), (Certainty::Likely, Some(Reason::PlainNames)));
    // Without its code, a function of that object may jump to any of LLVM's units.
    let debug = Program::new("alone.plain.set/half.debug");
    let (certainty, reason, _) = debug.at(debug.address("_start"));
    assert_eq!((certainty, reason), (Certainty::Likely, Some(Reason::NoCode)));
}

#[test]
fn a_function_that_gcc_merged_and_nobody_can_place_makes_its_unit_less_certain() {
    let whole = Program::new("alone.merged.set/whole");
    let (one, two) = (whole.address("one"), whole.address("two"));
    assert_eq!(one, two);
    assert_eq!(whole.at(one).2, ["one", "two"]);
    // The symbols of both are gone.
    let program = Program::new("alone.merged.set/program");
    let (certainty, reason, _) = program.at(one);
    assert_eq!((certainty, reason), (Certainty::Likely, Some(Reason::MergedWithoutTrace)));
}

/// The symbol of `width(Parcel*)` shows nothing about `width(Carton*)`, which gcc merged into `length`.
#[test]
fn a_symbol_of_one_overload_is_not_evidence_for_another() {
    let [parcel, carton, length] = ["_ZL5widthP6Parcel", "_ZL5widthP6Carton", "_ZL6lengthP6Letter"];
    let whole = Program::new("merged_overloads.symbols.set/program");
    assert_eq!(whole.at(whole.address(length)).2, [carton, length]);
    assert_eq!(whole.at(whole.address(parcel)), (Certainty::Unique, None, vec![parcel.to_owned()]));
    // The symbol of `width(Carton*)` is gone.
    let removed = Program::new("merged_overloads.removed.set/program");
    for name in [parcel, length] {
        let lost = Some(Reason::MergedWithoutTrace);
        assert_eq!(removed.at(removed.address(name)), (Certainty::Likely, lost, vec![name.to_owned()]));
    }
}

/// Programs of compilers that merge functions by themselves.
#[test]
fn compilers_that_leave_no_trace_are_named() {
    for name in ["objects.gcc-lto", "units.gcc-lto-dwarf5", "core.dwarf5", "split.rust-dwarf5.set/plain"] {
        let reasons = Program::new(name).reasons();
        assert!(reasons[&Some(Reason::MergedWithoutTrace)] > 0, "{name}: {reasons:?}");
        // But for `_start`.
        assert!(reasons.get(&None).is_none_or(|count| *count == 1), "{name}: {reasons:?}");
    }
}

/// Of described programs that were linked without folding, by compilers that do not merge functions, nearly all functions are
/// unique. What is no such program is listed.
#[test]
fn described_programs_that_nobody_folded_are_unique() {
    const OTHERS: &[&str] = &[
        // Without debug information for all, or without symbols.
        "inline.clang-lines-only",
        "inline.clang-no-symbols",
        "inline.clang-shared-dynsym",
        "inline.clang-symbols-only",
        "units.half-debug",
        "split.clang-wide.set/split",
        "split.gnu-dwp5.set/split",
        // Of compilers that merge.
        "objects.gcc-lto",
        "units.gcc-lto",
        "split.rust",
    ];
    let cases = ["demo.", "inline.", "macho.", "nested.", "objects.", "split.", "units.", "golang."];
    let (mut all, mut unique, mut programs, mut groups) = (0, 0, 0, 0);
    let mut names: Vec<String> = Vec::new();
    for entry in std::fs::read_dir(root().join("built")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let files = if name.ends_with(".set") { &["plain", "split", "stripped"][..] } else { &[""] };
        names.extend(files.iter().map(|file| format!("{name}/{file}").trim_end_matches('/').to_owned()));
    }
    names.extend(
        ["folding.unfolded", "lto.unfolded", "thin.unfolded", "lto", "thin"]
            .map(|file| format!("alone.plain.set/{file}")),
    );
    names.extend(
        ["stripped", "library", "lines", "locals"].map(|set| format!("alone.{set}.set/program.unfolded")),
    );
    for name in names {
        let is_of_case = cases.iter().any(|case| name.starts_with(case)) || name.starts_with("alone.");
        let is_other = OTHERS.iter().any(|other| name.starts_with(other));
        let is_program =
            root().join("built").join(&name).exists() && !name.ends_with(".set") && !name.ends_with(".stack");
        if !is_of_case || is_other || !is_program || name.ends_with("macho.fat") {
            continue;
        }
        let program = Program::new(&name);
        let (reasons, of_groups) = (program.reasons(), program.groups());
        if of_groups > 0 {
            println!("{name}: {of_groups} groups");
        }
        groups += of_groups;
        let of_program: usize = reasons.values().sum();
        let of_unique = reasons.get(&None).copied().unwrap_or(0);
        if of_unique != of_program {
            println!("{name}: {reasons:?}");
        }
        (all, unique, programs) = (all + of_program, unique + of_unique, programs + 1);
    }
    println!("{programs} programs, {unique} of {all}, {groups} groups");
    assert!(groups * 100 < all, "{groups} groups, and {all} functions that are alone");
    assert!(programs > 100 && unique * 1000 >= all * 995, "{unique} of {all} in {programs} programs");
}

/// The calls of a function in a program: offset of the return address in the function, and the target. All its calls are direct.
fn calls(program: &Program, function: &str, others: &[u64]) -> Vec<(u64, u64)> {
    let bytes = std::fs::read(&program.path).unwrap();
    let file = object::File::parse(&*bytes).unwrap();
    let symbol = file.symbols().find(|symbol| symbol.name() == Ok(function)).unwrap();
    let section = file.section_by_name(".text").unwrap();
    let code = section.data_range(symbol.address(), symbol.size()).unwrap().unwrap();
    let target = |(at, five): (usize, &[u8])| {
        let &[0xe8, a, b, c, d] = five else { return None };
        let after = at as u64 + 5;
        let target = (symbol.address() + after).wrapping_add_signed(i32::from_le_bytes([a, b, c, d]).into());
        others.contains(&target).then_some((after, target))
    };
    code.windows(5).enumerate().filter_map(target).collect()
}

/// At `-g1` entries have plain names, or there are none: each folded function has the name of its symbol, and the order of symbols shows
/// which one a call is of.
#[test]
fn at_g1_folded_functions_have_the_names_of_their_symbols() {
    let program = Program::new("alone.tied.set/program");
    let unfolded = Program::new("alone.tied.set/program.unfolded");
    let (folded, apart) = (program.symbols(), unfolded.symbols());
    let address = |symbols: &[Symbol], name: &str| symbols.iter().find(|symbol| symbol.0 == name).unwrap().1;
    let mut tied: BTreeMap<u64, Vec<String>> = BTreeMap::new();
    for (name, address) in folded.iter().filter(|symbol| symbol.0.contains("Queue")) {
        tied.entry(*address).or_default().push(name.clone());
    }
    for (address, mut names) in tied {
        names.sort();
        assert_eq!(program.at(address).2, names);
    }
    let starts: Vec<u64> = apart.iter().map(|symbol| symbol.1).collect();
    let file = SymbolFile::open(&program.fsym).unwrap();
    let mut count = 0;
    for caller in ["_Z7morningv", "_Z7eveningv"] {
        for (after, target) in calls(&unfolded, caller, &starts) {
            let callee = &apart.iter().find(|symbol| symbol.1 == target).unwrap().0;
            let return_addr = ReturnAddr(address(&folded, caller) + after);
            let guess = file.guessed_callee(return_addr, None).unwrap().unwrap();
            let mut buffer = [0; 256];
            let name = file.records().function_name(guess).unwrap().unwrap();
            let len = file.write_name(name, &mut buffer).unwrap();
            assert_eq!(String::from_utf8_lossy(&buffer[..len]), **callee, "{return_addr:?}");
            count += 1;
        }
    }
    assert_eq!(count, 7);
}

/// The order of entries is not that of symbols: neither function gets the name of the other with its own lines.
#[test]
fn overloads_at_g1_do_not_get_the_names_of_each_other() {
    let program = Program::new("alone.overloads.set/program");
    let file = SymbolFile::open(&program.fsym).unwrap();
    let start = ImageAddr(program.address("_Z4rideP3Bus"));
    assert_eq!(start.0, program.address("_Z4rideP3Car"));
    let mut frames = Frames::new();
    let Lookup::Found(found) = file.lookup(start, &mut frames).unwrap() else { panic!() };
    let mut of_lines = Vec::new();
    for index in 0..found.member_count() {
        file.member_frames(&found, index, &mut frames).unwrap();
        let frame = file.frames(&frames).last().unwrap().unwrap();
        let mut buffer = [0; 256];
        let len = frame.name.map_or(0, |id| file.write_name(id, &mut buffer).unwrap());
        of_lines.push((String::from_utf8_lossy(&buffer[..len]).into_owned(), frame.line));
    }
    // Those of the source: `ride(Car *)` on line 21, `ride(Bus *)` on line 23.
    let is_right = |(name, line): &(String, u32)| match &**name {
        "_Z4rideP3Car" => [0, 21].contains(line),
        "_Z4rideP3Bus" => [0, 23].contains(line),
        _ => true,
    };
    assert!(of_lines.iter().all(is_right), "{of_lines:?}");
}
