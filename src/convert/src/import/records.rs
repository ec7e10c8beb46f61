//! Turns a line of a Breakpad symbol file into a record (google/breakpad, `docs/symbol_files.md`).

/// What a line says. Names and texts are the line's own bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SymRecord<'f> {
    /// `MODULE os arch id name`.
    Module {
        os: &'f [u8],
        arch: &'f [u8],
        id: &'f [u8],
        name: &'f [u8],
    },
    /// `INFO CODE_ID hex [file]`.
    CodeId(&'f [u8], &'f [u8]),
    File {
        number: u32,
        name: &'f [u8],
    },
    /// The file of the old form (`INLINE_ORIGIN number file name`).
    InlineOrigin {
        number: u32,
        file: Option<u32>,
        name: &'f [u8],
    },
    Function {
        shared: bool,
        address: u64,
        size: u64,
        name: &'f [u8],
    },
    /// The old form (`INLINE depth line origin ranges`) has no file. `ranges` is the rest of the line.
    Inline {
        depth: u32,
        line: u32,
        file: Option<u32>,
        origin: u32,
        ranges: &'f [u8],
    },
    Line {
        address: u64,
        size: u64,
        line: u32,
        file: u32,
    },
    Public {
        shared: bool,
        address: u64,
        name: &'f [u8],
    },
    /// `STACK CFI INIT address size rules`.
    FrameStart {
        address: u64,
        size: u64,
        rules: &'f [u8],
    },
    /// `STACK CFI address rules`.
    FrameChange {
        address: u64,
        rules: &'f [u8],
    },
    /// `STACK WIN`, whose fields are not read.
    StackWin,
    /// An empty line, or `INFO` of another kind.
    Nothing,
}

/// Reads a line without its end.
///
/// # Errors
/// What was expected.
pub(super) fn record(line: &[u8]) -> Result<SymRecord<'_>, &'static str> {
    let mut words = LineWords(line.trim_ascii_end());
    let (head, all) = (words.peek(), words);
    words.next();
    Ok(match head {
        b"" => SymRecord::Nothing,
        b"MODULE" => SymRecord::Module {
            os: words.expect("MODULE without a system")?,
            arch: words.expect("MODULE without a processor")?,
            id: words.expect("MODULE without an identifier")?,
            name: words.0,
        },
        b"INFO" => match words.next() {
            b"CODE_ID" => SymRecord::CodeId(words.next(), words.0),
            _ => SymRecord::Nothing,
        },
        b"FILE" => {
            SymRecord::File { number: words.decimal("FILE: expected a decimal number")?, name: words.0 }
        }
        b"INLINE_ORIGIN" => inline_origin(words)?,
        b"FUNC" => SymRecord::Function {
            shared: words.mark(),
            address: words.hex("FUNC: expected a hexadecimal address")?,
            size: words.hex("FUNC: expected a hexadecimal size")?,
            name: words.name("FUNC: expected a hexadecimal size of the parameters")?,
        },
        b"INLINE" => inline(words)?,
        b"PUBLIC" => SymRecord::Public {
            shared: words.mark(),
            address: words.hex("PUBLIC: expected a hexadecimal address")?,
            name: words.name("PUBLIC: expected a hexadecimal size of the parameters")?,
        },
        b"STACK" => match words.next() {
            b"WIN" => SymRecord::StackWin,
            b"CFI" if words.peek() == b"INIT" => {
                words.next();
                SymRecord::FrameStart {
                    address: words.hex("STACK CFI INIT: expected a hexadecimal address")?,
                    size: words.hex("STACK CFI INIT: expected a hexadecimal size")?,
                    rules: words.0,
                }
            }
            b"CFI" => SymRecord::FrameChange {
                address: words.hex("STACK CFI: expected a hexadecimal address")?,
                rules: words.0,
            },
            _ => return Err("STACK: expected CFI or WIN"),
        },
        _ => line_record(all)?,
    })
}

/// The two numbers of each range of an `INLINE` record: address and size.
pub(super) fn ranges(text: &[u8]) -> impl Iterator<Item = Result<(u64, u64), &'static str>> {
    let mut words = LineWords(text);
    std::iter::from_fn(move || {
        if words.peek().is_empty() {
            return None;
        }
        let problem = "INLINE: expected pairs of a hexadecimal address and size";
        let range = words.hex(problem).and_then(|address| Ok((address, words.hex(problem)?)));
        if range.is_err() {
            words = LineWords(b"");
        }
        Some(range)
    })
}

fn inline_origin(mut words: LineWords<'_>) -> Result<SymRecord<'_>, &'static str> {
    let number = words.decimal("INLINE_ORIGIN: expected a decimal number")?;
    // The old form has a file before the name, -1 for none. No function has a name of digits alone.
    let (mut after, word) = (words, words.peek());
    after.next();
    let is_number = !word.is_empty() && word.iter().all(u8::is_ascii_digit);
    if !after.0.is_empty() && (word == b"-1" || is_number) {
        return Ok(SymRecord::InlineOrigin { number, file: decimal(word), name: after.0 });
    }
    Ok(SymRecord::InlineOrigin { number, file: None, name: words.0 })
}

fn inline(mut words: LineWords<'_>) -> Result<SymRecord<'_>, &'static str> {
    const NUMBERS: &str = "INLINE: expected decimal numbers for depth, line, file and origin";
    // Depth, line and origin are three words, and a range is two: so an odd number of words is the old form, without the file.
    let old = words.count() % 2 == 1;
    let (depth, line) = (words.decimal(NUMBERS)?, words.decimal(NUMBERS)?);
    let file = if old { None } else { Some(words.decimal(NUMBERS)?) };
    let origin = words.decimal(NUMBERS)?;
    if words.peek().is_empty() {
        return Err("INLINE without a range");
    }
    Ok(SymRecord::Inline { depth, line, file, origin, ranges: words.0 })
}

fn line_record(mut words: LineWords<'_>) -> Result<SymRecord<'_>, &'static str> {
    const UNKNOWN: &str = "neither a known record nor a line record (address, size, line, file)";
    let (address, size) = (words.hex(UNKNOWN)?, words.hex(UNKNOWN)?);
    let (line, file) = (words.decimal(UNKNOWN)?, words.decimal(UNKNOWN)?);
    if words.0.is_empty() { Ok(SymRecord::Line { address, size, line, file }) } else { Err(UNKNOWN) }
}

/// The words of a line that are left, with blanks between them.
#[derive(Clone, Copy)]
struct LineWords<'f>(&'f [u8]);

impl<'f> LineWords<'f> {
    fn peek(&self) -> &'f [u8] {
        self.0.split(|&byte| is_blank(byte)).next().unwrap_or_default()
    }

    /// The next word; empty at the end of the line.
    fn next(&mut self) -> &'f [u8] {
        let word = self.peek();
        let rest = &self.0[word.len()..];
        let blanks = rest.iter().take_while(|&&byte| is_blank(byte)).count();
        self.0 = &rest[blanks..];
        word
    }

    fn count(mut self) -> usize {
        let mut count = 0;
        while !self.next().is_empty() {
            count += 1;
        }
        count
    }

    fn expect(&mut self, problem: &'static str) -> Result<&'f [u8], &'static str> {
        Some(self.next()).filter(|word| !word.is_empty()).ok_or(problem)
    }

    /// The mark `m`: several symbols have this code, and the file names one of them.
    fn mark(&mut self) -> bool {
        let marked = self.peek() == b"m";
        if marked {
            self.next();
        }
        marked
    }

    fn hex(&mut self, problem: &'static str) -> Result<u64, &'static str> {
        let word = self.next();
        let digits = std::str::from_utf8(word).ok().filter(|word| (1..=16).contains(&word.len()));
        let digits = digits.filter(|word| !word.starts_with('+'));
        digits.and_then(|digits| u64::from_str_radix(digits, 16).ok()).ok_or(problem)
    }

    fn decimal(&mut self, problem: &'static str) -> Result<u32, &'static str> {
        decimal(self.next()).ok_or(problem)
    }

    /// The name after the size of the parameters, which only unwinding of 32-bit Windows programs uses.
    fn name(&mut self, problem: &'static str) -> Result<&'f [u8], &'static str> {
        self.hex(problem)?;
        Ok(self.0)
    }
}

fn is_blank(byte: u8) -> bool {
    byte == b' ' || byte == b'\t'
}

fn decimal(word: &[u8]) -> Option<u32> {
    let digits = std::str::from_utf8(word).ok().filter(|word| !word.starts_with('+'))?;
    digits.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_record_of_the_format() {
        let function = |shared, name| Ok(SymRecord::Function { shared, address: 0x1000, size: 0x2f, name });
        for (line, expected) in [
            (&b"FUNC 1000 2f 4 void f(int, char)"[..], function(false, &b"void f(int, char)"[..])),
            (b"FUNC m 1000 2f 0 m", function(true, b"m")),
            (b"FUNC 1000 2f 0", function(false, b"")),
            (b"PUBLIC m ff 0 a b", Ok(SymRecord::Public { shared: true, address: 0xff, name: b"a b" })),
            (b"FILE 3 /src/a b.c", Ok(SymRecord::File { number: 3, name: b"/src/a b.c" })),
            (b"1010 4 12 3", Ok(SymRecord::Line { address: 0x1010, size: 4, line: 12, file: 3 })),
            (b"STACK WIN 4 2170 14 1 0 0 0 0 0 1 $eip", Ok(SymRecord::StackWin)),
            (b"INFO GENERATOR mozilla/dump_syms 2.3.9", Ok(SymRecord::Nothing)),
            (b"INFO CODE_ID 5EF7D1 app.exe", Ok(SymRecord::CodeId(b"5EF7D1", b"app.exe"))),
            (
                b"INLINE_ORIGIN 1 f(int)",
                Ok(SymRecord::InlineOrigin { number: 1, file: None, name: b"f(int)" }),
            ),
            (b"INLINE_ORIGIN 1 7 f", Ok(SymRecord::InlineOrigin { number: 1, file: Some(7), name: b"f" })),
            (b"INLINE_ORIGIN 1 -1 f", Ok(SymRecord::InlineOrigin { number: 1, file: None, name: b"f" })),
            (b"FUNC", Err("FUNC: expected a hexadecimal address")),
            (b"FUNC 1000 12345678901234567 0 f", Err("FUNC: expected a hexadecimal size")),
            (b"FILE +1 a", Err("FILE: expected a decimal number")),
            (b"FILE 4294967296 a", Err("FILE: expected a decimal number")),
            (b"INLINE 0 1 2 3", Err("INLINE without a range")),
            (b"1010 4 12 3 9", Err("neither a known record nor a line record (address, size, line, file)")),
        ] {
            assert_eq!(record(line), expected, "{}", line.escape_ascii());
        }
    }

    #[test]
    fn inlined_calls_have_two_forms() {
        let Ok(SymRecord::Inline { depth: 1, line: 20, file: Some(3), origin: 4, ranges: new }) =
            record(b"INLINE 1 20 3 4 1000 10 2000 8")
        else {
            panic!("the new form")
        };
        let Ok(SymRecord::Inline { depth: 1, line: 20, file: None, origin: 4, ranges: old }) =
            record(b"INLINE 1 20 4 1000 10 2000 8")
        else {
            panic!("the old form")
        };
        for text in [new, old] {
            assert_eq!(ranges(text).collect::<Vec<_>>(), [Ok((0x1000, 0x10)), Ok((0x2000, 8))]);
        }
        assert!(ranges(b"1000 10 20zz 1 5 5").nth(1).is_some_and(|range| range.is_err()));
        assert_eq!(ranges(b"1000 10 20zz 1 5 5").count(), 2);
    }
}
