//! Gives the frames of answered stacks to a signer, which makes their signatures.

use std::ops::Deref;
use std::sync::Arc;

use foldsym_signature::{Function, Rules, Signature, Signer};

use crate::answer::{Answer, Symbol};
use crate::certainty::Certainty;
use crate::json::GivenName;
use crate::names::Names;
use crate::stack::Modules;

/// Makes the signatures of stacks from their answers. The engine must list candidates ([`Builder::candidates`](crate::Builder::candidates)):
/// a frame that is neither [`Certainty::Unique`], [`Certainty::Exact`] nor [`Certainty::Likely`] counts by all of them.
pub struct Signing {
    signer: Signer,
    /// The functions of one frame or candidate: linkage name and file.
    functions: Vec<(Arc<str>, Arc<str>)>,
}

impl Signing {
    /// A value without frames.
    pub fn new(rules: impl Into<Arc<Rules>>) -> Self {
        Self { signer: Signer::new(rules), functions: Vec::new() }
    }

    /// Adds the answer for the next frame of a stack, innermost first. `own` are the functions that the report itself names there, which count
    /// if the answer has none.
    pub fn add<'n, T: Deref<Target: AsRef<[u8]>>>(
        &mut self,
        answer: &Answer,
        names: &mut Names<'_, T>,
        modules: &Modules,
        own: impl IntoIterator<Item = GivenName<'n>>,
    ) {
        let module = answer.module.and_then(|module| modules.get(module)).map_or("", |module| &*module.name);
        let is_one =
            matches!(answer.certainty, Some(Certainty::Unique | Certainty::Exact | Certainty::Likely));
        if is_one && self.read(&answer.symbol, names) {
            return self.signer.known(module, functions(&self.functions));
        }
        let mut is_known = false;
        if !is_one {
            for member in &answer.candidates {
                if self.read(&member.symbol, names) {
                    is_known = true;
                    self.signer.candidate(module, functions(&self.functions));
                }
            }
        }
        if is_known {
            return self.signer.end_candidates();
        }
        let mut own = own.into_iter().filter(|given| !given.function.is_empty()).peekable();
        match own.peek() {
            Some(_) => {
                self.signer.known(module, own.map(|given| Function::new(given.function).in_file(given.file)))
            }
            None => self.signer.unknown(module, answer.module_offset),
        }
    }

    /// The signature of the frames since the last call.
    pub fn finish(&mut self) -> Signature {
        self.signer.finish()
    }

    /// Reads the functions of a symbol; false if none has a name.
    fn read<T: Deref<Target: AsRef<[u8]>>>(&mut self, symbol: &Symbol, names: &mut Names<'_, T>) -> bool {
        self.functions.clear();
        for frame in &symbol.frames {
            let name = names.raw(frame.name);
            if !name.is_empty() {
                self.functions.push((name, names.raw_path(frame.file)));
            }
        }
        !self.functions.is_empty()
    }
}

fn functions(functions: &[(Arc<str>, Arc<str>)]) -> impl Iterator<Item = Function<'_>> {
    functions.iter().map(|(name, file)| Function::new(name).in_file(file))
}
