//! Turns an input line of `llvm-symbolizer` or `addr2line` into a request: which module, and which address or symbol.

use super::options::Options;
use super::words::{NamedModule, build_id, number};
use crate::commands::tool::Tool;

/// What a request wants to know of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// The function, with the functions inlined into it.
    Code,
    /// The variable.
    Data,
    /// The local variables of the function.
    Frame,
}

/// An address, or a symbol with an offset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Subject {
    Address(u64),
    Symbol(String, u64),
}

/// A request that could be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Request {
    pub(super) kind: Kind,
    pub(super) module: NamedModule,
    pub(super) place: Subject,
}

/// Why a line is not a request, and the parts that were read before that was clear.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Unreadable {
    pub(super) kind: Kind,
    /// The path of the module; empty if none was read.
    pub(super) module: String,
    pub(super) message: &'static str,
}

/// Characters that end a word.
const BLANKS: [char; 3] = [' ', '\n', '\r'];

/// Reads a line. The grammar is `llvm-symbolizer`'s:
/// `[CODE |DATA |FRAME ][FILE:|BUILDID:]MODULE ADDRESS`, without the module where an option gave one.
pub(super) fn parse(line: &str, options: &Options) -> Result<Request, Unreadable> {
    if let (Tool::GnuAddr2line, Some(module)) = (options.tool, options.module()) {
        // GNU's tool accepts no words before an address, and reads a malformed address as 0.
        let word = line.split_whitespace().next().unwrap_or_default();
        let place = place(word, options.tool).unwrap_or(Subject::Address(0));
        return Ok(Request { kind: Kind::Code, module, place });
    }
    if line.trim().is_empty() {
        let (kind, module) = (Kind::Code, String::new());
        return Err(Unreadable { kind, module, message: "no module offset has been specified" });
    }
    let (kind, rest) = match line {
        line if line.starts_with("CODE ") => (Kind::Code, &line[5..]),
        line if line.starts_with("DATA ") => (Kind::Data, &line[5..]),
        line if line.starts_with("FRAME ") => (Kind::Frame, &line[6..]),
        line => (Kind::Code, line),
    };
    let mut rest = rest;
    let mut module = options.module();
    let mut path = match &module {
        Some(NamedModule::Path(path)) => path.clone(),
        _ => String::new(),
    };
    let mut prefix = None;
    loop {
        rest = rest.trim_start();
        let (found, after) = match rest {
            rest if rest.starts_with("FILE:") => ("FILE:", &rest[5..]),
            rest if rest.starts_with("BUILDID:") => ("BUILDID:", &rest[8..]),
            _ => break,
        };
        // A line may have one prefix of either kind. A second one is an error, as in LLVM's tool.
        if prefix.replace(found).is_some() {
            return Err(Unreadable {
                kind,
                module: path,
                message: "duplicate input file specification prefix",
            });
        }
        rest = after;
    }
    let unreadable = |module: &str, message| Unreadable { kind, module: module.to_owned(), message };
    if let Some(prefix) = prefix {
        if rest.is_empty() {
            let message = match prefix {
                "FILE:" => "must be followed by an input file",
                _ => "must be followed by a hash",
            };
            return Err(unreadable(&path, message));
        }
        if module.is_some() {
            return Err(unreadable(&path, "input file has already been specified"));
        }
        let word = first_word(&mut rest).filter(|word| !word.is_empty());
        let word = word.ok_or_else(|| unreadable(&path, "unbalanced quotes in input file name"))?;
        module = Some(match prefix {
            "FILE:" => NamedModule::Path(word.to_owned()),
            _ => NamedModule::BuildId(
                build_id(word).ok_or_else(|| unreadable(&path, "wrong format of build-id"))?,
            ),
        });
    } else if module.is_none() {
        let word = first_word(&mut rest).filter(|word| !word.is_empty());
        let word = word.ok_or_else(|| unreadable("", "no input filename has been specified"))?;
        module = Some(NamedModule::Path(word.to_owned()));
    }
    if let Some(NamedModule::Path(given)) = &module {
        path.clone_from(given);
    }
    let spec = rest.trim().split(BLANKS).next().unwrap_or_default();
    let place = place(spec, options.tool).map_err(|message| unreadable(&path, message))?;
    match module {
        Some(module) => Ok(Request { kind, module, place }),
        None => Err(unreadable("", "no input filename has been specified")),
    }
}

/// Removes the first word of a text: up to a blank, or the text in quotes. `None` if a quote has no end.
fn first_word<'t>(rest: &mut &'t str) -> Option<&'t str> {
    let text = rest.trim_start();
    if let Some(quote) = text.chars().next().filter(|first| matches!(first, '"' | '\'')) {
        let inside = &text[1..];
        // A path may contain blanks, or the other kind of quote.
        let end = inside.find(quote)?;
        *rest = &inside[end + 1..];
        return Some(&inside[..end]);
    }
    let end = text.find(BLANKS).unwrap_or(text.len());
    *rest = &text[end..];
    Some(&text[..end])
}

/// Reads an address, or a symbol with `+OFFSET`.
fn place(spec: &str, tool: Tool) -> Result<Subject, &'static str> {
    if spec.is_empty() {
        return Err("no module offset has been specified");
    }
    let is_addr2line = tool != Tool::Symbolizer;
    let digits = match is_addr2line {
        true => {
            // LLVM's addr2line takes a plus sign only before `0x`.
            let signed = spec.strip_prefix('+').filter(|_| tool == Tool::LlvmAddr2line);
            let digits = signed.filter(|rest| has_hex_prefix(rest)).unwrap_or(spec);
            if has_hex_prefix(digits) { &digits[2..] } else { digits }
        }
        false => spec,
    };
    let address = if is_addr2line { u64::from_str_radix(digits, 16).ok() } else { number(digits) };
    // `from_str_radix` takes a sign, which is no digit.
    if let Some(address) = address.filter(|_| !digits.starts_with('+')) {
        return Ok(Subject::Address(address));
    }
    if tool == Tool::GnuAddr2line {
        return Ok(gnu_symbol(spec));
    }
    if spec.starts_with(|first: char| first.is_ascii_digit()) || digits.is_empty() {
        return Err("expected a number as module offset");
    }
    let with_offset = spec.rsplit_once('+').and_then(|(name, offset)| Some((name, number(offset)?)));
    let (name, offset) = with_offset.filter(|(name, _)| !name.is_empty()).unwrap_or((spec, 0));
    Ok(Subject::Symbol(name.to_owned(), offset))
}

/// As GNU addr2line reads a word that is not a hexadecimal number: `SYMBOL+OFFSET`, `SYMBOL`, else its leading digits.
fn gnu_symbol(spec: &str) -> Subject {
    if let Some((name, offset)) = spec.rsplit_once('+').filter(|(name, _)| !name.is_empty())
        && let Some(offset) = number(offset)
    {
        return Subject::Symbol(name.to_owned(), offset);
    }
    let digits = spec.find(|digit: char| !digit.is_ascii_hexdigit()).unwrap_or(spec.len());
    // The digits are ASCII, so the slice cuts no character. 16 digits fit in 64 bits.
    match u64::from_str_radix(&spec[..digits.min(16)], 16) {
        Ok(address) => Subject::Address(address),
        Err(_) if spec.starts_with(|first: char| first.is_alphabetic() || first == '_') => {
            Subject::Symbol(spec.to_owned(), 0)
        }
        Err(_) => Subject::Address(0),
    }
}

fn has_hex_prefix(text: &str) -> bool {
    text.starts_with("0x") || text.starts_with("0X")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(args: &[&str], line: &str) -> Result<Request, Unreadable> {
        parse(line, &Options::parse(Tool::Symbolizer, args.iter().map(ToString::to_string)).unwrap())
    }

    fn address(module: &str, address: u64) -> Request {
        Request {
            kind: Kind::Code,
            module: NamedModule::Path(module.to_owned()),
            place: Subject::Address(address),
        }
    }

    #[test]
    fn modules_and_addresses() {
        for (line, expected) in [
            ("a.elf 0x10", address("a.elf", 16)),
            ("CODE \"a b\" 020", address("a b", 16)),
            ("'a b' 16 and more", address("a b", 16)),
            ("FILE:a.elf 0x10\r", address("a.elf", 16)),
        ] {
            assert_eq!(read(&[], line), Ok(expected), "{line}");
        }
        assert_eq!(read(&["--obj=x"], "0x10"), Ok(address("x", 16)));
        let by_id = Request { module: NamedModule::BuildId(vec![0xab, 0xcd]), ..address("", 16) };
        assert_eq!(read(&[], "BUILDID:abCD 16"), Ok(by_id));
        let symbol = Subject::Symbol("f+g".to_owned(), 4);
        assert_eq!(read(&["-e", "x"], "f+g+4").unwrap().place, symbol);
    }

    #[test]
    fn lines_that_are_no_request() {
        for (line, expected) in [
            ("", "no module offset has been specified"),
            ("\"a", "no input filename has been specified"),
            ("a.elf", "no module offset has been specified"),
            ("a.elf 1x", "expected a number as module offset"),
            ("FILE:\"a 1", "unbalanced quotes in input file name"),
            ("FILE:BUILDID:a 1", "duplicate input file specification prefix"),
            ("BUILDID:abz 1", "wrong format of build-id"),
        ] {
            assert_eq!(read(&[], line).unwrap_err().message, expected, "{line}");
        }
    }

    #[test]
    fn addr2line_reads_hexadecimal_digits() {
        for (tool, spec, expected) in [
            (Tool::LlvmAddr2line, "174b", Subject::Address(0x174b)),
            (Tool::LlvmAddr2line, "+0x174b", Subject::Address(0x174b)),
            (Tool::LlvmAddr2line, "main+14", Subject::Symbol("main".to_owned(), 14)),
            (Tool::GnuAddr2line, "0x174b", Subject::Address(0x174b)),
            (Tool::GnuAddr2line, "+0x174b", Subject::Address(0)),
            (Tool::GnuAddr2line, "main+14", Subject::Symbol("main".to_owned(), 14)),
            (Tool::GnuAddr2line, "main", Subject::Symbol("main".to_owned(), 0)),
            (Tool::GnuAddr2line, "chain", Subject::Address(0xc)),
            (Tool::GnuAddr2line, ",", Subject::Address(0)),
            (Tool::GnuAddr2line, "-1", Subject::Address(0)),
        ] {
            assert_eq!(place(spec, tool), Ok(expected), "{spec}");
        }
    }
}
