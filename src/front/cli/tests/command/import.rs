//! `import`: names of outputs, stores, the walk of a minidump by `STACK CFI`, and what is said of files that cannot be read.

#![cfg(feature = "convert")]

use crate::common;

use std::path::Path;

use common::{file, foldsym, foldsym_with};

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn real() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../testbins/breakpad/dump_syms_regtest64.sym")
}

/// A program of the tests of `foldsym-reports` as a Breakpad file, with linkage names and `STACK CFI`.
fn exported(program: &Path, folder: &Path) -> std::path::PathBuf {
    let (fsym, sym) = (folder.join("program.fsym"), folder.join("program.sym"));
    let ran = foldsym(&["convert", "-q", "--unwind", text(program), "-o", text(&fsym)]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let args = ["export", text(&fsym), "--breakpad", "--no-demangle", "--module", "crash", "-o", text(&sym)];
    assert_eq!(foldsym(&args).code, 0);
    sym
}

#[test]
fn a_file_several_and_the_folder_of_a_symbol_server() {
    let folder = tempfile::tempdir().unwrap();
    let sym = file(folder.path(), "app.sym", &std::fs::read(real()).unwrap());
    let ran = foldsym(&["import", text(&sym)]);
    assert!(ran.code == 0 && ran.err.is_empty(), "{ran:?}");
    let fsym = folder.path().join("app.sym.fsym");
    let found = foldsym(&["lookup", text(&fsym), "0x1000", "--json"]).json();
    assert_eq!((&found[0]["Certainty"], &found[0]["Reason"]), (&"likely".into(), &"stripped".into()));
    assert_eq!(foldsym(&["verify", text(&fsym)]).code, 0);

    let server = folder.path().join("server");
    let id = "72E103A85CB249078B76B2E7C06257B13";
    let place = server.join("app.pdb").join(id);
    std::fs::create_dir_all(&place).unwrap();
    std::fs::copy(&sym, place.join("app.sym")).unwrap();
    std::fs::write(server.join("readme.txt"), "MODULES of this server").unwrap();
    let out = folder.path().join("out");
    let ran = foldsym(&["import", text(&server), text(&sym), "--out-dir", text(&out)]);
    assert!(ran.code == 0 && ran.out.contains("2 converted, 0 failed, 1 other files skipped"), "{ran:?}");
    assert!(
        out.join("app.pdb").join(id).join("app.sym.fsym").is_file() && out.join("app.sym.fsym").is_file()
    );

    // Programs are no inputs of this command.
    let program = common::program("demo.elf");
    let refused = foldsym(&["import", text(&program), "-o", text(&fsym)]);
    assert!(refused.code == 3 && refused.err.contains("not a Breakpad symbol file"), "{refused:?}");
    let empty = foldsym(&["import", text(program.parent().unwrap()), "--out-dir", text(&out)]);
    assert!(empty.code == 3 && empty.err.contains("no Breakpad symbol file in this folder"), "{empty:?}");
    let bad = file(folder.path(), "bad.sym", b"MODULE Linux x86_64 0 bad\nFUNC 1000 4 0 f\nFUNC x\n");
    let ran = foldsym(&["import", text(&bad), "--strict"]);
    assert!(ran.code == 4 && ran.err.contains("line 3: FUNC: expected a hexadecimal address"), "{ran:?}");
}

#[test]
fn a_windows_program_is_found_by_the_identifier_of_its_pdb() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store");
    let imported = || foldsym(&["import", text(&real()), "--store", text(&store), "--unwind"]);
    let ran = imported();
    assert_eq!(ran.code, 0, "{ran:?}");
    let listed = &foldsym(&["store", "list", text(&store), "--json"]).json()[0];
    let debug_id = "72E103A85CB249078B76B2E7C06257B13";
    assert_eq!((&listed["DebugId"], &listed["Level"]), (&debug_id.into(), &"full".into()), "{listed}");
    assert_eq!(listed["Name"], "dump_syms_regtest64.exe");
    assert_eq!(foldsym(&["store", "check", text(&store)]).code, 0);
    // The second time there is nothing to do.
    assert_eq!(imported().code, 0);
    assert_eq!(foldsym(&["store", "list", text(&store)]).out.lines().count(), 1);
    let request = format!(
        r#"{{"modules": [{{"id": "{debug_id}", "name": "app.exe", "base": "0x7ff600000000"}}], "frames": ["0x7ff600001010"]}}"#
    );
    let ran = foldsym_with(&["stack", "--store", text(&store), "--json"], &request);
    let answer = &ran.json()[0];
    assert!(answer.to_string().contains("\"likely\""), "{ran:?}");
}

/// The lines of all frames of a report.
fn frames(store: &Path, dump: &str) -> Vec<String> {
    let ran = foldsym(&["symbolize", "--store", text(store), dump]);
    ran.out.lines().filter(|line| line.starts_with('#')).map(|line| line.replace(text(store), "")).collect()
}

#[test]
fn a_minidump_is_walked_by_the_rows_of_an_imported_file() {
    let reports = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../reports/tests/reports");
    let (program, dump) = (reports.join("crash"), reports.join("crash.dmp"));
    let folder = tempfile::tempdir().unwrap();
    let sym = exported(&program, folder.path());
    let stores = ["converted", "imported", "both"].map(|name| folder.path().join(name));
    let published = |command: &str, input: &Path, store: &Path| {
        let ran = foldsym(&[command, text(input), "--unwind", "--store", text(store)]);
        assert_eq!(ran.code, 0, "{ran:?}");
        ran.out
    };
    published("convert", &program, &stores[0]);
    published("import", &sym, &stores[1]);
    let [converted, imported] = [&stores[0], &stores[1]].map(|store| frames(store, text(&dump)));
    assert!(converted.len() >= 6 && converted.len() == imported.len(), "{imported:#?} {converted:#?}");
    // A Breakpad file has one name of folded functions, and no calls that tell them apart.
    let differing: Vec<_> = imported.iter().zip(&converted).filter(|(one, other)| one != other).collect();
    let [(own, exact)] = differing[..] else { panic!("{differing:#?}") };
    assert!(own.contains(" in save_player(int) at ") && !own.contains('['), "{own}");
    assert!(exact.contains(" in save_world(int) [exact: direct_call] at "), "{exact}");

    // One build id: the file of the program replaces the imported one, and not the other way round.
    published("import", &sym, &stores[2]);
    let replaced = published("convert", &program, &stores[2]);
    assert!(replaced.contains(": replaces one that has less"), "{replaced}");
    published("import", &sym, &stores[2]);
    let id = foldsym(&["store", "list", text(&stores[2]), "--json"]).json()[0]["Path"].clone();
    let info = foldsym(&["info", id.as_str().unwrap()]).out;
    assert!(info.contains("CallsWithKey     3\n"), "{info}");
}
