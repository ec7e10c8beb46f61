//! Small programs whose bytes, or whose limits, are worked out by hand.

use foldsym_convert::internal::model::*;
use foldsym_convert::internal::write_whole;
use foldsym_format::{Header, SectionId};
use foldsym_testkit::models::made::image;

use super::*;

/// `main` (line 10 of `a.c`) with `f` (line 3) inlined at line 12; rows at 0 (line 11), 2 (`f`, line 4) and
/// 5 (line 13).
fn main_with_f() -> Program<'static> {
    let origin = |name, line| Origin { name: NameId::new(name), file: Some(FileId::new(0)), line };
    let row = |offset, scope, line| Row { offset, scope, line, file: 0, column: 0 };
    let unit = UnitCode {
        scopes: vec![Scope { parent: 0, edge: LocalEdge(0) }].into(),
        rows: vec![row(0, 0, 11), row(2, 1, 4), row(5, 0, 13)].into(),
        functions: vec![UnitFunction {
            die: DieOffset(0),
            origin: LocalOrigin(0),
            instance: Instance::NAMED,
            how: How::LiveRange,
            external: true,
            pieces: 0..0,
            scopes: 0..1,
            lost: Lost::default(),
            calls: Calls::default(),
        }]
        .into(),
        ..UnitCode::default()
    };
    let function = Function {
        origin: OriginId(0),
        symbol: None,
        primary: None,
        aliases: Default::default(),
        source: Some(Source { unit: UnitId::new(0), function: LocalFunc(0) }),
        how: How::LiveRange,
        partial: false,
        reason: None,
    };
    let piece = Piece {
        start: ImageAddr(0x1000),
        body: 8,
        pad: 0,
        owner: Owner::Function(FuncId(0)),
        rows: Some(Rows { unit: UnitId::new(0), range: RowRange { start: 0, len: 3 }, skip: 0 }),
        skip: 0,
        symbol: None,
    };
    let file = Some(FileId::new(0));
    Program {
        names: vec![b"main".into(), b"f".into()],
        files: vec![b"a.c".to_vec()],
        origins: vec![origin(0, 10), origin(1, 3)],
        edges: vec![Edge { caller: OriginId(0), callee: OriginId(1), file, line: 12, column: 0 }],
        code: vec![unit],
        maps: vec![UnitMap {
            files: vec![FileId::new(0)],
            origins: vec![OriginId(0), OriginId(1)].into(),
            edges: vec![EdgeId(0)].into(),
        }],
        functions: vec![function],
        pieces: vec![piece],
        groups: Vec::new(),
        ..Program::default()
    }
}

fn section(encoded: &Encoded, id: SectionId) -> &[u8] {
    &encoded.sections.iter().find(|section| section.id == id).unwrap().bytes
}

fn encoded(program: &Program<'_>) -> Encoded {
    encode(program, &Keys::default(), &image(), &EncodeOptions::default()).unwrap()
}

#[test]
fn the_bytes_of_a_small_program() {
    let encoded = encoded(&main_with_f());
    // Both later rows have another scope than the one before: two set bits. The offsets are 2 and 5. One low bit of each and
    // two steps above take less than none and five steps, or two each and one: the low bits are 0 and 1, the high parts 1
    // and 2. Between those stand the lines, which are 1, 1 and 3 relative to their origins, and counted from 1 with 0 left
    // free are 1, 1, 3; and the scopes 0, 1, 0.
    let packed: u32 = 0b11 | 0b10 << 2 | (0b01 | 0b01 << 2 | 0b11 << 4) << 4 | 0b010 << 10 | 0b1010 << 13;
    let (count, line_base) = (3 << 1, 1u32 << 1);
    let mut rows = vec![0, count];
    rows.extend((1 | 1 << 4 | 2 << 8 | line_base << 17).to_le_bytes());
    rows.extend(&packed.to_le_bytes()[..3]);
    rows.extend([0; 8]);
    assert_eq!(section(&encoded, SectionId::ROWS), rows);
    // One node, whose parent is the function and whose edge is the first: both need no bit.
    assert_eq!(section(&encoded, SectionId::SCOPES), [0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
}

/// The lines of a block may be nearly 2^33 from each other, relative to the declarations of their functions.
#[test]
fn lines_are_kept_however_far_apart_they_are() {
    let mut program = main_with_f();
    program.origins[0].line = u32::MAX;
    program.origins[1].line = 0;
    let rows = program.code[0].rows.own_mut();
    (rows[0].line, rows[1].line, rows[2].line) = (1, u32::MAX, u32::MAX - 1);
    check_answers(&(program, Keys::default()), false);
}

/// As many such lines as a block holds, of which one alone needs no high part.
#[test]
fn lines_are_kept_where_nearly_all_of_a_block_are_far() {
    for count in [2, 30, 31, 32] {
        let mut program = main_with_f();
        program.origins[0].line = u32::MAX;
        program.origins[1].line = 0;
        program.pieces[0].body = count;
        program.pieces[0].rows.as_mut().unwrap().range.len = count;
        let row =
            |offset: u32| Row { offset, scope: offset.min(1), line: u32::MAX - offset, file: 0, column: 0 };
        program.code[0].rows = (0..count).map(row).collect::<Vec<_>>().into();
        program.code[0].rows.own_mut()[0].line = 1;
        check_answers(&(program, Keys::default()), false);
    }
}

/// In one block, and in blocks of which some begin there.
#[test]
fn rows_are_kept_however_far_from_their_start_they_are() {
    let far = [1 << 31, 1 << 31 | 1, u32::MAX - 2, u32::MAX - 1];
    for near in [3, 29, 40] {
        let offsets: Vec<u32> = (0..near).chain(far).collect();
        let row = |&offset: &u32| Row { offset, scope: 0, line: 1 + offset / 2, file: 0, column: 0 };
        let mut program = main_with_f();
        program.pieces[0].body = u32::MAX;
        program.pieces[0].rows.as_mut().unwrap().range.len = offsets.len() as u32;
        program.code[0].rows = offsets.iter().map(row).collect::<Vec<_>>().into();
        let bytes = encoded(&program).to_bytes();
        let (slow, file) = (ReadBack::open(&bytes), SymbolFile::open(&bytes).unwrap());
        file.verify().unwrap();
        let nexts = offsets.iter().copied().skip(1).chain([u32::MAX]);
        for (at, next) in offsets.iter().copied().zip(nexts) {
            for address in [at, next - 1].map(|offset| 0x1000 + u64::from(offset)) {
                let ModelAnswer::Function(frames, ..) = look_up(&file, address) else {
                    panic!("{address:#x}")
                };
                assert_eq!(frames[0].line, 1 + at / 2, "at {address:#x}");
                assert_eq!(
                    slow.answer(address),
                    ModelAnswer::Function(frames, Vec::new(), None),
                    "at {address:#x}"
                );
            }
        }
    }
}

#[test]
fn broken_trees_are_counted() {
    let mut program = main_with_f();
    program.code[0].rows.own_mut()[0].scope = 7;
    program.edges[0].caller = OriginId(1);
    let left_out = LeftOut { rows_stray: 1, scopes_foreign: 1, ..LeftOut::default() };
    assert_eq!(encoded(&program).stats.left_out, left_out);
}

#[test]
fn code_below_the_image_base_moves_the_base() {
    let image = ImageInfo { image_base: 0x2000, ..image() };
    let bytes =
        encode(&main_with_f(), &Keys::default(), &image, &EncodeOptions::default()).unwrap().to_bytes();
    assert_eq!(Header::parse(&bytes).unwrap().image_base, 0x1000);
}

#[test]
fn tables_below_the_image_base_are_left_out() {
    let key = |point| VtableKey {
        point: ImageAddr(point),
        function: FuncId(0),
        slot: None,
        doubtful: false,
        guessed: false,
    };
    let keys = Keys { vtables: vec![key(0x10), key(0x2000)], ..Keys::default() };
    let image = ImageInfo { image_base: 0x1000, ..image() };
    let encoded = encode(&main_with_f(), &keys, &image, &EncodeOptions::default()).unwrap();
    assert_eq!(encoded.stats.left_out, LeftOut { tables_outside: 1, ..LeftOut::default() });
    let bytes = encoded.to_bytes();
    let file = foldsym_lookup::SymbolFile::open(&bytes).unwrap();
    file.verify().unwrap();
    let points: Vec<u64> = file.records().methods().map(|method| method.unwrap().point.0).collect();
    assert_eq!(points, [0x2000]);
}

#[test]
fn a_guess_is_marked_in_the_file() {
    let key = |point, guessed| VtableKey {
        point: ImageAddr(point),
        function: FuncId(0),
        slot: Some(1),
        doubtful: true,
        guessed,
    };
    let keys = Keys { vtables: vec![key(0x2000, false), key(0x3000, true)], ..Keys::default() };
    let bytes = encode(&main_with_f(), &keys, &image(), &EncodeOptions::default()).unwrap().to_bytes();
    let file = foldsym_lookup::SymbolFile::open(&bytes).unwrap();
    file.verify().unwrap();
    let methods: Vec<_> = file.records().methods().map(|method| method.unwrap()).collect();
    let marks: Vec<(bool, bool)> = methods.iter().map(|method| (method.doubtful, method.guessed)).collect();
    assert_eq!(marks, [(true, false), (true, true)]);
}

#[test]
fn addresses_too_far_apart_are_an_error() {
    let mut program = main_with_f();
    program.pieces.push(Piece { start: ImageAddr(1 << 50), ..program.pieces[0] });
    let error = encode(&program, &Keys::default(), &image(), &EncodeOptions::default()).unwrap_err();
    assert!(matches!(error, EncodeError::AddressSpan { lowest: 0x1000, .. }), "{error}");
    // Basic blocks where no function is known.
    let mut program = main_with_f();
    program.blocks.blocks.push(Block { start: ImageAddr(1 << 50), size: 1, id: 0, flags: 0 });
    let error = encode(&program, &Keys::default(), &image(), &EncodeOptions::default()).unwrap_err();
    assert!(matches!(error, EncodeError::AddressSpan { lowest: 0x1000, .. }), "{error}");
}

/// Code without a function may have call frame information, below the image base and far from all functions.
#[test]
fn rows_of_call_frame_information_count_for_the_image_base() {
    let mut program = main_with_f();
    let row = |start, rule| UnwindRow { start, rule, first: rule > 0 };
    let rule = UnwindRule { cfa: UnwindCfa::Register { register: 7, offset: 8 }, saves: 0 };
    program.unwind = Some(UnwindRows {
        rows: vec![row(0x100, 1), row(0x180, 0), row(0x1000, 1), row(0x1010, 0)],
        rules: vec![rule],
        // No registers, and that of the return address.
        saves: vec![vec![0, 16]],
        ..UnwindRows::default()
    });
    let bytes = encode(&program, &Keys::default(), &image(), &EncodeOptions::default()).unwrap().to_bytes();
    let file = foldsym_lookup::SymbolFile::open(&bytes).unwrap();
    file.verify().unwrap();
    assert_eq!(file.image_base(), foldsym_lookup::ImageAddr(0x100));
    program.unwind.as_mut().unwrap().rows.extend([row(1 << 50, 1), row((1 << 50) + 1, 0)]);
    let error = encode(&program, &Keys::default(), &image(), &EncodeOptions::default()).unwrap_err();
    assert!(matches!(error, EncodeError::AddressSpan { lowest: 0x100, .. }), "{error}");
}

#[test]
fn the_index_finds_every_name_and_its_demangled_form() {
    let mut program = main_with_f();
    // Two more functions: one whose symbol is demangled to the name of the first, one of that name.
    let mut named = |name: &'static [u8], symbol: Option<&'static [u8]>| {
        let mut id = |name: &'static [u8]| {
            program.names.push(name.into());
            NameId::new(program.names.len() as u32 - 1)
        };
        let (name, symbol) = (id(name), symbol.map(&mut id));
        program.origins.push(Origin { name, file: None, line: 0 });
        let origin = OriginId(program.origins.len() as u32 - 1);
        program.functions.push(Function { origin, symbol, source: None, ..program.functions[0].clone() });
        let owner = Owner::Function(FuncId(program.functions.len() as u32 - 1));
        let start = ImageAddr(0x1000 + 0x10 * program.pieces.len() as u64);
        program.pieces.push(Piece { start, owner, rows: None, ..program.pieces[0] });
    };
    named(b"g", Some(b"_Z4mainv"));
    named(b"", None);
    let demangle = |name: &[u8]| (name == b"_Z4mainv").then(|| "main".to_owned());
    let options = EncodeOptions { name_index: true, demangle: Some(demangle), ..EncodeOptions::default() };
    let encoded = encode(&program, &Keys::default(), &image(), &options).unwrap();
    let bytes = section(&encoded, SectionId::NAME_INDEX);
    let map_end = 8 + u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    let map = fst::Map::new(&bytes[8..map_end]).unwrap();
    // `main` is function 0 and the demangled name of 1; `f` has no code of its own.
    let keys = map.stream().into_str_vec().unwrap();
    let expected = [("_Z4mainv", 1 << 1), ("g", 1 << 1), ("main", 1)];
    assert_eq!(keys, expected.map(|(key, value)| (key.to_owned(), value)));
    assert_eq!(bytes[map_end..], [2, 0, 1]);
}

#[test]
fn a_file_replaces_another_and_leaves_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("main.fsym");
    let encoded = encoded(&main_with_f());
    std::fs::write(&path, "before").unwrap();
    write_whole(&path, |file| encoded.write_to(file)).unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), encoded.to_bytes());
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1);
    let error =
        write_whole(&folder.path().join("no/such/folder"), |file| encoded.write_to(file)).unwrap_err();
    // The name of the temporary file says nothing to anybody.
    assert_eq!(error.kind(), std::io::ErrorKind::NotFound);
    assert!(!error.to_string().contains(".fsym-"), "{error}");
}

/// What names the callee of a call into folded code is the evidence of the answer, also where the answer is in doubt.
#[test]
fn a_call_says_what_names_its_callee() {
    use foldsym_lookup::{
        Certainty, Evidence, ImageAddr as Addr, Resolved, ReturnAddr, StackAddr, SymbolFile,
    };
    let member = |function, how| Member { function: FuncId(function), how, rows: None, symbol: None };
    for (how, expected) in [
        (CallHow::CallSite, (Certainty::Exact, Evidence::DirectCall)),
        (CallHow::Relocation, (Certainty::Exact, Evidence::Relocation)),
        (CallHow::Doubtful, (Certainty::Likely, Evidence::DirectCall)),
        (CallHow::DoubtfulRelocation, (Certainty::Likely, Evidence::Relocation)),
    ] {
        let mut program = main_with_f();
        let folded =
            |how| Function { origin: OriginId(1), source: None, how, ..program.functions[0].clone() };
        let others = [folded(How::Symbol), folded(How::SymbolOnly), folded(How::LiveRange)];
        program.functions.extend(others);
        let members = vec![member(0, How::LiveRange), member(1, How::Symbol), member(2, How::SymbolOnly)];
        program.groups = vec![Group { members }];
        program.pieces[0].owner = Owner::Group(GroupId(0));
        let (start, owner) = (ImageAddr(0x2000), Owner::Function(FuncId(3)));
        program.pieces.push(Piece { start, owner, rows: None, ..program.pieces[0] });
        let (return_addr, callee) = (ImageAddr(0x2004), FuncId(1));
        let calls = vec![CallKey { return_addr, caller: None, callee, how }];
        let keys = Keys { calls, ..Keys::default() };
        let bytes = encode(&program, &keys, &image(), &EncodeOptions::default()).unwrap().to_bytes();
        let file = SymbolFile::open(&bytes).unwrap();
        file.verify().unwrap();
        let stack = [StackAddr::Exact(Addr(0x1000)), StackAddr::Return(ReturnAddr(0x2004))];
        let mut resolved = [Resolved::NONE; 2];
        file.resolve_stack(&stack, &mut resolved).unwrap();
        let [frame, _] = resolved;
        assert_eq!((frame.certainty, frame.evidence), (Some(expected.0), Some(expected.1)), "{how:?}");
    }
}
