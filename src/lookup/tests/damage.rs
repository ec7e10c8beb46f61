//! Damaged files give errors or no answer: never a panic, a hang, or an answer that `verify` vouches for.

use foldsym_lookup::{
    BatchSlot, Frames, FunctionId, ImageAddr, Lookup, PieceId, Resolved, ReturnAddr, SectionId, StackAddr,
    SymbolFile, What,
};
use foldsym_testkit::writer;

/// Uses all of the file that opens; returns whether every lookup gave an answer or a reason.
fn use_all(bytes: &[u8]) -> Option<(bool, bool)> {
    let file = SymbolFile::open(bytes).ok()?;
    let sound = file.verify().is_ok();
    let mut frames = Frames::new();
    let mut whole = true;
    let base = file.image_base().0;
    for address in (0xff0..0x1220).map(|at| base.wrapping_add(at)) {
        match file.lookup(ImageAddr(address), &mut frames) {
            Err(_) => whole = false,
            Ok(Lookup::NotFound(_)) => {}
            Ok(Lookup::Found(answer)) => {
                whole &= file.frames(&frames).all(|frame| frame.is_ok());
                for member in 0..answer.member_count().min(64) {
                    whole &= file.member_frames(&answer, member, &mut frames).is_ok();
                    whole &= file.frames(&frames).all(|frame| frame.is_ok());
                }
            }
        }
    }
    let mut cursor = file.cursor();
    for address in (0xff0..0x1220).map(|at| ImageAddr(base.wrapping_add(at))) {
        let lookup = cursor.lookup(address);
        let all = cursor.frames().all(|frame| frame.is_ok());
        if sound && whole {
            assert!(all && lookup == file.lookup(address, &mut frames));
        }
    }
    let addresses: Vec<ImageAddr> =
        (0xff0..0x1220).step_by(7).map(|at| ImageAddr(base.wrapping_add(at))).collect();
    let mut single = Frames::new();
    // They are sorted: a batch gives the answers of a cursor in this order.
    let (mut next, mut cursor) = (0, file.cursor());
    file.lookup_batch(&addresses, &mut [BatchSlot::EMPTY; 20], |index, lookup, frames| {
        assert_eq!((index, lookup), (next, cursor.lookup(addresses[next])));
        assert!(file.frames(frames).eq(cursor.frames()));
        next += 1;
        let of_single = file.lookup(addresses[index], &mut single);
        if sound && whole {
            assert!(lookup == of_single && frames.len() == single.len());
        }
    });
    assert_eq!(next, addresses.len());
    whole &= resolve(&file);
    // The records that `dump` and `info` read.
    for id in 0..file.records().function_count().min(64) {
        let Ok(function) = file.records().function(FunctionId(id)) else { continue };
        let _ = file
            .records()
            .function_name(FunctionId(id))
            .map(|name| name.map(|id| file.write_name(id, &mut [0; 16])));
        let _ = file.records().aliases(&function).take(64).count();
        if let Ok(Some(scopes)) = file.records().scopes(&function) {
            let _ = scopes.iter().take(1000).count();
        }
    }
    for id in 0..file.records().piece_count().min(64) {
        let Ok(piece) = file.records().piece(PieceId(id)) else { continue };
        if let Some(Ok(rows)) = piece.rows.map(|rows| file.records().rows(rows)) {
            let _ = rows.iter().take(1000).count();
        }
    }
    let _ = file.records().program_sections().take(1000).count();
    Some((sound, whole))
}

/// Stacks of every two places where something happens; returns whether each gave an answer.
fn resolve(file: &SymbolFile<'_>) -> bool {
    let base = file.image_base().0;
    let at = |offset: u64| base.wrapping_add(offset);
    let mut whole = true;
    for pc in (0xff0..0x1220).step_by(8) {
        for caller in [0x1008, 0x1028, 0x1048, 0x1108, 0x1018, 0x2000] {
            let stack = [
                StackAddr::Exact(ImageAddr(at(pc))),
                StackAddr::Return(ReturnAddr(at(caller))),
                StackAddr::Return(ReturnAddr(at(0x1048))),
                StackAddr::Return(ReturnAddr(at(0x1028))),
            ];
            let mut resolved = [Resolved::NONE; 4];
            whole &= file.resolve_stack(&stack, &mut resolved).is_ok();
            whole &= ask_callees(file, ReturnAddr(at(caller)), resolved[0]);
            for frame in resolved {
                let count = frame.candidate_count();
                assert_eq!(frame.candidate(count), None);
                let Some(group) = frame.group else {
                    assert_eq!(count, 0);
                    continue;
                };
                // A frame that has a group was answered: the group is there, and so is each candidate, once.
                let len = file.records().group(group).unwrap().len();
                assert!((1..=len).contains(&count), "{count} of {len}");
                let mut candidates: Vec<u32> =
                    (0..count.min(64)).map(|index| frame.candidate(index).unwrap()).collect();
                candidates.sort_unstable();
                assert!(
                    candidates.windows(2).all(|pair| pair[0] < pair[1]) && *candidates.last().unwrap() < len
                );
            }
        }
    }
    whole
}

/// Looks a call up in GUESSES and IMPORTS, and resolves the frame that it called by the name.
fn ask_callees(file: &SymbolFile<'_>, address: ReturnAddr, frame: Resolved) -> bool {
    let guessed = file.guessed_callee(address, Some(FunctionId(4)));
    if let Ok(Some(function)) = guessed {
        assert!(function.0 < file.records().function_count());
    }
    let imported = file.imported_callee(address);
    let mut whole = guessed.is_ok() && imported.is_ok();
    let mut name = [0; 16];
    let len = imported.ok().flatten().map_or(Some(0), |id| file.write_name(id, &mut name));
    for name in [name.get(..len.unwrap_or(0)).unwrap_or(&name), b"eps", b"alpha2"] {
        let mut named = frame;
        let told = file.resolve_import(&mut named, name);
        assert_eq!(named.candidate_count(), frame.candidate_count(), "a name rules nothing out");
        assert!(told.is_ok() || named == frame, "damage changes nothing");
        whole &= told.is_ok();
    }
    whole && len.is_some()
}

#[test]
fn the_file_itself_is_sound() {
    let bytes = writer::golden::contents().file();
    assert!(bytes.len() < 8192);
    assert_eq!(use_all(&bytes), Some((true, true)));
}

#[test]
fn every_truncation_is_refused() {
    let bytes = writer::golden::contents().file();
    for len in 0..bytes.len() {
        assert!(SymbolFile::open(&bytes[..len]).is_err(), "{len} bytes");
    }
    let longer = [&bytes[..], &[0]].concat();
    assert!(SymbolFile::open(&longer).is_err());
}

#[test]
fn verify_finds_every_changed_byte() {
    let bytes = writer::golden::contents().file();
    let directory_end = writer::directory_end(&bytes);
    let mut changed = bytes.clone();
    for at in 0..bytes.len() {
        let old = bytes[at];
        // All values in the header and the directory, four values for each other byte.
        let values: Vec<u8> =
            if at < directory_end { (0..=255).collect() } else { vec![0, 0xff, old ^ 1, old ^ 0x80] };
        for value in values.into_iter().filter(|value| *value != old) {
            changed[at] = value;
            if at < directory_end {
                assert!(SymbolFile::open(&changed).is_err(), "byte {at} = {value:#x}");
            } else {
                let used = use_all(&changed);
                assert!(matches!(used, None | Some((false, _))), "byte {at} = {value:#x}");
            }
        }
        changed[at] = old;
    }
}

/// With the checksums corrected, a change reaches the records. Then `verify` may accept the file, but only if every lookup gives an answer.
#[test]
fn what_verify_accepts_can_be_looked_up() {
    let bytes = writer::golden::contents().file();
    let mut accepted = 0u32;
    for at in 0..bytes.len() {
        for value in [0, 0xff, bytes[at] ^ 1, bytes[at] ^ 0x80, bytes[at].wrapping_add(1)] {
            let mut changed = bytes.clone();
            changed[at] = value;
            if value == bytes[at] || !writer::reseal(&mut changed) {
                continue;
            }
            if let Some((true, whole)) = use_all(&changed) {
                accepted += 1;
                assert!(whole, "byte {at} = {value:#x}");
            }
        }
    }
    // A line or a start that is another number is no damage.
    assert!(accepted > 100, "{accepted}");
}

/// As above with several bytes changed at once, in a file of every optional part.
#[test]
fn random_changes() {
    let mut contents = writer::golden::contents();
    contents.columns = true;
    let sections = contents.sections();
    let mut random = writer::Random(1);
    for _ in 0..20_000 {
        let mut changed = sections.clone();
        for _ in 0..1 + random.below(4) {
            let section = random.below(changed.len() as u64) as usize;
            let data = &mut changed[section].1;
            if data.is_empty() {
                continue;
            }
            let at = random.below(data.len() as u64) as usize;
            match random.below(8) {
                0 => data[at] = 0xff,
                1 => data[at] = 0,
                2 => data.truncate(at),
                3 => data[at] = random.below(256) as u8,
                _ => data[at] ^= 1 << random.below(8),
            }
        }
        if let Some((true, whole)) = use_all(&contents.assemble(&changed)) {
            assert!(whole);
        }
    }
}

/// Sentences of the specification that no row shows to be broken.
#[test]
fn row_records_that_break_the_specification() {
    for (what, bad, good) in writer::broken::row_records() {
        assert_eq!(use_all(&good), Some((true, true)), "{what}");
        assert_ne!(bad, good, "{what}");
        let error = SymbolFile::open(&bad).unwrap().verify().expect_err(what);
        assert_eq!(error.section, SectionId::ROWS, "{what}: {error}");
    }
}

/// Sentences of the specification on groups and calls.
#[test]
fn call_records_that_break_the_specification() {
    let sound = writer::broken::sound_calls().file();
    assert_eq!(use_all(&sound), Some((true, true)));
    for (what, section, bad) in writer::broken::calls() {
        assert_ne!(bad, sound, "{what}");
        assert!(matches!(use_all(&bad), Some((false, _))), "{what}");
        let error = SymbolFile::open(&bad).unwrap().verify().expect_err(what);
        assert_eq!(error.section.0, section, "{what}: {error}");
    }
}

/// A number past the end of the table that it refers to is damage when it is read.
#[test]
fn a_callee_that_is_not_there_is_damage() {
    let mut contents = writer::golden::contents();
    contents.guesses[0][2] = contents.functions.len() as i64;
    contents.imports[0][1] = contents.names.len() as i64;
    let address = |offset: i64| ReturnAddr(0x40_0000 + offset as u64);
    let (guess, import) = (address(contents.guesses[0][0]), address(contents.imports[0][0]));
    let bytes = contents.file();
    let file = SymbolFile::open(&bytes).unwrap();
    let error = file.guessed_callee(guess, None).unwrap_err();
    assert_eq!((error.section, error.what, error.offset), (SectionId::GUESSES, What::Value, 0));
    let error = file.imported_callee(import).unwrap_err();
    assert_eq!((error.section, error.what, error.offset), (SectionId::IMPORTS, What::Value, 0));
}

/// Pieces that share one record of rows, each row 255 levels deep: to check them takes time for every level.
#[test]
fn verify_counts_the_levels_of_each_row() {
    let nodes: Vec<(u32, u32)> = (0..255).map(|parent| (parent, 0)).collect();
    let row = |offset| writer::RawRow { offset, scope: 255, line: None, file: 0, column: 0 };
    let (mut rows, mut scopes) = (vec![0], vec![0]);
    let record = writer::rows_record(&mut rows, &(0..640).map(row).collect::<Vec<_>>(), true) as i64;
    let tree = writer::scopes_record(&mut scopes, &nodes) as i64;
    let contents = |pieces: i64| writer::Contents {
        max_depth: 255,
        block_log2: 8,
        names: vec![b"f".to_vec()],
        origins: vec![[0, 0, 0, 0]],
        // Calls itself, inlined.
        edges: vec![[0, 0, 0, 0]],
        functions: vec![[0, tree, 0, 0, 0]],
        pieces: (0..pieces).map(|piece| [piece * 640, 640, 0, 0, 0, record, 0]).collect(),
        rows: rows.clone(),
        scopes: scopes.clone(),
        ..writer::Contents::default()
    };
    let (few, many) = (contents(10).file(), contents(300).file());
    assert!(many.len() < 10_000);
    SymbolFile::open(&few).unwrap().verify().unwrap();
    let error = SymbolFile::open(&many).unwrap().verify().unwrap_err();
    assert_eq!((error.section, error.what), (SectionId::ROWS, What::Length));
}

/// A column that is more than a `u32` is damage, also where each row has the base of the column.
#[test]
fn a_wide_column_is_damage() {
    for (base, sound) in [(u64::from(u32::MAX), true), ((1 << 32) + 5, false)] {
        let rows =
            [0, 8].map(|offset| writer::RawRow { offset, scope: 0, line: None, file: 0, column: base });
        for width in [0, 1] {
            let mut rows = rows;
            // The least value is the base, so the other is above it.
            rows[1].column -= width;
            let mut section = vec![0];
            let at = writer::rows_record(&mut section, &rows, false) as i64;
            let contents = writer::Contents {
                columns: true,
                names: vec![b"f".to_vec()],
                origins: vec![[0, 0, 0, 0]],
                functions: vec![[0; 5]],
                pieces: vec![[0, 16, 0, 0, 0, at, 0]],
                rows: section,
                scopes: vec![0],
                ..writer::Contents::default()
            };
            let bytes = contents.file();
            let file = SymbolFile::open(&bytes).unwrap();
            let mut frames = Frames::new();
            let found = file.lookup(ImageAddr(0), &mut frames);
            assert_eq!(file.verify().is_ok(), sound, "{base:#x} of width {width}");
            match found {
                Ok(_) => assert_eq!(u64::from(file.frames(&frames).next().unwrap().unwrap().column), base),
                Err(error) => assert_eq!((error.section, error.what), (SectionId::ROWS, What::Width)),
            }
            assert_eq!(found.is_ok(), sound, "{base:#x} of width {width}");
        }
    }
}

/// A file offset is looked for in each segment, so a file may not have any number of them.
#[test]
fn segments_are_bounded() {
    let with = |count: u64, stored: usize| {
        let contents = writer::golden::contents();
        let mut data = vec![0];
        writer::varint(&mut data, count);
        // Start, bytes, file offset, bytes of the file, flags.
        (0..stored).for_each(|_| data.extend([0, 0, 0, 0, 0]));
        let mut sections = contents.sections();
        let at = sections.iter().position(|(id, _)| *id > SectionId::SEGMENTS.0).unwrap();
        sections.insert(at, (SectionId::SEGMENTS.0, data));
        contents.assemble(&sections)
    };
    let (most, more) = (with(1 << 16, 1 << 16), with((1 << 16) + 1, (1 << 16) + 1));
    let file = SymbolFile::open(&most).unwrap();
    file.verify().unwrap();
    assert_eq!(file.records().segments().unwrap().count(), 1 << 16);
    let file = SymbolFile::open(&more).unwrap();
    assert!(file.records().segments().is_none());
    let error = file.verify().unwrap_err();
    assert_eq!((error.section, error.what, error.offset), (SectionId::SEGMENTS, What::Length, 1));
}

/// Sentences of the specification that no lookup relies on.
#[test]
fn verify_finds_what_only_the_specification_forbids() {
    type Change = fn(&mut writer::Contents);
    let file = SectionId(0);
    let cases: [(&str, SectionId, What, Change); 13] = [
        ("two equal origins", SectionId::ORIGINS, What::Order, |c| c.origins.push(c.origins[6])),
        ("two equal edges", SectionId::EDGES, What::Order, |c| c.edges[1] = c.edges[0]),
        ("an empty piece", SectionId::PIECES, What::Value, |c| c.pieces[4][1] = 0),
        ("a second piece of a group", SectionId::PIECES, What::Value, |c| {
            c.pieces.push([0x1220, 4, 0, 0, 1, 0, 0]);
        }),
        ("a group without a piece", SectionId::GROUPS, What::Length, |c| c.pieces[2][4] = 2),
        ("functions in another order than their pieces", SectionId::PIECES, What::Order, |c| {
            (c.pieces[0][4], c.pieces[1][4]) = (2, 0);
        }),
        ("a group that is smaller than the largest", SectionId::MEMBERS, What::Length, |c| c.max_group = 4),
        ("a scope that is higher than the deepest", file, What::Value, |c| c.max_depth = 3),
        ("aliases in another order", SectionId::ALIASES, What::Order, |c| c.aliases = vec![[3, 0], [2, 1]]),
        ("aliases of two functions", SectionId::FUNCTIONS, What::Value, |c| c.functions[1][3] = 1),
        ("aliases of two functions, and of none", SectionId::FUNCTIONS, What::Value, |c| {
            c.aliases.push([3, 1]);
            c.functions[1][3] = 1;
        }),
        ("aliases of no function", SectionId::ALIASES, What::Length, |c| c.aliases.push([3, 1])),
        ("aliases from the second one on", SectionId::FUNCTIONS, What::Value, |c| {
            c.aliases = vec![[2, 0], [3, 1]];
            c.functions[0][3] = 2;
        }),
    ];
    for (what, section, kind, change) in cases {
        let mut contents = writer::golden::contents();
        change(&mut contents);
        let bytes = contents.file();
        let error = SymbolFile::open(&bytes).unwrap().verify().expect_err(what);
        assert_eq!((error.section, error.what), (section, kind), "{what}");
    }
    // A file without pieces, and one section of it changed.
    let contents = writer::Contents { rows: vec![0], scopes: vec![0], ..writer::Contents::default() };
    SymbolFile::open(&contents.file()).unwrap().verify().unwrap();
    type ChangeBytes = fn(&mut Vec<u8>);
    let cases: [(SectionId, What, ChangeBytes); 2] = [
        (SectionId::SECTIONS, What::Truncated, |data| data.clear()),
        (SectionId::STARTS, What::Value, |data| data[8] = 1),
    ];
    for (section, kind, change) in cases {
        let mut sections = contents.sections();
        change(&mut sections.iter_mut().find(|(id, _)| *id == section.0).unwrap().1);
        let bytes = contents.assemble(&sections);
        let error = SymbolFile::open(&bytes).unwrap().verify().unwrap_err();
        assert_eq!((error.section, error.what), (section, kind));
    }
}

#[test]
fn verify_finds_a_function_that_is_two_members() {
    // Numbers that all fit one window of those that are compared at once, and numbers in several windows.
    for (functions, members) in [(3, 3), (9000, 9000), (9000, 3)] {
        let step = functions / members;
        // Not in order.
        let mut ids: Vec<i64> = (0..members).map(|member| (member * 7 % members) * step).collect();
        let file = |ids: &[i64]| {
            let contents = writer::Contents {
                max_group: ids.len() as u32,
                block_log2: 8,
                names: vec![b"f".to_vec()],
                origins: vec![[0, 0, 0, 0]],
                functions: (0..functions).map(|_| [0; 5]).collect(),
                pieces: vec![[0, 16, 0, 0, 1, 0, 0]],
                groups: vec![[0]],
                members: ids.iter().map(|&id| [id, 0, 0, 0]).collect(),
                rows: vec![0],
                scopes: vec![0],
                ..writer::Contents::default()
            };
            contents.file()
        };
        SymbolFile::open(&file(&ids)).unwrap().verify().unwrap();
        let last = ids.len() - 1;
        ids[last] = ids[0];
        let error = SymbolFile::open(&file(&ids)).unwrap().verify().unwrap_err();
        assert_eq!((error.section, error.what, error.offset), (SectionId::MEMBERS, What::Value, last as u64));
    }
}
