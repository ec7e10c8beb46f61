//! The C functions of tier 1 in safe Rust, with the types of `foldsym.h` and without pointers.

use foldsym_lookup::{
    Certainty, Error, Evidence, Frames, ImageAddr, Lookup, NotFoundReason, Reason, Resolved, ReturnAddr,
    StackAddr, SymbolFile, What,
};

use crate::types::{self, Answer, Damage, Frame, Info, Query};

/// The return value of a function: a `FOLDSYM_...` number.
pub(crate) type Status = i32;

/// Converts an error of the reader: where and how the file is damaged.
pub(crate) fn damage(error: Error) -> Damage {
    let what = match error.what {
        What::Truncated => types::FOLDSYM_DAMAGE_TRUNCATED,
        What::Magic => types::FOLDSYM_DAMAGE_MAGIC,
        What::Version => types::FOLDSYM_DAMAGE_VERSION,
        What::Features => types::FOLDSYM_DAMAGE_FEATURES,
        What::Reserved => types::FOLDSYM_DAMAGE_RESERVED,
        What::Length => types::FOLDSYM_DAMAGE_LENGTH,
        What::Checksum => types::FOLDSYM_DAMAGE_CHECKSUM,
        What::Order => types::FOLDSYM_DAMAGE_ORDER,
        What::Missing => types::FOLDSYM_DAMAGE_MISSING,
        What::Columns => types::FOLDSYM_DAMAGE_COLUMNS,
        What::Width => types::FOLDSYM_DAMAGE_WIDTH,
        What::NoRecord => types::FOLDSYM_DAMAGE_NO_RECORD,
        What::Value => types::FOLDSYM_DAMAGE_VALUE,
        What::Depth => types::FOLDSYM_DAMAGE_DEPTH,
        What::Name => types::FOLDSYM_DAMAGE_NAME,
        // The reader may gain kinds of damage that have no number in this header.
        _ => types::FOLDSYM_DAMAGE_OTHER,
    };
    Damage { section: error.section.0, what, offset: error.offset }
}

/// The data of a file; `size` is that of the caller's struct.
pub(crate) fn info(file: &SymbolFile<'_>, size: usize) -> Info {
    let header = file.header();
    let build_id = file.build_id();
    Info {
        size,
        build_id: if build_id.is_empty() { core::ptr::null() } else { build_id.as_ptr() },
        build_id_len: build_id.len(),
        image_base: header.image_base,
        machine: header.machine.into(),
        address_size: header.address_size.into(),
        max_depth: header.max_depth,
        max_group: header.max_group,
        flags: if header.flags & foldsym_lookup::flags::READABLE_NAMES != 0 {
            types::FOLDSYM_READABLE_NAMES
        } else {
            0
        },
        reserved: 0,
    }
}

/// A frame's address without the load bias; `None` for a kind that does not exist.
pub(crate) fn stack_addr(kind: u32, address: u64, load_bias: u64) -> Option<StackAddr> {
    // A program may be loaded below its link-time address: the bias wraps.
    let address = address.wrapping_sub(load_bias);
    match kind {
        types::FOLDSYM_EXACT => Some(StackAddr::Exact(ImageAddr(address))),
        types::FOLDSYM_RETURN => Some(StackAddr::Return(ReturnAddr(address))),
        types::FOLDSYM_FOREIGN => Some(StackAddr::Foreign),
        _ => None,
    }
}

pub(crate) fn certainty(certainty: Option<Certainty>) -> u32 {
    match certainty {
        None => types::FOLDSYM_UNKNOWN,
        Some(Certainty::Unique) => types::FOLDSYM_IS_UNIQUE,
        Some(Certainty::Exact) => types::FOLDSYM_IS_EXACT,
        Some(Certainty::Likely) => types::FOLDSYM_IS_LIKELY,
        Some(Certainty::Narrowed) => types::FOLDSYM_IS_NARROWED,
        Some(Certainty::Ambiguous) => types::FOLDSYM_IS_AMBIGUOUS,
    }
}

pub(crate) fn evidence(evidence: Option<Evidence>) -> u32 {
    match evidence {
        None => types::FOLDSYM_BY_NOTHING,
        Some(Evidence::DirectCall) => types::FOLDSYM_BY_DIRECT_CALL,
        Some(Evidence::Relocation) => types::FOLDSYM_BY_RELOCATION,
        Some(Evidence::MergedCaller) => types::FOLDSYM_BY_MERGED_CALLER,
        Some(Evidence::TailCall) => types::FOLDSYM_BY_TAIL_CALL,
        Some(Evidence::VirtualSlot) => types::FOLDSYM_BY_VIRTUAL_SLOT,
        Some(Evidence::Vtable) => types::FOLDSYM_BY_VTABLE,
        Some(Evidence::CallType) => types::FOLDSYM_BY_CALL_TYPE,
    }
}

pub(crate) fn reason(reason: Option<Reason>) -> u32 {
    match reason {
        None => types::FOLDSYM_FOR_NOTHING,
        Some(Reason::Stripped) => types::FOLDSYM_FOR_STRIPPED,
        Some(Reason::PlainNames) => types::FOLDSYM_FOR_PLAIN_NAMES,
        Some(Reason::UndescribedObject) => types::FOLDSYM_FOR_UNDESCRIBED_OBJECT,
        Some(Reason::MergedWithoutTrace) => types::FOLDSYM_FOR_MERGED_WITHOUT_TRACE,
        Some(Reason::NoCode) => types::FOLDSYM_FOR_NO_CODE,
        Some(Reason::UnclaimedLines) => types::FOLDSYM_FOR_UNCLAIMED_LINES,
        Some(Reason::CapReached) => types::FOLDSYM_FOR_CAP_REACHED,
        // A reason without a number; a test shows that there is none.
        Some(_) => types::FOLDSYM_FOR_NOTHING,
    }
}

/// A resolved frame as C sees it; the caller fills the reader's part.
pub(crate) fn resolved(resolved: &Resolved) -> types::Resolved {
    types::Resolved {
        certainty: certainty(resolved.certainty),
        evidence: evidence(resolved.evidence),
        candidate_count: resolved.candidate_count(),
        group: resolved.group.map_or(types::FOLDSYM_NONE, |group| group.0),
        reason: reason(resolved.reason),
        reserved: 0,
        tag: 0,
        opaque: [0; 12],
    }
}

/// Looks an address up, and chooses the candidate.
pub(crate) fn lookup(
    file: &SymbolFile<'_>,
    query: &Query,
    resolved: Option<&Resolved>,
    frames: &mut Frames,
    out: &mut Answer,
) -> Result<Status, Error> {
    let Some(address) = stack_addr(query.kind, query.address, query.load_bias) else {
        return Ok(types::FOLDSYM_E_ARGUMENT);
    };
    let Some(address) = address.lookup_address() else { return Ok(types::FOLDSYM_NO_FUNCTION) };
    let answer = match file.lookup(address, frames)? {
        Lookup::NotFound(NotFoundReason::OutsideCode) => return Ok(types::FOLDSYM_OUTSIDE_CODE),
        Lookup::NotFound(_) => return Ok(types::FOLDSYM_NO_FUNCTION),
        Lookup::Found(answer) => answer,
    };
    out.certainty = certainty(Some(answer.certainty));
    out.evidence = evidence(answer.evidence);
    out.reason = reason(answer.reason);
    out.candidate_count = answer.member_count();
    out.group = types::FOLDSYM_NONE;
    // Without a resolved frame, every member of the group is a candidate.
    let mut member = Some(query.candidate).filter(|&index| index < answer.member_count());
    if let Some(group) = answer.group {
        out.group = group.0;
        // If nothing is known of the frame (in padding, or further in than damage), any member may have run.
        if let Some(resolved) = resolved.filter(|resolved| resolved.certainty.is_some()) {
            // That of another frame would name members that this group does not have.
            if resolved.group != answer.group {
                return Ok(types::FOLDSYM_E_ARGUMENT);
            }
            member = resolved.candidate(query.candidate);
            out.certainty = certainty(resolved.certainty);
            out.evidence = evidence(resolved.evidence);
            out.candidate_count = resolved.candidate_count();
        }
    }
    let Some(member) = member else { return Ok(types::FOLDSYM_END) };
    // The lookup has left the frames of the first.
    if member != 0 {
        file.member_frames(&answer, member, frames)?;
    }
    // Padding has one frame, with a file and a line and without a name.
    out.frame_count = if answer.padding { 1 } else { frames.len() };
    out.flags = if answer.padding { types::FOLDSYM_PADDING } else { 0 }
        | if frames.is_partial() { types::FOLDSYM_PARTIAL } else { 0 };
    out.function_start = answer.function_start.0.wrapping_add(query.load_bias);
    Ok(types::FOLDSYM_OK)
}

/// Frame `index` of the last lookup, innermost first; `None` past the last. `size` is that of the caller's struct.
pub(crate) fn frame(
    file: &SymbolFile<'_>,
    frames: &Frames,
    index: u32,
    size: usize,
) -> Result<Option<Frame>, Error> {
    // Not `nth`: the iterator ends after damage, which is not the end of the frames.
    for (at, frame) in (0u32..).zip(file.frames(frames)) {
        let frame = frame?;
        if at == index {
            return Ok(Some(Frame {
                size,
                name: frame.name.map_or(types::FOLDSYM_NONE, |id| id.0),
                file: frame.file.map_or(types::FOLDSYM_NONE, |id| id.0),
                line: frame.line,
                column: frame.column,
                start_file: frame.start_file.map_or(types::FOLDSYM_NONE, |id| id.0),
                start_line: frame.start_line,
                flags: if frame.is_outermost { types::FOLDSYM_OUTERMOST } else { 0 },
            }));
        }
    }
    Ok(None)
}

/// Ends a text that was written to `out` with a zero. `whole` is its whole length, `None` if there is no text.
pub(crate) fn terminate(out: &mut [u8], whole: Option<usize>) -> usize {
    // A damaged text (`None`) becomes an empty one: the caller must not show the part that was written.
    if let Some(last) = out.len().checked_sub(1)
        && let Some(end) = out.get_mut(whole.unwrap_or(0).min(last))
    {
        *end = 0;
    }
    whole.unwrap_or(types::FOLDSYM_BAD)
}

/// The words for a status, for messages.
pub(crate) fn status_text(status: Status) -> &'static core::ffi::CStr {
    match status {
        types::FOLDSYM_OK => c"done",
        types::FOLDSYM_OUTSIDE_CODE => c"outside the known code",
        types::FOLDSYM_NO_FUNCTION => c"no function there",
        types::FOLDSYM_END => c"no frame or candidate of this number",
        types::FOLDSYM_NO_MODULE => c"no module there",
        types::FOLDSYM_NO_SYMBOLS => c"no symbols of the module",
        types::FOLDSYM_E_ARGUMENT => c"a wrong argument",
        types::FOLDSYM_E_SIZE => c"a struct of a size that this library cannot read",
        types::FOLDSYM_E_RESERVED => c"a reserved field that is not zero",
        types::FOLDSYM_E_DAMAGED => c"the symbol file is damaged",
        types::FOLDSYM_E_IO => c"the file cannot be read",
        types::FOLDSYM_E_MEMORY => c"no memory for the answer",
        types::FOLDSYM_E_OTHER_BUILD => c"the symbols are of another build",
        types::FOLDSYM_E_FULL => c"the table of modules is full",
        _ => c"an unknown status",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reason_has_a_number_of_its_own() {
        let numbers = Reason::ALL.map(|one| reason(Some(one)));
        for number in numbers {
            assert_ne!(number, types::FOLDSYM_FOR_NOTHING);
            assert_eq!(numbers.iter().filter(|other| **other == number).count(), 1);
        }
    }
}
