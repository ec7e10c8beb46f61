//! Prints the signatures of stacks.

use std::path::Path;
use std::sync::Arc;

use foldsym_symbolize::{Rules, RulesError, Signature, Signing, json, rules_of};

use crate::args::{SignatureOptions, SignatureShown};
use crate::io::escape::push_escaped;
use crate::io::failure::{Failure, exit};

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
        let signing = Signing::new(rules(options)?);
        Ok(Some(Self { signing, only: shown == SignatureShown::Only }))
    }

    /// The signatures of stacks that ask for them themselves.
    pub(crate) fn shipped() -> Self {
        Self { signing: Signing::new(Rules::shipped()), only: false }
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
        json::signature(out, &self.signing.finish());
    }
}

/// The rules of the options.
///
/// # Errors
/// The file of rules cannot be read; the message names its line.
pub(crate) fn rules(options: &SignatureOptions) -> Result<Arc<Rules>, Failure> {
    rules_from(options.signature_rules.as_deref())
}

/// The built-in rules, and those of a file.
///
/// # Errors
/// The file of rules cannot be read; the message names its line.
pub(crate) fn rules_from(file: Option<&Path>) -> Result<Arc<Rules>, Failure> {
    match rules_of(file) {
        Ok(rules) => Ok(Arc::new(rules)),
        Err(error @ RulesError::Rule(_)) => Err(Failure::usage(error.to_string())),
        Err(error) => Err(Failure { message: error.to_string(), code: exit::BAD_INPUT }),
    }
}
