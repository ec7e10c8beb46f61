//! A batch of stacks against the same stacks one by one: the same answers, each distinct one handed out once, in the order of addresses.

use std::collections::{BTreeMap, HashMap};
use std::convert::Infallible;
use std::fs;
use std::path::Path;

use foldsym_convert::{NoProgress, Options};
use foldsym_symbolize::json::GivenName;
use foldsym_symbolize::{
    AddressKind, Answer, Batch, BatchSigning, Form, Innermost, Module, Modules, NameId, Names, Query,
    ReportedAddress, Rules, Signing, StackFrame, Symbolizer,
};

/// Where the programs are loaded, in this order.
const PROGRAMS: [(&str, u64); 3] = [
    ("fold.clang-lld", 0x10_0000),
    ("fold.gcc-gold", 0x7f00_0000_0000),
    ("fold.clang-mold", 0xffff_ffff_8000_0000),
];

/// Programs that ran, and what was on their stacks.
struct Fleet {
    folder: tempfile::TempDir,
    modules: Modules,
    stacks: Vec<Vec<StackFrame>>,
    /// A vtable pointer of the object in the innermost frame, where one was recorded.
    vtables: Vec<Option<u64>>,
}

fn hex(word: &str) -> u64 {
    u64::from_str_radix(word.trim_start_matches("0x"), 16).unwrap()
}

fn fleet() -> Fleet {
    let folder = tempfile::tempdir().unwrap();
    let (mut modules, mut vtables) = (Vec::new(), Vec::new());
    let mut stacks: Vec<Vec<StackFrame>> = Vec::new();
    let built = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testbins/built");
    for (name, base) in PROGRAMS {
        let set = built.join(format!("{name}.set"));
        let out = folder.path().join(format!("{name}.fsym"));
        foldsym_convert::convert(&set.join("program"), &out, &Options::default(), &NoProgress).unwrap();
        let image = foldsym_store::SymbolMap::open(&out).unwrap().file().image_base().0;
        modules.push(Module::new(name).at(base));
        for line in fs::read_to_string(set.join("stacks")).unwrap().lines() {
            let words: Vec<&str> = line.split('|').next().unwrap().split_whitespace().collect();
            let moved = |word: &str| hex(word).wrapping_sub(image).wrapping_add(base);
            let frames = words[3..].iter().enumerate().map(|(at, word)| match at {
                0 => StackFrame::exact(moved(word)),
                _ => StackFrame::returns_to(moved(word)),
            });
            stacks.push(frames.collect());
            vtables.push((words[2] != "-").then(|| moved(words[2])));
        }
    }
    assert!(stacks.len() > 400);
    // Stacks over two programs, with a frame of no module, of no address, and of neither.
    for at in 0..100 {
        let mut both = stacks[at].clone();
        both.push([StackFrame::UNKNOWN, StackFrame::exact(5), StackFrame::returns_to(u64::MAX)][at % 3]);
        both.extend(stacks[at + 170].iter().copied());
        stacks.push(both);
        vtables.push(None);
    }
    stacks.extend([Vec::new(), vec![StackFrame::UNKNOWN]]);
    vtables.extend([None, None]);
    Fleet { folder, modules: Modules::new(modules), stacks, vtables }
}

impl Fleet {
    fn symbolizer(&self) -> Symbolizer {
        Symbolizer::builder().search([self.folder.path()]).build().unwrap()
    }

    fn queries(&self) -> Vec<Query<'_>> {
        let query = |frames| Query { modules: &self.modules, frames, innermost: Innermost::Nothing };
        self.stacks.iter().map(|frames| query(frames.as_slice())).collect()
    }
}

/// All of an answer but its address and its module, as text.
fn text(answer: &Answer, names: &mut Names<'_>) -> String {
    let mut shown = format!(
        "{:?} {:?} {:?} {:?} {:?}",
        answer.certainty, answer.evidence, answer.reason, answer.candidate_count, answer.unknown
    );
    for symbol in std::iter::once(&answer.symbol).chain(answer.candidates.iter().map(|member| &member.symbol))
    {
        for frame in &symbol.frames {
            for bytes in [names.linkage(frame.name).to_vec(), names.path(frame.file).to_vec()] {
                shown.push(' ');
                shown.push_str(&String::from_utf8_lossy(&bytes));
            }
            shown.push_str(&format!(":{}:{}", frame.line, frame.column));
        }
        shown.push_str(" |");
    }
    shown
}

type Told = Vec<Vec<(String, Option<usize>)>>;

fn one_by_one(symbolizer: &Symbolizer, queries: &[Query<'_>]) -> Told {
    let mut worker = symbolizer.worker();
    let one = |query: &Query<'_>| {
        let mut told = Vec::new();
        let Ok(()) = worker.answer(*query, Form::Plain, |answer, names| {
            let shown = text(answer, names);
            // A damaged name makes an answer without names.
            let damage = names.take_damage().map(|why| format!("None None None None {:?} |", Some(why)));
            told.push((damage.unwrap_or(shown), answer.module));
            Ok::<(), Infallible>(())
        });
        told
    };
    queries.iter().map(one).collect()
}

fn in_batches(symbolizer: &Symbolizer, queries: &[Query<'_>], size: usize) -> Told {
    let (mut worker, mut batch, mut told) = (symbolizer.worker(), Batch::new(), Vec::new());
    for part in queries.chunks(size) {
        let mut answers = Vec::new();
        // Who keeps names by the numbers of file and name finds the same bytes under them all through a batch.
        let mut kept: HashMap<(usize, NameId), Vec<u8>> = HashMap::new();
        worker.answer_batch(part, &mut batch, |number, file, answer, names| {
            assert_eq!(number as usize, answers.len(), "each number once, in order");
            answers.push(text(answer, names));
            for id in answer.symbol.frames.iter().filter_map(|frame| frame.name) {
                let bytes = names.linkage(Some(id)).to_vec();
                let key = (file.expect("a name is of a file"), id);
                assert_eq!(*kept.entry(key).or_insert_with(|| bytes.clone()), bytes, "{key:?}");
            }
        });
        assert_eq!(batch.answers() as usize, answers.len());
        for index in 0..part.len() {
            let frames = batch.stack(index).iter();
            let of = |frame: &foldsym_symbolize::BatchFrame| {
                (answers[frame.answer as usize].clone(), frame.module.map(|module| module as usize))
            };
            told.push(frames.map(of).collect());
        }
    }
    told
}

#[test]
fn a_batch_answers_as_each_stack_alone() {
    let fleet = fleet();
    let symbolizer = fleet.symbolizer();
    let queries = fleet.queries();
    let alone = one_by_one(&symbolizer, &queries);
    for size in [1, 7, queries.len()] {
        let together = in_batches(&symbolizer, &queries, size);
        for (at, (mine, theirs)) in together.iter().zip(&alone).enumerate() {
            assert_eq!(mine, theirs, "stack {at} of batches of {size}");
        }
    }
    let shown: Vec<&str> = alone.iter().flatten().map(|(text, _)| text.as_str()).collect();
    for word in ["Unique", "Exact", "Ambiguous", "NoAddress", "NoModule"] {
        assert!(shown.iter().any(|text| text.contains(word)), "{word}");
    }
}

#[test]
fn a_batch_has_the_signatures_of_each_stack_alone() {
    let fleet = fleet();
    let symbolizer = fleet.symbolizer();
    let mut queries = fleet.queries();
    // A module without a file.
    let gone = Modules::new(vec![Module::new("gone.so").at(0x1000)]);
    let frames = [StackFrame::exact(0x1010), StackFrame::returns_to(0x1020)];
    queries.push(Query { modules: &gone, frames: &frames, innermost: Innermost::Nothing });
    let (mut signing, mut worker) = (Signing::new(Rules::shipped()), symbolizer.worker());
    let own = |index: usize| index.is_multiple_of(3).then(|| GivenName::new("named_by_the_report", "a.c", 3));
    let mut alone = Vec::new();
    for query in &queries {
        let mut index = 0;
        let Ok(()) = worker.answer(*query, Form::Plain, |answer, names| {
            signing.add(answer, names, query.modules, own(index));
            index += 1;
            Ok::<(), Infallible>(())
        });
        alone.push(signing.finish());
    }
    let mut batch = Batch::new();
    for size in [1, 7, queries.len()] {
        let mut together = Vec::new();
        for part in queries.chunks(size) {
            let mut signing = BatchSigning::new(Rules::shipped());
            worker.answer_batch(part, &mut batch, |_, _, answer, names| signing.answer(answer, names));
            for (index, query) in part.iter().enumerate() {
                let given = |frame: usize| own(frame).map(|given| (frame, given));
                let given: Vec<_> = (0..query.frames.len()).filter_map(given).collect();
                together.push(signing.signature(batch.stack(index), query.modules, &given));
            }
        }
        assert_eq!(together, alone, "batches of {size}");
    }
    let texts: Vec<&str> = alone.iter().map(|signature| signature.text.as_str()).collect();
    for part in ["+0x", " | ", "named_by_the_report"] {
        assert!(texts.iter().any(|text| text.contains(part)), "{part}: {texts:?}");
    }
}

#[test]
fn objects_are_asked_in_a_batch_too() {
    let fleet = fleet();
    let symbolizer = fleet.symbolizer();
    let mut queries = fleet.queries();
    for (query, vtable) in queries.iter_mut().zip(&fleet.vtables) {
        query.innermost =
            vtable.map_or(Innermost::Nothing, |at| Innermost::Vtable(ReportedAddress::Memory(at)));
    }
    assert!(fleet.vtables.iter().flatten().count() > 0);
    assert_eq!(in_batches(&symbolizer, &queries, 64), one_by_one(&symbolizer, &queries));
}

#[test]
fn files_are_read_in_the_order_of_addresses_and_each_once() {
    let fleet = fleet();
    let symbolizer = fleet.symbolizer();
    let queries = fleet.queries();
    let twice: Vec<Query<'_>> = queries.iter().chain(&queries).copied().collect();
    let mut asked: Vec<(usize, u64)> = Vec::new();
    let mut batch = Batch::new();
    symbolizer.worker().answer_batch(&twice, &mut batch, |_, file, answer, _| {
        // Those of shared code depend on their callers, and come after.
        if let (Some(file), Some(address), None) = (file, answer.image_address, answer.candidate_count) {
            asked.push((file, address));
        }
    });
    assert!(asked.len() > 100);
    assert!(asked.is_sorted_by(|before, after| before < after), "sorted by file and address, and none twice");
    let once = batch.answers();
    symbolizer.worker().answer_batch(&queries, &mut batch, |_, _, _, _| {});
    assert_eq!(batch.answers(), once, "a second time brings no new answers");
}

#[test]
fn nothing_is_answered_by_nothing() {
    let symbolizer = Symbolizer::builder().build().unwrap();
    let mut batch = Batch::new();
    symbolizer.worker().answer_batch(&[], &mut batch, |_, _, _, _| panic!("no frame has an answer"));
    assert_eq!(batch.answers(), 0);
    let modules = Modules::new(Vec::new());
    let empty = Query { modules: &modules, frames: &[], innermost: Innermost::Nothing };
    symbolizer.worker().answer_batch(&[empty, empty], &mut batch, |_, _, _, _| panic!("no frame"));
    assert_eq!((batch.stack(0).len(), batch.stack(1).len()), (0, 0));
}

#[test]
fn more_files_than_are_kept_open() {
    let folder = tempfile::tempdir().unwrap();
    let demo = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schema/golden/demo.fsym");
    let names: Vec<String> = (0..300).map(|at| format!("m{at}")).collect();
    let mut processes = Vec::new();
    for name in &names {
        fs::copy(&demo, folder.path().join(format!("{name}.fsym"))).unwrap();
        processes.push(Modules::new(vec![Module::new(name).at(0x200000)]));
    }
    let symbolizer = Symbolizer::builder().search([folder.path()]).build().unwrap();
    let frame = |address| StackFrame { place: ReportedAddress::Memory(address), kind: AddressKind::Exact };
    let frames = [frame(0x20_12b0), frame(0x20_1300), frame(0x20_13d0)];
    let query = |modules| Query { modules, frames: frames.as_slice(), innermost: Innermost::Nothing };
    let queries: Vec<Query<'_>> = processes.iter().map(query).collect();
    let together = in_batches(&symbolizer, &queries, queries.len());
    assert_eq!(together, one_by_one(&symbolizer, &queries));
    assert!(together.iter().all(|stack| stack == &together[0] && stack[0].1 == Some(0)));
    assert!(symbolizer.opened().files >= 300 && symbolizer.opened().bytes > 300 * 1000);
}

/// More files than are kept at a time, of two programs. Files are forgotten in the middle of the batch; stacks with folded functions come
/// before and after.
#[test]
fn files_that_are_forgotten_within_a_batch() {
    let fleet = fleet();
    let demo = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schema/golden/demo.fsym");
    let fold = fleet.folder.path().join("fold.clang-lld.fsym");
    let image = |path| foldsym_store::SymbolMap::open(path).unwrap().file().image_base().0;
    let (fold_base, demo_base) = (image(&fold), image(&demo));
    let mut processes = Vec::new();
    for at in 0..600 {
        let name = format!("m{at}");
        let (from, base) = if at % 150 == 0 { (&fold, fold_base) } else { (&demo, demo_base) };
        fs::copy(from, fleet.folder.path().join(format!("{name}.fsym"))).unwrap();
        processes.push(Modules::new(vec![Module::new(&name).at(base)]));
    }
    let of_demo = [0x20_12b0, 0x20_1300, 0x20_13d0].map(StackFrame::exact);
    // Recorded stacks of the folded program, at link-time addresses.
    let moved = |frame: &StackFrame| match frame.place {
        ReportedAddress::Memory(at) => {
            StackFrame { place: ReportedAddress::Memory(at - PROGRAMS[0].1 + fold_base), ..*frame }
        }
        _ => *frame,
    };
    let of_first = |vtable: &Option<u64>| vtable.is_some_and(|at| at < PROGRAMS[1].1);
    let recorded = fleet.stacks.iter().zip(&fleet.vtables).filter(|(_, vtable)| of_first(vtable));
    let recorded: Vec<(Vec<StackFrame>, u64)> = recorded
        .take(40)
        .map(|(stack, vtable)| {
            (stack.iter().map(moved).collect(), vtable.unwrap() - PROGRAMS[0].1 + fold_base)
        })
        .collect();
    let mut queries = Vec::new();
    for (at, modules) in processes.iter().enumerate() {
        if at % 150 != 0 {
            queries.push(Query { modules, frames: &of_demo, innermost: Innermost::Nothing });
            continue;
        }
        // A stack with an object is answered by itself, in the middle of the others.
        for (stack, vtable) in &recorded {
            let innermost = Innermost::Vtable(ReportedAddress::Memory(*vtable));
            queries.push(Query { modules, frames: stack, innermost });
            queries.push(Query { modules, frames: stack, innermost: Innermost::Nothing });
        }
    }
    let symbolizer = fleet.symbolizer();
    let alone = one_by_one(&symbolizer, &queries);
    assert!(alone.iter().flatten().filter(|(text, _)| text.contains("Exact")).count() > 40);
    for size in [64, queries.len()] {
        let together = in_batches(&symbolizer, &queries, size);
        for (at, (mine, theirs)) in together.iter().zip(&alone).enumerate() {
            assert_eq!(mine, theirs, "stack {at} of batches of {size}");
        }
    }
}

#[test]
fn damage_is_told_of_as_for_a_stack_alone() {
    let fleet = fleet();
    let path = fleet.folder.path().join("fold.clang-lld.fsym");
    let whole = fs::read(&path).unwrap();
    let queries = fleet.queries();
    let mut state = 1u64;
    let mut next = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    let mut kinds: BTreeMap<bool, usize> = BTreeMap::new();
    for round in 0..12 {
        let mut damaged = whole.clone();
        for _ in 0..[1, 10, 300][round % 3] {
            damaged[next(whole.len())] = next(256) as u8;
        }
        // Another file: the one before stays mapped as it is.
        fs::remove_file(&path).unwrap();
        fs::write(&path, damaged).unwrap();
        let symbolizer = fleet.symbolizer();
        let together = in_batches(&symbolizer, &queries, queries.len());
        let alone = one_by_one(&fleet.symbolizer(), &queries);
        for (at, (mine, theirs)) in together.iter().zip(&alone).enumerate() {
            assert_eq!(mine, theirs, "stack {at} of round {round}");
        }
        for (shown, _) in together.iter().flatten() {
            *kinds.entry(shown.contains("Damaged")).or_default() += 1;
        }
    }
    assert!(kinds[&true] > 0 && kinds[&false] > 0, "{kinds:?}");
}
