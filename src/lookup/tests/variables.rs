//! Global variables: which one an address belongs to.

use foldsym_lookup::{ImageAddr, NameId, SymbolFile, Variable};
use foldsym_testkit::writer;

#[test]
fn an_address_belongs_to_the_last_variable_that_begins_before_it() {
    let mut contents = writer::golden::contents();
    contents.variables =
        vec![[0x2000, 4, 2, 1, 7], [0x2002, 1, 3, 0, 0], [0x2008, 0, 1, 0, 0], [0x2020, 8, 0, 2, 9]];
    let bytes = contents.file();
    let file = SymbolFile::open(&bytes).unwrap();
    file.verify().unwrap();
    let at = |offset: u64| file.variable_at(ImageAddr(0x40_0000 + offset)).unwrap();
    let start = |offset: u64| at(offset).map(|found| found.start.0 - 0x40_0000);
    let first = at(0x2001).unwrap();
    assert_eq!((first.name, first.size, first.line), (NameId(2), 4, 7));
    assert_eq!(first.file, Some(foldsym_lookup::FileId(0)));
    // The byte after an inner variable is of none: the outer one began earlier.
    assert_eq!([0x2000, 0x2002, 0x2003].map(start), [Some(0x2000), Some(0x2002), None]);
    // A variable of unknown size goes on to the next.
    assert_eq!([0x2008, 0x201f, 0x2020, 0x2027].map(start), [0x2008, 0x2008, 0x2020, 0x2020].map(Some));
    assert_eq!([0x1fff, 0x2028, u64::MAX - 0x40_0000].map(start), [None; 3]);
    assert_eq!(file.variable_at(ImageAddr(5)).unwrap(), None);
    let all: Vec<Variable> = file.records().variables().unwrap().iter().map(Result::unwrap).collect();
    assert_eq!((all.len(), all[0]), (4, first));
    let without = writer::golden::contents().file();
    assert!(SymbolFile::open(&without).unwrap().records().variables().unwrap().is_empty());
}
