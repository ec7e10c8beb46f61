//! A hand-made file gives the answers that its picture shows.

use foldsym_lookup::records::Owner;
use foldsym_lookup::{
    Certainty, Frame, Frames, FunctionId, How, ImageAddr, Lookup, NotFoundReason, PieceId, Reason, Resolved,
    SectionId, StackAddr, SymbolFile,
};
use foldsym_testkit::writer;

/// An unknown reason is damage when it is read.
#[test]
fn an_unknown_reason_is_damage() {
    let mut contents = writer::golden::contents();
    contents.functions[1][4] = 8 << 1;
    let bytes = contents.file();
    let file = SymbolFile::open(&bytes).unwrap();
    assert!(file.verify().is_err());
    let mut frames = Frames::new();
    let error = file.lookup(ImageAddr(0x40_1020), &mut frames).unwrap_err();
    assert_eq!((error.section, frames.is_empty()), (SectionId::FUNCTIONS, true));
    let stack = [StackAddr::Exact(ImageAddr(0x40_1020))];
    assert!(file.resolve_stack(&stack, &mut [Resolved::NONE]).is_err());
    assert!(file.lookup(ImageAddr(0x40_1000), &mut frames).is_ok());
}

fn text(frame: &Frame, file: &SymbolFile<'_>) -> String {
    let name = frame.name.map_or("??".to_owned(), |name| writer::golden::NAMES[name.0 as usize].to_owned());
    let path = |id: Option<foldsym_lookup::FileId>| {
        let Some(id) = id else { return "??".to_owned() };
        let mut out = [0; 64];
        let len = file.write_path(id, &mut out).unwrap();
        String::from_utf8(out[..len].to_vec()).unwrap()
    };
    if let Some(id) = frame.name {
        let mut out = [0; 64];
        let len = file.write_name(id, &mut out).unwrap();
        assert_eq!(&out[..len], name.as_bytes());
    }
    let start = path(frame.start_file);
    format!("{name} {}:{}:{} ({start}:{})", path(frame.file), frame.line, frame.column, frame.start_line)
}

fn frames_at(bytes: &[u8], address: u64) -> Vec<String> {
    let file = SymbolFile::open(bytes).unwrap();
    let mut frames = Frames::new();
    match file.lookup(ImageAddr(address), &mut frames).unwrap() {
        Lookup::NotFound(reason) => {
            assert!(frames.is_empty() && file.frames(&frames).next().is_none());
            vec![format!("{reason:?}")]
        }
        Lookup::Found(_) => {
            let frames: Vec<Frame> = file.frames(&frames).map(Result::unwrap).collect();
            assert!(frames.iter().rev().skip(1).all(|frame| !frame.is_outermost));
            assert!(frames.last().unwrap().is_outermost);
            frames.iter().map(|frame| text(frame, &file)).collect()
        }
    }
}

#[test]
fn answers() {
    let bytes = writer::golden::contents().file();
    let cases: &[(std::ops::Range<u64>, &[&str])] = &[
        (0..0x40_1000, &["OutsideCode"]),
        (0x40_1000..0x40_1004, &["alpha /src/a.c:10:0 (/src/a.c:10)"]),
        (0x40_1004..0x40_1010, &["alpha /src/a.c:12:0 (/src/a.c:10)"]),
        (0x40_1010..0x40_1018, &["?? /src/a.c:11:0 (??:0)"]),
        (0x40_1018..0x40_1020, &["NoFunction"]),
        (0x40_1020..0x40_1028, &["beta /src/b.c:20:0 (/src/b.c:20)"]),
        (0x40_1028..0x40_102c, &["gamma /src/a.h:6:0 (/src/a.h:5)", "beta /src/b.c:22:0 (/src/b.c:20)"]),
        (
            0x40_102c..0x40_1030,
            &[
                "delta /src/a.h:1:0 (/src/a.h:1)",
                "gamma /src/b.c:1:0 (/src/a.h:5)",
                "beta /src/b.c:22:0 (/src/b.c:20)",
            ],
        ),
        (
            0x40_1030..0x40_1034,
            &[
                "delta /src/a.h:0:0 (/src/a.h:1)",
                "gamma /src/b.c:1:0 (/src/a.h:5)",
                "beta /src/b.c:22:0 (/src/b.c:20)",
            ],
        ),
        (0x40_1034..0x40_103c, &["beta /src/a.c:23:0 (/src/b.c:20)"]),
        (0x40_103c..0x40_1040, &["beta ??:24:0 (/src/b.c:20)"]),
        (0x40_1040..0x40_1050, &["eps /src/a.c:31:0 (/src/a.c:30)"]),
        (0x40_1050..0x40_1100, &["NoFunction"]),
        (0x40_1100..0x40_1108, &["beta.cold /src/b.c:29:0 (/src/b.c:20)"]),
        (0x40_1108..0x40_1200, &["NoFunction"]),
        (0x40_1200..0x40_1204, &["?? ??:0:0 (??:0)"]),
        (0x40_1204..0x40_1210, &["OutsideCode"]),
        (u64::MAX - 8..u64::MAX, &["OutsideCode"]),
    ];
    for (range, expected) in cases {
        let from = range.start.max(range.end.saturating_sub(0x100));
        for address in from..range.end {
            assert_eq!(frames_at(&bytes, address), *expected, "at {address:#x}");
        }
    }
}

#[test]
fn columns_and_units() {
    let mut contents = writer::golden::contents();
    contents.columns = true;
    contents.unit_log2 = 2;
    contents.rows = vec![0];
    let rows: Vec<writer::RawRow> = (0..8)
        .map(|i| writer::RawRow { offset: i, scope: i / 3, line: Some(0), file: 0, column: 3 + i % 3 })
        .collect();
    let at = writer::rows_record(&mut contents.rows, &rows, false) as i64;
    // Only beta has the tree that these rows need.
    for (index, piece) in contents.pieces.iter_mut().enumerate() {
        piece[5] = if index == 1 { at } else { 0 };
    }
    contents.members.iter_mut().for_each(|member| member[1] = 0);
    let bytes = contents.file();
    SymbolFile::open(&bytes).unwrap().verify().unwrap();
    assert_eq!(frames_at(&bytes, 0x40_1023), ["beta /src/b.c:20:3 (/src/b.c:20)"]);
    assert_eq!(frames_at(&bytes, 0x40_1024), ["beta /src/b.c:20:4 (/src/b.c:20)"]);
    assert_eq!(
        frames_at(&bytes, 0x40_103f),
        [
            "delta /src/a.h:1:4 (/src/a.h:1)",
            "gamma /src/b.c:1:7 (/src/a.h:5)",
            "beta /src/b.c:22:0 (/src/b.c:20)"
        ]
    );
}

#[test]
fn folded_code_has_every_member() {
    let bytes = writer::golden::contents().file();
    let file = SymbolFile::open(&bytes).unwrap();
    let mut frames = Frames::new();
    let Lookup::Found(answer) = file.lookup(ImageAddr(0x40_1048), &mut frames).unwrap() else { panic!() };
    assert_eq!(answer.certainty, Certainty::Ambiguous);
    assert_eq!((answer.function, answer.member_count()), (FunctionId(3), 3));
    assert_eq!((answer.piece_start, answer.function_start), (ImageAddr(0x40_1040), ImageAddr(0x40_1040)));
    let expected = [
        (How::LiveRange, "eps /src/a.c:31:0 (/src/a.c:30)"),
        (How::StmtSequence, "zeta /src/b.c:43:0 (/src/b.c:40)"),
        (How::SymbolOnly, "alpha ??:0:0 (??:0)"),
    ];
    for (index, (how, line)) in expected.iter().enumerate() {
        let member = file.member_frames(&answer, index as u32, &mut frames).unwrap();
        assert_eq!(member.how, *how);
        let lines: Vec<String> = file.frames(&frames).map(|frame| text(&frame.unwrap(), &file)).collect();
        assert_eq!(lines, [*line]);
    }
    assert!(file.member_frames(&answer, 3, &mut frames).is_err() && frames.is_empty());
    // At code that is not folded, member 0 is the function itself.
    let Lookup::Found(answer) = file.lookup(ImageAddr(0x40_1104), &mut frames).unwrap() else { panic!() };
    assert_eq!((answer.certainty, answer.member_count()), (Certainty::Likely, 1));
    assert_eq!((answer.piece_start, answer.function_start), (ImageAddr(0x40_1100), ImageAddr(0x40_10e0)));
    assert_eq!(file.member_frames(&answer, 0, &mut frames).unwrap().function, FunctionId(1));
    assert!(file.member_frames(&answer, 1, &mut frames).is_err());
}

#[test]
fn listing() {
    let bytes = writer::golden::contents().file();
    let file = SymbolFile::open(&bytes).unwrap();
    file.verify().unwrap();
    assert_eq!(file.build_id(), [0xb1, 0x1d]);
    assert_eq!(file.image_base(), ImageAddr(0x40_0000));
    let sections: Vec<_> = file.records().sections().map(|section| (section.id.0, section.name)).collect();
    assert_eq!(sections[0], (1, "BUILD_ID"));
    assert_eq!(sections.last(), Some(&(900, "?")));
    assert_eq!(file.records().section_bytes(SectionId(900)), Some(&b"later"[..]));
    let program: Vec<_> = file.records().program_sections().collect();
    assert_eq!(
        (program[0].name, program[0].start, program[0].len),
        (&b".text"[..], ImageAddr(0x40_1000), 0x300)
    );
    assert!(program[0].executable && !program[1].executable);
    assert_eq!(
        (file.records().piece_count(), file.records().function_count(), file.records().group_count()),
        (5, 6, 1)
    );
    let alpha = file.records().function(FunctionId(0)).unwrap();
    let aliases: Vec<_> = file.records().aliases(&alpha).map(|name| name.unwrap().0).collect();
    assert_eq!(aliases, [2]);
    assert!(file.records().scopes(&alpha).unwrap().is_none());
    let beta = file.records().function(FunctionId(1)).unwrap();
    let scopes: Vec<_> = file.records().scopes(&beta).unwrap().unwrap().iter().map(|s| s.unwrap()).collect();
    assert_eq!(scopes.iter().map(|scope| (scope.parent, scope.edge)).collect::<Vec<_>>(), [(0, 1), (1, 0)]);
    let piece = file.records().piece(PieceId(3)).unwrap();
    assert_eq!(piece.owner, Owner::Function(FunctionId(1)));
    let rows = file.records().rows(piece.rows.unwrap()).unwrap();
    assert_eq!(rows.iter().map(|row| row.unwrap().line).collect::<Vec<_>>(), [Some(9)]);
    let partial = file.records().function(FunctionId(2)).unwrap();
    assert!(partial.partial);
    let mut frames = Frames::new();
    let Lookup::Found(answer) = file.lookup(ImageAddr(0x40_1200), &mut frames).unwrap() else { panic!() };
    assert!(answer.partial && answer.group.is_none());
    assert_eq!((answer.certainty, answer.reason), (Certainty::Unique, None));
    // Each piece of a function has its reason; cursor and stack say the same.
    for address in [0x40_1020, 0x40_1104].map(ImageAddr) {
        let expected = (Certainty::Likely, Some(Reason::PlainNames));
        let Lookup::Found(answer) = file.lookup(address, &mut frames).unwrap() else { panic!() };
        let Lookup::Found(of_cursor) = file.cursor().lookup(address).unwrap() else { panic!() };
        let mut resolved = [Resolved::NONE];
        file.resolve_stack(&[StackAddr::Exact(address)], &mut resolved).unwrap();
        assert_eq!((answer.certainty, answer.reason), expected);
        assert_eq!((of_cursor.certainty, of_cursor.reason), expected);
        assert_eq!((resolved[0].certainty, resolved[0].reason), (Some(expected.0), expected.1));
    }
    assert_eq!(
        file.lookup(ImageAddr(0), &mut frames).unwrap(),
        Lookup::NotFound(NotFoundReason::OutsideCode)
    );
}
