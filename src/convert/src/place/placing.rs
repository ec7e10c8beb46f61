//! The values that every file of `place` works on: the names, to which symbols add theirs, and the units, which stay
//! unchanged.

use crate::merge::names::Names;
use crate::model::{FuncId, Function, Rows};
use crate::program::names::itanium::is_program_wide;
use crate::program::symbols::{CodeSymbol, Symbols};
use crate::recover::recovered::{Recovered, UnitView};
use crate::util::text::base_name;

/// What the files of `place` share.
pub(crate) struct Placing<'r, 'f> {
    pub(crate) names: Names<'f>,
    pub(crate) recovered: &'r Recovered<'r, 'f>,
    /// The symbols of an object stand in the order in which the object mentions them.
    pub(crate) keeps_order: bool,
    /// The linker may make any global symbol of a program local (mold).
    pub(crate) localizes: bool,
    /// Functions that got their names by order, among functions with the same lines.
    pub(crate) tied: Vec<FuncId>,
    /// A linker may have shortened code, and left symbols their sizes.
    pub(crate) relaxed: bool,
}

impl Placing<'_, '_> {
    /// By unit: whether the symbol table has any of its functions by name, at any address.
    pub(crate) fn units_with_symbols(&self, symbols: &Symbols<'_>) -> Vec<bool> {
        // Symbols are sorted by address, not by name. One pass marks their names, and no function needs a search among them.
        let mut has_symbol = vec![false; self.names.len()];
        for symbol in symbols.iter() {
            if let Some(name) = self.names.find(symbol.name) {
                has_symbol[name.index()] = true;
            }
        }
        let of_unit = |unit: UnitView<'_, '_>| {
            let functions = unit.code.functions.iter().map(|function| function.origin);
            let mut origins = functions.chain(unit.records.erased.iter().map(|erased| erased.origin));
            origins.any(|origin| has_symbol[self.names.of_origin(unit.origin_of(origin)).index()])
        };
        self.recovered.all().map(of_unit).collect()
    }

    /// True for a symbol that was local in its object.
    pub(crate) fn is_of_file(&self, symbol: &CodeSymbol<'_>) -> bool {
        symbol.local && !symbol.made_local && !(self.localizes && is_program_wide(symbol.name))
    }

    /// True if two ranges have the same rows, apart from columns and repetitions, with files of the same names. (Units may spell the path of one file
    /// differently.)
    pub(crate) fn have_same_lines(&self, one: Rows, other: Rows) -> bool {
        self.have_same_lines_within(one, other, u32::MAX)
    }

    /// The same of the first `len` bytes: a line sequence may go on behind a function.
    pub(crate) fn have_same_lines_within(&self, one: Rows, other: Rows, len: u32) -> bool {
        self.have_same(one, other, len, base_name)
    }

    /// The same, with files of the same paths.
    pub(crate) fn have_same_lines_and_files(&self, one: Rows, other: Rows, len: u32) -> bool {
        self.have_same(one, other, len, |path| path)
    }

    fn have_same(&self, one: Rows, other: Rows, len: u32, file: impl Fn(&[u8]) -> &[u8]) -> bool {
        let file_name = &file;
        let of = |own: Rows| {
            let files = &self.recovered.units.maps[own.unit.index()].files;
            let rows = self.recovered.code[own.unit.index()].rows_of(own.range).iter();
            let name = |file: u16| files.get(usize::from(file)).map(|file| file_name(self.names.file(*file)));
            // A row that repeats the one before it says nothing. Rows with other columns alone may be kept or not.
            let mut last = None;
            let end = own.skip.saturating_add(len);
            rows.take_while(move |row| row.offset < end)
                .map(move |row| (row.offset, (row.scope, row.line, name(row.file))))
                .filter(move |(_, what)| last.replace(*what) != Some(*what))
        };
        one == other || (one.skip == other.skip && of(one).eq(of(other)))
    }
}

/// The name of a function: its symbol's, else the name of its origin.
pub(crate) fn name_of<'m>(placing: &'m Placing<'_, '_>, function: &Function) -> &'m [u8] {
    placing.names.text(placing.names.of_function(function))
}
