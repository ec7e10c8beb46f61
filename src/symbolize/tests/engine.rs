//! The engine over files of its own making: what it finds, what it says where it finds nothing, and that threads do not change answers.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use foldsym_lookup::SectionId;
use foldsym_symbolize::{
    AddressKind, BuildId, Certainty, DebugId, Frame, LocalStore, Mapping, Module, ModuleId, Modules,
    ReportedAddress, Stack, StackFrame, Store, Symbolizer, Unknown,
};
use foldsym_testkit::writer::{Contents, varint};

/// An address with inlined code in the golden file, which is linked to 0x200000.
const INLINED: u64 = 0x2012b0;

fn demo() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schema/golden/demo.fsym")
}

fn demo_id() -> BuildId {
    foldsym_store::SymbolMap::open(&demo()).unwrap().build_id().unwrap()
}

fn one(module: Module, frame: StackFrame) -> Stack {
    Stack::new(&Modules::new(vec![module]), vec![frame])
}

fn exact(address: u64) -> StackFrame {
    StackFrame::exact(address)
}

fn names(frames: &[Frame]) -> Vec<String> {
    frames
        .iter()
        .flat_map(|frame| frame.functions.iter().map(|location| location.linkage_name.to_string()))
        .collect()
}

/// A handle for a thread that must not be kept waiting uses what other handles have open, and says what it left to them.
#[test]
fn a_handle_that_opens_nothing_leaves_that_to_others() {
    let symbolizer = Symbolizer::builder().search([demo()]).build().unwrap();
    let (quick, slow) = (symbolizer.without_opening(), symbolizer.without_fetching());
    let stack = one(Module::new("/opt/demo").with_id(demo_id()).at(0x200000), exact(INLINED));
    let left = quick.symbolize(&stack);
    assert!(left[0].functions.is_empty() && quick.take_left() && !quick.take_left(), "{left:?}");
    assert_eq!(symbolizer.opened().files, 0);
    let found = slow.symbolize(&stack);
    assert!(!found[0].functions.is_empty() && !slow.take_left() && !slow.leaves_long_work());
    let again = quick.symbolize(&stack);
    assert_eq!((&again[0].functions, quick.take_left()), (&found[0].functions, false));
    // What others did not find is known too.
    let absent = one(Module::new("/opt/absent"), exact(1));
    let _ = (quick.symbolize(&absent), quick.take_left(), slow.symbolize(&absent));
    assert!(quick.symbolize(&absent)[0].unknown.is_some() && !quick.take_left());
    assert!(quick.leaves_long_work() && quick.take_left());
}

#[test]
fn places_and_kinds_lead_to_one_address() {
    let symbolizer = Symbolizer::builder().search([demo()]).build().unwrap();
    let module = || Module::new("/opt/demo").with_id(demo_id());
    let (load, bias) = (0x7f00_0000_0000u64, 0x7f00_0000_0000u64 - 0x200000);
    let expected = symbolizer.symbolize(&one(module().at(0x200000), exact(INLINED)));
    assert!(!expected[0].functions.is_empty() && expected[0].unknown.is_none(), "{expected:?}");
    assert_eq!(expected[0].image_address, Some(INLINED));
    assert!(matches!(expected[0].certainty, Some(Certainty::Unique | Certainty::Likely)));
    assert!(!expected[0].functions.last().unwrap().inlined);
    let same = |stack: Stack| {
        let found = symbolizer.symbolize(&stack);
        assert_eq!(
            (&found[0].functions, found[0].image_address),
            (&expected[0].functions, Some(INLINED)),
            "{stack:?}"
        );
    };
    same(one(module().at(load), exact(load + INLINED - 0x200000)));
    same(one(module().mapped(Mapping::Bias { bias, start: load, size: 0x10000 }), exact(bias + INLINED)));
    // The code of this program is at file offset 0x270 and address 0x201270.
    let part = Mapping::FilePart { start: load, size: 0x1000, file_offset: 0 };
    same(one(module().mapped(part), exact(load + INLINED - 0x201000)));
    same(one(module().mapped(part), StackFrame::returns_to(load + INLINED + 1 - 0x201000)));
    same(one(module().mapped(Mapping::Everywhere { bias }), exact(bias + INLINED)));
    let place = |place, kind| StackFrame { place, kind };
    same(one(
        module(),
        place(ReportedAddress::Offset { module: 0, offset: INLINED - 0x200000 }, AddressKind::Exact),
    ));
    same(one(module(), place(ReportedAddress::Image { module: 0, address: INLINED }, AddressKind::Exact)));
    // A return address is looked up one byte before; an adjusted one is inside the call already.
    same(one(module().at(load), StackFrame::returns_to(load + INLINED + 1 - 0x200000)));
    same(one(module().at(load), StackFrame::adjusted(load + INLINED - 0x200000)));
}

#[test]
fn absence_damage_and_failure_are_three_things() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("store");
    let store = LocalStore::create(&root).unwrap();
    let search = folder.path().join("symbols");
    fs::create_dir(&search).unwrap();
    fs::copy(demo(), search.join("libother.so.fsym")).unwrap();
    fs::write(search.join("libbroken.so.fsym"), &fs::read(demo()).unwrap()[..1000]).unwrap();
    fs::create_dir(search.join("libfolder.so.fsym")).unwrap();
    let builder = Symbolizer::builder().search([&search]).store(Store::Local(store.clone()));
    let symbolizer = builder.retry_after(Duration::ZERO).build().unwrap();
    let id = BuildId::parse("0123456789abcdef0123456789abcdef01234567").unwrap();
    let why =
        |module: Module| symbolizer.symbolize(&one(module.at(0x200000), exact(INLINED)))[0].unknown.clone();

    let Some(Unknown::Absent(text)) = why(Module::new("/lib/libgone.so").with_id(id.clone())) else {
        panic!()
    };
    assert!(
        text.contains("libgone.so (id 0123456789") && text.contains(&root.display().to_string()),
        "{text}"
    );
    // A file of this name that is another build's is not used.
    let Some(Unknown::Absent(text)) = why(Module::new("libother.so").with_id(id.clone())) else { panic!() };
    assert!(text.contains(&format!("libother.so.fsym holds build id {}", demo_id())), "{text}");
    assert_eq!(why(Module::new("libother.so")), None);
    let Some(Unknown::Damaged(text)) = why(Module::new("libbroken.so")) else { panic!() };
    assert!(text.contains("libbroken.so.fsym: damaged"), "{text}");
    assert!(matches!(why(Module::new("libfolder.so")), Some(Unknown::Damaged(_))));
    // In the store, under another id.
    let place = store.file_path(&id);
    fs::create_dir_all(place.parent().unwrap()).unwrap();
    fs::copy(demo(), &place).unwrap();
    let Some(Unknown::Damaged(text)) = why(Module::new("libgone.so").with_id(id.clone())) else { panic!() };
    assert!(text.contains("holds build id") && text.contains(&id.to_string()), "{text}");
    // Names that lead elsewhere lead nowhere.
    for name in ["..", ".", "", "/", "../..", "a\0b"] {
        assert!(matches!(why(Module::new(name)), Some(Unknown::Absent(_))), "{name:?}");
    }

    let none = |stack: Stack| symbolizer.symbolize(&stack)[0].unknown.clone();
    let other = || Module::new("libother.so");
    assert_eq!(none(one(other().at(0x200000), exact(0x1000))), Some(Unknown::NoModule));
    assert_eq!(none(one(other().at(0x200000), exact(0x200001))), Some(Unknown::NoFunction));
    assert_eq!(none(one(other(), StackFrame::UNKNOWN)), Some(Unknown::NoAddress));
    assert_eq!(
        none(one(
            other(),
            StackFrame { place: ReportedAddress::Offset { module: 7, offset: 0 }, kind: AddressKind::Exact }
        )),
        Some(Unknown::NoModule)
    );
    let part = |file_offset| Mapping::FilePart { start: 0x1000, size: 0x1000, file_offset };
    assert_eq!(none(one(other().mapped(part(0)), exact(0x12b0))), None);
    let Some(Unknown::NoMapping(text)) = none(one(other().mapped(part(0x9000)), exact(0x1180))) else {
        panic!()
    };
    assert!(text.contains("no segment of") && text.contains("has file offset 0x9180"), "{text}");
    assert!(
        Symbolizer::builder()
            .search([folder.path().join("gone")])
            .build()
            .unwrap_err()
            .to_string()
            .contains("gone")
    );
}

/// A frame of a module mapped by file offset takes a step for each segment, so a file with too many is not used for it.
#[test]
fn too_many_segments_are_named() {
    let mut contents = Contents { rows: vec![0], scopes: vec![0], ..Contents::default() }.sections();
    let mut many = vec![0];
    varint(&mut many, (1 << 16) + 1);
    many.resize(many.len() + 5 * ((1 << 16) + 1), 0);
    let segments = SectionId::SEGMENTS.0;
    let at = contents.iter().position(|(id, _)| *id > segments).unwrap();
    contents.insert(at, (segments, many));
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("libmany.so.fsym"), Contents::default().assemble(&contents)).unwrap();
    let symbolizer = Symbolizer::builder().search([folder.path()]).build().unwrap();
    let part = Mapping::FilePart { start: 0x1000, size: 0x1000, file_offset: 0 };
    let stack = one(Module::new("libmany.so").mapped(part), exact(0x1180));
    let Some(Unknown::NoMapping(text)) = symbolizer.symbolize(&stack)[0].unknown.clone() else { panic!() };
    assert!(
        text.contains("libmany.so.fsym has no sound section SEGMENTS, of at most 65536 segments"),
        "{text}"
    );
}

/// A file of a few KiB with a thousand functions at one address, whose one name has 64 KiB.
fn greedy() -> Vec<u8> {
    let contents = Contents {
        max_group: 1000,
        block_log2: 12,
        names: vec![b"".to_vec(), b"name".to_vec()],
        origins: vec![[1, 0, 0, 0]],
        functions: vec![[0; 5]; 1000],
        //   start body pad skip owner rows name
        pieces: vec![[0x1000, 16, 0, 0, 1, 0, 0]],
        groups: vec![[0]],
        members: (0..1000).map(|function| [function, 0, 0, 0]).collect(),
        rows: vec![0],
        scopes: vec![0],
        ..Contents::default()
    };
    let mut sections = contents.sections();
    let names = sections.iter_mut().find(|(id, _)| *id == SectionId::NAMES.0).unwrap();
    names.1 = foldsym_convert::internal::encode::names::encode(&[b"", &[b'n'; 65_535]]);
    contents.assemble(&sections)
}

#[test]
fn an_answer_of_more_text_than_the_file_may_have_is_damage() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("made.fsym"), greedy()).unwrap();
    let symbolizer = Symbolizer::builder().search([folder.path()]).build().unwrap();
    let place = ReportedAddress::Image { module: 0, address: 0x1000 };
    let stack = one(Module::new("made"), StackFrame { place, kind: AddressKind::Exact });
    let frames = symbolizer.symbolize(&stack);
    let Some(Unknown::Damaged(text)) = &frames[0].unknown else { panic!("{:?}", frames[0].unknown) };
    assert!(text.contains("damaged: section NAMES") && frames[0].functions.is_empty(), "{text}");
    assert!(frames[0].candidates.is_empty());
    let mut json = Vec::new();
    symbolizer.worker().write_json(&stack, &mut json);
    let json = String::from_utf8(json).unwrap();
    assert!(json.len() < 1000 && json.contains("damaged: section NAMES"), "{json:.1000}");
}

/// Reports of sanitizers and of perf give the trampoline of a signal handler as a call: the byte in front of it is in no function.
#[test]
fn a_handler_returns_to_the_trampoline_and_to_no_other_function() {
    let texts = ["", "__restore_rt", "f", "g"];
    let contents = Contents {
        block_log2: 2,
        names: texts.map(|name| name.as_bytes().to_vec()).to_vec(),
        origins: [2, 1, 3].map(|name| [name, 0, 0, 0]).to_vec(),
        functions: (0..3).map(|origin| [origin, 0, 0, 0, 0]).collect(),
        pieces: (0..3).map(|function| [0x1000 + 0x20 * function, 16, 0, 0, 2 * function, 0, 0]).collect(),
        rows: vec![0],
        scopes: vec![0],
        ..Contents::default()
    };
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("libc.fsym"), contents.file()).unwrap();
    let symbolizer = Symbolizer::builder().search([folder.path()]).build().unwrap();
    let found = |address, kind| {
        let place = ReportedAddress::Image { module: 0, address };
        let stack = one(Module::new("libc"), StackFrame { place, kind });
        let frames = symbolizer.symbolize(&stack);
        let mut json = Vec::new();
        symbolizer.worker().write_json(&stack, &mut json);
        let name = names(&frames).join(" ");
        assert!(String::from_utf8(json).unwrap().contains(&format!("\"FunctionName\":\"{name}\"")));
        (name, frames[0].image_address)
    };
    let trampoline = ("__restore_rt".to_owned(), Some(0x1020));
    assert_eq!(found(0x1020, AddressKind::Exact), trampoline);
    assert_eq!(found(0x1020, AddressKind::Return), trampoline);
    assert_eq!(found(0x101f, AddressKind::Adjusted), trampoline);
    assert_eq!(found(0x101f, AddressKind::Exact), (String::new(), Some(0x101f)));
    // A function without a symbol may end with a call in front of any other function.
    assert_eq!(found(0x1040, AddressKind::Return), (String::new(), Some(0x103f)));
    assert_eq!(found(0x1021, AddressKind::Return).0, "__restore_rt");
}

#[test]
fn a_store_is_asked_by_both_ids_and_again_after_a_while() {
    let folder = tempfile::tempdir().unwrap();
    let store = LocalStore::create(&folder.path().join("store")).unwrap();
    let builder = || Symbolizer::builder().store(Store::Local(store.clone()));
    let patient = builder().build().unwrap();
    let eager = builder().retry_after(Duration::ZERO).build().unwrap();
    let debug_id = DebugId::of_elf(&demo_id(), false);
    let stacks = [ModuleId::from(demo_id()), ModuleId::from(debug_id)]
        .map(|id| one(Module::new("demo").with_id(id).at(0x200000), exact(INLINED)));
    let found = |symbolizer: &Symbolizer, stack| !symbolizer.symbolize(stack)[0].functions.is_empty();
    for stack in &stacks {
        assert!(!found(&patient, stack) && !found(&eager, stack));
    }
    store.add(&demo(), &foldsym_store::EntryInfo::default()).unwrap();
    for stack in &stacks {
        assert!(!found(&patient, stack) && found(&eager, stack));
    }
    // What is open stays so when the store loses it.
    store.remove(&demo_id()).unwrap();
    assert!(found(&eager, &stacks[0]));
}

#[test]
fn threads_and_batches_do_not_change_answers() {
    let folder = tempfile::tempdir().unwrap();
    let mut modules = Vec::new();
    for number in 0..10u64 {
        let path = folder.path().join(format!("lib{number}.so.fsym"));
        fs::copy(demo(), &path).unwrap();
        modules.push(Module::new(&format!("lib{number}.so")).at(0x1_0000_0000 * (number + 1)));
    }
    let modules = Modules::new(modules);
    let stack = |number: u64| {
        let address = |n: u64| 0x1_0000_0000 * (n % 10 + 1) + 0x1280 + n * 37 % 0xd00;
        let callers = (1..20).map(|n| StackFrame::returns_to(address(number + n)));
        Stack::new(&modules, [exact(address(number))].into_iter().chain(callers).collect())
    };
    let stacks: Vec<Stack> = (0..300).map(stack).collect();
    // Fewer open files than modules.
    let build = |threads| {
        let builder = Symbolizer::builder().search([folder.path()]).threads(threads);
        builder.open_files(std::num::NonZeroUsize::new(3).unwrap()).build().unwrap()
    };
    let single = build(1);
    let expected: Vec<Vec<Frame>> = stacks.iter().map(|stack| single.symbolize(stack)).collect();
    assert!(expected.iter().all(|frames| frames.len() == 20));
    assert!(names(&expected.concat()).len() > 3000);
    for threads in [1, 4] {
        assert!(build(threads).symbolize_batch(&stacks) == expected, "{threads} threads");
    }
    fn is_shared<T: Send + Sync>() {}
    is_shared::<Symbolizer>();
}

#[cfg(feature = "convert")]
mod programs {
    use super::*;

    fn program() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testbins/built/demo.elf")
    }

    #[test]
    fn a_program_is_converted_once_and_kept() {
        let folder = tempfile::tempdir().unwrap();
        let cache = folder.path().join("cache");
        let build = || Symbolizer::builder().search([program()]).cache(&cache).build().unwrap();
        for module in [Module::new("demo.elf"), Module::new("other").with_id(demo_id())] {
            let frames = build().symbolize(&one(module.at(0x200000), exact(INLINED)));
            assert!(!frames[0].functions.is_empty(), "{frames:?}");
        }
        let store = LocalStore::open(&cache).unwrap();
        assert_eq!(store.list().unwrap().len(), 1);
        let report: serde_json::Value =
            serde_json::from_str(&store.report(&demo_id()).unwrap().unwrap()).unwrap();
        assert_eq!(report["name"], "demo.elf");
        // Without a cache too, and by the path of a debug file.
        let tree = folder.path().join("debug");
        let key = demo_id().to_string();
        fs::create_dir_all(tree.join(".build-id").join(&key[..2])).unwrap();
        fs::copy(program(), tree.join(".build-id").join(&key[..2]).join(format!("{}.debug", &key[2..])))
            .unwrap();
        let symbolizer = Symbolizer::builder().search([tree]).build().unwrap();
        let frames =
            symbolizer.symbolize(&one(Module::new("x").with_id(demo_id()).at(0x200000), exact(INLINED)));
        assert!(!frames[0].functions.is_empty(), "{frames:?}");
    }

    #[test]
    fn a_program_of_another_build_or_none_is_not_used() {
        let folder = tempfile::tempdir().unwrap();
        fs::copy(program(), folder.path().join("app")).unwrap();
        fs::write(folder.path().join("text"), "no program").unwrap();
        let symbolizer = Symbolizer::builder().search([folder.path()]).build().unwrap();
        let id = BuildId::parse("0123456789").unwrap();
        let why = |module: Module| {
            symbolizer.symbolize(&one(module.at(0x200000), exact(INLINED)))[0].unknown.clone()
        };
        let Some(Unknown::Absent(text)) = why(Module::new("app").with_id(id)) else { panic!() };
        assert!(text.contains("app: another build"), "{text}");
        assert!(matches!(why(Module::new("text")), Some(Unknown::Failed(_))));
    }
}

#[cfg(feature = "convert")]
/// The direct calls in code at `address`: where each returns to, and where it goes. Enough for what compilers make at `-O0`.
fn calls(code: &[u8], address: u64) -> Vec<(u64, u64)> {
    let call = |at: usize| {
        let [0xe8, a, b, c, d] = *code.get(at..at + 5)? else { return None };
        let returns_to = address + at as u64 + 5;
        Some((returns_to, returns_to.wrapping_add_signed(i32::from_le_bytes([a, b, c, d]).into())))
    };
    (0..code.len()).filter_map(call).collect()
}

/// The linker folded all instances of each template, and the compilers recorded no calls: lines of the source say who is called.
#[cfg(feature = "convert")]
#[test]
fn where_no_call_is_recorded_the_order_of_first_use_says_who_stands_first() {
    let built = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testbins");
    let source = fs::read_to_string(built.join("cases/first_use.cpp")).unwrap();
    for program in ["first_use.clang", "first_use.gcc"] {
        let program = built.join("built").join(program);
        let symbolizer = Symbolizer::builder().search([&program]).candidates(true).build().unwrap();
        let module = Module::new(program.file_name().unwrap().to_str().unwrap());
        let modules = Modules::new(vec![module.mapped(Mapping::Everywhere { bias: 0 })]);
        let bytes = fs::read(&program).unwrap();
        let mut seen = 0;
        // The program's only segment of code has the addresses of its offsets and 0x200000 or 0x201000 more.
        for bias in [0x200000, 0x201000] {
            for (returns_to, target) in calls(&bytes, bias) {
                let stack = vec![StackFrame::exact(target), StackFrame::returns_to(returns_to)];
                let frames = symbolizer.symbolize(&Stack::new(&modules, stack));
                let [callee, caller] = &frames[..] else { panic!("{frames:?}") };
                if callee.certainty != Some(Certainty::Ambiguous) || caller.functions.is_empty() {
                    continue;
                }
                let line = source.lines().nth(caller.functions[0].line as usize - 1).unwrap();
                let called = ["twice(", "next("].iter().find_map(|name| line.split(name).nth(1));
                let argument = called.and_then(|rest| rest.split('{').next()).unwrap();
                let name = &callee.functions[0].linkage_name;
                assert!(name.contains(argument), "{}: {line}: {name}", program.display());
                assert!(callee.candidates.len() > 1, "{callee:?}");
                seen += 1;
            }
        }
        assert_eq!(seen, 5, "{}", program.display());
    }
}

/// The linker folded two functions of one library, and another library calls both: the lines of the calls say which.
#[cfg(feature = "convert")]
#[test]
fn the_name_that_a_call_was_linked_to_says_whom_another_module_called() {
    let testbins = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testbins");
    let source = fs::read_to_string(testbins.join("cases/imports.c")).unwrap();
    let built = testbins.join("built");
    const CALLEE: u64 = 0x7f00_0000_0000;
    const CALLER: u64 = 0x7f10_0000_0000;
    for caller in ["caller", "caller-noplt", "caller-i386", "caller-aarch64", "caller-riscv64"] {
        let caller = format!("imports.{caller}");
        let search = [built.join("imports.callee"), built.join(&caller)];
        let symbolizer = Symbolizer::builder().search(search).candidates(true).build().unwrap();
        let modules = vec![Module::new("imports.callee").at(CALLEE), Module::new(caller.as_str()).at(CALLER)];
        let modules = Modules::new(modules);
        let ask = |frames: Vec<StackFrame>| symbolizer.symbolize(&Stack::new(&modules, frames));
        let is_folded = |address: &u64| ask(vec![exact(*address)])[0].candidates.len() == 2;
        let folded = (CALLEE..CALLEE + 0x2000).find(is_folded).unwrap();
        let mut lines = Vec::new();
        // Where the code of x86 and RISC-V is, and that of AArch64.
        for returns_to in (0..0x2000).chain(0x10000..0x11000).map(|offset| CALLER + offset) {
            let frames = ask(vec![exact(folded), StackFrame::returns_to(returns_to)]);
            let [callee, caller] = &frames[..] else { panic!("{frames:?}") };
            assert_eq!(callee.candidates.len(), 2, "nothing is ruled out");
            if callee.certainty == Some(Certainty::Ambiguous) {
                assert_eq!(callee.evidence, None);
                continue;
            }
            assert_eq!(callee.certainty, Some(Certainty::Likely));
            assert_eq!(callee.evidence, Some(foldsym_symbolize::Evidence::Relocation));
            let stack = Stack::new(
                &modules,
                vec![exact(folded), exact(folded + 1), StackFrame::returns_to(returns_to)],
            );
            let alone = symbolizer.symbolize(&stack);
            assert_eq!(symbolizer.symbolize_batch(&[stack]), [alone], "a batch says the same");
            let line = caller.functions[0].line as usize;
            let name = &callee.functions[0].linkage_name;
            let text = source.lines().nth(line - 1).unwrap();
            assert!(text.contains(&format!("{name}(")), "{caller:?}: {text}: {name}");
            lines.push(line);
        }
        assert_eq!(lines.len(), 2, "{caller}: {lines:?}");
        assert!(lines[0] != lines[1], "{caller}: {lines:?}");
    }
}

/// A pointer that the program may change does not show which function a call was linked to, nor does a register that two paths set.
#[cfg(feature = "convert")]
#[test]
fn a_call_through_a_pointer_or_of_one_of_two_functions_is_no_import() {
    const CALLEE: u64 = 0x7f00_0000_0000;
    const CALLER: u64 = 0x7f10_0000_0000;
    let built = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testbins/built");
    for caller in ["imports_pointers.aarch64", "imports_pointers.riscv64"] {
        let search = [built.join("imports.callee"), built.join(caller)];
        let symbolizer = Symbolizer::builder().search(search).candidates(true).build().unwrap();
        let modules = vec![Module::new("imports.callee").at(CALLEE), Module::new(caller).at(CALLER)];
        let modules = Modules::new(modules);
        let ask = |frames: Vec<StackFrame>| symbolizer.symbolize(&Stack::new(&modules, frames));
        let is_folded = |address: &u64| ask(vec![exact(*address)])[0].candidates.len() == 2;
        let folded = (CALLEE..CALLEE + 0x2000).find(is_folded).unwrap();
        let mut named = 0;
        // Where the code of RISC-V is, and that of AArch64.
        for returns_to in (0x1000..0x2000).chain(0x10000..0x11000).map(|offset| CALLER + offset) {
            let frames = ask(vec![exact(folded), StackFrame::returns_to(returns_to)]);
            assert_eq!(
                frames[0].certainty,
                Some(Certainty::Ambiguous),
                "{caller}: {:x}",
                returns_to - CALLER
            );
            named += u32::from(frames[1].functions.first().is_some_and(|frame| frame.line > 0));
        }
        assert!(named > 20, "{caller}");
    }
}

/// What a file says of other modules is an extra: where it is damaged, both frames keep their answers.
#[cfg(feature = "convert")]
#[test]
fn damaged_imports_of_a_caller_tell_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let built = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testbins/built");
    let converted = |name: &str| {
        let path = folder.path().join(format!("{name}.fsym"));
        let mut options = foldsym_convert::Options::default();
        (options.threads, options.imports) = (1, true);
        foldsym_convert::convert(&built.join(name), &path, &options, &foldsym_convert::NoProgress).unwrap();
        path
    };
    let (callee, caller) = (converted("imports.callee"), converted("imports.caller"));
    let open = |path: &Path| foldsym_store::SymbolMap::open(path).unwrap();
    let map = open(&caller);
    let (returns_to, _) = map.file().records().imports().unwrap().iter().next().unwrap().unwrap();
    let imports = foldsym_format::SectionId::IMPORTS;
    let section = map.file().records().sections().find(|section| section.id == imports).unwrap();
    let place = section.offset as usize..(section.offset + section.len) as usize;
    drop(map);
    let ask = || {
        let modules = vec![
            Module::new("callee").with_file(open(&callee).into()).at(0x7f00_0000_0000),
            Module::new("caller").with_file(open(&caller).into()).at(0x7f10_0000_0000),
        ];
        let modules = Modules::new(modules);
        let symbolizer = Symbolizer::builder().candidates(true).build().unwrap();
        let ask = |frames: Vec<StackFrame>| symbolizer.symbolize(&Stack::new(&modules, frames));
        let is_folded = |address: &u64| ask(vec![exact(*address)])[0].candidates.len() == 2;
        let folded = (0x7f00_0000_0000..0x7f00_0000_2000).find(is_folded).unwrap();
        ask(vec![exact(folded), StackFrame::returns_to(0x7f10_0000_0000 + returns_to.0)])
    };
    let whole = ask();
    assert_eq!(whole[0].certainty, Some(Certainty::Likely));
    let mut bytes = fs::read(&caller).unwrap();
    bytes[place].fill(0xff);
    fs::write(&caller, bytes).unwrap();
    let damaged = ask();
    assert_eq!(damaged[0].certainty, Some(Certainty::Ambiguous));
    assert_eq!(damaged[0].unknown, None);
    assert!(damaged[1].functions[0].line > 0, "the caller keeps its line");
    assert_eq!(damaged[1], whole[1]);
}
