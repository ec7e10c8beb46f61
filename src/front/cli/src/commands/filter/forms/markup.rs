//! The form of symbolizer markup: lines that declare modules and mappings, and frames by addresses in these.

use foldsym_symbolize::{AddressKind, number};
use rustc_hash::FxHashMap;

use super::frame::Frame;
use crate::answer::address_map::AddressMap;

/// Modules and mappings that lines of markup declared.
#[derive(Default)]
pub(crate) struct Markup {
    /// Name and build id, by number.
    modules: FxHashMap<u64, (String, String)>,
    mappings: AddressMap<MappedModule>,
}

/// What a mapping has at its addresses.
#[derive(Clone, Copy)]
struct MappedModule {
    module: u64,
    /// The link-time address of the mapping's first byte.
    relative: u64,
}

/// Declarations that are kept; a log that has more is not believed.
const MAX_DECLARED: usize = 1 << 16;

impl Markup {
    /// Reads the declarations of a line.
    pub(crate) fn context(&mut self, line: &str) {
        // Most lines of a log have no element.
        let Some(element) = element(line) else { return };
        let mut fields = element.split(':');
        match fields.next() {
            // The log of another process follows.
            Some("reset") => *self = Self::default(),
            Some("module") if self.modules.len() < MAX_DECLARED => {
                let fields: Vec<&str> = fields.collect();
                if let [id, name, "elf", build_id] = fields[..]
                    && let Some(id) = number(id)
                {
                    self.modules.insert(id, (name.to_owned(), build_id.to_owned()));
                }
            }
            Some("mmap") if self.mappings.len() < MAX_DECLARED => {
                let fields: Vec<&str> = fields.collect();
                if let [start, size, "load", module, _flags, relative] = fields[..]
                    && let (Some(start), Some(size), Some(module), Some(relative)) =
                        (number(start), number(size), number(module), number(relative))
                {
                    // It replaces others at its addresses: a module may have been loaded where one was unloaded.
                    self.mappings.add(start, size, MappedModule { module, relative });
                }
            }
            _ => {}
        }
    }

    /// The module of an address, and the link-time address there.
    fn find(&self, address: u64) -> Option<(&(String, String), u64)> {
        let (offset, found) = self.mappings.find(address)?;
        Some((self.modules.get(&found.module)?, offset.wrapping_add(found.relative)))
    }
}

/// The text between the first `{{{` and `}}}` of a line.
fn element(line: &str) -> Option<&str> {
    line.split_once("{{{")?.1.split_once("}}}").map(|(element, _)| element)
}

/// Reads `{{{bt:1:0x55d0c1234567:ra}}}`.
pub(super) fn frame(line: &str, markup: &Markup) -> Option<Frame> {
    let fields: Vec<&str> = element(line)?.split(':').collect();
    let (index, given, kind) = match fields[..] {
        ["bt", index, address] | ["bt", index, address, "ra"] => (index, address, AddressKind::Return),
        ["bt", index, address, "pc"] => (index, address, AddressKind::Exact),
        _ => return None,
    };
    let index = number(index)?;
    // A call may be the last instruction of its mapping, so the byte before the return address is looked up.
    let back = u64::from(kind == AddressKind::Return);
    let ((name, id), relative) = markup.find(number(given)?.wrapping_sub(back))?;
    Some(Frame {
        number: Some(index),
        given: given.to_owned(),
        module: Some(name.clone()),
        id: Some(id.clone()),
        // The frame keeps its kind, so its address stays the return address.
        address: relative.wrapping_add(back),
        kind: Some(kind),
        ..Frame::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mappings_over_each_other() {
        let mut markup = Markup::default();
        for module in ["0:a", "1:b", "2:c"] {
            markup.context(&format!("{{{{{{module:{module}:elf:ab}}}}}}"));
        }
        for mmap in ["0x1000:0x3000:load:0:rx:0x0", "0x2000:0x1000:load:1:rx:0x500", "0x2800:0:load:2:rx:0"] {
            markup.context(&format!("{{{{{{mmap:{mmap}}}}}}}"));
        }
        let found = |markup: &Markup, address: u64| {
            markup.find(address).map(|((name, _), relative)| (name.clone(), relative))
        };
        let of = |name: &str, relative: u64| Some((name.to_owned(), relative));
        assert_eq!(found(&markup, 0xfff), None);
        assert_eq!(found(&markup, 0x1fff), of("a", 0xfff));
        assert_eq!(found(&markup, 0x2000), of("b", 0x500));
        assert_eq!(found(&markup, 0x3000), of("a", 0x2000));
        assert_eq!(found(&markup, 0x4000), None);
        markup.context("{{{mmap:0x1800:0x2000:load:2:rx:0x0}}}");
        assert_eq!(found(&markup, 0x2000), of("c", 0x800));
        assert_eq!(found(&markup, 0x37ff), of("c", 0x1fff));
        assert_eq!(found(&markup, 0x3800), of("a", 0x2800));
        // One range again and again stays one mapping.
        for _ in 0..100 {
            markup.context("{{{mmap:0x0:0x10000:load:1:rx:0x0}}}");
        }
        assert_eq!((found(&markup, 0x3800), markup.mappings.len()), (of("b", 0x3800), 1));
        markup.context("{{{mmap:0xffffffffffffff00:0x1000:load:0:rx:0x0}}}");
        assert_eq!(found(&markup, u64::MAX), of("a", 0xff));
    }
}
