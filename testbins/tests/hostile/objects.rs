//! Programs whose descriptions of where methods have their object are damaged, wrong, or contradictory: the object is found only if all
//! possible functions describe the same place.

use foldsym_convert::report::{Cap, Kind};
use foldsym_expr::Problem;
use foldsym_lookup::locations::LocationKind;
use foldsym_lookup::{FunctionId, ImageAddr, Resolved, ReturnAddr, SectionId, StackAddr, SymbolFile};
use foldsym_stopped::{Doubt, MAX_ASKED, Machine, NoObject, Object, object};
use gimli::{
    DW_AT_artificial, DW_AT_call_all_calls, DW_AT_call_origin, DW_AT_call_return_pc, DW_AT_decl_file,
    DW_AT_decl_line, DW_AT_external, DW_AT_frame_base, DW_AT_high_pc, DW_AT_linkage_name, DW_AT_location,
    DW_AT_loclists_base, DW_AT_low_pc, DW_AT_name, DW_AT_object_pointer, DW_TAG_call_site,
    DW_TAG_formal_parameter, DW_TAG_subprogram, DwAt,
};

use crate::build::{CODE, Info, Value, elf, line_program, sequence};
use crate::harness::{Bench, Kept};
use Value::{Address, Expression, Flag, Label, ListIndex, Number, Offset, Text};

/// In the register that a first argument of x86-64 comes in.
const RDI: &[u8] = &[0x55];
const RSI: &[u8] = &[0x54];
/// The code that calls; its function says that all its calls are described.
const CALLER: u64 = CODE + 0x30;

/// Registers hold their numbers times 0x100, memory its own addresses, but for one place that is not given.
struct Numbers;

const ABSENT: u64 = 0x400;

impl Machine for Numbers {
    fn register(&self, number: u64, _: u64, bytes: &mut [u8]) -> Option<()> {
        bytes.copy_from_slice(&(number * 0x100).to_le_bytes()[..bytes.len()]);
        Some(())
    }
    fn memory(&self, _: u64, address: u64, bytes: &mut [u8]) -> Option<()> {
        bytes.copy_from_slice(&address.to_le_bytes()[..bytes.len()]);
        (address != ABSENT).then_some(())
    }
}

/// Its callee is unknown.
const CALL: (gimli::DwTag, &[(DwAt, Value<'_>)]) =
    (DW_TAG_call_site, &[(DW_AT_call_return_pc, Address(CALLER + 4))]);

/// Two methods with one code, with their locations (`None`: the parameter has none), and a caller; and `.debug_loc`.
fn program(methods: &[Option<Value<'static>>], lists: &[u8]) -> Vec<u8> {
    let info = Info::new(4, &[]);
    described(info, methods, &[CALL], &[(".debug_line", rows()), (".debug_loc", lists.to_vec())])
}

/// As [`program`], in this unit, with these entries in the caller and these sections.
fn described(
    mut info: Info,
    methods: &[Option<Value<'static>>],
    calls: &[(gimli::DwTag, &[(gimli::DwAt, Value<'_>)])],
    others: &[(&'static str, Vec<u8>)],
) -> Vec<u8> {
    for (index, location) in methods.iter().enumerate() {
        let (name, this) = (format!("_ZN1{}1fEv", index + 1000), format!("this{index}"));
        let attributes = [
            (DW_AT_linkage_name, Text(&name)),
            (DW_AT_external, Flag),
            (DW_AT_decl_file, Number(1)),
            (DW_AT_decl_line, Number(10)),
            (DW_AT_low_pc, Address(CODE)),
            (DW_AT_high_pc, Number(0x10)),
            (DW_AT_frame_base, Expression(&[0x57])),
            (DW_AT_object_pointer, Label(&this)),
        ];
        info.open(DW_TAG_subprogram, &attributes).label(&this);
        let mut parameter = vec![(DW_AT_name, Text("this")), (DW_AT_artificial, Flag)];
        parameter.extend(location.map(|location| (DW_AT_location, location)));
        info.open(DW_TAG_formal_parameter, &parameter).close().close();
    }
    let caller = [
        (DW_AT_name, Text("caller")),
        (DW_AT_external, Flag),
        (DW_AT_decl_file, Number(1)),
        (DW_AT_decl_line, Number(20)),
        (DW_AT_low_pc, Address(CALLER)),
        (DW_AT_high_pc, Number(0x10)),
        (DW_AT_call_all_calls, Flag),
    ];
    info.open(DW_TAG_subprogram, &caller);
    for (tag, attributes) in calls {
        info.open(*tag, attributes).close();
    }
    info.close();
    let mut sections = info.sections();
    sections.extend_from_slice(others);
    elf(&sections, &[])
}

/// Bytes before the offsets of a `.debug_loclists`, which the offsets of its lists count from.
const LISTS_BASE: u64 = 12;

/// A unit of DWARF 5 with two methods that have the locations, and two lists by index.
fn indexed(methods: &[Option<Value<'static>>], line: Vec<u8>, lists: [&[u8]; 2]) -> Kept {
    let info = Info::new(5, &[(DW_AT_loclists_base, Offset(LISTS_BASE))]);
    let mut out = vec![5, 0, 8, 0, 2, 0, 0, 0, 8, 0, 0, 0];
    out.extend((8 + lists[0].len() as u32).to_le_bytes());
    out.extend(lists.concat());
    let out = [&(out.len() as u32).to_le_bytes()[..], &out].concat();
    Bench::new().kept(&described(info, methods, &[CALL], &[(".debug_line", line), (".debug_loclists", out)]))
}

fn rows() -> Vec<u8> {
    line_program(&sequence(&[(CODE, 10), (CALLER, 20)], CODE + 0x40))
}

/// `DW_LLE_start_length` of the methods' code, and the end of the list.
fn whole(expression: &[u8]) -> Vec<u8> {
    let len = [0x10, expression.len() as u8];
    [&[8][..], &CODE.to_le_bytes(), &len, expression, &[0]].concat()
}

fn kept(methods: &[Option<Value<'static>>], lists: &[u8]) -> Kept {
    Bench::new().kept(&program(methods, lists))
}

/// The object of the methods' frame, stopped at an offset in their code.
fn found(kept: &Kept, offset: u64) -> Result<Object, NoObject> {
    let file = SymbolFile::open(&kept.bytes).unwrap();
    let stack = [StackAddr::Exact(ImageAddr(CODE + offset)), StackAddr::Return(ReturnAddr(CALLER + 4))];
    let mut resolved = [Resolved::NONE; 2];
    file.resolve_stack(&stack, &mut resolved).unwrap();
    object(&file, (&stack, &resolved), 0, &Numbers, &mut |_| Ok(false)).unwrap()
}

/// An entry of `.debug_loc`, of offsets from the unit's start, which is 0 here.
fn entry(start: u64, end: u64, expression: &[u8]) -> Vec<u8> {
    let len = (expression.len() as u16).to_le_bytes();
    [&start.to_le_bytes()[..], &end.to_le_bytes(), &len, expression].concat()
}

const END: [u8; 16] = [0; 16];

#[test]
fn all_must_say_the_same() {
    let same = kept(&[Some(Expression(RDI)), Some(Expression(RDI))], &[]);
    assert_eq!(found(&same, 1), Ok(Object { address: 0x500, vptr: 0x500, doubt: None }));
    assert_eq!((same.report.stats.objects.kept, same.report.stats.objects.lost), (2, 0));
    let differs = kept(&[Some(Expression(RDI)), Some(Expression(RSI))], &[]);
    assert!(matches!(found(&differs, 1), Err(NoObject::Differs(_))));
    let silent = kept(&[Some(Expression(RDI)), None], &[]);
    assert!(matches!(found(&silent, 1), Err(NoObject::NotDescribed(_))));
    assert_eq!((silent.report.stats.objects.kept, silent.report.stats.objects.lost), (1, 1));
    // Two ways to say one thing: a register, and a value that is the register's.
    let value = kept(
        &[Some(Expression(RDI)), Some(Offset(0))],
        &[&entry(CODE, CODE + 8, &[0x75, 0, 0x9f])[..], &END].concat(),
    );
    assert_eq!(found(&value, 1).map(|object| object.address), Ok(0x500));
    assert!(matches!(found(&value, 8), Err(NoObject::NotDescribed(_))));
    let absent = kept(&[Some(Expression(RSI)), Some(Expression(RSI))], &[]);
    assert_eq!(found(&absent, 1), Err(NoObject::NoMemory(ABSENT, 8)));
}

#[test]
fn one_place_in_memory_for_all_addresses_is_none() {
    // DW_OP_fbreg -8: the location in unoptimised code. It applies also to the first instructions, where the frame is still the caller's.
    let memory = || Some(Expression(&[0x91, 0x78]));
    assert!(matches!(found(&kept(&[memory(), memory()], &[]), 1), Err(NoObject::Unbounded(_))));
    let list = [&entry(CODE + 4, CODE + 0x10, &[0x91, 0x78])[..], &END].concat();
    let bounded = kept(&[Some(Offset(0)), Some(Offset(0))], &list);
    assert_eq!(found(&bounded, 4).map(|object| object.address), Ok(0x700 - 8));
    assert!(matches!(found(&bounded, 3), Err(NoObject::NotDescribed(_))));
}

/// A list of frame bases that is damaged is not a frame base that is missing.
#[test]
fn a_damaged_frame_base_is_an_error() {
    let list = [&entry(CODE + 4, CODE + 0x10, &[0x91, 0x78])[..], &END].concat();
    let sound = kept(&[Some(Offset(0)), Some(Offset(0))], &list).bytes;
    let mut sections = SymbolFile::open(&sound).unwrap().records().sections();
    let section = sections.find(|section| section.id == SectionId::LOCATIONS).unwrap();
    let pc = ImageAddr(CODE + 4);
    let stack = [StackAddr::Exact(pc), StackAddr::Return(ReturnAddr(CALLER + 4))];
    let mut damaged = 0;
    for at in section.offset..section.offset + section.len {
        for value in [0x7f, 0xff] {
            let mut bytes = sound.clone();
            bytes[at as usize] = value;
            let Ok(file) = SymbolFile::open(&bytes) else { continue };
            let Ok(Some(locations)) = file.locations() else { continue };
            let mut resolved = [Resolved::NONE; 2];
            file.resolve_stack(&stack, &mut resolved).unwrap();
            let group = file.records().group(resolved[0].group.unwrap()).unwrap();
            let function = file.records().member(group, 0).unwrap().function;
            let is_sound = |kind| match locations.of(function, kind) {
                Ok(Some((list, _))) => list.at(pc).is_ok_and(|expression| expression.is_some()),
                _ => false,
            };
            let is_damaged = match locations.of(function, LocationKind::FrameBase) {
                Ok(Some((list, _))) => list.at(pc).is_err(),
                other => other.is_err(),
            };
            if is_damaged && is_sound(LocationKind::Object) {
                let found = object(&file, (&stack, &resolved), 0, &Numbers, &mut |_| Ok(false));
                assert!(found.is_err(), "{at:#x}: {value:#x}: {found:?}");
                damaged += 1;
            }
        }
    }
    assert!(damaged > 0);
}

#[test]
fn expressions_that_do_not_end_or_cannot_be_read() {
    // DW_OP_skip to itself; DW_OP_bra to itself on a stack that never runs out; a lone operand; an undefined operation.
    let bad: [(&[u8], Problem); 4] = [
        (&[0x2f, 0xfd, 0xff], Problem::TooManySteps),
        (&[0x31, 0x28, 0xfc, 0xff], Problem::TooManySteps),
        (&[0x96, 0x22], Problem::StackEmpty),
        (&[0xff], Problem::Opaque { op: 0xff, offset: 0 }),
    ];
    for (expression, problem) in bad {
        let kept = kept(&[Some(Expression(RDI)), Some(Expression(expression))], &[]);
        let found = found(&kept, 1);
        assert!(
            matches!(found, Err(NoObject::Unknown(_, found)) if found == problem),
            "{expression:x?}: {found:?}"
        );
    }
}

#[test]
fn lists_that_leave_their_section() {
    let sound = [&entry(CODE, CODE + 8, RDI)[..], &END].concat();
    // Past the end; cut in an entry; an expression longer than the rest; an end before the start.
    let mut long = sound.clone();
    long[16..18].copy_from_slice(&0xffff_u16.to_le_bytes());
    let lists = [
        (sound.as_slice(), 1 << 20, 1),
        (&sound[..12], 0, 1),
        (&long[..], 0, 1),
        (&[&entry(CODE + 8, CODE, RDI)[..], &END].concat(), 0, 0),
    ];
    for (list, offset, bad) in lists {
        let kept = kept(&[Some(Expression(RDI)), Some(Offset(offset))], list);
        assert_eq!(kept.report.diagnostics.count(Kind::BadExpression), bad, "{offset:#x}: {list:x?}");
        assert!(matches!(found(&kept, 1), Err(NoObject::NotDescribed(_))));
        assert_eq!((kept.report.stats.objects.kept, kept.report.stats.objects.lost), (1, 1));
    }
    // A list without an end mark, at the end of its section, has the entries that are there.
    let kept = kept(&[Some(Expression(RDI)), Some(Offset(0))], &sound[..19]);
    assert_eq!(found(&kept, 1).map(|object| object.address), Ok(0x500));
}

#[test]
fn an_object_pointer_that_leads_nowhere() {
    let bytes = program(&[Some(Expression(RDI)), Some(Expression(RDI))], &[]);
    let sound = Bench::new().kept(&bytes);
    assert!(found(&sound, 1).is_ok());
    // The reference of the first method, after its frame base.
    let at = bytes.windows(2).position(|pair| pair == [1, 0x57]).unwrap() + 2;
    for target in [0u32, 3, 0xffff, u32::MAX] {
        let mut changed = bytes.clone();
        changed[at..at + 4].copy_from_slice(&target.to_le_bytes());
        let kept = Bench::new().kept(&changed);
        assert!(matches!(found(&kept, 1), Err(NoObject::NotDescribed(_))), "{target:#x}");
        assert_eq!((kept.report.stats.objects.kept, kept.report.stats.objects.lost), (1, 1), "{target:#x}");
        assert_eq!(kept.report.diagnostics.count(Kind::BadExpression), 1, "{target:#x}");
    }
}

#[test]
fn an_object_pointer_that_leads_nowhere_leaves_the_lanes() {
    // Each attribute of the lanes by its codes of both generations, and the reference to no entry.
    let mut info = Info::new(4, &[]);
    let method = |name| {
        [
            (DW_AT_linkage_name, Text(name)),
            (DW_AT_low_pc, Address(CODE)),
            (DW_AT_high_pc, Number(0x10)),
            (DW_AT_frame_base, Expression(&[0x57])),
            (DwAt(0x3e0a), Number(8)),
            (DwAt(0x3e11), Number(8)),
            (DwAt(0x3e08), Expression(RDI)),
            (DwAt(0x3e0b), Expression(RDI)),
            (DwAt(0x3e12), Expression(RDI)),
            (DW_AT_object_pointer, Label("nothing")),
        ]
    };
    info.open(DW_TAG_subprogram, &method("_ZN1a1fEv")).label("nothing").close();
    info.open(DW_TAG_subprogram, &method("_ZN1b1fEv")).close();
    let mut sections = info.sections();
    sections.push((".debug_line", rows()));
    // Conversion verifies its output: also that there is one row for each function and kind.
    let kept = Bench::new().kept(&elf(&sections, &[]));
    assert_eq!((kept.report.stats.objects.kept, kept.report.stats.objects.lost), (0, 2));
    assert_eq!(kept.report.diagnostics.count(Kind::BadExpression), 2);
    let file = SymbolFile::open(&kept.bytes).unwrap();
    let locations = file.locations().unwrap().unwrap();
    // They follow the name of their folded code.
    for function in [1, 2].map(FunctionId) {
        assert_eq!(locations.lanes(function).unwrap(), Some(8));
        for kind in [LocationKind::ActiveLane, LocationKind::LanePc, LocationKind::FrameBase] {
            assert!(locations.of(function, kind).unwrap().is_some(), "{kind:?}");
        }
    }
}

#[test]
fn an_object_pointer_to_an_entry_of_many_attributes() {
    for (count, lost) in [(200, 0), (300, 2)] {
        let mut info = Info::new(4, &[]);
        let method = |name| {
            [
                (DW_AT_linkage_name, Text(name)),
                (DW_AT_low_pc, Address(CODE)),
                (DW_AT_high_pc, Number(0x10)),
                (DW_AT_object_pointer, Label("this")),
            ]
        };
        info.open(DW_TAG_subprogram, &method("_ZN1a1fEv")).close();
        info.open(DW_TAG_subprogram, &method("_ZN1b1fEv")).close();
        // After the method: the walk ends at it.
        let mut parameter = vec![(DW_AT_artificial, Flag); count];
        parameter.push((DW_AT_location, Expression(RDI)));
        info.label("this").open(DW_TAG_formal_parameter, &parameter).close();
        let mut sections = info.sections();
        sections.push((".debug_line", rows()));
        let kept = Bench::new().kept(&elf(&sections, &[]));
        let objects = kept.report.stats.objects;
        assert_eq!((objects.kept, objects.lost), (2 - lost, lost), "{count} attributes");
        assert_eq!(kept.report.diagnostics.count(Kind::BadExpression), lost, "{count} attributes");
    }
}

#[test]
fn lists_by_index_need_no_lines() {
    let lists = [&whole(RSI)[..], &whole(RDI)];
    let mut bad = rows();
    // A version that does not exist.
    bad[4] = 99;
    for (line, damaged) in [(rows(), 0), (bad, 1)] {
        let kept = indexed(&[Some(Expression(RDI)), Some(ListIndex(1))], line, lists);
        assert_eq!(kept.report.diagnostics.count(Kind::BadLineHeader), damaged);
        assert_eq!((kept.report.stats.objects.kept, kept.report.stats.objects.lost), (2, 0));
        assert_eq!(found(&kept, 1).map(|object| object.address), Ok(0x500));
    }
}

#[test]
fn a_list_of_entries_that_say_nothing() {
    // DW_LLE_offset_pair of no bytes, and an empty expression.
    let long = [[4, 0, 0, 0].repeat((1 << 20) + 1), whole(RDI)].concat();
    let methods = [Some(Expression(RDI)), Some(ListIndex(0)), Some(ListIndex(1))];
    let kept = indexed(&methods, rows(), [&long, &whole(RDI)]);
    // The list, and the one after it.
    assert_eq!(kept.report.diagnostics.count(Kind::Cap(Cap::LocationEntries)), 2);
    assert_eq!((kept.report.stats.objects.kept, kept.report.stats.objects.lost), (1, 2));
    let short = [[4, 0, 0, 0].repeat(1 << 10), whole(RDI)].concat();
    let kept = indexed(&methods, rows(), [&short, &whole(RDI)]);
    assert_eq!(kept.report.diagnostics.caps().count(), 0);
    assert_eq!((kept.report.stats.objects.kept, kept.report.stats.objects.lost), (3, 0));
}

#[test]
fn a_long_expression_is_left_out_alone() {
    // DW_OP_nop
    let long = vec![0x96; (1 << 16) + 1].leak();
    let methods = [Some(Expression(long)), Some(Expression(RDI))];
    let kept = indexed(&methods, rows(), [&whole(RDI), &whole(RDI)]);
    assert_eq!(kept.report.diagnostics.count(Kind::Cap(Cap::LongExpression)), 1);
    assert_eq!((kept.report.stats.objects.kept, kept.report.stats.objects.lost), (1, 1));
}

#[test]
fn callees_that_no_reference_leads_to() {
    let methods = [Some(Expression(RDI)), Some(Expression(RDI))];
    let doubt = |callee: Option<(gimli::DwAt, Value<'_>)>| {
        let mut call = vec![(DW_AT_call_return_pc, Address(CALLER + 4))];
        call.extend(callee);
        let calls: [(gimli::DwTag, &[_]); 1] = [(DW_TAG_call_site, &call)];
        let bytes = described(Info::new(5, &[]), &methods, &calls, &[(".debug_line", rows())]);
        found(&Bench::new().kept(&bytes), 1).unwrap().doubt
    };
    assert_eq!(doubt(None), None);
    // The value that gcc writes for a symbol without an entry; and a value that is not a reference.
    for value in [Address(CODE), Number(1)] {
        let found = doubt(Some((DW_AT_call_origin, value)));
        assert!(matches!(found, Some(Doubt::NotShown(_))), "{found:?}");
    }
}

#[test]
fn more_than_can_be_asked() {
    let methods = vec![Some(Expression(RDI)); MAX_ASKED as usize];
    assert!(found(&kept(&methods, &[]), 1).is_ok());
    let methods = vec![Some(Expression(RDI)); MAX_ASKED as usize + 1];
    assert_eq!(found(&kept(&methods, &[]), 1), Err(NoObject::TooMany));
}

#[test]
fn callers_that_are_not_known() {
    let kept = kept(&[Some(Expression(RDI)), Some(Expression(RDI))], &[]);
    let file = SymbolFile::open(&kept.bytes).unwrap();
    let doubt = |caller: &[StackAddr], recorded: bool| {
        let stack = [&[StackAddr::Exact(ImageAddr(CODE + 1))], caller].concat();
        let mut resolved = vec![Resolved::NONE; stack.len()];
        file.resolve_stack(&stack, &mut resolved).unwrap();
        let found = object(&file, (&stack, &resolved), 0, &Numbers, &mut |_| Ok(recorded)).unwrap().unwrap();
        assert_eq!(found.address, 0x500);
        found.doubt
    };
    let from = |address| StackAddr::Return(ReturnAddr(address));
    assert_eq!(doubt(&[from(CALLER + 4)], false), None);
    assert_eq!(doubt(&[from(CALLER + 4)], true), Some(Doubt::Recorded));
    for caller in [
        &[][..],
        &[StackAddr::Foreign],
        &[StackAddr::Exact(ImageAddr(CALLER))],
        &[from(5)],
        &[from(CODE + 0x21)],
    ] {
        assert_eq!(doubt(caller, false), Some(Doubt::NoCaller), "{caller:?}");
    }
    // A call that nothing records, whatever the compiler promises of the others; and one of the methods themselves.
    for caller in [CALLER + 8, CODE + 4] {
        assert!(matches!(doubt(&[from(caller)], false), Some(Doubt::NotShown(_))), "{caller:#x}");
    }
}
