//! The forms of lines that are frames: reports of sanitizers, symbolizer markup, `backtrace_symbols`, and the Linux kernel's.

use foldsym_reports::sanitizer::Line;
use foldsym_symbolize::{AddressKind, number};
use rustc_hash::FxHashMap;

use crate::answer::address::hex;
use crate::answer::address_map::AddressMap;

/// Which form a line has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// `    #1 0x55d0c1234567 in f app.cpp:3 (/opt/app+0x1567) (BuildId: abcd)`.
    Sanitizer,
    /// `{{{bt:1:0x55d0c1234567:ra}}}`.
    Markup,
    /// `/opt/app(+0x1567) [0x55d0c1234567]`, of glibc's `backtrace_symbols`; also `app(f+0x12) [0x55d0c1234567]`, `app(+0x1567)`.
    Backtrace,
    /// `[   12.3]  ext4_map_blocks+0x5b/0x600 [ext4]`, of the Linux kernel.
    Kernel,
}

/// The function that a line names, in place of an address of the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Symbol {
    pub(super) name: String,
    /// Bytes from this symbol to the next.
    pub(super) size: Option<u64>,
}

/// A frame as its line has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Frame {
    /// Its number in the stack, if the line has one.
    pub(super) number: Option<u64>,
    /// The address in the process, as written; empty if the line has none.
    pub(super) given: String,
    /// Functions and places that the line has already.
    pub(super) names: String,
    pub(super) module: String,
    pub(super) id: Option<String>,
    /// A link-time address of the module, or an offset from the start of the function that the line names.
    pub(super) address: u64,
    pub(super) symbol: Option<Symbol>,
    /// The kernel found the address on the stack, and does not know whether it is a caller.
    pub(super) is_doubtful: bool,
    /// The kind of the address; `None` if it follows from the position in the stack: exact, then return addresses.
    pub(super) kind: Option<AddressKind>,
}

/// Modules and mappings that lines of markup declared.
#[derive(Default)]
pub(super) struct Markup {
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
    pub(super) fn context(&mut self, line: &str) {
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

/// Reads a line; `None` if it is not a frame.
pub(super) fn parse(line: &str, markup: &Markup) -> Option<(Form, Frame)> {
    sanitizer(line)
        .map(|frame| (Form::Sanitizer, frame))
        .or_else(|| Some((Form::Markup, bt(line, markup)?)))
        .or_else(|| Some((Form::Backtrace, backtrace(line)?)))
        .or_else(|| Some((Form::Kernel, kernel(line)?)))
}

fn sanitizer(line: &str) -> Option<Frame> {
    let line = Line::parse(line)?;
    let (module, address) = line.place?;
    Some(Frame {
        number: Some(line.number),
        given: line.given.to_owned(),
        names: line.names.to_owned(),
        module: module.to_owned(),
        id: line.id.map(str::to_owned),
        address,
        symbol: None,
        is_doubtful: false,
        kind: Some(line.kind),
    })
}

fn bt(line: &str, markup: &Markup) -> Option<Frame> {
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
        names: String::new(),
        module: name.clone(),
        id: Some(id.clone()),
        // The frame keeps its kind, so its address stays the return address.
        address: relative.wrapping_add(back),
        symbol: None,
        is_doubtful: false,
        kind: Some(kind),
    })
}

fn backtrace(line: &str) -> Option<Frame> {
    let (module, rest) = line.split_once('(')?;
    let (place, rest) = rest.split_once(')')?;
    let (name, offset) = place.rsplit_once("+0x")?;
    // A line without the address of the process must end here, and names no function: other text has parentheses too.
    let given = match rest.trim() {
        "" if name.is_empty() => "",
        rest => rest.strip_prefix('[')?.strip_suffix(']').filter(|given| number(given).is_some())?,
    };
    let module = module.trim_start();
    let is_one = |name: &str| !name.contains(|character: char| character.is_whitespace() || character == '+');
    if module.is_empty() || !is_one(name) || (given.is_empty() && !is_one(module)) {
        return None;
    }
    Some(Frame {
        number: None,
        given: given.to_owned(),
        names: String::new(),
        module: module.to_owned(),
        id: None,
        address: hex(offset)?,
        symbol: (!name.is_empty()).then(|| Symbol { name: name.to_owned(), size: None }),
        is_doubtful: false,
        kind: None,
    })
}

/// The last `FUNCTION+0xOFFSET/0xSIZE` of a line, followed by `[MODULE]` or `[MODULE BUILDID]`.
fn kernel(line: &str) -> Option<Frame> {
    // Most lines of a log end here.
    let slash = line.rfind("/0x")?;
    let start = line[..slash].rfind(|character: char| character.is_ascii_whitespace()).map_or(0, |at| at + 1);
    let (offset, rest) = (&line[start..slash], &line[slash + 3..]);
    let end = rest.find(|character: char| !character.is_ascii_hexdigit()).unwrap_or(rest.len());
    let (size, rest) = (hex(&rest[..end])?, rest[end..].trim());
    let (name, offset) = offset.rsplit_once("+0x")?;
    let offset = hex(offset)?;
    // x86 writes the segment before the instruction's address: `RIP: 0010:f+0x1/0x2`.
    let name = name.rsplit(':').next().filter(|name| !name.is_empty())?;
    let (module, id) = match rest.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        // Code of the kernel itself has no `[MODULE]`.
        None => ("vmlinux".to_owned(), None),
        Some((module, _)) => {
            let (module, id) =
                module.split_once(' ').map_or((module, None), |(module, id)| (module, Some(id)));
            (format!("{module}.ko"), id)
        }
    };
    let before = &line[..start];
    let is_exact =
        // These are the names of the program counter on x86, Arm, PowerPC and RISC-V.
        ["RIP:", "EIP:", "pc :", "PC is at", "NIP", "epc :"].iter().any(|word| before.contains(word));
    Some(Frame {
        // The innermost frame of a stack.
        number: is_exact.then_some(0),
        given: String::new(),
        names: String::new(),
        module,
        id: id.map(str::to_owned),
        address: offset,
        symbol: Some(Symbol { name: name.to_owned(), size: Some(size) }),
        // The kernel prints `?` before an address that its unwinder did not confirm.
        is_doubtful: before.trim_end().ends_with('?'),
        kind: Some(if is_exact { AddressKind::Exact } else { AddressKind::Return }),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form() {
        let mut markup = Markup::default();
        markup.context("{{{reset}}}");
        markup.context("x {{{module:0x1:libx.so:elf:abcd}}}");
        markup.context("{{{mmap:0x7000:0x1000:load:1:rx:0x200}}}");
        let parse = |line: &str| parse(line, &markup);
        let (form, frame) =
            parse("    #3 0x55d0 in f(int) (.cold) a.cpp:3 (/opt/my (x)/app+0x1567) (BuildId: ab)").unwrap();
        assert_eq!((form, frame.number, frame.given.as_str()), (Form::Sanitizer, Some(3), "0x55d0"));
        assert_eq!((frame.module.as_str(), frame.address), ("/opt/my (x)/app", 0x1567));
        assert_eq!((frame.id.as_deref(), frame.kind), (Some("ab"), Some(AddressKind::Adjusted)));
        let (_, frame) = parse("    #0 0x55d0  (app+0x10)").unwrap();
        assert_eq!((frame.module.as_str(), frame.address, frame.kind), ("app", 16, Some(AddressKind::Exact)));
        let (form, frame) = parse("log: {{{bt:1:0x8000:ra}}}").unwrap();
        assert_eq!((form, frame.module.as_str(), frame.address), (Form::Markup, "libx.so", 0x1200));
        // ThreadSanitizer writes no address of the process.
        let (_, frame) = parse("    #1 <null> <null> (t.tsan+0xe93ba) (BuildId: ab)").unwrap();
        assert_eq!((frame.given.as_str(), frame.address), ("", 0xe93ba));
        assert!(parse("{{{bt:1:0x8000:pc}}}").is_none());
        let (form, frame) = parse("/opt/app(+0x1f) [0x55d01f]").unwrap();
        assert_eq!((form, frame.module.as_str(), frame.address), (Form::Backtrace, "/opt/app", 0x1f));
        let (_, frame) = parse("  /opt/app(+0x1f)").unwrap();
        assert_eq!((frame.module.as_str(), frame.address, frame.given.as_str()), ("/opt/app", 0x1f, ""));
        let (form, frame) = parse("lib.so(f+0x1) [0x1]").unwrap();
        let symbol = frame.symbol.unwrap();
        assert_eq!((form, frame.address, symbol.name.as_str(), symbol.size), (Form::Backtrace, 1, "f", None));
        for (line, module, id, name, kind, is_doubtful) in [
            ("[   12.345678]  do_idle+0x1f/0x40", "vmlinux", None, "do_idle", AddressKind::Return, false),
            (
                "[    1.2] RIP: 0010:f.isra.0+0x1f/0x40 [ext4]",
                "ext4.ko",
                None,
                "f.isra.0",
                AddressKind::Exact,
                false,
            ),
            ("<4>[ 1.2]  ? f+0x1f/0x40 [a_b abcd]", "a_b.ko", Some("abcd"), "f", AddressKind::Return, true),
            ("[ 1.2] pc : f+0x1f/0x40", "vmlinux", None, "f", AddressKind::Exact, false),
            ("[ 1.2] lr : f+0x1f/0x40", "vmlinux", None, "f", AddressKind::Return, false),
            (
                "Oct 1 host kernel: [<ffffffff810>] f+0x1f/0x40",
                "vmlinux",
                None,
                "f",
                AddressKind::Return,
                false,
            ),
        ] {
            let (form, frame) = parse(line).unwrap_or_else(|| panic!("{line}"));
            let symbol = frame.symbol.unwrap();
            assert_eq!((form, frame.address, symbol.size), (Form::Kernel, 0x1f, Some(0x40)), "{line}");
            assert_eq!((frame.module.as_str(), frame.id.as_deref()), (module, id), "{line}");
            assert_eq!((symbol.name.as_str(), frame.kind), (name, Some(kind)), "{line}");
            assert_eq!(frame.is_doubtful, is_doubtful, "{line}");
        }
    }

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

    #[test]
    fn other_lines() {
        let markup = Markup::default();
        for line in [
            "",
            "#",
            "# 0x10 (a+0x1)",
            "#1 0x10",
            "#1 x",
            "#99999999999999999999 0x1 (a+0x1)",
            "#1 0x1 (a+0x1) (BuildId: ",
            "{{{bt:0:0x10}}}",
            "{{{bt:0:0x10:x}}}",
            "{{{",
            "a(+0x",
            "(+0x10) [0x1]",
            "a(+0x+1) [0x1]",
            "lib(f+0x1)",
            "see the text(+0x10)",
            "a(b c+0x1) [0x1]",
            "a(+0x1) and more",
            "f+0x1/0x",
            "f+0x/0x2",
            "f/0x2",
            "+0x1/0x2",
            "/0x2",
            "a/b/0x12",
        ] {
            assert!(parse(line, &markup).is_none(), "{line}");
        }
    }
}
