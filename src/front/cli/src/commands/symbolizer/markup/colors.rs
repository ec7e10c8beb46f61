//! Colours of the text that replaces markup, and the colours that the log chose for its own text.

/// The colour and weight of the text at this place of the log.
#[derive(Debug, Default)]
pub(super) struct Colors {
    /// Whether codes are printed.
    pub(super) enabled: bool,
    /// The colour that the log chose: 0 to 7.
    own: Option<u8>,
    bold: bool,
}

const BLUE: u8 = 4;
const CYAN: u8 = 6;
const GREEN: u8 = 2;

impl Colors {
    pub(super) fn new(enabled: bool) -> Self {
        Self { enabled, ..Self::default() }
    }

    fn put(&self, out: &mut Vec<u8>, color: u8) {
        if self.enabled {
            let bold = if self.bold { "1;" } else { "" };
            out.extend_from_slice(format!("\x1b[0;{bold}3{color}m").as_bytes());
        }
    }

    /// Begins what replaces an element.
    pub(super) fn highlight(&self, out: &mut Vec<u8>) {
        self.put(out, if self.own == Some(BLUE) { CYAN } else { BLUE });
    }

    /// Puts a value within what replaces an element.
    pub(super) fn value(&self, out: &mut Vec<u8>, text: &[u8]) {
        self.put(out, GREEN);
        out.extend_from_slice(text);
        self.highlight(out);
    }

    /// Goes back to the log's own colour.
    pub(super) fn restore(&self, out: &mut Vec<u8>) {
        match self.own {
            _ if !self.enabled => {}
            Some(color) => self.put(out, color),
            None => {
                out.extend_from_slice(b"\x1b[0m");
                self.put_bold(out);
            }
        }
    }

    fn put_bold(&self, out: &mut Vec<u8>) {
        if self.enabled && self.bold {
            out.extend_from_slice(b"\x1b[1m");
        }
    }

    /// Resets the colours that the log chose.
    pub(super) fn reset(&mut self, out: &mut Vec<u8>) {
        let chosen = self.own.take().is_some() || self.bold;
        self.bold = false;
        if chosen && self.enabled {
            out.extend_from_slice(b"\x1b[0m");
        }
    }

    /// Applies a colour code of the log. False if the text is not a colour code.
    pub(super) fn code(&mut self, out: &mut Vec<u8>, text: &[u8]) -> bool {
        match text {
            b"\x1b[0m" => self.reset(out),
            b"\x1b[1m" => {
                self.bold = true;
                self.put_bold(out);
            }
            [0x1b, b'[', b'3', digit @ b'0'..=b'7', b'm'] => {
                self.own = Some(digit - b'0');
                // Not bold, whatever was before: so does LLVM.
                if self.enabled {
                    out.extend_from_slice(format!("\x1b[0;3{}m", digit - b'0').as_bytes());
                }
            }
            _ => return false,
        }
        true
    }
}
