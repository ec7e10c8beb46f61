//! A global variable in words: its name, its bytes, and the line of its declaration.

use foldsym_format::names::MAX_NAME;
use foldsym_lookup::{Error, ImageAddr, SymbolFile};
use foldsym_symbolize::json;

use crate::io::escape::push_escaped;

/// A variable. Its texts are empty if they are unknown.
#[derive(Clone, Debug, Default)]
pub(crate) struct Variable {
    /// Demangled if that was asked for.
    pub(crate) name: Vec<u8>,
    pub(crate) linkage_name: Vec<u8>,
    pub(crate) start: u64,
    pub(crate) size: u64,
    pub(crate) file: Vec<u8>,
    pub(crate) line: u32,
}

impl Variable {
    /// The variable at a link-time address.
    ///
    /// # Errors
    /// The file is damaged there.
    pub(crate) fn at(
        file: &SymbolFile<'_>,
        address: ImageAddr,
        demangle: bool,
    ) -> Result<Option<Variable>, Error> {
        let Some(found) = file.variable_at(address)? else { return Ok(None) };
        let text = |write: &dyn Fn(&mut [u8]) -> Option<usize>| {
            let mut bytes = vec![0; MAX_NAME];
            let len = write(&mut bytes).unwrap_or(0);
            bytes.truncate(len);
            bytes
        };
        let linkage_name = text(&|out| file.write_name(found.name, out));
        let path = found.file.map(|path| text(&|out| file.write_path(path, out)));
        let readable = demangle.then(|| foldsym_demangle::demangle(&linkage_name)).flatten();
        Ok(Some(Variable {
            name: readable.map_or_else(|| linkage_name.clone(), |name| name.as_bytes().to_vec()),
            linkage_name,
            start: found.start.0,
            size: found.size,
            file: path.unwrap_or_default(),
            line: found.line,
        }))
    }

    /// Puts the three lines of llvm-symbolizer's answer to `DATA`, without the blank line after them. With `escape`, characters that a terminal
    /// obeys are shown.
    pub(crate) fn put_text(&self, out: &mut Vec<u8>, escape: bool) {
        let put = |out: &mut Vec<u8>, text: &[u8]| {
            if escape { push_escaped(out, text) } else { out.extend_from_slice(text) }
        };
        put(out, if self.name.is_empty() { b"??" } else { &self.name });
        out.extend_from_slice(format!("\n{} {}\n", self.start, self.size).as_bytes());
        if self.file.is_empty() {
            out.extend_from_slice(b"??:?\n");
        } else {
            put(out, &self.file);
            out.extend_from_slice(format!(":{}\n", self.line).as_bytes());
        }
    }

    /// Puts the object that answers an address of this module.
    pub(crate) fn put_object(&self, out: &mut Vec<u8>, address: u64, module: &str) {
        let mut text = |key: &str, value: &[u8]| {
            out.extend_from_slice(key.as_bytes());
            json::string(out, value);
        };
        text("{\"Address\":", format!("{address:#x}").as_bytes());
        text(",\"ModuleName\":", module.as_bytes());
        text(",\"Data\":{\"Name\":", &self.name);
        text(",\"LinkageName\":", &self.linkage_name);
        text(",\"Start\":", format!("{:#x}", self.start).as_bytes());
        text(",\"Size\":", format!("{:#x}", self.size).as_bytes());
        text(",\"FileName\":", &self.file);
        out.extend_from_slice(format!(",\"Line\":{}}}}}", self.line).as_bytes());
    }
}
