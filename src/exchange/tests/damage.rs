//! Files that no writer makes: damage gives an error, and a file that refers to the same rows again and again is not written out.

use foldsym_exchange::{BreakpadModule, ExportError, GsymVersion, Summary, write_breakpad, write_gsym};
use foldsym_lookup::{Error, SectionId, SymbolFile, What};
use foldsym_testkit::writer::golden::contents;
use foldsym_testkit::writer::{Contents, RawRow, rows_record};

fn gsym(bytes: &[u8]) -> Result<Summary, ExportError> {
    write_gsym(&SymbolFile::open(bytes).unwrap(), GsymVersion::V1, &mut Vec::new())
}

fn breakpad(bytes: &[u8]) -> Result<Summary, ExportError> {
    let module = BreakpadModule { name: "program", os: "Linux", debug_id: "0" };
    write_breakpad(&SymbolFile::open(bytes).unwrap(), &module, &|_| None, None, &mut Vec::new())
}

fn damage(result: Result<Summary, ExportError>) -> Error {
    match result {
        Err(ExportError::Damaged(error)) => error,
        other => panic!("{other:?}"),
    }
}

/// Both writers give this error.
fn both(bytes: &[u8], section: SectionId, what: What, offset: u64) {
    let expected = Error { section, what, offset };
    assert_eq!(damage(gsym(bytes)), expected);
    assert_eq!(damage(breakpad(bytes)), expected);
}

#[test]
fn a_sound_file_is_written() {
    let bytes = contents().file();
    let (gsym, breakpad) = (gsym(&bytes).unwrap(), breakpad(&bytes).unwrap());
    assert_eq!((breakpad.ranges, breakpad.functions, breakpad.merged), (5, 7, 2));
    // The function at 0x401200 has no name: GSYM leaves it out and counts it.
    assert_eq!((gsym.ranges, gsym.functions, gsym.unnamed_left_out), (4, 6, 1));
    assert_eq!(breakpad.unnamed_left_out, 0);
}

#[test]
fn an_inline_tree_deeper_than_the_header_says_is_damage() {
    let deep = Contents { max_depth: 1, ..contents() };
    let offset = deep.functions[1][1] as u64;
    both(&deep.file(), SectionId::SCOPES, What::Depth, offset);
}

#[test]
fn a_row_of_an_unknown_inlined_call_is_damage() {
    let mut lost = contents();
    // The tree of `beta`, to which its rows refer.
    lost.functions[1][1] = 0;
    let offset = lost.pieces[1][5] as u64;
    both(&lost.file(), SectionId::ROWS, What::NoRecord, offset);
}

#[test]
fn a_line_below_zero_is_damage() {
    let mut below = contents();
    // `gamma` is called in `beta`, which is declared in line 20.
    below.edges[1][1] = -21;
    both(&below.file(), SectionId::EDGES, What::Value, 1);
}

/// Address widths and lengths are made of differences of starts, which must rise.
#[test]
fn code_that_goes_past_the_last_address_is_damage() {
    let wrapped = Contents { image_base: u64::MAX - 0x10ff, calls: Vec::new(), ..contents() };
    both(&wrapped.file(), SectionId::PIECES, What::Order, 3);
}

#[test]
fn calls_out_of_order_are_damage() {
    let mut swapped = contents();
    swapped.calls.swap(0, 1);
    let expected = Error { section: SectionId::CALLS, what: What::Order, offset: 1 };
    assert_eq!(damage(gsym(&swapped.file())), expected);
}

/// The bytes before the damage are another name, which a caller's expression would match.
#[test]
fn a_name_that_cannot_be_decoded_is_damage() {
    // Each table begins with 44 bytes; then each text but the empty one has a token of 4 bytes, the low 3 its place.
    for (section, name) in [(SectionId::NAMES, 3), (SectionId::FILES, 2)] {
        let token = 44 + 4 * 2;
        let contents = contents();
        let mut sections = contents.sections();
        let table = &mut sections.iter_mut().find(|(id, _)| *id == section.0).unwrap().1;
        table[token..token + 3].fill(0xff);
        both(&contents.assemble(&sections), section, What::Name, name);
    }
}

/// 100 ranges of one group, whose 100 members are one function with the same 1000 rows.
#[test]
fn a_file_that_repeats_itself_is_not_written_out() {
    let mut repeats = contents();
    let mut rows = vec![0];
    let row = |at| RawRow { offset: at, scope: 0, line: Some(at as i64 % 7), file: 0, column: 0 };
    let record = rows_record(&mut rows, &(0..1000).map(row).collect::<Vec<_>>(), false) as i64;
    repeats.rows = rows;
    repeats.calls = Vec::new();
    repeats.max_group = 100;
    repeats.pieces = (0..100).map(|at| [0x1000 + 0x1000 * at, 1000, 0, 0, 1, 0, 0]).collect();
    repeats.members = vec![[3, record, 0, 0]; 100];
    let bytes = repeats.file();
    for result in [gsym(&bytes), breakpad(&bytes)] {
        let Err(error @ ExportError::Repeats { address, most }) = result else { panic!("{result:?}") };
        assert_eq!(most, 128 * bytes.len() as u64 + (1 << 20));
        // A range has 100,000 rows.
        assert!(address <= 0x40_1000 + 0x1000 * (most / 100_000), "{error}");
        assert!(error.to_string().ends_with("the .fsym repeats itself"), "{error}");
    }
    // One range of it is nothing unusual.
    repeats.pieces.truncate(1);
    gsym(&repeats.file()).unwrap();
    breakpad(&repeats.file()).unwrap();
}
