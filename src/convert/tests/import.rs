//! What an imported file has, as its reader sees it: certainty, groups, cut records, damage, and files that were made to hurt.

#![cfg(feature = "import")]

use std::path::Path;

use foldsym_lookup::{Certainty, Frames, ImageAddr, Lookup, SymbolFile};

use foldsym_convert::report::{DebugInfo, Kind, Reason, Report, WarningKind};
use foldsym_convert::{ConvertError, NoProgress, Options, convert_bytes};

const HEAD: &str = "MODULE Linux x86_64 030201000504070608090A0B0C0D0E0F0 app\nFILE 0 /a.c\nFILE 1 /b.h\n";

fn import(text: &str) -> (Vec<u8>, Report) {
    import_with(text, &Options::default())
}

fn import_with(text: &str, options: &Options) -> (Vec<u8>, Report) {
    let (mut bytes, text) = (Vec::new(), format!("{HEAD}{text}"));
    let report =
        convert_bytes(Path::new("app.sym"), text.as_bytes(), &mut bytes, options, &NoProgress).unwrap();
    SymbolFile::open(&bytes).unwrap().verify().unwrap();
    (bytes, report)
}

fn error(text: &str) -> String {
    let result = convert_bytes(
        Path::new("app.sym"),
        text.as_bytes(),
        &mut Vec::new(),
        &Options::default(),
        &NoProgress,
    );
    result.err().map(|error: ConvertError| error.to_string()).unwrap_or_default()
}

/// The names of the frames, innermost first, with their lines, and how sure they are.
fn frames(bytes: &[u8], address: u64) -> (String, Option<Certainty>, Option<Reason>) {
    let file = SymbolFile::open(bytes).unwrap();
    let mut frames = Frames::new();
    let Lookup::Found(answer) = file.lookup(ImageAddr(address), &mut frames).unwrap() else {
        return (String::new(), None, None);
    };
    let of = file.frames(&frames).map(|frame| {
        let frame = frame.unwrap();
        let mut name = [0; 256];
        let len = frame.name.and_then(|id| file.write_name(id, &mut name)).unwrap_or(0);
        format!("{}:{}", String::from_utf8_lossy(&name[..len]), frame.line)
    });
    (of.collect::<Vec<_>>().join(" "), Some(answer.certainty), answer.reason)
}

#[test]
fn functions_have_lines_and_inlined_calls_and_are_never_unique() {
    let (bytes, report) = import(
        "INLINE_ORIGIN 0 inner\nFUNC 1000 20 0 outer\nINLINE_ORIGIN 1 middle\nINLINE 0 5 0 1 1004 10\n\
         INLINE 1 9 1 0 1008 4\n1000 8 3 0\n1008 4 20 1\n100c 14 6 0\nFUNC m 1020 10 0 shared\n1020 10 8 0\n\
         PUBLIC 1040 0 start\nPUBLIC m 1050 0 begin\nPUBLIC 1060 0 <unknown in app.pdb>\n",
    );
    let likely = |reason| (Some(Certainty::Likely), Some(reason));
    for (address, text, reason) in [
        (0x1000, "outer:3", Reason::Stripped),
        (0x1004, "middle:3 outer:5", Reason::Stripped),
        (0x1008, "inner:20 middle:9 outer:5", Reason::Stripped),
        (0x100c, "middle:6 outer:5", Reason::Stripped),
        (0x101f, "outer:6", Reason::Stripped),
        (0x1020, "shared:8", Reason::MergedWithoutTrace),
        (0x1040, "start:0", Reason::Stripped),
        (0x105f, "begin:0", Reason::MergedWithoutTrace),
    ] {
        let (found, certainty, why) = frames(&bytes, address);
        assert_eq!((found.as_str(), (certainty, why)), (text, likely(reason)), "{address:#x}");
    }
    for address in [0xfff, 0x1030, 0x1060] {
        assert_eq!(frames(&bytes, address).1, None, "{address:#x}");
    }
    let file = SymbolFile::open(&bytes).unwrap();
    assert_eq!((file.build_id().len(), file.image_base().0, file.header().machine), (16, 0, 62));
    assert_eq!((report.debug_info(), report.counts.functions), (DebugInfo::Full, 2));
    assert!(report.warnings().is_empty() && !report.record().has_code(), "{:?}", report.warnings());
}

#[test]
fn several_names_at_one_address_are_a_group() {
    let (bytes, report) = import(
        "FUNC 1000 10 0 one(int)\n1000 10 1 0\nFUNC 1000 10 0 two(int)\n1000 10 2 1\nFUNC 1000 10 0 one(int)\n\
         FUNC 2000 10 0 space::f(char)\n2000 10 3 0\nPUBLIC 2000 0 _ZN5space1fEc\nPUBLIC 2000 0 other\n\
         PUBLIC 3000 0 a\nPUBLIC 3000 0 b\n",
    );
    assert_eq!(report.decided.folded_addresses, 3);
    assert_eq!(report.decided.folded_functions, 6);
    // The second `one`, and the mangled spelling of `f`.
    assert_eq!(report.diagnostics.count(Kind::RepeatedName), 2);
    for (address, first) in [(0x1008, "one(int):1"), (0x2008, "space::f(char):3"), (0x3000, "b:0")] {
        let (text, certainty, _) = frames(&bytes, address);
        assert_eq!((text.as_str(), certainty), (first, Some(Certainty::Ambiguous)), "{address:#x}");
    }
}

#[test]
fn records_that_overlap_are_cut_and_those_without_code_are_left_out() {
    let (bytes, report) = import(
        "FUNC 1000 10 0 first\n1000 8 1 0\n1004 8 2 0\n1000 0 9 0\nFUNC 1008 10 0 second\n1008 10 3 0\n\
         FUNC 1002 2 0 inside\nFUNC 5000 0 0 empty\n5000 4 4 0\nFUNC 1000 30 0 longer\n1000 30 7 0\n\
         PUBLIC 1004 0 label\nPUBLIC 0 0 header\nFUNC 2000 8 0 <name omitted>\n2000 8 5 0\nPUBLIC 2000 0 named\n",
    );
    // `longer` begins with `first`, and has the rest alone: `second` and `inside` are in it.
    let expected = [(0x1004, "first:1"), (0x1008, "first:2"), (0x1010, "longer:7"), (0x2004, "named:5")];
    for (address, text) in expected {
        assert_eq!(frames(&bytes, address).0, text, "{address:#x}");
    }
    assert_eq!(frames(&bytes, 0x1004).1, Some(Certainty::Ambiguous));
    for (kind, count) in
        [(Kind::OverlappingRecord, 2), (Kind::EmptyRange, 2), (Kind::HiddenPublic, 0), (Kind::BadRecord, 0)]
    {
        assert_eq!(report.diagnostics.count(kind), count, "{kind:?}");
    }
    // The label in `longer` names what follows it, as in minidump-stackwalk.
    assert_eq!(frames(&bytes, 0x1030).0, "label:0");
}

#[test]
fn lines_that_cannot_be_read_are_named_and_too_many_are_an_error() {
    let (bytes, report) =
        import("FUNC 1000 10 0 f\n1000 8 1 0\n1008 zz 2 0\nNOISE\nINLINE 0 1 2\n1008 8 3 0\nFUNC 20");
    assert_eq!((frames(&bytes, 0x1000).0.as_str(), frames(&bytes, 0x1008).0.as_str()), ("f:1", "f:3"));
    let warnings = report.warnings();
    assert_eq!((warnings.len(), warnings[0].kind, warnings[0].count), (1, WarningKind::DamagedParts, 4));
    for part in ["line 6: neither a known record", "line 7: ", "line 8: INLINE", "line 10: FUNC"] {
        assert!(warnings[0].message.contains(part), "{}", warnings[0].message);
    }
    assert_eq!(report.debug_info(), DebugInfo::Partial);
    let text = format!("{HEAD}{}", "NOISE\n".repeat(101));
    assert!(error(&text).starts_with("app.sym:104: neither a known record"), "{}", error(&text));
    assert_eq!(error("MODULE Linux\n"), "app.sym:1: expected MODULE, system, processor, identifier and name");
    let (_, report) = import("STACK WIN 4 1000 14 1 0 0 0 0 0 1 $eip 4 +\nPUBLIC 1000 0 f");
    let kinds: Vec<_> = report.warnings().iter().map(|warning| warning.kind).collect();
    assert_eq!(kinds, [WarningKind::NoDebugInfo, WarningKind::DamagedParts, WarningKind::NotKept]);
}

#[test]
fn rules_of_frames_become_rows() {
    let frames = "FUNC 1000 20 0 f\nSTACK CFI INIT 1000 20 .cfa: $rsp 8 + .ra: .cfa -8 + ^\n\
                  STACK CFI 1001 .cfa: $rsp 16 + $rbp: .cfa -16 + ^\nSTACK CFI 1004 .cfa: $rbp 16 + $rbx: .cfa 24 - 8 @ ^\n\
                  STACK CFI INIT 1010 20 .cfa: $rsp 8 + .ra: .cfa ^\nSTACK CFI INIT 1040 8 .cfa: $rsp *\n";
    let options = Options::default().with(|options| options.unwind = true);
    let (bytes, report) = import_with(frames, &options);
    let file = SymbolFile::open(&bytes).unwrap();
    let section = file.records().section_bytes(foldsym_lookup::SectionId::UNWIND);
    assert!(section.is_some());
    // The second entry overlaps the first. In the third, a multiplication has one value, and so the code has no row.
    assert_eq!(report.diagnostics.count(Kind::OverlappingRecord), 1);
    assert_eq!(report.diagnostics.count(Kind::InexpressibleFrame), 2);
    assert!(import(frames).1.warnings().is_empty());
}

/// Every beginning of a file, and every file with one byte of another value, is read or refused, and never a panic.
#[test]
fn damage_is_an_error_or_a_warning() {
    let text = format!(
        "{HEAD}INLINE_ORIGIN 0 g\nFUNC m 1000 20 0 f\nINLINE 0 5 0 0 1004 10 1018 2\n1000 20 3 1\nPUBLIC 1040 0 start\n\
         STACK CFI INIT 1000 20 .cfa: $rsp 8 + .ra: .cfa -8 + ^\nSTACK CFI 1001 $rbp: .cfa -16 + ^\n"
    );
    let options = Options::default().with(|options| (options.unwind, options.threads) = (true, 1));
    let all = |text: &[u8]| {
        let mut bytes = Vec::new();
        if text.starts_with(b"MODULE ")
            && convert_bytes(Path::new("app.sym"), text, &mut bytes, &options, &NoProgress).is_ok()
        {
            SymbolFile::open(&bytes).unwrap().verify().unwrap();
        }
    };
    for len in 0..text.len() {
        all(&text.as_bytes()[..len]);
    }
    for at in 0..text.len() {
        for byte in [b' ', b'\n', b'f', 0, 0xff] {
            let mut text = text.clone().into_bytes();
            text[at] = byte;
            all(&text);
        }
    }
}

/// Files whose records are products of what their lines say. Their sizes are such that a product would take minutes.
#[test]
fn files_made_to_hurt_take_time_in_proportion() {
    let many = |count: usize, line: &dyn Fn(usize) -> String| (0..count).map(line).collect::<String>();
    // Names at one address.
    let (_, report) = import(&many(50_000, &|at| format!("FUNC 1000 10 0 f{at}\n")));
    assert_eq!(report.decided.folded_functions, 50_000);
    import(&many(50_000, &|at| format!("FUNC 1000 {:x} 0 f{at}\n", at + 1)));
    import(&many(30_000, &|at| format!("PUBLIC 1000 0 f{at}\nFUNC 1000 10 0 f\n")));
    // Functions inside of each other, and lines.
    import(&many(30_000, &|at| format!("FUNC {at:x} ffffff 0 f\n{at:x} ffffff 1 0\n")));
    let lines = many(30_000, &|at| format!("{:x} {:x} 1 0\n", 0x1000 + at, 0xff_ffff - 2 * at));
    let (_, report) = import(&format!("FUNC 1000 ffffff 0 f\n{lines}"));
    assert!(report.diagnostics.count(Kind::OverlappingRecord) > 0);
    // Chains of inlined calls that begin anew at each byte, and jumps of depth.
    let chain = many(254, &|depth| format!("INLINE {depth} 1 0 0 1000 ffffff\n"));
    let anew = many(30_000, &|at| format!("INLINE 0 {at} 0 0 {:x} ffffff\n", 0x1000 + at));
    import(&format!("INLINE_ORIGIN 0 g\nFUNC 1000 ffffff 0 f\n{chain}{anew}"));
    let (_, report) =
        import(&format!("FUNC 1000 ff 0 f\n{}", many(10, &|at| format!("INLINE {} 1 0 0 1000 1\n", at * 2))));
    assert!(report.diagnostics.count(Kind::StrayInline) >= 8);
    let deep = many(30_000, &|depth| format!("INLINE {depth} 1 0 0 1000 ff\n"));
    let (_, report) = import(&format!("FUNC 1000 ff 0 f\n{deep}"));
    assert!(report.diagnostics.count(Kind::TooDeep) > 29_000);
    // Changes of many registers, and long expressions.
    let options = Options::default().with(|options| options.unwind = true);
    let rules = |at: usize| format!("STACK CFI {:x} $r{}: .cfa {at} + 1 + ^\n", 0x1000 + at, 8 + at % 8);
    let init = "STACK CFI INIT 1000 ffffff .cfa: $rsp 8 + .ra: .cfa -8 + ^\n";
    import_with(&format!("{init}{}", many(30_000, &rules)), &options);
    import_with(&format!("STACK CFI INIT 1000 1 .cfa: {}\n", "1 ".repeat(1_000_000)), &options);
    // Large numbers.
    import(
        "FUNC fffffffffffffff0 ff 0 f\nFUNC ffffffffffffff00 f0 0 f\nPUBLIC ffffffffffffffff 0 g\n4294967295 1 1 1\n",
    );
}
