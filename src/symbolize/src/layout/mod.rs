//! How the bytes of a `.fsym` and the code of its program are distributed: by section, by the folder in which functions are declared, and
//! by function. Also the script and the style that draw this as a treemap ([`SCRIPT`], [`STYLE`]), and a whole page ([`page`]).

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use foldsym_lookup::records::{Function, Owner};
use foldsym_lookup::{Error, FunctionId, GroupId, PieceId, SectionId, SymbolFile};
use serde_json::{Value, json};

/// A script whose function `treemap(title, note, parts)` makes elements for a page with [`STYLE`]. It needs no other script.
pub const SCRIPT: &str = include_str!("treemap.js");
/// The style of the treemap, for light and dark color schemes.
pub const STYLE: &str = include_str!("treemap.css");
const PAGE: &str = include_str!("page.html");

// The most folders of a layout, and the most functions of a folder. The others together are one part.
const MAX_FOLDERS: usize = 60;
const MAX_FUNCTIONS: usize = 50;
/// Bytes of a name that a part keeps.
const MAX_NAME: usize = 200;
/// Bytes of paths that are read for any file, and for each byte of a file: paths share their beginnings in the file, so a small file may
/// have many long ones. Functions whose path is not read are in one part.
const MIN_PATHS: usize = 16 << 20;
const PATHS_A_BYTE: usize = 8;
const OTHERS: &str = "other folders";
/// `go_on` is called once per this many pieces, groups or functions.
const ASK: u32 = 4096;
/// `go_on` is called once per this many names: decoding a name takes longer, since a file may have long ones.
const ASK_NAMES: u32 = 64;

/// A part, which may have parts of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Part {
    /// The name of a section, a folder, or a function.
    pub name: String,
    /// Bytes.
    pub size: u64,
    /// Its own parts, the largest first; empty if they are not known.
    pub parts: Vec<Part>,
}

impl Part {
    fn new(name: impl Into<String>, size: u64, parts: Vec<Self>) -> Self {
        Self { name: name.into(), size, parts }
    }

    fn json(&self) -> Value {
        let mut json = json!({ "Name": self.name, "Size": self.size });
        if !self.parts.is_empty() {
            json["Parts"] = self.parts.iter().map(Self::json).collect();
        }
        json
    }
}

/// How the bytes of a file and of its program's code are distributed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Layout {
    /// Bytes of the file.
    pub size: u64,
    /// The bytes of the file by section. ROWS and SCOPES are split by folder and function.
    pub bytes: Vec<Part>,
    /// Bytes of code that the file describes.
    pub code_size: u64,
    /// The bytes of code by folder and function.
    pub code: Vec<Part>,
}

impl Layout {
    /// An object with `Size`, `Bytes`, `CodeSize` and `Code`. Parts are objects with `Name`, `Size` and, if they have parts, `Parts`.
    pub fn json(&self) -> Value {
        let list = |parts: &[Part]| parts.iter().map(Part::json).collect::<Value>();
        json!({
            "Size": self.size, "Bytes": list(&self.bytes), "CodeSize": self.code_size, "Code": list(&self.code),
        })
    }
}

/// Makes the layout of a file; `None` if `go_on` returned false. Reads every piece once.
///
/// # Errors
/// The file is damaged.
pub fn layout(file: &SymbolFile<'_>, go_on: &dyn Fn() -> bool) -> Result<Option<Layout>, Error> {
    let paths = file.records().bytes().len().saturating_mul(PATHS_A_BYTE).saturating_add(MIN_PATHS);
    layout_within(file, go_on, paths)
}

/// As [`layout`], with at most so many bytes of paths.
fn layout_within(
    file: &SymbolFile<'_>,
    go_on: &dyn Fn() -> bool,
    paths: usize,
) -> Result<Option<Layout>, Error> {
    let Some(found) = Owners::of(file, go_on)? else { return Ok(None) };
    let mut bytes = Vec::new();
    let mut rest = file.header().file_len;
    let mut folders =
        Folders { file, by_id: HashMap::new(), known: HashSet::new(), left: paths, go_on, named: 0 };
    for section in file.records().sections() {
        // Sections of a damaged file may overlap.
        rest = rest.saturating_sub(section.len);
        let records = match section.id {
            SectionId::ROWS => &found.rows,
            SectionId::SCOPES => &found.scopes,
            _ => &Vec::new(),
        };
        let Some(parts) = folders.parts(shares(records, section.len))? else { return Ok(None) };
        bytes.push(Part::new(section.name, section.len, parts));
    }
    bytes.push(Part::new("header, directory and padding", rest, Vec::new()));
    bytes.sort_by_key(|part| std::cmp::Reverse(part.size));
    let Some(code) = folders.parts(found.code)? else { return Ok(None) };
    let code_size = code.iter().fold(0u64, |sum, part| sum.saturating_add(part.size));
    Ok(Some(Layout { size: file.header().file_len, bytes, code_size, code }))
}

/// The owner of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Whose {
    Function(u32),
    /// Several functions share the record, or the code.
    Shared,
}

/// The owners of a file's records and code.
#[derive(Default)]
struct Owners {
    /// Offsets of records, and their owners.
    rows: Vec<(u64, Whose)>,
    scopes: Vec<(u64, Whose)>,
    code: HashMap<Whose, u64>,
}

impl Owners {
    fn of(file: &SymbolFile<'_>, go_on: &dyn Fn() -> bool) -> Result<Option<Self>, Error> {
        let mut found = Self::default();
        for piece in 0..file.records().piece_count() {
            if piece.is_multiple_of(ASK) && !go_on() {
                return Ok(None);
            }
            let piece = file.records().piece(PieceId(piece))?;
            let whose = match piece.owner {
                Owner::Function(function) => Whose::Function(function.0),
                Owner::Group(_) => Whose::Shared,
            };
            let code = found.code.entry(whose).or_default();
            *code = code.saturating_add(piece.body);
            found.rows.extend(piece.rows.map(|rows| (rows.0, whose)));
        }
        for group in 0..file.records().group_count() {
            if group.is_multiple_of(ASK) && !go_on() {
                return Ok(None);
            }
            for member in file.records().members(file.records().group(GroupId(group))?) {
                let member = member?;
                found.rows.extend(member.rows.map(|rows| (rows.0, Whose::Function(member.function.0))));
            }
        }
        for function in 0..file.records().function_count() {
            if function.is_multiple_of(ASK) && !go_on() {
                return Ok(None);
            }
            let offset = file.records().function(FunctionId(function))?.scopes_offset();
            // Offset 0 means that nothing is inlined (schema, FUNCTIONS).
            found.scopes.extend((offset != 0).then_some((offset, Whose::Function(function))));
        }
        Ok(Some(found))
    }
}

/// The bytes of each function's records: a record ends where the next one begins.
fn shares(records: &[(u64, Whose)], len: u64) -> HashMap<Whose, u64> {
    let mut records = records.to_vec();
    records.sort_unstable();
    records.dedup_by(|other, one| {
        let same = one.0 == other.0;
        // Equal rows of several functions are stored once.
        if same && one.1 != other.1 {
            one.1 = Whose::Shared;
        }
        same
    });
    let mut sizes = HashMap::new();
    for (index, (offset, whose)) in records.iter().enumerate() {
        let end = records.get(index + 1).map_or(len, |next| next.0);
        let size: &mut u64 = sizes.entry(*whose).or_default();
        // A damaged record may begin after the end of its section.
        *size = size.saturating_add(end.min(len).saturating_sub(*offset));
    }
    sizes
}

/// Names of folders and functions.
struct Folders<'f> {
    file: &'f SymbolFile<'f>,
    /// By the number of the file in which a function is declared.
    by_id: HashMap<u32, Arc<str>>,
    /// The folders of these files, each once.
    known: HashSet<Arc<str>>,
    /// Bytes of paths that may still be read.
    left: usize,
    go_on: &'f dyn Fn() -> bool,
    /// The number of functions whose folder or name was needed.
    named: u32,
}

impl Folders<'_> {
    /// Calls `go_on` once for [`ASK_NAMES`] functions; false if it returned false.
    fn is_wanted(&mut self) -> bool {
        let asks = self.named.is_multiple_of(ASK_NAMES);
        self.named = self.named.wrapping_add(1);
        !asks || (self.go_on)()
    }

    /// Parts by folder, each with its functions; `None` if `go_on` returned false.
    fn parts(&mut self, sizes: HashMap<Whose, u64>) -> Result<Option<Vec<Part>>, Error> {
        let mut folders: HashMap<Arc<str>, Vec<(u64, u32)>> = HashMap::new();
        let mut ranked = Vec::new();
        for (whose, size) in sizes {
            match whose {
                Whose::Shared => ranked.push((size, "shared by several functions".into(), Vec::new())),
                Whose::Function(function) => {
                    if !self.is_wanted() {
                        return Ok(None);
                    }
                    let folder = self.of(self.file.records().function(FunctionId(function))?)?;
                    folders.entry(folder).or_default().push((size, function));
                }
            }
        }
        let sum =
            |functions: &[(u64, u32)]| functions.iter().fold(0u64, |sum, one| sum.saturating_add(one.0));
        ranked.extend(folders.into_iter().map(|(folder, functions)| (sum(&functions), folder, functions)));
        // Equal sizes are sorted by name, so that the order does not depend on the hash map.
        ranked.sort_by(|one, other| other.0.cmp(&one.0).then_with(|| one.1.cmp(&other.1)));
        let mut parts = Vec::new();
        let rest = ranked.iter().skip(MAX_FOLDERS).fold(0u64, |sum, part| sum.saturating_add(part.0));
        for (size, folder, mut functions) in ranked.into_iter().take(MAX_FOLDERS) {
            functions.sort_unstable_by_key(|(size, function)| (std::cmp::Reverse(*size), *function));
            let rest = sum(functions.get(MAX_FUNCTIONS..).unwrap_or_default());
            let mut inside = Vec::new();
            for (size, function) in functions.iter().take(MAX_FUNCTIONS) {
                if !self.is_wanted() {
                    return Ok(None);
                }
                inside.push(Part::new(self.name(*function)?, *size, Vec::new()));
            }
            inside.extend((rest > 0).then(|| Part::new("other functions", rest, Vec::new())));
            parts.push(Part::new(&*folder, size, inside));
        }
        parts.extend((rest > 0).then(|| Part::new(OTHERS, rest, Vec::new())));
        Ok(Some(parts))
    }

    /// The folder in which a function is declared.
    fn of(&mut self, function: Function) -> Result<Arc<str>, Error> {
        let Some(file) = self.file.records().origin(function.origin)?.file else {
            return Ok("no file is known".into());
        };
        if let Some(known) = self.by_id.get(&file.0) {
            return Ok(known.clone());
        }
        if self.left == 0 {
            return Ok(self.shared(OTHERS));
        }
        let path = crate::names::bytes(self.file.records().files(), SectionId::FILES, file.0)?;
        self.left = self.left.saturating_sub(path.len().max(1));
        let folder = match path.iter().rposition(|&byte| byte == b'/') {
            Some(0) => "/".into(),
            Some(end) => String::from_utf8_lossy(&path[..end]),
            None => ".".into(),
        };
        let folder = self.shared(&folder);
        self.by_id.insert(file.0, folder.clone());
        Ok(folder)
    }

    /// The one copy of a folder.
    fn shared(&mut self, folder: &str) -> Arc<str> {
        if let Some(known) = self.known.get(folder) {
            return known.clone();
        }
        let new: Arc<str> = folder.into();
        self.known.insert(new.clone());
        new
    }

    /// The readable name of a function.
    fn name(&self, function: u32) -> Result<String, Error> {
        let function = self.file.records().function(FunctionId(function))?;
        let origin = self.file.records().origin(function.origin)?;
        let bytes = match function.name.or(origin.name) {
            Some(name) => crate::names::bytes(self.file.records().names(), SectionId::NAMES, name.0)?,
            None => Vec::new(),
        };
        let name = foldsym_demangle::demangle(&bytes);
        let mut name = name.unwrap_or_else(|| String::from_utf8_lossy(&bytes).into_owned());
        if name.len() > MAX_NAME {
            // A cut within a character would panic. A character has at most 4 bytes, so at most 4 places are tried.
            let end = (0..=MAX_NAME).rev().find(|&at| name.is_char_boundary(at)).unwrap_or(0);
            name.truncate(end);
            name.push('…');
        }
        Ok(if name.is_empty() { "no name is known".to_owned() } else { name })
    }
}

/// An HTML page that shows a layout. It loads no other file.
pub fn page(title: &str, layout: &Layout) -> String {
    // Inside a script element only `<` can begin the tag that ends the element.
    let safe = |json: Value| json.to_string().replace('<', "\\u003c");
    let (head, rest) = PAGE.split_once("/*STYLE*/").unwrap_or((PAGE, ""));
    let (middle, rest) = rest.split_once("/*SCRIPT*/").unwrap_or((rest, ""));
    let (before, after) = rest.split_once("/*DATA*/").unwrap_or((rest, ""));
    let data = format!("const title = {}, layout = {};", safe(title.into()), safe(layout.json()));
    [head, STYLE, middle, SCRIPT, before, &data, after].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_ends_where_the_next_begins() {
        let of = Whose::Function;
        let sizes = shares(&[(10, of(2)), (0, of(1)), (10, of(3)), (30, of(1))], 100);
        assert_eq!(sizes[&of(1)], 10 + 70);
        assert_eq!(sizes[&Whose::Shared], 20);
        assert_eq!(sizes.len(), 2);
        // A damaged offset, after the end of the section.
        assert_eq!(shares(&[(200, of(1))], 100)[&of(1)], 0);
    }

    /// `layout` calls `go_on` while it reads names, too, and each answer of false ends it.
    #[test]
    fn whoever_does_not_want_it_any_more_is_not_kept_waiting() {
        let golden = concat!(env!("CARGO_MANIFEST_DIR"), "/../../schema/golden/demo.fsym");
        let bytes = std::fs::read(golden).unwrap();
        let file = SymbolFile::open(&bytes).unwrap();
        let asked = std::cell::Cell::new(0);
        let until = |last: u32| {
            asked.set(0);
            let found = layout(&file, &|| {
                asked.set(asked.get() + 1);
                asked.get() < last
            });
            found.unwrap()
        };
        let whole = until(u32::MAX).unwrap();
        let questions = asked.get();
        assert!(whole.code_size > 0);
        // At least once each for pieces, groups, functions, and names.
        assert!(questions >= 4, "{questions}");
        for last in 1..=questions {
            assert_eq!(until(last), None);
            assert_eq!(asked.get(), last);
        }
    }

    #[test]
    fn a_damaged_name_or_path_is_an_error() {
        let golden = concat!(env!("CARGO_MANIFEST_DIR"), "/../../schema/golden/demo.fsym");
        let bytes = std::fs::read(golden).unwrap();
        for id in [SectionId::NAMES, SectionId::FILES] {
            let file = SymbolFile::open(&bytes).unwrap();
            let section = file.records().sections().find(|section| section.id == id).unwrap();
            let place = section.offset as usize..(section.offset + section.len) as usize;
            let refused = place.filter(|&at| {
                let mut changed = bytes.clone();
                changed[at] = 0xff;
                let file = SymbolFile::open(&changed);
                file.is_ok_and(|file| layout(&file, &|| true).is_err_and(|error| error.section == id))
            });
            assert!(refused.count() > 0, "{id:?}");
        }
    }

    /// A small file may have 40,000 paths of 64 KiB: they share all but their last bytes.
    #[test]
    fn paths_are_read_up_to_a_bound() {
        let golden = concat!(env!("CARGO_MANIFEST_DIR"), "/../../schema/golden/demo.fsym");
        let bytes = std::fs::read(golden).unwrap();
        let file = SymbolFile::open(&bytes).unwrap();
        let whole = layout(&file, &|| true).unwrap().unwrap();
        assert!(whole.code.iter().all(|part| part.name != OTHERS), "{:?}", whole.code);
        let bounded = layout_within(&file, &|| true, 1).unwrap().unwrap();
        let others = bounded.code.iter().find(|part| part.name == OTHERS).unwrap();
        assert!(others.size > 0 && !others.parts.is_empty());
        assert_eq!(bounded.code_size, whole.code_size);
    }

    #[test]
    fn a_page_holds_everything_and_ends_no_script() {
        let part = Part::new("</script><b>", 3, Vec::new());
        let layout = Layout { size: 3, bytes: vec![part.clone()], code_size: 0, code: Vec::new() };
        let page = page("a<b", &layout);
        assert_eq!(page.matches("</script>").count(), 1);
        assert!(page.contains("\\u003c/script>\\u003cb>") && page.contains("\"a\\u003cb\""));
        for word in ["http:", "https:", "src=", "@import", "/*STYLE*/", "/*SCRIPT*/", "/*DATA*/"] {
            assert!(!page.contains(word), "{word}");
        }
        assert_eq!(layout.json()["Bytes"][0]["Size"], 3);
    }
}
