//! Joins the symbols of global variables with the places of their declarations.

use foldsym_format::names::MAX_NAME;

use crate::merge::units::Records;
use crate::model::{FileId, ImageAddr, OriginId, Variable};
use crate::open::{self, Image, VariableSymbol};
use crate::place::Placed;
use crate::util::hash::HashMap;

impl<'f> Placed<'f> {
    /// Adds the global variables that have symbols.
    pub(crate) fn with_variables(mut self, image: &Image<'f>, records: &Records<'_>) -> Placed<'f> {
        let mut described: Vec<(ImageAddr, OriginId)> = Vec::new();
        for (unit, map) in records.units.iter().zip(&self.program.maps) {
            described.extend(unit.variables.iter().map(|it| (it.address, map.origins[it.origin.index()])));
        }
        // Stable: of several at one address those of the first unit come first.
        described.sort_by_key(|(address, _)| *address);
        let mut files: HashMap<Vec<u8>, FileId> = HashMap::default();
        for symbol in open::variables(image) {
            let declared = self.declaration(&described, &symbol);
            let declared = declared.map(|origin| self.program.origins[origin.index()]);
            let (file, line) = match declared {
                Some(origin) => (origin.file, origin.line),
                None => (symbol.file.map(|path| self.file_of(path, &mut files)), 0),
            };
            let name = &symbol.name[..symbol.name.len().min(MAX_NAME)];
            let name = self.names.intern(&mut self.program.names, name.into());
            let (start, size) = (symbol.address, symbol.size);
            self.program.variables.push(Variable { start, size, name, file, line });
        }
        self
    }

    /// The declaration of a variable: of those at its address the one of its name, else the first.
    fn declaration(
        &self,
        described: &[(ImageAddr, OriginId)],
        symbol: &VariableSymbol<'_>,
    ) -> Option<OriginId> {
        let first = described.partition_point(|(address, _)| *address < symbol.address);
        let here = described[first..].iter().take_while(|(address, _)| *address == symbol.address);
        let name = |origin: OriginId| {
            let name = self.program.origins[origin.index()].name;
            &*self.program.names[name.index()]
        };
        // Any number of entries may describe one address.
        let mut here = here.take(MAX_DESCRIBED).map(|(_, origin)| *origin);
        let first = here.clone().next();
        here.find(|&origin| name(origin) == symbol.name).or(first)
    }

    /// The file with this path.
    fn file_of(&mut self, path: &[u8], known: &mut HashMap<Vec<u8>, FileId>) -> FileId {
        if known.is_empty() {
            known.extend(self.program.files.iter().cloned().zip((0..).map(FileId::new)));
        }
        let files = &mut self.program.files;
        *known.entry(path.to_vec()).or_insert_with(|| {
            files.push(path.to_vec());
            FileId::new(files.len() as u32 - 1)
        })
    }
}

/// Descriptions of one address that are compared with its symbol.
const MAX_DESCRIBED: usize = 64;
