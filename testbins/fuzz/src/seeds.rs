//! Inputs to begin with: the test programs, files made from them, and programs made by hand.

use std::path::{Path, PathBuf};

use foldsym_convert::{NoProgress, Options, convert};

use crate::build::{CODE, Info, Value, line_program, sequence};
use crate::convert::{listed, options};

/// Programs of more bytes are left out: fuzzing is as fast as its inputs are small.
const LARGEST: u64 = 40_000;

pub fn built() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../built")
}

/// The small test programs, by name.
pub fn programs() -> Vec<(String, Vec<u8>)> {
    let mut out = Vec::new();
    let mut folders = vec![built()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("built/").flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let small = entry.metadata().is_ok_and(|data| data.len() <= LARGEST);
            let bytes = std::fs::read(&path).expect("a test program");
            let program = [&b"\x7fELF"[..], &[0xcf, 0xfa, 0xed, 0xfe], &[0xca, 0xfe, 0xba, 0xbe]];
            if small && program.iter().any(|magic| bytes.starts_with(magic)) {
                let name = path.strip_prefix(built()).expect("below it").to_string_lossy().replace('/', "-");
                out.push((name, bytes));
            }
        }
    }
    out.sort();
    out
}

/// A `.fsym` of each of some programs: with folded code and calls, deep inlining, Mach-O, big-endian, padding, basic
/// blocks, and, where it is full, where objects are.
pub fn symbol_files() -> Vec<(String, Vec<u8>)> {
    let folder = tempfile::tempdir().expect("a folder for temporary files");
    let names = [
        "ring.clang-lld.set/program",
        "fold.clang-relocs.set/program",
        "fold.gcc-merged.set/program",
        "inline.clang-dwarf5",
        "inline.ppc64-be",
        "macho.arm64.o",
        "objects.clang-stmt-sequence",
        "units.gcc-dwz-dwarf5",
        "nested.gcc-o2",
        "inline.clang-symbols-only",
        "objects.gcc-cold-dwarf5",
        "blocks.clang.set/program",
        "blocks.profile.set/program",
    ];
    let mut out = Vec::new();
    for name in names {
        for full in [false, true] {
            let output = folder.path().join("out.fsym");
            let options =
                if full { options() } else { Options::default().with(|options| options.threads = 1) };
            convert(&built().join(name), &output, &options, &NoProgress).expect("a sound program");
            let bytes = std::fs::read(&output).expect("the file");
            out.push((format!("{}-{full}", name.replace('/', "-")), bytes));
        }
    }
    out
}

/// Made programs, as lists of sections.
pub fn made() -> Vec<(String, Vec<u8>)> {
    use gimli::{
        DW_AT_abstract_origin, DW_AT_call_file, DW_AT_call_line, DW_AT_call_origin, DW_AT_call_return_pc,
        DW_AT_decl_file, DW_AT_high_pc, DW_AT_low_pc, DW_AT_name, DW_AT_ranges, DW_TAG_call_site,
        DW_TAG_inlined_subroutine, DW_TAG_subprogram,
    };
    let code = |start, len| [(DW_AT_low_pc, Value::Address(start)), (DW_AT_high_pc, Value::Number(len))];
    let mut out = Vec::new();
    for version in [2, 3, 4, 5] {
        let mut info = Info::new(version, &[]);
        let [low, high] = code(CODE, 0x20);
        info.label("callee").open(DW_TAG_subprogram, &[(DW_AT_name, Value::Text("callee"))]).close();
        info.open(
            DW_TAG_subprogram,
            &[(DW_AT_name, Value::Text("first")), (DW_AT_decl_file, Value::Number(1)), low, high],
        );
        let [low, high] = code(CODE + 4, 8);
        let called = [
            (DW_AT_abstract_origin, Value::Label("callee")),
            low,
            high,
            (DW_AT_call_file, Value::Number(1)),
            (DW_AT_call_line, Value::Number(7)),
        ];
        info.open(DW_TAG_inlined_subroutine, &called).close();
        let site = [
            (DW_AT_call_return_pc, Value::Address(CODE + 0x10)),
            (DW_AT_call_origin, Value::Label("callee")),
        ];
        info.open(DW_TAG_call_site, &site).close().close();
        info.function("removed", 0, 0x20).function("_Z6secondv", CODE + 0x20, 0x20);
        info.open(
            DW_TAG_subprogram,
            &[
                (DW_AT_name, Value::Text("ranged")),
                (DW_AT_ranges, Value::Offset(if version < 5 { 0 } else { 12 })),
            ],
        )
        .close();
        let mut sections = info.sections();
        let rows = sequence(&[(CODE, 10), (CODE + 4, 3), (CODE + 12, 11), (CODE + 0x20, 20)], CODE + 0x60);
        sections.push((".debug_line", line_program(&rows)));
        let pairs = [CODE + 0x40, CODE + 0x48, CODE + 0x50, CODE + 0x60, 0, 0];
        sections.push((".debug_ranges", pairs.iter().flat_map(|n: &u64| n.to_le_bytes()).collect()));
        let mut lists = [&30_u32.to_le_bytes()[..], &[5, 0, 8, 0, 0, 0, 0, 0], &[7]].concat();
        lists.extend((CODE + 0x40).to_le_bytes());
        lists.extend([8, 6]);
        lists.extend((CODE + 0x50).to_le_bytes());
        lists.extend([0; 4]);
        sections.push((".debug_rnglists", lists));
        out.push((format!("made-{version}"), listed(&sections)));
    }
    out
}

/// Writes the seeds of each target to `FOLDER/TARGET/` and ends the process, where the variable `FOLDSYM_SEEDS` names
/// a folder. It is part of a target, since what is built with coverage links with libFuzzer alone.
pub fn write_if_asked() {
    let Some(folder) = std::env::var_os("FOLDSYM_SEEDS") else { return };
    let put = |target: &str, name: &str, bytes: &[u8]| {
        let folder = Path::new(&folder).join(target);
        std::fs::create_dir_all(&folder).expect("a folder for seeds");
        std::fs::write(folder.join(name), bytes).expect("a seed");
    };
    for (name, bytes) in symbol_files() {
        put("fsym_bytes", &name, &bytes);
    }
    for seed in 0..40_u8 {
        let edit = |at: u8| seed.wrapping_mul(37).wrapping_add(at.wrapping_mul(seed | 1));
        let edits: Vec<u8> = std::iter::once(seed).chain((0..18).map(edit)).collect();
        put("fsym_fields", &format!("{seed}"), &edits);
        let number = |at: u32| (at.wrapping_mul(2_654_435_761).rotate_left(seed.into()) >> 16).to_le_bytes();
        let numbers: Vec<u8> = (0..1500).flat_map(number).collect();
        put("round_trip", &format!("{seed}"), &numbers[..usize::from(seed) * 150]);
    }
    for (name, bytes) in programs() {
        put("convert_program", &name, &bytes);
        let first = match name.rsplit('.').next() {
            Some("dwp") => 0,
            Some("dwo") => 1,
            _ => continue,
        };
        for program in 0..4_u8 {
            put(
                "convert_split",
                &format!("{name}-{program}"),
                &[&[program << 1 | first], &bytes[..]].concat(),
            );
        }
    }
    for (name, bytes) in made() {
        put("convert_program", &name, &bytes);
    }
    let reports = crate::reports::folder();
    let report = |name: &str| std::fs::read(reports.join(name)).expect("a report of the tests");
    let core = crate::reports::seed_core(&report("crash"));
    crate::reports::has_names(&core, foldsym_reports::Format::ElfCore);
    put("report_core", "made", &core);
    crate::reports::has_names(&report("crash.dmp"), foldsym_reports::Format::Minidump);
    put("report_minidump", "crash", &report("crash.dmp"));
    crate::reports::has_names(&report("mail.pb.gz"), foldsym_reports::Format::Pprof);
    for name in ["mail.pb.gz", "go.pb.gz"] {
        let packed = report(name);
        let mut plain = Vec::new();
        let _ = std::io::Read::read_to_end(&mut flate2::read::GzDecoder::new(&*packed), &mut plain);
        put("report_profile", name, &packed);
        put("report_profile", &format!("{name}.plain"), &plain);
    }
    std::process::exit(0);
}
