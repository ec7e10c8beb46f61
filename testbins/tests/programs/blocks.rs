//! Converts programs with a basic-block address map and compares every address, every function and every block with
//! what `llvm-readobj --bb-addr-map` printed when they were built (for versions that it refuses: with a map made by hand).

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use foldsym_convert::{NoProgress, Options, Report, convert};
use foldsym_lookup::basic_blocks::{BasicBlock, BasicBlocks};
use foldsym_lookup::{ImageAddr, Lookup, SymbolFile};
use foldsym_testbins::root;

/// A block as the oracle prints it: address, size, number, flags.
type Block = (u64, u64, u32, Vec<String>);

/// A function of the map: its ranges in the order of the map.
#[derive(Debug, Default)]
struct Function {
    name: String,
    blocks: Vec<Block>,
}

/// No address yet.
const UNKNOWN: u64 = u64::MAX;

/// The words that name bits.
const FLAGS: [&str; 5] = ["HasReturn", "HasTailCall", "IsEHPad", "CanFallThrough", "HasIndirectBranch"];

/// Reads what `llvm-readobj --bb-addr-map` printed.
fn map(path: &Path) -> Vec<Function> {
    let text = std::fs::read_to_string(path).unwrap();
    let mut functions: Vec<Function> = Vec::new();
    let mut base = 0;
    // A block begins with its number and ends at its brace.
    let mut block: Option<Block> = None;
    for line in text.lines().map(str::trim) {
        let Some((key, value)) = line.split_once(": ") else {
            if line == "Function {" {
                functions.push(Function::default());
            } else if line == "}" {
                let block = block.take().filter(|block| block.0 != UNKNOWN);
                functions.last_mut().unwrap().blocks.extend(block);
            }
            continue;
        };
        let number = || u64::from_str_radix(value.trim_start_matches("0x"), 16).unwrap();
        match (key, block.as_mut()) {
            ("Name", _) => functions.last_mut().unwrap().name = value.to_owned(),
            ("Base Address", _) => base = number(),
            // Successors in a profile have a number and nothing else.
            ("ID", known) if known.as_ref().is_none_or(|block| block.0 == UNKNOWN) => {
                block = Some((UNKNOWN, 0, value.parse().unwrap(), Vec::new()));
            }
            ("Offset", Some(block)) => block.0 = base + number(),
            ("Size", Some(block)) => block.1 = number(),
            (flag, Some(block)) if FLAGS.contains(&flag) && value == "Yes" => block.3.push(flag.to_owned()),
            _ => {}
        }
    }
    assert!(!functions.is_empty());
    functions.retain(|function| !function.blocks.is_empty());
    functions
}

fn program(set: &str) -> PathBuf {
    root().join("built").join(set)
}

fn converted(input: &Path) -> (Vec<u8>, Report) {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("out.fsym");
    let options = Options::default().with(|options| {
        options.threads = 1;
        options.name_index = true;
    });
    let report = convert(input, &output, &options, &NoProgress).unwrap();
    (std::fs::read(output).unwrap(), report)
}

fn as_oracle(block: &BasicBlock) -> Block {
    let flags = block.flag_names().map(str::to_owned).collect();
    (block.start.0, block.size, block.id, flags)
}

/// Compares a file with the oracle: each address of each block and those around it, each function's list, and each
/// block by its number.
fn compare(set: &str, blocks: &BasicBlocks<'_>, oracle: &[Function]) {
    let mut at: BTreeMap<u64, (&Block, u64)> = BTreeMap::new();
    for function in oracle {
        let start = function.blocks[0].0;
        let listed: Vec<Block> =
            blocks.of_function(ImageAddr(start)).map(|block| as_oracle(&block.unwrap())).collect();
        assert_eq!(listed, function.blocks, "{set}: {}", function.name);
        for block in &function.blocks {
            let found = blocks.find(ImageAddr(start), block.2).unwrap().unwrap();
            assert_eq!(&as_oracle(&found), block, "{set}: {}", function.name);
            (block.0..block.0 + block.1).for_each(|address| {
                // Sections of blocks are folded too: at such an address the answer is the first function's block.
                let before = at.entry(address).or_insert((block, start));
                assert_eq!((before.0.0, before.0.1), (block.0, block.1), "{set}: {address:#x}");
            });
        }
        let none = 1 + function.blocks.iter().map(|block| block.2).max().unwrap();
        assert_eq!(blocks.find(ImageAddr(start), none).unwrap(), None);
    }
    // Several blocks without bytes may be at one address.
    let all = || oracle.iter().flat_map(|function| &function.blocks);
    let places: BTreeSet<(u64, u64)> =
        all().filter(|block| block.1 > 0).map(|block| (block.0, block.1)).collect();
    let total = places.len() + all().filter(|block| block.1 == 0).count();
    assert_eq!(blocks.len() as usize, total, "{set}");
    let (first, last) = (*at.first_key_value().unwrap().0, *at.last_key_value().unwrap().0);
    for address in first - 100..last + 100 {
        let found = blocks.at(ImageAddr(address)).unwrap();
        let start = found.map(|block| blocks.function_start(&block).unwrap().0);
        let found = found.map(|block| as_oracle(&block)).zip(start);
        let expected = at.get(&address).map(|(block, start)| ((*block).clone(), *start));
        assert_eq!(found, expected, "{set}: {address:#x}");
    }
}

#[test]
fn every_address_is_in_the_block_that_llvm_readobj_says() {
    let mut ranges = BTreeMap::new();
    for set in [
        "blocks.clang.set",
        "blocks.sections.set",
        "blocks.split.set",
        "blocks.profile.set",
        "blocks.aarch64.set",
        "block_versions.known.set",
        "block_versions_old.set",
    ] {
        let (bytes, report) = converted(&program(set).join("program"));
        let file = SymbolFile::open(&bytes).unwrap();
        file.verify().unwrap();
        let oracle = map(&program(set).join("map"));
        let blocks = file.basic_blocks().unwrap().unwrap();
        compare(set, &blocks, &oracle);
        for kind in
            ["bad_block_map", "unknown_block_map", "dead_blocks", "overlapping_blocks", "blocks_over_another"]
        {
            assert!(!report.diagnostics.iter().any(|(met, _)| met.name() == kind), "{set}: {kind}");
        }
        assert_eq!(report.decided.block_counts.functions as usize, oracle.len(), "{set}");
        let folded = report.diagnostics.iter().find(|(kind, _)| kind.name() == "folded_blocks");
        assert_eq!(
            folded.map_or(0, |(_, seen)| seen.count),
            u64::from(set == "blocks.sections.set"),
            "{set}"
        );
        ranges.insert(set, blocks.range_count() as usize - oracle.len());
    }
    // Each kind of map is there: one range a function, one for each block, hot and cold parts.
    assert_eq!(ranges["blocks.clang.set"], 0);
    assert!(ranges["blocks.sections.set"] > ranges["blocks.split.set"]);
    assert!(ranges["blocks.split.set"] > 0 && ranges["block_versions.known.set"] == 1);
}

/// Bytes of the sections in the file.
fn stored(file: &SymbolFile<'_>) -> u64 {
    file.records()
        .sections()
        .filter(|section| section.name.starts_with("BLOCK"))
        .map(|section| section.len)
        .sum()
}

#[test]
fn blocks_take_at_most_half_the_bytes_of_the_map() {
    // Bytes that the sections take in any case: heads, tails, the first kind, the head of a group and of a block of the table; a map of few
    // functions is hardly longer.
    const HEADS: u64 = (12 + 4 + 1 + 20 + 8) + (24 + 1 + 8) + (8 + 7 * 8 + 8);
    for (set, heads) in [
        ("blocks.clang.set", HEADS),
        ("blocks.sections.set", HEADS),
        ("blocks.split.set", HEADS),
        ("blocks.aarch64.set", HEADS),
        ("blocks.profile.set", 0),
    ] {
        let (bytes, report) = converted(&program(set).join("program"));
        let file = SymbolFile::open(&bytes).unwrap();
        let (stored, read) = (stored(&file), report.decided.block_counts.bytes);
        assert!(stored > HEADS && read > 200, "{set}: {stored} of {read}");
        assert!(2 * (stored - heads) <= read, "{set}: {stored} of {read}");
    }
}

#[test]
fn what_is_not_kept_is_counted() {
    let (_, report) = converted(&program("blocks.profile.set").join("program"));
    let counts = report.decided.block_counts;
    assert!(
        counts.profiles > 0 && counts.hashes == report.decided.blocks && counts.call_ends > 0,
        "{counts:?}"
    );
    let (_, report) = converted(&program("block_versions.known.set").join("program"));
    let omitted = report.diagnostics.iter().find(|(kind, _)| kind.name() == "omitted_blocks").unwrap();
    assert_eq!(omitted.1.count, 1);
    assert_eq!(report.decided.block_counts.profiles, 5);
}

/// In an object file each section of the map is relocated to the synthetic address of its function.
#[test]
fn an_object_has_the_blocks_of_the_program_that_it_is_linked_into() {
    let set = program("blocks.clang.set");
    let (linked, _) = converted(&set.join("program"));
    let (object, _) = converted(&set.join("object.o"));
    let [linked, object] = [&linked, &object].map(|bytes| SymbolFile::open(bytes).unwrap());
    let shape = |file: &SymbolFile<'_>| -> BTreeMap<String, Vec<(u64, u64, u32, u8)>> {
        let blocks = file.basic_blocks().unwrap().unwrap();
        let mut shapes = BTreeMap::new();
        for index in 0..blocks.len() {
            let block = blocks.block(index).unwrap();
            let start = blocks.function_start(&block).unwrap();
            let mut frames = foldsym_lookup::Frames::new();
            let Lookup::Found(found) = file.lookup(start, &mut frames).unwrap() else {
                panic!("no function at {start:?}");
            };
            let mut name = [0; 256];
            let id = file.records().function_name(found.function).unwrap().unwrap();
            let len = file.write_name(id, &mut name).unwrap();
            let name = String::from_utf8(name[..len].to_vec()).unwrap();
            let shape: &mut Vec<_> = shapes.entry(name).or_default();
            shape.push((block.start.0 - start.0, block.size, block.id, block.flags));
        }
        shapes
    };
    let (linked, object) = (shape(&linked), shape(&object));
    assert!(linked.len() >= 5);
    for (name, blocks) in &linked {
        assert_eq!(object.get(name), Some(blocks), "{name}");
    }
    // Two of its functions have one address in the program.
    assert!(object.len() > linked.len() && object["weigh"] == object["price"]);
}
