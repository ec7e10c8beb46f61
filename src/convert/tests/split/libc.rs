//! The C library of Debian, whose debug information is in a package of its own and found by build id.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use foldsym_convert::{NoProgress, Options, convert};
use object::{Object as _, ObjectSymbol as _};

use crate::ask::Asked;

/// The installed library and its debug file below `/usr/lib/debug`.
fn installed() -> Option<(PathBuf, PathBuf)> {
    let library = ["/usr/lib", "/lib"]
        .map(|lib| Path::new(lib).join(format!("{}-linux-gnu/libc.so.6", std::env::consts::ARCH)))
        .into_iter()
        .find(|library| library.is_file())?;
    let out = tempfile::tempdir().unwrap();
    let report = convert(&library, &out.path().join("id.fsym"), &Options::default(), &NoProgress).unwrap();
    let id: String = report.build_id.iter().map(|byte| format!("{byte:02x}")).collect();
    let (head, tail) = id.split_at_checked(2)?;
    let debug = Path::new("/usr/lib/debug/.build-id").join(head).join(format!("{tail}.debug"));
    debug.is_file().then_some((library, debug))
}

/// The names that other modules can see, by address.
fn visible_names(library: &Path) -> BTreeMap<u64, BTreeSet<String>> {
    let bytes = std::fs::read(library).unwrap();
    let mut names: BTreeMap<u64, BTreeSet<String>> = BTreeMap::new();
    for symbol in object::File::parse(&*bytes).unwrap().dynamic_symbols() {
        names.entry(symbol.address()).or_default().insert(symbol.name().unwrap().to_owned());
    }
    names
}

/// That the debug file alone is converted rightly is for `cargo xtask ci-diff`, which asks llvm-symbolizer.
#[test]
fn the_stripped_library_answers_as_its_debug_file_does() {
    let Some((library, debug)) = installed() else {
        assert!(std::env::var("CI").as_deref() != Ok("true"), "package libc6-dbg is not installed");
        println!("skipped: needs package libc6-dbg");
        return;
    };
    let place = tempfile::tempdir().unwrap();
    let path = |name: &str| place.path().join(name);
    std::fs::copy(&library, path("alone.so")).unwrap();
    let options = Options::default().with(|options| options.debug_dirs = vec!["/usr/lib/debug".into()]);
    let report = convert(&path("alone.so"), &path("alone.fsym"), &options, &NoProgress).unwrap();
    assert!(report.notes.is_empty(), "{:?}", report.notes);
    assert_eq!(report.counts.partial_units, 0);
    convert(&debug, &path("debug.fsym"), &Options::default(), &NoProgress).unwrap();

    let bytes = [path("alone.fsym"), path("debug.fsym")].map(|path| std::fs::read(path).unwrap());
    let (mut alone, mut debug) = (Asked::new(&bytes[0]), Asked::new(&bytes[1]));
    assert_eq!(alone.addresses(), debug.addresses());
    let names = visible_names(&library);
    let (mut lines, mut inlined, mut less_sure, mut other_names) = (0, 0, 0, 0);
    for address in alone.addresses().into_iter().flatten() {
        let (known, mut other) = (alone.at(address), debug.at(address));
        // The debug file has no code, which shows that nothing was merged.
        if let (Some(known), Some(other)) = (&known, &mut other) {
            less_sure += u32::from(other.members > known.members);
            other.members = other.members.min(known.members);
        }
        // Of several names that other modules see, the last one of a table is shown, and the two tables are in different orders.
        if let (Some(known), Some(other)) = (&known, &mut other) {
            let (shown, same) = (known.frames.last(), other.frames.last_mut());
            if let (Some(shown), Some(same)) = (shown, same)
                && let Some(names) = names.get(&known.function_start)
                && names.contains(&*shown.0)
                && names.contains(&*same.0)
            {
                other_names += u32::from(shown.0 != same.0);
                same.0.clone_from(&shown.0);
            }
        }
        assert_eq!(known, other, "{address:#x}");
        let Some(known) = known else { continue };
        lines += u32::from(known.frames[0].2 != 0);
        inlined += u32::from(known.frames.len() > 1);
    }
    assert!(less_sure < lines / 20, "{less_sure} of {lines} addresses");
    assert!(other_names < lines / 5, "{other_names} of {lines} addresses");
    assert!(lines > 500_000 && inlined > 50_000, "{lines} addresses with a line, {inlined} inlined");
}
