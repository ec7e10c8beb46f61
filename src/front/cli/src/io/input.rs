//! Turns arguments or standard input into lines, in memory for one line, and says when the output must not wait.

use std::io::{self, Read};
use std::ops::Range;
use std::path::Path;

use crate::io::failure::Failure;

/// Longest line of addresses. The rest of a longer line is dropped, and the line is an error. A stack of a process with a million modules
/// fits. The buffer grows with the lines that are read, so short lines take little memory.
pub(crate) const MAX_LINE: usize = 128 << 20;
/// Longer lines of a log contain no frame: they are passed on in parts.
const MAX_LOG_LINE: usize = 1 << 20;
const CHUNK: usize = 64 << 10;

/// The name of the stream in messages.
pub(crate) const STANDARD_INPUT: &str = "standard input";

/// One line of input.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line<'a> {
    /// Without its line end.
    Text(&'a [u8]),
    TooLong,
}

/// A line of a log, or a part of one.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum LogLine<'a> {
    /// Without its line end.
    Text(&'a [u8]),
    /// A part of a line that is too long to be read; and whether the line ends after it.
    Part(&'a [u8], bool),
}

/// Where a piece of input is in the buffer.
enum Piece {
    Whole(Range<usize>),
    Part(Range<usize>, bool),
}

/// Splits a stream into lines.
pub(crate) struct Lines<'n, R> {
    from: R,
    /// The name of the stream, for messages.
    name: &'n str,
    /// Longer lines are too long.
    most: usize,
    buffer: Vec<u8>,
    /// Bytes that were read and not yet returned: `buffer[start..end]`.
    start: usize,
    end: usize,
    /// These bytes continue a line that is too long.
    in_long: bool,
    ended: bool,
}

impl<'n, R: Read> Lines<'n, R> {
    pub(crate) fn new(from: R, name: &'n str) -> Self {
        Self::with(from, name, MAX_LINE)
    }

    /// The lines of a log, for [`Self::next_of_log`].
    pub(crate) fn of_log(from: R, name: &'n str) -> Self {
        Self::with(from, name, MAX_LOG_LINE)
    }

    fn with(from: R, name: &'n str, most: usize) -> Self {
        Self { from, name, most, buffer: vec![0; CHUNK], start: 0, end: 0, in_long: false, ended: false }
    }

    /// The next line; `None` at the end. `before_read` is called before every read. A read may block, so the answers to the lines so far
    /// must be written by then: the client may be waiting for them.
    ///
    /// # Errors
    /// The stream cannot be read: exit code 3, with its name. An error of `before_read` is one of the output.
    pub(crate) fn next(
        &mut self,
        mut before_read: impl FnMut() -> io::Result<()>,
    ) -> Result<Option<Line<'_>>, Failure> {
        loop {
            return Ok(match self.piece(&mut before_read)? {
                None => None,
                Some(Piece::Part(_, false)) => continue,
                Some(Piece::Part(_, true)) => Some(Line::TooLong),
                Some(Piece::Whole(line)) => Some(Line::Text(&self.buffer[line])),
            });
        }
    }

    /// As [`Self::next`], without a loss: a line that is too long is returned in parts.
    ///
    /// # Errors
    /// As [`Self::next`].
    pub(crate) fn next_of_log(
        &mut self,
        before_read: impl FnMut() -> io::Result<()>,
    ) -> Result<Option<LogLine<'_>>, Failure> {
        Ok(self.piece(before_read)?.map(|piece| match piece {
            Piece::Whole(line) => LogLine::Text(&self.buffer[line]),
            Piece::Part(part, is_last) => LogLine::Part(&self.buffer[part], is_last),
        }))
    }

    fn piece(&mut self, mut before_read: impl FnMut() -> io::Result<()>) -> Result<Option<Piece>, Failure> {
        // After more bytes are read, the search does not start again at the first byte.
        let mut searched = 0;
        loop {
            let waiting = &self.buffer[self.start + searched..self.end];
            if let Some(len) = waiting.iter().position(|&byte| byte == b'\n') {
                let line = self.start..self.start + searched + len;
                self.start = line.end + 1;
                return Ok(Some(self.whole(line)));
            }
            searched = self.end - self.start;
            if self.ended {
                let line = self.start..self.end;
                self.start = self.end;
                return Ok((self.in_long || !line.is_empty()).then(|| self.whole(line)));
            }
            // The line is too long whatever follows, so the bytes that were read need not be kept.
            if searched > self.most {
                let part = self.start..self.end;
                (self.start, self.in_long) = (self.end, true);
                return Ok(Some(Piece::Part(part, false)));
            }
            before_read()?;
            self.fill().map_err(|error| Failure::input(Path::new(self.name), error))?;
        }
    }

    fn whole(&mut self, line: Range<usize>) -> Piece {
        let is_long = std::mem::take(&mut self.in_long) || line.len() > self.most;
        if is_long { Piece::Part(line, true) } else { Piece::Whole(line) }
    }

    fn fill(&mut self) -> io::Result<()> {
        if self.start > 0 {
            // Only the beginning of one line is left to move.
            self.buffer.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
            // The memory of one long line is freed.
            if self.buffer.len() > 16 * CHUNK && self.end < CHUNK {
                self.buffer.truncate(2 * CHUNK);
                self.buffer.shrink_to_fit();
            }
        }
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

    /// Returns one piece for each read.
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
        let mut lines = Lines::new(Pieces(vec![b"a\nb\nc", b"d\n", b"\nlast"]), "a");
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
        let most = 1 << 20;
        let mut input = vec![b'x'; 5 * most];
        input.extend_from_slice(b"\n0x10\n");
        let mut lines = Lines::with(input.as_slice(), "a", most);
        assert_eq!(lines.next(|| Ok(())).unwrap(), Some(Line::TooLong));
        assert_eq!(lines.next(|| Ok(())).unwrap(), Some(Line::Text(b"0x10")));
        assert_eq!(lines.next(|| Ok(())).unwrap(), None);
        assert!(lines.buffer.len() <= most + 3 * CHUNK);
    }

    #[test]
    fn memory_of_a_long_line_is_given_back() {
        let mut input = vec![b'x'; 8 << 20];
        input.extend_from_slice(b"\n");
        input.extend_from_slice(&b"0x10\n".repeat(CHUNK));
        let mut lines = Lines::new(input.as_slice(), "a");
        let Some(Line::Text(line)) = lines.next(|| Ok(())).unwrap() else { panic!("too long") };
        assert_eq!(line.len(), 8 << 20);
        while lines.next(|| Ok(())).unwrap().is_some() {}
        assert!(lines.buffer.len() <= 4 * CHUNK, "{}", lines.buffer.len());
    }

    #[test]
    fn a_log_loses_nothing() {
        let long = vec![b'x'; 3 * MAX_LOG_LINE + 5];
        for (end, next) in [(&b"\nlast"[..], Some(LogLine::Text(b"last"))), (b"", None), (b"\n", None)] {
            let input = [&long[..], end].concat();
            let mut lines = Lines::of_log(input.as_slice(), "a");
            let mut read = Vec::new();
            loop {
                let Some(LogLine::Part(part, is_last)) = lines.next_of_log(|| Ok(())).unwrap() else {
                    panic!()
                };
                read.extend_from_slice(part);
                if is_last {
                    break;
                }
            }
            assert!(read == long, "{}", read.len());
            assert_eq!(lines.next_of_log(|| Ok(())).unwrap(), next);
            assert!(lines.buffer.len() <= MAX_LOG_LINE + 3 * CHUNK);
        }
    }
}
