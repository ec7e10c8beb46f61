//! Finds the object that the innermost frame's method runs on, from registers and memory, or says why it does not determine the method.

use foldsym_lookup::{
    Certainty, Error, FunctionId, ImageAddr, NameId, Resolved, ReturnAddr, StackAddr, SymbolFile,
};
use foldsym_stopped::{Machine, object};
use rustc_hash::FxHashSet;

/// The object that the innermost frame's method runs on, as far as it is known.
#[derive(Clone, Debug, Default)]
pub struct ObjectAnswer {
    /// The runtime address of the object, and the value of its vtable pointer.
    pub found: Option<(u64, u64)>,
    /// Why the object is not known, or does not determine the function that ran. `None` if the answer is exact.
    pub reason: Option<String>,
    /// The function that the reason is about.
    pub function: Option<NameId>,
}

/// Data of a file that every stack needs, listed once.
struct Known {
    /// The values of vtable pointers for vtables with folded functions.
    tables: FxHashSet<ImageAddr>,
    /// The return addresses of calls whose callees are recorded.
    calls: FxHashSet<ReturnAddr>,
}

/// Finds objects of one file.
#[derive(Default)]
pub(crate) struct Objects {
    known: Option<Known>,
}

impl Objects {
    /// Finds the object that the innermost frame's function runs on, and narrows `resolved` for that frame by the object's vtable pointer.
    /// `base` is the load bias. `None` if the code is not folded.
    ///
    /// # Errors
    /// The file is damaged.
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
                tables: file
                    .records()
                    .methods()
                    .map(|method| Ok(method?.point))
                    .collect::<Result<_, Error>>()?,
                calls: file.records().calls().map(|call| Ok(call?.address)).collect::<Result<_, Error>>()?,
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
        // The callers have already determined the function, so the object is only shown.
        if first.certainty == Some(Certainty::Exact) {
            return Ok(Some(answer));
        }
        // The file has link-time addresses, and the vtable pointer is a runtime address.
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
