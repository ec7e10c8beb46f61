//! The symbols of methods at code of groups.
//!
//! At `-g1` a method has only its plain name in DWARF. If several methods `get` share their code, nothing shows which of them has which
//! symbol, so the symbols `_ZN6Parcel3getEv` and `_ZN6Letter3getEv` are names of no function. They still show that each of these classes
//! has a method there.

use std::cell::{OnceCell, RefCell};
use std::rc::Rc;

use crate::keys::index::Index;
use crate::keys::objects::class_units::is_of_method;
use crate::model::{GroupId, ImageAddr, Owner};
use crate::open::{Image, Symbol};
use crate::program::names::itanium::nested;
use crate::util::hash::{HashMap, HashSet};

/// The symbol of a method.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct MethodSymbol<'f> {
    address: ImageAddr,
    /// Its place in the symbol table. In a large program only symbols that share their address are left (`with_needed_symbols`): those of
    /// all methods that are compared by their places.
    pub(crate) number: u32,
    pub(crate) name: &'f [u8],
}

/// The symbols of methods that are names of no function: their texts after `_ZN` and qualifiers, sorted.
pub(crate) struct Unexplained<'f>(Vec<&'f [u8]>);

impl Unexplained<'_> {
    /// True if one of them is of the class with this key, or of a class in it.
    pub(crate) fn has_of(&self, key: &[u8]) -> bool {
        // If any name begins with the key, then the first name that is not below the key does.
        let first = self.0.partition_point(|name| *name < key);
        self.0.get(first).is_some_and(|name| name.starts_with(key))
    }
}

/// The symbols of methods at code of groups; read when they are needed.
#[derive(Default)]
pub(crate) struct MethodSymbols<'f> {
    sorted: OnceCell<Vec<MethodSymbol<'f>>>,
    unexplained: RefCell<HashMap<GroupId, Rc<Unexplained<'f>>>>,
}

impl<'f> MethodSymbols<'f> {
    fn all(&self, index: &Index<'_, 'f>, image: &Image<'f>) -> &[MethodSymbol<'f>] {
        self.sorted.get_or_init(|| {
            let in_group = |symbol: &Symbol<'_>| {
                matches!(index.owner_at(ImageAddr(symbol.address)), Some(Owner::Group(_)))
            };
            let is_such = |symbol: &Symbol<'_>| is_of_method(symbol) && in_group(symbol);
            let all = (0..).zip(&image.symbols).filter(|(_, symbol)| is_such(symbol));
            let symbol = |(number, of): (u32, &Symbol<'f>)| MethodSymbol {
                address: ImageAddr(of.address),
                number,
                name: of.name,
            };
            let mut sorted: Vec<MethodSymbol<'_>> = all.map(symbol).collect();
            sorted.sort_unstable();
            sorted
        })
    }

    /// The symbols at an address, in the order of the symbol table.
    pub(crate) fn at(
        &self,
        index: &Index<'_, 'f>,
        image: &Image<'f>,
        address: ImageAddr,
    ) -> &[MethodSymbol<'f>] {
        let all = self.all(index, image);
        let first = all.partition_point(|symbol| symbol.address < address);
        let len = all[first..].partition_point(|symbol| symbol.address == address);
        &all[first..first + len]
    }

    /// The symbols at the code of a group that are names of none of its members.
    pub(crate) fn unexplained(
        &self,
        index: &Index<'_, 'f>,
        image: &Image<'f>,
        group: GroupId,
    ) -> Rc<Unexplained<'f>> {
        if let Some(known) = self.unexplained.borrow().get(&group) {
            return known.clone();
        }
        let functions = || {
            let members = &index.functions.program.groups[group.index()].members;
            members.iter().map(|member| member.function)
        };
        let mut starts: Vec<ImageAddr> = functions().map(|of| index.functions.starts[of.index()]).collect();
        starts.sort_unstable();
        starts.dedup();
        // Of a group of parts the members begin elsewhere.
        starts.retain(|start| index.owner_at(*start) == Some(Owner::Group(group)));
        let names: HashSet<&[u8]> = functions().flat_map(|of| index.functions.names(of)).collect();
        let symbols = starts.into_iter().flat_map(|start| self.at(index, image, start));
        let symbols = symbols.map(|symbol| symbol.name).filter(|name| !names.contains(name));
        let mut found: Vec<&[u8]> = symbols.filter_map(nested).collect();
        found.sort_unstable();
        let found = Rc::new(Unexplained(found));
        self.unexplained.borrow_mut().insert(group, found.clone());
        found
    }
}
