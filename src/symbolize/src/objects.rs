//! The object of the innermost frame's method, from registers and memory, and why there is none or it does not tell.

use foldsym_lookup::{
    Certainty, Error, FunctionId, ImageAddr, NameId, Resolved, ReturnAddr, StackAddr, SymbolFile,
};
use foldsym_stopped::{Machine, object};
use rustc_hash::FxHashSet;

/// What is known of the object.
#[derive(Clone, Debug, Default)]
pub struct ObjectAnswer {
    /// In the running program: where it is, and what its first word holds.
    pub found: Option<(u64, u64)>,
    /// Why it is not known, or does not tell which function ran; `None` where the answer is exact.
    pub reason: Option<String>,
    /// The function that the reason is about.
    pub function: Option<NameId>,
}

/// What of a file is asked for each stack, listed once.
struct Known {
    /// Tables of virtual functions that have folded ones, as objects point to them.
    tables: FxHashSet<ImageAddr>,
    /// Where calls return to whose callees are recorded.
    calls: FxHashSet<ReturnAddr>,
}

/// Finds objects of one file.
#[derive(Default)]
pub(crate) struct Objects {
    known: Option<Known>,
}

impl Objects {
    /// Finds the object on which the innermost frame's function runs, and lets it tell which function that is. `base` is
    /// the load bias. `None` where the code is not folded.
    ///
    /// # Errors
    /// Damage.
    pub(crate) fn resolve(
        &mut self,
        file: &SymbolFile<'_>,
        stack: &[StackAddr],
        resolved: &mut [Resolved],
        (machine, base): (&dyn Machine, u64),
    ) -> Result<Option<ObjectAnswer>, Error> {
        if resolved.first().is_none_or(|first| first.group.is_none()) {
            return Ok(None);
        }
        let known = match &mut self.known {
            Some(known) => known,
            known => known.insert(Known {
                tables: file.methods().map(|method| Ok(method?.point)).collect::<Result<_, Error>>()?,
                calls: file.calls().map(|call| Ok(call?.address)).collect::<Result<_, Error>>()?,
            }),
        };
        let because = |reason: String, function: Option<FunctionId>| -> Result<ObjectAnswer, Error> {
            let function =
                function.map(|function| file.records().function_name(function)).transpose()?.flatten();
            Ok(ObjectAnswer { reason: Some(reason), function, ..ObjectAnswer::default() })
        };
        let mut is_recorded = |call| Ok(known.calls.contains(&call));
        let found = match object(file, (stack, resolved), base, machine, &mut is_recorded)? {
            Ok(found) => found,
            Err(none) => return because(none.to_string(), none.function()).map(Some),
        };
        let mut answer = ObjectAnswer { found: Some((found.address, found.vptr)), ..ObjectAnswer::default() };
        let Some(first) = resolved.first_mut() else { return Ok(None) };
        if first.certainty == Some(Certainty::Exact) {
            return Ok(Some(answer));
        }
        let vptr = ImageAddr(found.vptr.wrapping_sub(base));
        if !known.tables.contains(&vptr) {
            answer.reason = Some(format!(
                "no class that is known to have folded methods has its table at {:#x}",
                found.vptr
            ));
        } else if let Some(doubt) = found.doubt {
            answer = ObjectAnswer { found: answer.found, ..because(doubt.to_string(), doubt.function())? };
        } else {
            file.resolve_object(first, vptr, stack.get(1).copied())?;
            if first.certainty != Some(Certainty::Exact) {
                answer.reason = Some("the class of the object leaves other functions".to_owned());
            }
        }
        Ok(Some(answer))
    }
}
