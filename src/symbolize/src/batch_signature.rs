//! Gives the frames of a batch to a signer, which makes the signatures of its stacks.

use std::ops::Deref;
use std::sync::Arc;

use foldsym_signature::{Counted, Rules, Signature, Signer};
use rustc_hash::FxHashMap;

use crate::answer::Answer;
use crate::batch::BatchFrame;
use crate::json::GivenName;
use crate::names::Names;
use crate::signature::{Functions, OfFrame};
use crate::stack::Modules;

/// Makes the signatures of the stacks of a [`Batch`](crate::Batch): the same ones as [`Signing`](crate::Signing). Each distinct answer is read once. The
/// engine must list candidates.
pub struct BatchSigning {
    signer: Signer,
    functions: Functions,
    /// By number of the answer: the ends of its functions, and of its `ends`, in `functions`.
    answers: Vec<(usize, usize)>,
    /// By module of the last process: the number of its name.
    modules: (Option<u64>, Vec<Option<u32>>),
    names: FxHashMap<Arc<str>, u32>,
    /// By answer, and the number of the module's name: what counts.
    counted: FxHashMap<(u32, u32), Counted>,
}

impl BatchSigning {
    /// A value without answers.
    pub fn new(rules: impl Into<Arc<Rules>>) -> Self {
        Self {
            signer: Signer::new(rules),
            functions: Functions::default(),
            answers: Vec::new(),
            modules: (None, Vec::new()),
            names: FxHashMap::default(),
            counted: FxHashMap::default(),
        }
    }

    /// Takes the next distinct answer, in the order in which [`Worker::answer_batch`](crate::Worker::answer_batch) gives them.
    pub fn answer<T: Deref<Target: AsRef<[u8]>>>(&mut self, answer: &Answer, names: &mut Names<'_, T>) {
        self.functions.read(answer, names);
        self.answers.push((self.functions.all.len(), self.functions.ends.len()));
    }

    /// The signature of a stack of the batch. `own` are the functions that its report itself names, with the index of their frame, by frame:
    /// they count where no function is known.
    pub fn signature(
        &mut self,
        frames: &[BatchFrame],
        modules: &Modules,
        own: &[(usize, GivenName<'_>)],
    ) -> Signature {
        if self.modules.0 != Some(modules.serial()) {
            self.modules = (Some(modules.serial()), vec![None; modules.len()]);
        }
        for (index, frame) in frames.iter().enumerate() {
            let module = frame.module.and_then(|module| modules.get(module as usize));
            let module = module.map_or("", |module| &*module.name);
            let at = frame.answer as usize;
            let start = at.checked_sub(1).and_then(|before| self.answers.get(before)).copied();
            let ((first, first_end), (last, last_end)) =
                (start.unwrap_or_default(), self.answers.get(at).copied().unwrap_or_default());
            let of_frame = OfFrame {
                all: self.functions.all.get(first..last).unwrap_or_default(),
                ends: self.functions.ends.get(first_end..last_end).unwrap_or_default(),
            };
            if of_frame.all.is_empty() {
                let before = own.partition_point(|(frame, _)| *frame < index);
                let own = own[before..].iter().take_while(|(frame, _)| *frame == index);
                of_frame.sign(&mut self.signer, module, frame.offset, own.map(|(_, given)| *given));
                continue;
            }
            let known = frame.module.and_then(|module| self.modules.1.get_mut(module as usize));
            let number = match known {
                Some(Some(number)) => *number,
                known => {
                    let next = self.names.len() as u32;
                    let number = *self.names.entry(module.into()).or_insert(next);
                    if let Some(known) = known {
                        *known = Some(number);
                    }
                    number
                }
            };
            let signer = &mut self.signer;
            let counted = self.counted.entry((frame.answer, number)).or_insert_with(|| {
                signer.counted(|signer| of_frame.sign(signer, module, None, std::iter::empty()))
            });
            signer.again(counted);
        }
        self.signer.finish()
    }
}
