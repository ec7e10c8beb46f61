//! Tier 2 from C and from C++, against the static and the dynamic library.

#![cfg(feature = "std")]

mod common;

use std::process::Command;

use common::{both_tiers, compile, compiler, expect, folder, run, source, symbol_file, text};
use foldsym_lookup::SymbolFile;
use foldsym_testkit::writer;

/// After an error no pointer is left, and each text is stored once: 3,000 addresses of a name of 64 KiB need it once.
#[test]
fn errors_and_texts_of_many_addresses() {
    use foldsym_capi::boundary::tier1::foldsym_open;
    use foldsym_capi::boundary::tier2::{foldsym_symbolize, foldsym_symbols_free};
    use foldsym_capi::types::{
        Addresses, FOLDSYM_E_ARGUMENT, FOLDSYM_E_DAMAGED, FOLDSYM_E_SIZE, FOLDSYM_OK, File, Symbols,
    };
    let symbolize = |bytes: &[u8], addresses: &[u64], check: &dyn Fn(i32, *mut Symbols)| {
        // SAFETY: zeros are valid for structs of numbers and pointers; all pointers are to live values.
        unsafe {
            let mut file: File = std::mem::zeroed();
            assert_eq!(
                foldsym_open(&raw mut file, bytes.as_ptr().cast(), bytes.len(), std::ptr::null_mut()),
                FOLDSYM_OK
            );
            let mut wanted: Addresses = std::mem::zeroed();
            wanted.addresses = addresses.as_ptr();
            wanted.count = addresses.len();
            for (size, kind, expected) in [
                (8, 0, FOLDSYM_E_SIZE),
                (size_of::<Addresses>(), 9, FOLDSYM_E_ARGUMENT),
                (size_of::<Addresses>(), 0, FOLDSYM_OK),
            ] {
                (wanted.size, wanted.kind) = (size, kind);
                let mut out: *mut Symbols = std::ptr::dangling_mut();
                let status = foldsym_symbolize(&raw const file, &raw const wanted, &raw mut out);
                assert_eq!(status, expected);
                assert_eq!(out.is_null(), status != FOLDSYM_OK);
                if status == FOLDSYM_OK {
                    check(status, out);
                    foldsym_symbols_free(out);
                }
            }
        }
    };
    let contents = |names: &[Vec<u8>]| {
        let functions = names.len() as i64;
        let contents = writer::Contents {
            block_log2: 8,
            names: vec![b"n".to_vec()],
            origins: (0..functions).map(|name| [name, 0, 0, 0]).collect(),
            functions: (0..functions).map(|origin| [origin, 0, 0, 0, 0]).collect(),
            pieces: (0..functions).map(|piece| [16 * piece, 16, 0, 0, 2 * piece, 0, 0]).collect(),
            rows: vec![0],
            scopes: vec![0],
            ..writer::Contents::default()
        };
        let mut sections = contents.sections();
        let table = sections.iter_mut().find(|(id, _)| *id == foldsym_lookup::SectionId::NAMES.0).unwrap();
        let names: Vec<&[u8]> = names.iter().map(Vec::as_slice).collect();
        table.1 = foldsym_convert::internal::encode::names::encode(&names);
        contents.assemble(&sections)
    };
    let long = |number: usize| [vec![b'n'; 65_000], format!("{number:08}").into_bytes()].concat();
    // SAFETY: what the library gives is there until it is freed.
    symbolize(&contents(&[long(0)]), &[5; 3000], &|_, symbols| unsafe {
        let symbols = std::slice::from_raw_parts((*symbols).symbols, (*symbols).count);
        let names = symbols.iter().map(|symbol| (*symbol.frames).name);
        let first = (*symbols[0].frames).name;
        assert!(symbols.len() == 3000 && names.into_iter().all(|name| std::ptr::eq(name, first)));
        assert_eq!(std::ffi::CStr::from_ptr(first).to_bytes(), long(0));
    });
    // 1,300 of such names in a file of some 20 KB: there is room for 1,000.
    let names: Vec<Vec<u8>> = (0..1300).map(long).collect();
    let bytes = contents(&names);
    assert!(bytes.len() < 50_000);
    let addresses: Vec<u64> = (0..1300).map(|function| 16 * function).collect();
    // SAFETY: as above.
    symbolize(&bytes, &addresses, &|_, symbols| unsafe {
        let symbols = std::slice::from_raw_parts((*symbols).symbols, (*symbols).count);
        let sound =
            symbols.iter().filter(|symbol| symbol.status == FOLDSYM_OK && symbol.frame_count == 1).count();
        let refused = symbols.iter().filter(|symbol| symbol.status == FOLDSYM_E_DAMAGED).count();
        assert!(sound > 1000 && refused > 200 && sound + refused == 1300, "{sound} {refused}");
    });
}

/// A function with an inlined call in an inlined call, 255 deep: 256 frames at its address.
fn deep() -> writer::Contents {
    let nodes: Vec<(u32, u32)> = (0..255).map(|parent| (parent, 0)).collect();
    let row = writer::RawRow { offset: 0, scope: 255, line: Some(1), file: 0, column: 0 };
    let (mut rows, mut scopes) = (vec![0], vec![0]);
    let record = writer::rows_record(&mut rows, &[row], true) as i64;
    let tree = writer::scopes_record(&mut scopes, &nodes) as i64;
    writer::Contents {
        max_depth: 255,
        block_log2: 2,
        names: vec![b"f".to_vec()],
        files: vec![b"/f.c".to_vec()],
        origins: vec![[0, 1, 1, 0]],
        edges: vec![[0, 1, 0, 0]],
        functions: vec![[0, tree, 0, 0, 0]],
        pieces: vec![[0, 16, 0, 0, 0, record, 0]],
        rows,
        scopes,
        ..writer::Contents::default()
    }
}

/// A small file asks for more frames than answers have, or than there is memory for: an error, and no end of the process.
#[test]
fn answers_have_bounds() {
    let Some(compiler) = compiler("cc") else { return };
    let folder = folder("tier2-bounds");
    let program = folder.join("many");
    let library = both_tiers().join("libfoldsym_capi.a");
    compile(
        &compiler,
        &program,
        &["-std=c11", &source("many.c"), text(&library), "-lpthread", "-ldl", "-lm"],
    );
    let (inlined, folded) = (folder.join("inlined.fsym"), folder.join("folded.fsym"));
    std::fs::write(&inlined, deep().file()).unwrap();
    let group = writer::folded::Folded::new(2, &[900]);
    std::fs::write(&folded, group.contents().file()).unwrap();
    let start = format!("{:x}", group.start(writer::folded::Place::Group(0)));
    let limited = |kilobytes: &str, args: &[&str]| {
        let script = format!("ulimit -v {kilobytes}; exec \"$0\" \"$@\"");
        common::ask(Command::new("sh").args(["-c", &script]).arg(&program).args(args), "")
    };
    let (inlined, folded) = (text(&inlined), text(&folded));
    assert!(std::fs::metadata(inlined).unwrap().len() < 4096);
    // 1,024,000 frames, 1,280,000, and 25,600,000 where 1,600,000 are allowed.
    assert_eq!(limited("unlimited", &[inlined, "5", "4000", "0"]), "0\n0\n");
    assert_eq!(limited("unlimited", &[inlined, "5", "5000", "3"]), "-6\n-6\n");
    assert_eq!(limited("unlimited", &[inlined, "5", "100000", "0"]), "-6\n-6\n");
    // 57 MB of frames.
    assert_eq!(limited("40000", &[inlined, "5", "4000", "0"]), "-6\n-6\n");
    // Candidates count.
    assert_eq!(limited("unlimited", &[folded, &start, "1100", "2"]), "0\n0\n");
    assert_eq!(limited("unlimited", &[folded, &start, "1300", "2"]), "-6\n-6\n");
    assert_eq!(limited("unlimited", &[folded, &start, "100000", "0"]), "0\n0\n");
}

#[test]
fn a_path_and_many_addresses() {
    let folder = folder("tier2");
    let path = symbol_file("fold.clang-lld.set/program", &folder);
    let bytes = std::fs::read(&path).unwrap();
    let file = SymbolFile::open(&bytes).unwrap();
    let mut addresses = vec![1];
    for piece in (0..file.records().piece_count()).step_by(3).take(200) {
        addresses.push(file.records().piece(foldsym_lookup::PieceId(piece)).unwrap().start.0);
    }
    let expected: String = addresses.iter().map(|address| expect(&file, *address)).collect();
    let words: Vec<String> = addresses.iter().map(|address| format!("{address:x}")).collect();
    let mut args = vec![text(&path)];
    args.extend(words.iter().map(String::as_str));
    for (name, flags) in [("cc", ["-std=c11", "-xc"]), ("c++", ["-std=c++17", "-xc++"])] {
        let Some(compiler) = compiler(name) else { continue };
        let libraries = both_tiers();
        let archive = libraries.join("libfoldsym_capi.a");
        let search = format!("-L{}", libraries.display());
        let find = format!("-Wl,-rpath,{}", libraries.display());
        let linked = [
            ("static", vec![text(&archive), "-lpthread", "-ldl", "-lm"]),
            ("dynamic", vec![search.as_str(), "-lfoldsym_capi", find.as_str()]),
        ];
        for (kind, link) in linked {
            let program = folder.join(format!("{name}-{kind}"));
            let source = source("tier2.c");
            let mut all = vec![flags[0], flags[1], source.as_str(), "-xnone"];
            all.extend(link);
            compile(&compiler, &program, &all);
            assert_eq!(run(&program, &args), expected, "{name}, {kind}");
        }
    }
}
