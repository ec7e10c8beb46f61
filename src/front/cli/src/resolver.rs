//! stub
use foldsym_lookup::{Error, SymbolFile};
use crate::address::Address; use crate::answer::Answer; use crate::stack::Parsed;
pub(crate) struct Resolver<'f> { _file: SymbolFile<'f>, answer: Answer }
impl<'f> Resolver<'f> {
    pub(crate) fn new(file: SymbolFile<'f>, _candidates: bool) -> Self { Self { _file: file, answer: Answer::default() } }
    pub(crate) fn lookup(&mut self, address: Address) -> Result<&Answer, Error> { self.answer.address = Some(address.given); Ok(&self.answer) }
    pub(crate) fn stack(&mut self, _stack: &Parsed, mut each: impl FnMut(&Answer)) -> Result<(), Error> { each(&self.answer); Ok(()) }
}
