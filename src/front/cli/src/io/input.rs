//! Turns arguments or standard input into lines, in constant memory, and says when the output must not wait.

use std::io::{self, Read};

/// No line of addresses is longer; the rest of a longer one is dropped, and the line is an error.
const MAX_LINE: usize = 1 << 20;
const CHUNK: usize = 64 << 10;

/// One line of input.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line<'a> {
    /// Without its line end.
    Text(&'a [u8]),
    TooLong,
}

/// Splits a stream into lines.
pub(crate) struct Lines<R> {
    from: R,
    buffer: Vec<u8>,
    /// What was read and not yet given out: `buffer[start..end]`.
    start: usize,
    end: usize,
    ended: bool,
}

impl<R: Read> Lines<R> {
    pub(crate) fn new(from: R) -> Self {
        Self { from, buffer: vec![0; CHUNK], start: 0, end: 0, ended: false }
    }

    /// The next line; `None` at the end. `before_read` is called before every read, as a read may block:
    /// whoever waits for the answers to the lines so far must have them by then.
    ///
    /// # Errors
    /// What reading or `before_read` gives.
    pub(crate) fn next(
        &mut self,
        mut before_read: impl FnMut() -> io::Result<()>,
    ) -> io::Result<Option<Line<'_>>> {
        let mut searched = 0;
        let mut too_long = false;
        loop {
            let waiting = &self.buffer[self.start + searched..self.end];
            if let Some(len) = waiting.iter().position(|&byte| byte == b'\n') {
                let line = self.start..self.start + searched + len;
                self.start = line.end + 1;
                return Ok(Some(self.line(line, too_long)));
            }
            searched = self.end - self.start;
            if self.ended {
                let line = self.start..self.end;
                self.start = self.end;
                return Ok((too_long || !line.is_empty()).then(|| self.line(line, too_long)));
            }
            if searched > MAX_LINE {
                too_long = true;
                (self.start, self.end, searched) = (0, 0, 0);
            }
            before_read()?;
            self.fill()?;
        }
    }

    fn line(&self, range: std::ops::Range<usize>, too_long: bool) -> Line<'_> {
        if too_long || range.len() > MAX_LINE { Line::TooLong } else { Line::Text(&self.buffer[range]) }
    }

    fn fill(&mut self) -> io::Result<()> {
        self.buffer.copy_within(self.start..self.end, 0);
        (self.start, self.end) = (0, self.end - self.start);
        if self.buffer.len() - self.end < CHUNK {
            self.buffer.resize(self.end + CHUNK, 0);
        }
        let read = loop {
            match self.from.read(&mut self.buffer[self.end..]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => break other?,
            }
        };
        self.end += read;
        self.ended = read == 0;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives the pieces one read at a time.
    struct Pieces(Vec<&'static [u8]>);

    impl Read for Pieces {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let piece = if self.0.is_empty() { &[][..] } else { self.0.remove(0) };
            into[..piece.len()].copy_from_slice(piece);
            Ok(piece.len())
        }
    }

    #[test]
    fn flushes_before_it_waits_and_not_between_lines() {
        let mut lines = Lines::new(Pieces(vec![b"a\nb\nc", b"d\n", b"\nlast"]));
        let mut seen = Vec::new();
        let waits = std::cell::Cell::new(0);
        while let Some(line) = lines
            .next(|| {
                waits.set(waits.get() + 1);
                Ok(())
            })
            .unwrap()
        {
            let Line::Text(text) = line else { panic!("too long") };
            seen.push((waits.get(), String::from_utf8(text.to_vec()).unwrap()));
        }
        let seen: Vec<(i32, &str)> = seen.iter().map(|(n, s)| (*n, s.as_str())).collect();
        assert_eq!(seen, [(1, "a"), (1, "b"), (2, "cd"), (3, ""), (4, "last")]);
    }

    #[test]
    fn a_long_line_is_an_error_and_the_next_is_not() {
        let mut input = vec![b'x'; 5 * MAX_LINE];
        input.extend_from_slice(b"\n0x10\n");
        let mut lines = Lines::new(input.as_slice());
        assert_eq!(lines.next(|| Ok(())).unwrap(), Some(Line::TooLong));
        assert_eq!(lines.next(|| Ok(())).unwrap(), Some(Line::Text(b"0x10")));
        assert_eq!(lines.next(|| Ok(())).unwrap(), None);
        assert!(lines.buffer.len() <= MAX_LINE + 3 * CHUNK);
    }
}
