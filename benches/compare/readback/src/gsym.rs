//! Readers of GSYM: gsym-rs by its lookup, gsym-rs by its merged functions, blazesym.

use std::collections::HashMap;
use std::path::Path;

use blazesym::symbolize::source::{Gsym as Source, GsymData};
use blazesym::symbolize::{CodeInfo, Input, Symbolized, Symbolizer};
use gsym::{Function, Gsym, InlineNode};

use crate::{Answer, Frame, Reader, join};

fn read(path: &Path) -> Result<Vec<u8>, String> {
    std::fs::read(path).map_err(|error| error.to_string())
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// gsym-rs's lookup: the outer function of an address.
pub(crate) struct GsymRs(Gsym<Vec<u8>>);

impl GsymRs {
    pub(crate) fn open(path: &Path) -> Result<Self, String> {
        let gsym = Gsym::parse(read(path)?).map_err(|error| error.to_string())?;
        // Every record of the file, not only the requested ones.
        gsym.verify().map_err(|error| format!("verify: {error}"))?;
        Ok(Self(gsym))
    }
}

impl Reader for GsymRs {
    fn answer(&mut self, address: u64) -> Result<Answer, String> {
        let Some(found) = self.0.lookup(address).map_err(|error| error.to_string())? else {
            return Ok(Vec::new());
        };
        let frame = |frame: &gsym::LookupFrame<'_>| Frame {
            name: text(frame.name),
            path: join(&text(frame.directory), &text(frame.basename)),
            line: frame.line,
        };
        Ok(vec![found.frames().iter().map(frame).collect()])
    }
}

/// gsym-rs's decoded functions: the outer one of an address, then those that are merged into it.
pub(crate) struct Merged {
    gsym: Gsym<Vec<u8>>,
    /// The first address of each function, in the order of the file.
    starts: Vec<u64>,
    decoded: HashMap<usize, Function>,
}

impl Merged {
    pub(crate) fn open(path: &Path) -> Result<Self, String> {
        let gsym = Gsym::parse(read(path)?).map_err(|error| error.to_string())?;
        let starts = gsym.functions().map(|function| function.map(|function| function.start()));
        let starts = starts.collect::<Result<_, _>>().map_err(|error| error.to_string())?;
        Ok(Self { gsym, starts, decoded: HashMap::new() })
    }

    /// The frames of one function, from its own lines and inlined calls.
    fn frames(&self, function: &Function, address: u64) -> Result<Vec<Frame>, String> {
        let path = |file| -> Result<String, String> {
            let (folder, name) = self.gsym.file(file).map_err(|error| error.to_string())?;
            Ok(join(&text(folder), &text(name)))
        };
        let row = function.lines.partition_point(|row| row.address <= address).checked_sub(1);
        let mut place = match row.and_then(|row| function.lines.get(row)) {
            Some(row) => (path(row.file)?, row.line),
            None => (String::new(), 0),
        };
        let mut frames = Vec::new();
        for node in inlined(function.inline.as_ref(), address).into_iter().rev() {
            let call = (path(node.call_file)?, node.call_line);
            frames.push(Frame { name: text(&node.name), path: place.0, line: place.1 });
            place = call;
        }
        frames.push(Frame { name: text(&function.name), path: place.0, line: place.1 });
        Ok(frames)
    }
}

/// The inlined calls at an address, from the outside in.
fn inlined(root: Option<&InlineNode>, address: u64) -> Vec<&InlineNode> {
    let mut found = Vec::new();
    let mut children = root.map_or(&[][..], |root| &root.children);
    while let Some(child) = children
        .iter()
        .find(|child| child.ranges.iter().any(|range| range.start <= address && address < range.end))
    {
        found.push(child);
        children = &child.children;
    }
    found
}

impl Reader for Merged {
    fn answer(&mut self, address: u64) -> Result<Answer, String> {
        let Some(index) = self.starts.partition_point(|start| *start <= address).checked_sub(1) else {
            return Ok(Vec::new());
        };
        if !self.decoded.contains_key(&index) {
            let function = self.gsym.function(index).and_then(|function| function.decode());
            self.decoded.insert(index, function.map_err(|error| error.to_string())?);
        }
        let function = &self.decoded[&index];
        if address >= function.range.end {
            return Ok(Vec::new());
        }
        std::iter::once(function).chain(&function.merged).map(|one| self.frames(one, address)).collect()
    }
}

/// blazesym's symbolizer.
pub(crate) struct Blazesym {
    symbolizer: Symbolizer,
    source: blazesym::symbolize::source::Source<'static>,
}

impl Blazesym {
    pub(crate) fn open(path: &Path) -> Result<Self, String> {
        // Kept to the end of the process, as the source borrows it.
        let data: &'static [u8] = read(path)?.leak();
        let symbolizer = Symbolizer::builder().enable_auto_reload(false).enable_demangling(false).build();
        Ok(Self { symbolizer, source: Source::Data(GsymData::new(data)).into() })
    }
}

impl Reader for Blazesym {
    fn answer(&mut self, address: u64) -> Result<Answer, String> {
        let found = self.symbolizer.symbolize_single(&self.source, Input::VirtOffset(address));
        let Symbolized::Sym(symbol) = found.map_err(|error| format!("{error:#}"))? else {
            return Ok(Vec::new());
        };
        let frame = |name: &str, code: Option<&CodeInfo<'_>>| Frame {
            name: name.to_owned(),
            path: code.map_or_else(String::new, |code| {
                let folder = code.dir.as_deref().map(|folder| folder.to_string_lossy().into_owned());
                join(&folder.unwrap_or_default(), &code.file.to_string_lossy())
            }),
            line: code.and_then(|code| code.line).unwrap_or(0),
        };
        // Inlined calls come from the outside in.
        let calls = symbol.inlined.iter().rev().map(|call| frame(&call.name, call.code_info.as_ref()));
        let function = frame(&symbol.name, symbol.code_info.as_deref());
        Ok(vec![calls.chain(std::iter::once(function)).collect()])
    }
}
