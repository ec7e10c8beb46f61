//! Compares converted programs with a naive walk over their DIEs and line rows, at every address of every function.
//!
//! The walk is written for this test, only from the standard, and shares no code with the converter: it lists a unit's whole tree once, and
//! answers each address by checking every entry of that list and every row of the line table.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use foldsym_convert::{NoProgress, Options, convert};
use foldsym_lookup::{Frames, ImageAddr, Lookup, SymbolFile};
use foldsym_testbins::program::{Kind, Program, Reader, architectures};
use foldsym_testbins::root;
use gimli::AttributeValue;

/// A subprogram or an inlined subroutine.
struct Node {
    inlined: bool,
    /// Offset in `.debug_info`.
    die: usize,
    name: String,
    ranges: Vec<(u64, u64)>,
    /// The nearest entry around it that is a node too.
    parent: Option<usize>,
    call_file: String,
    call_line: u32,
}

/// Rows up to a `DW_LNE_end_sequence` at `end`, each (address, file, line).
struct Sequence {
    rows: Vec<(u64, u64, u32)>,
    end: u64,
}

/// A unit, as lists in the order of the file.
struct Listed {
    nodes: Vec<Node>,
    sequences: Vec<Sequence>,
    /// Paths by file index.
    files: BTreeMap<u64, String>,
}

/// What was met on the way, so that the selection can be held to cover what it should.
#[derive(Default)]
struct Seen {
    programs: usize,
    addresses: u64,
    inlined_frames: u64,
    symbol_names: u64,
    versions: BTreeSet<u16>,
    languages: BTreeSet<&'static str>,
    nested: u64,
    in_ranges: u64,
    partial_units: u64,
    other_unit: u64,
}

type Unit<'a> = gimli::Unit<Reader<'a>>;
type Dwarf<'a> = gimli::Dwarf<Reader<'a>>;

/// One frame: name, file, line.
type Frame = (String, String, u32);

struct Walk<'a> {
    dwarf: &'a Dwarf<'a>,
    units: Vec<(usize, Unit<'a>)>,
    code: Vec<(u64, u64)>,
}

impl<'a> Walk<'a> {
    fn new(dwarf: &'a Dwarf<'a>, program: &Program) -> Walk<'a> {
        let mut units = Vec::new();
        let mut headers = dwarf.units();
        while let Some(header) = headers.next().unwrap() {
            units.push((header.offset().0, dwarf.unit(header).unwrap()));
        }
        let code = program.code.iter().map(|s| (s.address, s.address + s.size)).collect();
        Walk { dwarf, units, code }
    }

    fn in_code(&self, address: u64) -> bool {
        self.code.iter().any(|&(start, end)| start <= address && address < end)
    }

    fn text(&self, unit: &Unit<'a>, value: Option<AttributeValue<Reader<'a>>>) -> Option<String> {
        Some(self.dwarf.attr_string(unit, value?).ok()?.to_string_lossy().into_owned())
    }

    /// The linkage name of the entry or of one that it is an instance of; else the nearest plain name.
    fn name(&self, die: usize, seen: &mut Seen) -> String {
        let first = self.units.iter().rposition(|(start, _)| *start <= die).unwrap();
        let (mut die, mut plain) = (die, None);
        loop {
            let index = self.units.iter().rposition(|(start, _)| *start <= die).unwrap();
            let (start, unit) = &self.units[index];
            seen.other_unit += u64::from(index != first);
            let entry = unit.entry(gimli::UnitOffset(die - start)).unwrap();
            let linkage = self
                .text(unit, entry.attr_value(gimli::DW_AT_linkage_name))
                .or_else(|| self.text(unit, entry.attr_value(gimli::DW_AT_MIPS_linkage_name)));
            if let Some(name) = linkage {
                return name;
            }
            plain = plain.or_else(|| self.text(unit, entry.attr_value(gimli::DW_AT_name)));
            let next = entry
                .attr_value(gimli::DW_AT_abstract_origin)
                .or_else(|| entry.attr_value(gimli::DW_AT_specification));
            die = match next {
                Some(AttributeValue::UnitRef(offset)) => start + offset.0,
                Some(AttributeValue::DebugInfoRef(offset)) => offset.0,
                _ => return plain.unwrap_or_default(),
            };
        }
    }

    /// The path of a file index: absolute where the compiler gave enough to make it so.
    fn path(&self, unit: &Unit<'a>, index: u64) -> String {
        let Some(program) = &unit.line_program else { return String::new() };
        let header = program.header();
        // Before DWARF 5, 0 is "no file" (DWARF 4 6.2.4).
        let file = if header.version() < 5 && index == 0 { None } else { header.file(index) };
        let Some(file) = file else { return String::new() };
        let name = self.text(unit, Some(file.path_name())).unwrap();
        let directory = self.text(unit, file.directory(header)).unwrap_or_default();
        let comp_dir = unit.comp_dir.map(|dir| dir.to_string_lossy().into_owned()).unwrap_or_default();
        // Directory 0 is the compilation directory itself (DWARF 4 6.2.4, DWARF 5 6.2.4.1).
        let relative_to = if file.directory_index() == 0 { String::new() } else { comp_dir };
        let mut path = String::new();
        for part in [relative_to, directory, name] {
            if part.starts_with('/') {
                path = part;
            } else if !part.is_empty() {
                if !path.is_empty() && !path.ends_with('/') {
                    path.push('/');
                }
                path += &part;
            }
        }
        path
    }

    fn list(&self, index: usize, seen: &mut Seen) -> Listed {
        let (start, unit) = &self.units[index];
        let mut nodes: Vec<Node> = Vec::new();
        // The nodes that are open, with their depth.
        let mut open: Vec<(isize, usize)> = Vec::new();
        let mut entries = unit.entries();
        while let Some(entry) = entries.next_dfs().unwrap() {
            open.retain(|&(depth, _)| depth < entry.depth());
            let inlined = entry.tag() == gimli::DW_TAG_inlined_subroutine;
            seen.partial_units += u64::from(entry.tag() == gimli::DW_TAG_partial_unit);
            if let Some(AttributeValue::Language(language)) = entry.attr_value(gimli::DW_AT_language) {
                seen.languages.insert(language.static_string().unwrap_or("unknown"));
            }
            if !inlined && entry.tag() != gimli::DW_TAG_subprogram {
                continue;
            }
            let mut ranges = Vec::new();
            let mut found = self.dwarf.die_ranges(unit, entry).unwrap();
            while let Some(range) = found.next().unwrap() {
                if range.begin < range.end && self.in_code(range.begin) {
                    ranges.push((range.begin, range.end));
                }
            }
            let number = |name| entry.attr_value(name).and_then(|value| value.udata_value());
            let call_file = match entry.attr_value(gimli::DW_AT_call_file) {
                Some(AttributeValue::FileIndex(file)) => self.path(unit, file),
                _ => String::new(),
            };
            let die = start + entry.offset().0;
            let parent = open.last().map(|&(_, node)| node);
            let named = !ranges.is_empty() || inlined;
            seen.nested += u64::from(!inlined && !ranges.is_empty() && parent.is_some());
            seen.in_ranges += u64::from(!inlined && ranges.len() > 1);
            open.push((entry.depth(), nodes.len()));
            nodes.push(Node {
                inlined,
                die,
                name: if named { self.name(die, seen) } else { String::new() },
                ranges,
                parent,
                call_file,
                call_line: number(gimli::DW_AT_call_line).unwrap_or(0) as u32,
            });
        }
        let mut listed = Listed { nodes, sequences: Vec::new(), files: BTreeMap::new() };
        self.list_rows(unit, &mut listed);
        seen.versions.insert(unit.header.version());
        listed
    }

    fn list_rows(&self, unit: &Unit<'a>, listed: &mut Listed) {
        let Some(program) = unit.line_program.clone() else { return };
        let mut rows = Vec::new();
        let mut state = program.rows();
        while let Some((_, row)) = state.next_row().unwrap() {
            if row.end_sequence() {
                let sequence = Sequence { rows: std::mem::take(&mut rows), end: row.address() };
                listed.sequences.extend(self.in_code(sequence.start()).then_some(sequence));
                continue;
            }
            let file = row.file_index();
            listed.files.entry(file).or_insert_with(|| self.path(unit, file));
            rows.push((row.address(), file, row.line().map_or(0, |line| line.get() as u32)));
        }
    }
}

impl Sequence {
    fn start(&self) -> u64 {
        self.rows.first().map_or(u64::MAX, |row| row.0)
    }
}

impl Listed {
    fn covers(&self, node: &Node, address: u64) -> bool {
        node.ranges.iter().any(|&(start, end)| start <= address && address < end)
    }

    /// The last entry of the tree that covers the address: where a tree is sound, the innermost.
    fn node_at(&self, address: u64) -> Option<usize> {
        self.nodes.iter().rposition(|node| self.covers(node, address))
    }

    /// The function that a node is inlined into; itself for a function.
    fn function(&self, mut node: usize) -> usize {
        while self.nodes[node].inlined {
            node = self.nodes[node].parent.unwrap();
        }
        node
    }

    fn place(&self, address: u64) -> (String, u32) {
        let covering = self.sequences.iter().find(|s| s.start() <= address && address < s.end);
        let row = covering.and_then(|s| s.rows.iter().rfind(|row| row.0 <= address));
        row.map(|&(_, file, line)| (self.files[&file].clone(), line)).unwrap_or_default()
    }

    /// The frames at an address that `node` is the innermost node of.
    fn frames(&self, mut node: usize, address: u64) -> Vec<Frame> {
        let (mut file, mut line) = self.place(address);
        let mut frames = Vec::new();
        loop {
            let Node { inlined, name, parent, call_file, call_line, .. } = &self.nodes[node];
            frames.push((name.clone(), file, line));
            if !inlined {
                return frames;
            }
            (file, line) = (call_file.clone(), *call_line);
            node = parent.unwrap();
        }
    }
}

/// A converted program.
fn converted(path: &Path, arch: Option<&str>, folder: &Path) -> Vec<u8> {
    // Away from `built`, so that no separate debug file is found beside the program.
    let input = if path.is_file() { folder.join(path.file_name().unwrap()) } else { path.to_owned() };
    if path.is_file() {
        std::fs::copy(path, &input).unwrap();
    }
    let output = folder.join("out.fsym");
    let options = Options::default().with(|options| {
        options.threads = 1;
        options.arch = arch.map(str::to_owned);
    });
    convert(&input, &output, &options, &NoProgress).unwrap_or_else(|error| panic!("{error}"));
    std::fs::read(&output).unwrap()
}

fn answer(file: &SymbolFile<'_>, frames: &mut Frames, address: u64) -> Vec<Frame> {
    let Lookup::Found(_) = file.lookup(ImageAddr(address), frames).unwrap() else { return Vec::new() };
    let mut buffer = vec![0; 1 << 14];
    let mut found = Vec::new();
    for frame in file.frames(frames) {
        let frame = frame.unwrap();
        let text = |len: Option<usize>, buffer: &[u8]| {
            len.map(|len| String::from_utf8(buffer[..len].to_vec()).unwrap()).unwrap_or_default()
        };
        let len = frame.name.map(|id| file.write_name(id, &mut buffer).unwrap());
        let name = text(len, &buffer);
        let len = frame.file.map(|id| file.write_path(id, &mut buffer).unwrap());
        found.push((name, text(len, &buffer), frame.line));
    }
    found
}

/// How much the converter's addresses of each code section are off those of [`Program`]: both lay the sections of a
/// relocatable file out one after another, from different bases. Each (start, end, distance).
fn moved(program: &Program, file: &SymbolFile<'_>) -> Vec<(u64, u64, u64)> {
    let ours: Vec<u64> =
        file.records().program_sections().filter(|s| s.executable && s.len > 0).map(|s| s.start.0).collect();
    assert!(!program.relocatable || ours.len() == program.code.len());
    let sections = program.code.iter().enumerate();
    let distance = |index: usize, at: u64| if program.relocatable { ours[index].wrapping_sub(at) } else { 0 };
    sections.map(|(index, s)| (s.address, s.address + s.size, distance(index, s.address))).collect()
}

/// Compares one program; returns what is wrong, in words.
fn check(path: &Path, arch: Option<&str>, folder: &Path, seen: &mut Seen) -> Vec<String> {
    let program = Program::open(path, arch).unwrap();
    let sections = program.dwarf().unwrap();
    let dwarf = sections.borrow();
    let walk = Walk::new(&dwarf, &program);
    let listed: Vec<Listed> = (0..walk.units.len()).map(|index| walk.list(index, seen)).collect();
    let bytes = converted(path, arch, folder);
    let file = SymbolFile::open(&bytes).unwrap();
    let moved = moved(&program, &file);
    let mut addresses = BTreeSet::new();
    for node in listed.iter().flat_map(|unit| &unit.nodes).filter(|node| !node.inlined) {
        for &(start, end) in &node.ranges {
            addresses.extend(start..end);
        }
    }
    let mut frames = Frames::new();
    let mut wrong = Vec::new();
    for &address in &addresses {
        let owners: Vec<(&Listed, usize)> =
            listed.iter().filter_map(|unit| Some((unit, unit.node_at(address)?))).collect();
        // If units share code, the first unit of the file counts.
        let (unit, node) = owners[0];
        let wanted = unit.frames(node, address);
        let distance = moved.iter().find(|s| s.0 <= address && address < s.1).map_or(0, |s| s.2);
        let found = answer(&file, &mut frames, address.wrapping_add(distance));
        let function = &unit.nodes[unit.function(node)];
        let start = function.ranges.iter().find(|r| r.0 <= address && address < r.1).map(|r| r.0);
        let is_symbol = |name: &str| {
            program.symbols.iter().any(|symbol| {
                symbol.kind == Kind::Function && Some(symbol.address) == start && symbol.name == name
            })
        };
        seen.addresses += 1;
        seen.inlined_frames += wanted.len() as u64 - 1;
        let mut right = found.len() == wanted.len();
        for (depth, (ours, theirs)) in found.iter().zip(&wanted).enumerate() {
            let by_symbol = depth + 1 == wanted.len() && ours.0 != theirs.0 && is_symbol(&ours.0);
            seen.symbol_names += u64::from(by_symbol);
            right &= (ours.0 == theirs.0 || by_symbol) && (&ours.1, ours.2) == (&theirs.1, theirs.2);
        }
        if !right {
            let die = function.die;
            wrong.push(format!("{address:#x} in DIE {die:#x}\n  walk  {wanted:?}\n  found {found:?}"));
        }
    }
    seen.programs += usize::from(!addresses.is_empty());
    wrong
}

#[test]
fn every_address_answers_as_the_naive_walk() {
    let folder = tempfile::tempdir().unwrap();
    let mut paths: Vec<_> =
        std::fs::read_dir(root().join("built")).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let only = std::env::var("ONLY").unwrap_or_default();
    let (mut seen, mut report) = (Seen::default(), String::new());
    for path in paths {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        // Folders but dSYM bundles hold programs of which a part is in other files; a stack is a list of addresses.
        let one_program = if path.is_dir() { name.ends_with(".dSYM") } else { !name.ends_with(".stack") };
        // gimli refuses DWARF 6.
        if !one_program || !name.contains(&only) || name == "inline.clang-dwarf6" {
            continue;
        }
        let archs = architectures(&path).unwrap();
        let archs = if archs.is_empty() { vec![None] } else { archs.into_iter().map(Some).collect() };
        for arch in archs {
            let wrong = check(&path, arch.as_deref(), folder.path(), &mut seen);
            if !wrong.is_empty() {
                let shown = wrong[..wrong.len().min(2)].join("\n");
                report += &format!("{name}: {} addresses differ\n{shown}\n", wrong.len());
            }
        }
    }
    assert!(report.is_empty(), "{report}");
    if only.is_empty() {
        seen.covers();
    }
}

impl Seen {
    /// Holds the selection to what it must cover: a rename in `built/` must not thin the test out unseen.
    fn covers(&self) {
        assert!(self.programs >= 70, "{} programs have functions", self.programs);
        assert_eq!(self.versions, BTreeSet::from([2, 3, 4, 5]));
        for language in ["C", "C_plus_plus", "Rust", "Go", "Mips_Assembler"] {
            let known = self.languages.iter().any(|found| found.starts_with(&format!("DW_LANG_{language}")));
            assert!(known, "no unit in {language}: {:?}", self.languages);
        }
        assert!(self.addresses > 100_000, "{} addresses", self.addresses);
        for (what, count) in [
            ("inlined frames", self.inlined_frames),
            ("names of symbols", self.symbol_names),
            ("nested functions", self.nested),
            ("functions in several ranges", self.in_ranges),
            ("partial units", self.partial_units),
            ("references to other units", self.other_unit),
        ] {
            assert!(count > 0, "no {what}");
        }
    }
}
