//! Tier 2 from C and from C++, against the static and the dynamic library.

mod common;

use std::fmt::Write as _;

use common::{both_tiers, compile, compiler, folder, run, source, symbol_file, text};
use foldsym_lookup::{Frames, ImageAddr, Lookup, SymbolFile};

/// What `tier2.c` prints, by the Rust reader.
fn expect(file: &SymbolFile<'_>, address: u64) -> String {
    let mut frames = Frames::new();
    let Lookup::Found(answer) = file.lookup(ImageAddr(address), &mut frames).unwrap() else {
        return "1 0 0\n".into();
    };
    let certainty = if answer.group.is_some() { 4 } else { 1 };
    let mut out = format!("0 {certainty} {}", answer.member_count());
    for frame in file.frames(&frames) {
        let frame = frame.unwrap();
        let text = |write: &dyn Fn(&mut [u8]) -> Option<usize>| {
            let mut buffer = [0; 4096];
            let len = write(&mut buffer).unwrap_or(0);
            String::from_utf8(buffer[..len].to_vec()).unwrap()
        };
        let name = text(&|out| file.write_name(frame.name?, out));
        let path = text(&|out| file.write_path(frame.file?, out));
        write!(out, " {name}@{path}:{}", frame.line).unwrap();
    }
    out + "\n"
}

#[test]
fn a_path_and_many_addresses() {
    let folder = folder("tier2");
    let path = symbol_file("fold.clang-lld.set/program", &folder);
    let bytes = std::fs::read(&path).unwrap();
    let file = SymbolFile::open(&bytes).unwrap();
    let mut addresses = vec![1];
    for piece in (0..file.piece_count()).step_by(3).take(200) {
        addresses.push(file.piece(foldsym_lookup::PieceId(piece)).unwrap().start.0);
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
