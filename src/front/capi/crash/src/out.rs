//! Turns pieces of text and numbers into writes to a descriptor, a line at a time.

use crate::sys;

/// A line that is being written.
pub(crate) struct Out {
    descriptor: i32,
    /// When to stop, by [`sys::now`].
    deadline: u64,
    len: usize,
    buffer: [u8; 1024],
}

impl Out {
    pub(crate) const fn new() -> Self {
        Out { descriptor: -1, deadline: 0, len: 0, buffer: [0; 1024] }
    }

    /// Begins to write to a descriptor. What was not flushed is dropped.
    pub(crate) fn begin(&mut self, descriptor: i32, deadline: u64) {
        (self.descriptor, self.deadline, self.len) = (descriptor, deadline, 0);
    }

    /// Writes what is in the buffer. Where a pipe is full, tries until the time is up.
    pub(crate) fn flush(&mut self) {
        let mut left = self.buffer.get(..self.len).unwrap_or_default();
        while !left.is_empty() {
            match sys::write(self.descriptor, left) {
                Some(0) if sys::now() < self.deadline => sys::sleep(),
                Some(done) if done > 0 => left = left.get(done..).unwrap_or_default(),
                _ => break,
            }
        }
        self.len = 0;
    }

    fn byte(&mut self, byte: u8) -> &mut Self {
        if self.len == self.buffer.len() {
            self.flush();
        }
        if let Some(slot) = self.buffer.get_mut(self.len) {
            *slot = byte;
            self.len = self.len.wrapping_add(1);
        }
        self
    }

    /// Text of this library.
    pub(crate) fn text(&mut self, text: &str) -> &mut Self {
        for &byte in text.as_bytes() {
            self.byte(byte);
        }
        self
    }

    /// Text of the program: a control character becomes `?`, since terminals obey some.
    pub(crate) fn foreign(&mut self, text: &[u8]) -> &mut Self {
        for &byte in text {
            self.byte(if byte < b' ' || byte == 0x7f { b'?' } else { byte });
        }
        self
    }

    /// Text of the program in a string of JSON, which is UTF-8: other bytes become `?`.
    pub(crate) fn json(&mut self, text: &[u8]) -> &mut Self {
        self.byte(b'"');
        for &byte in text {
            match byte {
                b'"' | b'\\' => self.byte(b'\\').byte(byte),
                b' '..=0x7e => self.byte(byte),
                _ => self.byte(b'?'),
            };
        }
        self.byte(b'"')
    }

    pub(crate) fn decimal(&mut self, number: u64) -> &mut Self {
        let mut digits = [0u8; 20];
        let (mut left, mut len) = (number, 0usize);
        for digit in digits.iter_mut().rev() {
            *digit = b'0'.wrapping_add((left % 10) as u8);
            left /= 10;
            len = len.wrapping_add(1);
            if left == 0 {
                break;
            }
        }
        for &digit in digits.get(20usize.wrapping_sub(len)..).unwrap_or_default() {
            self.byte(digit);
        }
        self
    }

    fn digit(&mut self, nibble: u64) -> &mut Self {
        let nibble = (nibble & 15) as u8;
        self.byte(if nibble < 10 {
            b'0'.wrapping_add(nibble)
        } else {
            b'a'.wrapping_add(nibble.wrapping_sub(10))
        })
    }

    /// `0x` and at least `width` digits.
    pub(crate) fn hex(&mut self, number: u64, width: u32) -> &mut Self {
        self.text("0x");
        let mut left = 16u32;
        while left > 0 {
            left = left.wrapping_sub(1);
            let rest = number.wrapping_shr(left.wrapping_mul(4));
            if rest != 0 || left < width.max(1) {
                self.digit(rest);
            }
        }
        self
    }

    /// Two digits for each byte.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        for &byte in bytes {
            self.digit(u64::from(byte).wrapping_shr(4)).digit(byte.into());
        }
        self
    }

    /// Ends the line, and writes it.
    pub(crate) fn end_line(&mut self) {
        self.byte(b'\n').flush();
    }
}
