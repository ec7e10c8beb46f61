//! `wave` on the programs of `testbins/cases/lanes.s`, in both generations of codes: each lane's place is worked out by hand there, and
//! again here, only from the masks.

use crate::common;

use std::path::{Path, PathBuf};

use common::foldsym;
use serde_json::{Value, json};

const PROGRAMS: [&str; 2] = ["lanes.user", "lanes.first"];
/// Where `branch` begins; all other addresses of the program count from there.
const BRANCH: [u64; 2] = [0x12e0, 0x12e0];

struct Converted {
    folder: tempfile::TempDir,
    start: u64,
}

impl Converted {
    fn of(index: usize) -> Converted {
        let folder = tempfile::tempdir().unwrap();
        let program = common::program(PROGRAMS[index]);
        let (out, report) = (folder.path().join("fsym"), folder.path().join("report"));
        let ran = foldsym(&[
            "convert",
            "-q",
            program.to_str().unwrap(),
            "-o",
            out.to_str().unwrap(),
            "--report",
            report.to_str().unwrap(),
        ]);
        assert_eq!(ran.code, 0, "{ran:?}");
        Converted { folder, start: BRANCH[index] }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn wave(&self, arguments: &[&str]) -> common::Ran {
        foldsym(&[&["wave", self.path("fsym").to_str().unwrap()], arguments].concat())
    }

    /// The groups at an offset from `branch`: for each lane its state and the offset of its program counter.
    fn lanes(&self, pc: u64, exec: u64, registers: &Value) -> Vec<(String, Option<u64>)> {
        let file = self.path("regs.json");
        std::fs::write(&file, registers.to_string()).unwrap();
        let (pc, exec) = (format!("{:#x}", self.start + pc), format!("{exec:#x}"));
        let ran = self.wave(&["--pc", &pc, "--exec", &exec, "--regs", file.to_str().unwrap(), "--json"]);
        assert_eq!(ran.code, 0, "{ran:?}");
        let answer: Value = serde_json::from_str(&ran.out).unwrap();
        let mut lanes = vec![(String::new(), None); answer["LaneCount"].as_u64().unwrap() as usize];
        for group in answer["Groups"].as_array().unwrap() {
            let place = group["Place"]["Address"].as_str();
            let place = place.map(|at| u64::from_str_radix(&at[2..], 16).unwrap() - self.start);
            for lane in group["Lanes"].as_array().unwrap() {
                let lane = &mut lanes[lane.as_u64().unwrap() as usize];
                assert_eq!(*lane, (String::new(), None), "{answer}");
                *lane = (group["State"].as_str().unwrap().to_owned(), place);
            }
        }
        assert!(lanes.iter().all(|(state, _)| !state.is_empty()), "{answer}");
        lanes
    }
}

/// The expected lanes: in the list of masks and places, the last entry that has a lane counts.
fn expected(pc: u64, exec: u64, waiting: &[(u64, u64)]) -> Vec<(String, Option<u64>)> {
    let place = |lane: u32| {
        let waits = waiting.iter().rev().find(|(mask, _)| mask >> lane & 1 != 0);
        match (exec >> lane & 1, waits) {
            (1, _) => ("executing".to_owned(), Some(pc)),
            (_, Some(&(_, at))) => ("waiting".to_owned(), Some(at)),
            _ => ("inactive".to_owned(), None),
        }
    };
    (0..64).map(place).collect()
}

// Offsets of the labels in `lanes.s` from `branch`, instruction by instruction (4 bytes each).
const THEN: u64 = 12;
const ELSE: u64 = 24;
const END: u64 = 32;
const LOOP: u64 = 40;
const BODY: u64 = LOOP + 8;
const AFTER: u64 = LOOP + 20;
const NEST: u64 = 68;
const NEST_THEN: u64 = NEST + 8;
const INNER: u64 = NEST + 12;
const INNER_END: u64 = NEST + 24;
const OTHER: u64 = NEST + 32;
const ODD: u64 = 108;
const SPILLED: u64 = 116;

const MASKS: [u64; 5] = [0, 1, 0xff, 0xf0f0_0000_ffff_0f0f, u64::MAX];

fn halves(first: u32, value: u64) -> [(String, Value); 2] {
    [(format!("s{first}"), (value & 0xffff_ffff).into()), (format!("s{}", first + 1), (value >> 32).into())]
}

#[test]
fn an_if_with_an_else() {
    for index in 0..2 {
        let converted = Converted::of(index);
        for (saved, exec) in [(0xff, 0xf), (MASKS[3], MASKS[3] & 0xff00_0000_00ff_0005), (u64::MAX, 1 << 63)]
        {
            let registers = json!({ "regs": serde_json::Map::from_iter(halves(34, saved)) });
            for pc in (THEN..ELSE).step_by(4) {
                let lanes = converted.lanes(pc, exec, &registers);
                assert_eq!(lanes, expected(pc, exec, &[(saved, ELSE)]), "{pc}");
            }
            for pc in (ELSE..END).step_by(4) {
                let lanes = converted.lanes(pc, exec, &registers);
                assert_eq!(lanes, expected(pc, exec, &[(saved, END)]), "{pc}");
            }
            // No region: no lane waits, whatever the registers hold.
            for pc in [0, 8, END, END + 4] {
                assert_eq!(converted.lanes(pc, exec, &registers), expected(pc, exec, &[]), "{pc}");
            }
        }
    }
}

#[test]
fn a_loop() {
    for index in 0..2 {
        let converted = Converted::of(index);
        for saved in MASKS {
            let exec = saved & 0x1_0000_ff00_0f01;
            let registers = json!({ "regs": serde_json::Map::from_iter(halves(36, saved)) });
            for pc in (BODY..AFTER).step_by(4) {
                let lanes = converted.lanes(pc, exec, &registers);
                assert_eq!(lanes, expected(pc, exec, &[(saved, AFTER)]), "{pc} {saved:#x}");
            }
            for pc in [LOOP, AFTER, AFTER + 4] {
                assert_eq!(converted.lanes(pc, exec, &registers), expected(pc, exec, &[]), "{pc}");
            }
        }
    }
}

#[test]
fn a_loop_in_an_if_whose_mask_is_in_memory() {
    let (outer, inner, exec) = (0x0000_ffff_ffff_0000u64, 0x0000_00ff_ffff_0000u64, 0x0000_000f_00ff_0000u64);
    let bytes: String = outer.to_le_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
    let mut registers = serde_json::Map::from_iter(halves(36, inner));
    registers.insert("s32".to_owned(), json!("0x140"));
    let stopped = json!({ "regs": registers, "mem": [{ "addr": "0x140", "hex": bytes, "space": 6 }] });
    // The same bytes in another address space.
    let elsewhere = json!({ "regs": registers, "mem": [{ "addr": "0x140", "hex": bytes }] });
    for index in 0..2 {
        let converted = Converted::of(index);
        for pc in (INNER..INNER_END).step_by(4) {
            let lanes = converted.lanes(pc, exec, &stopped);
            assert_eq!(lanes, expected(pc, exec, &[(outer, OTHER), (inner, INNER_END)]), "{pc}");
        }
        for pc in [NEST_THEN, INNER_END, INNER_END + 4] {
            assert_eq!(converted.lanes(pc, exec, &stopped), expected(pc, exec, &[(outer, OTHER)]), "{pc}");
        }
        for pc in [NEST, OTHER] {
            assert_eq!(converted.lanes(pc, exec, &stopped), expected(pc, exec, &[]), "{pc}");
        }
        // Lanes that execute are known anyway.
        for (lane, (state, at)) in converted.lanes(INNER, exec, &elsewhere).into_iter().enumerate() {
            let wanted = if exec >> lane & 1 == 1 { ("executing", Some(INNER)) } else { ("unknown", None) };
            assert_eq!((state.as_str(), at), wanted, "{lane}");
        }
    }
}

#[test]
fn what_is_missing_has_a_reason() {
    for index in 0..2 {
        let converted = Converted::of(index);
        let at = |offset: u64| format!("{:#x}", converted.start + offset);
        let ran = converted.wave(&["--pc", &at(THEN), "--exec", "0xf"]);
        assert_eq!(ran.code, 0);
        assert!(
            ran.out.contains(
                "lanes 0-3: executing at 0x12ec\nboth\n/src/lanes.cl:11:0\nbranch\n/src/lanes.cl:5:0\n\n"
            ),
            "{}",
            ran.out
        );
        assert!(ran.out.contains("lanes 4-63: unknown: register 66 is not given\n"), "{}", ran.out);
        let ran = converted.wave(&["--pc", &at(ODD), "--exec", "0x3"]);
        assert!(ran.out.contains("lanes 0-1: executing at"), "{}", ran.out);
        // If the meaning of a code is uncertain, no lane's place is named.
        let operation = ["0xe90d", "0x0"][index];
        let unknown = format!("lanes 2-63: unknown: unknown operation {operation} at byte 0\n");
        assert!(ran.out.contains(&unknown), "{}", ran.out);
        // With a load bias addresses are given and answered as in the running program.
        let regs = converted.path("r.json");
        std::fs::write(&regs, json!({"regs": {"s34": "0xff", "35": 0, "67": 0}}).to_string()).unwrap();
        let pc = format!("{:#x}", converted.start + THEN + 0x10000);
        let ran = converted.wave(&[
            "--pc",
            &pc,
            "--exec",
            "0xf",
            "--base",
            "0x10000",
            "--regs",
            regs.to_str().unwrap(),
        ]);
        assert!(
            ran.out.contains("lanes 4-7: waiting at 0x112f8\nbranch\n/src/lanes.cl:7:0\n"),
            "{}",
            ran.out
        );
        assert!(ran.out.ends_with("lanes 8-63: inactive\n\n"), "{}", ran.out);
        let report = std::fs::read_to_string(converted.path("report")).unwrap();
        let report: Value = serde_json::from_str(&report).unwrap();
        let report = &report["diagnostics"];
        assert_eq!(report["opaque_expression"]["count"], 1, "{report}");
    }
}

#[test]
fn the_mask_of_active_lanes_is_the_functions_own() {
    // Only the first generation has a code for it.
    let registers = json!({ "regs": serde_json::Map::from_iter(halves(34, 0xf0)) });
    assert_eq!(
        Converted::of(0).lanes(SPILLED, 0xff, &registers),
        expected(SPILLED, 0xff, &[]),
        "without it the wave's mask counts"
    );
    let lanes = Converted::of(1).lanes(SPILLED, 0xff, &registers);
    for (lane, (state, at)) in lanes.into_iter().enumerate() {
        let wanted = match lane {
            0..=3 => ("waiting", Some(SPILLED)),
            4..=7 => ("executing", Some(SPILLED)),
            _ => ("inactive", None),
        };
        assert_eq!((state.as_str(), at), wanted, "{lane}");
    }
    let converted = Converted::of(1);
    let pc = format!("{:#x}", converted.start + SPILLED);
    let ran = converted.wave(&["--pc", &pc, "--exec", "0xff"]);
    assert!(
        ran.out.starts_with("the function's own mask of active lanes is not known: register 66"),
        "{}",
        ran.out
    );
    assert!(ran.out.contains("lanes 0-7: executing"), "{}", ran.out);
}

/// If a function does not describe its lanes, only the mask is known.
#[test]
fn without_attributes_the_mask_counts() {
    let folder = tempfile::tempdir().unwrap();
    let fsym = folder.path().join("fsym");
    let program = common::program("gpu.containers.set").join("gfx90a");
    let out = fsym.to_str().unwrap();
    assert_eq!(foldsym(&["convert", "-q", program.to_str().unwrap(), "-o", out]).code, 0);
    let found: Value = serde_json::from_str(&foldsym(&["info", out, "--json"]).out).unwrap();
    assert!(found.is_object());
    let dump = foldsym(&["find", out, "twice"]).out;
    let start = dump.split("0x").nth(1).and_then(|rest| rest.split(|c: char| !c.is_ascii_hexdigit()).next());
    let pc = format!("0x{}", start.unwrap());
    for (exec, lanes, rest) in [("0x3", "32", "2-31"), ("0x100000003", "64", "2-31,33-63")] {
        let ran = foldsym(&["wave", out, "--pc", &pc, "--exec", exec]);
        assert!(ran.out.contains("twice\n"), "{}", ran.out);
        assert!(ran.out.contains(&format!("lanes {rest}: inactive\n")), "{lanes}: {}", ran.out);
    }
    let ran = foldsym(&["wave", out, "--pc", &pc, "--exec", "3", "--lanes", "64"]);
    assert!(ran.out.contains("lanes 2-63: inactive\n"), "{}", ran.out);
    // There is no code at the address: the lanes are reported there anyway.
    let ran = foldsym(&["wave", out, "--pc", "0x1", "--exec", "1"]);
    assert!(ran.out.starts_with("lanes 0: executing at 0x1\n??\n??:0:0\n\n"), "{}", ran.out);
}

#[test]
fn usage() {
    let converted = Converted::of(0);
    let regs = |text: &str| -> PathBuf {
        let path = converted.path("bad.json");
        std::fs::write(&path, text).unwrap();
        path
    };
    let run = |arguments: &[&str]| converted.wave(arguments).code;
    assert_eq!(run(&["--pc", "0x12f0"]), 2);
    assert_eq!(run(&["--pc", "x", "--exec", "1"]), 2);
    assert_eq!(run(&["--pc", "0x12f0", "--exec", "-1"]), 2);
    assert_eq!(run(&["--pc", "0x12f0", "--exec", "1", "--lanes", "65"]), 2);
    // A program may be loaded below its link-time address.
    assert_eq!(run(&["--pc", "0x12f0", "--exec", "1", "--base", "0x2000"]), 0);
    let with = |path: &Path| run(&["--pc", "0x12f0", "--exec", "1", "--regs", path.to_str().unwrap()]);
    assert_eq!(with(&regs("{}")), 0);
    assert_eq!(with(&regs("{")), 3);
    assert_eq!(with(&regs("{\"regs\": {\"rdi\": 1}}")), 3);
    assert_eq!(with(converted.folder.path()), 3);
    assert_eq!(with(Path::new("nowhere.json")), 3);
}

#[test]
fn no_lane_that_executes_is_left_out() {
    let wave = Converted::of(0);
    let pc = format!("{:#x}", wave.start);
    let ran = wave.wave(&["--pc", &pc, "--exec", "0xff00000000", "--lanes", "32"]);
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(ran.err.contains("lanes past the 32 of --lanes"), "{}", ran.err);
    let ran = wave.wave(&["--pc", &pc, "--exec", "0xff00000000", "--lanes", "40"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.out.contains("lanes 32-39: executing"), "{}", ran.out);
}
