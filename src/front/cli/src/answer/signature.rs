//! Prints the signatures of stacks.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use foldsym_symbolize::json::string;
use foldsym_symbolize::{Rules, Signature, Signing};

use crate::args::{SignatureOptions, SignatureShown};
use crate::io::escape::push_escaped;
use crate::io::failure::Failure;

/// The most bytes of a file of rules.
const MAX_RULES: u64 = 1 << 20;

/// The signatures of a command's stacks.
pub(crate) struct Signatures {
    pub(crate) signing: Signing,
    /// They stand in place of the frames.
    pub(crate) only: bool,
}

impl Signatures {
    /// `None` if none are wanted.
    ///
    /// # Errors
    /// The file of rules cannot be read; the message names its line.
    pub(crate) fn of(options: &SignatureOptions) -> Result<Option<Self>, Failure> {
        let Some(shown) = options.signature else { return Ok(None) };
        let rules = match &options.signature_rules {
            None => Rules::shipped(),
            Some(path) => {
                let rules = Rules::shipped().with(&path.display().to_string(), &read(path)?);
                rules.map_err(|error| Failure::usage(error.to_string()))?
            }
        };
        Ok(Some(Self { signing: Signing::new(rules), only: shown == SignatureShown::Only }))
    }

    /// Puts the signature of the stack that ends here, as a line of text.
    pub(crate) fn put_text(&mut self, out: &mut Vec<u8>) {
        let Signature { text, hash, .. } = self.signing.finish();
        if !self.only {
            out.extend_from_slice(b"signature ");
        }
        out.extend_from_slice(hash.as_bytes());
        out.push(b' ');
        push_escaped(out, text.as_bytes());
        out.push(b'\n');
    }

    /// Puts the signature of the stack that ends here, as a key of an object.
    pub(crate) fn put_json(&mut self, out: &mut Vec<u8>) {
        let Signature { text, hash, rules, .. } = self.signing.finish();
        for (key, value) in
            [("\"Signature\":{\"Text\":", &text), (",\"Hash\":", &hash), (",\"Rules\":", &rules)]
        {
            out.extend_from_slice(key.as_bytes());
            string(out, value.as_bytes());
        }
        out.push(b'}');
    }
}

fn read(path: &Path) -> Result<String, Failure> {
    let (mut text, failed) = (String::new(), |error| Failure::input(path, error));
    // A pipe or a device may be a file of rules too: the user named it.
    let file = File::open(path).map_err(failed)?;
    file.take(MAX_RULES + 1).read_to_string(&mut text).map_err(failed)?;
    match text.len() as u64 > MAX_RULES {
        true => Err(Failure::input(path, format!("a file of rules has at most {MAX_RULES} bytes"))),
        false => Ok(text),
    }
}
