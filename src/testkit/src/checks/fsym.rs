//! Runs every query of the reader on arbitrary bytes and checks the documented guarantees.
//!
//! For every file: a query returns an answer or an error within the documented steps; a batch, a cursor and single lookups return the
//! same; a resolved frame names existing members, each once. For a file that `verify` accepts, also: no query reports damage.

use foldsym_format::starts::BUCKETS;
use foldsym_lookup::locations::LocationKind;
use foldsym_lookup::{
    BatchSlot, FrameIter, Frames, FunctionId, ImageAddr, Lookup, NameId, OriginId, PieceId, Resolved,
    ReturnAddr, SectionId, StackAddr, SymbolFile,
};

/// Addresses that are looked up in a file.
const ASKED: usize = 160;
/// Members of a group, aliases, rows and nodes that are checked one by one.
const LOOKED_AT: usize = 80;
/// Bytes of a name that are read.
const NAME: usize = 1 << 10;

/// The steps of finding a piece in any bytes: in its bucket, and the buckets of it and of the next.
fn search_bound(file: &SymbolFile<'_>) -> u64 {
    let starts = file.records().section_bytes(SectionId::STARTS).unwrap_or(&[]);
    let buckets =
        starts.get(BUCKETS..).and_then(|rest| rest.first_chunk()).map_or(1, |&word| u32::from_le_bytes(word));
    let log2 = |count: u32| u64::from(count.max(1).ilog2());
    log2(file.records().piece_count()) + 3 + 4 * log2(buckets) + 6
}

/// The steps of one lookup in any bytes: the search for the piece and for the row, and three walks along a
/// path that is no longer than the deepest tree (see `SymbolFile::lookup`).
pub fn lookup_bound(file: &SymbolFile<'_>, answered: bool) -> u64 {
    let search = search_bound(file);
    // Log2 of the blocks, and of the rows of one.
    let rows = 27 + 6;
    let depth = u64::from(file.header().max_depth);
    let path = if answered { 3 * depth } else { 3 * depth + 257 };
    search + rows + path
}

/// The steps of resolving one frame (see `SymbolFile::resolve_stack`).
pub fn frame_bound(file: &SymbolFile<'_>) -> u64 {
    u64::from(foldsym_lookup::MAX_FRAME_STEPS) + search_bound(file)
}

/// The steps of asking for the object of a frame (see `SymbolFile::resolve_object`): members that are compared, methods
/// of the class, and two searches.
pub fn object_bound() -> u64 {
    u64::from(foldsym_lookup::MAX_FRAME_STEPS) + 2 * 1024 + 2 * 64
}

/// The steps of finding what one call was guessed or linked to.
const CALLEE_BOUND: u64 = 64;

/// The steps of comparing a name with those of a group (see `SymbolFile::resolve_import`): names that are compared to find it, and
/// those of the members.
const IMPORT_BOUND: u64 = 64 * NAME_BOUND + 2 * foldsym_lookup::MAX_FRAME_STEPS as u64;

/// The steps of writing one name (see `foldsym_format::names`).
const NAME_BOUND: u64 = 64 + 19 * (foldsym_format::names::MAX_NAME as u64 + 1);

/// What was seen of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// `verify` accepts it.
    pub sound: bool,
    /// No question met damage.
    pub whole: bool,
    /// Addresses with an answer.
    pub found: u64,
    /// The most steps of a lookup, and of one frame of a stack.
    pub lookup_steps: u64,
    pub frame_steps: u64,
    /// And of an object.
    pub object_steps: u64,
    /// Basic blocks and entries of location lists.
    pub blocks: u64,
    pub locations: u64,
    /// Addresses with a row for unwinding.
    pub unwind_rows: u64,
}

/// Asks everything of a file; `None` if it does not open.
///
/// # Panics
/// Where a promise is broken.
pub fn check(bytes: &[u8]) -> Option<Seen> {
    let file = SymbolFile::open(bytes).ok()?;
    let sound = file.verify().is_ok();
    let mut seen = Seen { sound, whole: true, ..Seen::default() };
    let addresses = addresses(&file);
    single(&file, &addresses, &mut seen);
    others(&file, &addresses, &seen);
    stacks(&file, &addresses, &mut seen);
    callees(&file, &addresses, &mut seen);
    entities(&file, &mut seen);
    blocks(&file, &addresses, &mut seen);
    locations(&file, &addresses, &mut seen);
    unwinding(&file, &addresses, &mut seen);
    names(&file, &mut seen);
    assert!(!seen.sound || seen.whole, "verify accepts what a question finds damaged");
    Some(seen)
}

/// Starts, ends and middles of pieces all over the file, and places where nothing is.
fn addresses(file: &SymbolFile<'_>) -> Vec<ImageAddr> {
    let base = file.image_base().0;
    let mut out = vec![0, u64::MAX, base, base.wrapping_sub(1), base.wrapping_add(1 << 47)];
    let count = u64::from(file.records().piece_count());
    let steps = (ASKED as u64 / 5).min(count);
    for step in 0..steps {
        let Ok(piece) = file.records().piece(PieceId((step * count / steps) as u32)) else { continue };
        let (start, len) = (piece.start.0, piece.body.wrapping_add(piece.len().wrapping_sub(piece.body)));
        for offset in [0, 1, len / 2, len.wrapping_sub(1), len] {
            out.push(start.wrapping_add(offset));
        }
    }
    out.into_iter().map(ImageAddr).collect()
}

fn take_steps() -> u64 {
    foldsym_format::steps::take()
}

/// Name, file, line, column, and whether it is the outermost.
type FrameIds = (Option<u32>, Option<u32>, u32, u32, bool);

fn ids(frames: FrameIter<'_, '_>) -> Vec<Option<FrameIds>> {
    frames
        .map(|frame| {
            let frame = frame.ok()?;
            Some((
                frame.name.map(|id| id.0),
                frame.file.map(|id| id.0),
                frame.line,
                frame.column,
                frame.is_outermost,
            ))
        })
        .collect()
}

fn single(file: &SymbolFile<'_>, addresses: &[ImageAddr], seen: &mut Seen) {
    let mut frames = Frames::new();
    for &address in addresses {
        take_steps();
        let lookup = file.lookup(address, &mut frames);
        let steps = take_steps();
        assert!(steps <= lookup_bound(file, lookup.is_ok()), "{steps} steps at {address:?}");
        seen.lookup_steps = seen.lookup_steps.max(steps);
        let answer = match lookup {
            Err(_) => {
                assert!(frames.is_empty());
                seen.whole = false;
                continue;
            }
            Ok(Lookup::NotFound(_)) => {
                assert!(frames.is_empty());
                continue;
            }
            Ok(Lookup::Found(answer)) => answer,
        };
        seen.found += 1;
        assert!(frames.len() <= file.header().max_depth + 1);
        let own = ids(file.frames(&frames));
        seen.whole &= own.iter().all(Option::is_some);
        assert!(answer.member_count() >= 1 && answer.member_count() <= file.header().max_group.max(1));
        for member in (0..answer.member_count()).take(LOOKED_AT) {
            let read = file.member_frames(&answer, member, &mut frames);
            seen.whole &= read.is_ok();
            let of_member = ids(file.frames(&frames));
            seen.whole &= of_member.iter().all(Option::is_some);
            if member == 0 && read.is_ok() {
                assert_eq!(of_member, own, "the first member is the answer");
            }
        }
        assert!(file.member_frames(&answer, answer.member_count(), &mut frames).is_err());
        assert!(frames.is_empty());
    }
}

/// A batch and a cursor, against single lookups.
fn others(file: &SymbolFile<'_>, addresses: &[ImageAddr], seen: &Seen) {
    let mut own = Frames::new();
    // A batch gives the answers of a cursor, in the order of the addresses.
    const SLOTS: usize = 100;
    let mut sorted = addresses.to_vec();
    sorted.chunks_mut(SLOTS).for_each(|part| part.sort_unstable());
    let (mut next, mut cursor) = (0, file.cursor());
    file.lookup_batch(addresses, &mut [BatchSlot::EMPTY; SLOTS], |index, lookup, frames| {
        assert_eq!(addresses[index], sorted[next]);
        assert_eq!(lookup, cursor.lookup(sorted[next]));
        assert_eq!(ids(file.frames(frames)), ids(cursor.frames()));
        next += 1;
    });
    assert_eq!(next, addresses.len());
    let mut cursor = file.cursor();
    for &address in addresses {
        let (of_cursor, single) = (cursor.lookup(address), file.lookup(address, &mut own));
        let (of_cursor, single) = ((of_cursor, ids(cursor.frames())), (single, ids(file.frames(&own))));
        // In a damaged file pieces may overlap, and which is met depends on where the cursor was.
        if seen.sound {
            assert_eq!(of_cursor, single, "{address:?}");
        }
    }
}

/// Stacks of neighbouring addresses: each is the caller of the one before.
fn stacks(file: &SymbolFile<'_>, addresses: &[ImageAddr], seen: &mut Seen) {
    let returns = file.records().calls().take(LOOKED_AT).filter_map(|call| Some(call.ok()?.address.0));
    let returns: Vec<u64> = returns.chain(addresses.iter().map(|a| a.0.wrapping_add(1)).take(40)).collect();
    for (index, &pc) in addresses.iter().enumerate() {
        let mut stack = vec![StackAddr::Exact(pc)];
        for step in 0..4 {
            let at = returns.get((index * 7 + step * 5) % returns.len().max(1)).copied().unwrap_or(0);
            stack.push(if at % 31 == 30 { StackAddr::Foreign } else { StackAddr::Return(ReturnAddr(at)) });
        }
        let mut resolved = [Resolved::NONE; 5];
        let result = file.resolve_stack(&stack, &mut resolved);
        seen.whole &= result.is_ok();
        for frame in &resolved {
            candidates(file, frame);
        }
        // Each frame for itself: together four cheap ones would hide what the fifth takes.
        let mut caller: Option<(StackAddr, Resolved)> = None;
        for (&address, all) in stack.iter().zip(&resolved).rev() {
            take_steps();
            let one =
                file.resolve_one(address, caller.as_ref().map(|(address, resolved)| (*address, resolved)));
            let steps = take_steps();
            assert!(steps <= frame_bound(file), "{steps} steps for a frame");
            seen.frame_steps = seen.frame_steps.max(steps);
            let Ok(one) = one else {
                assert!(result.is_err());
                break;
            };
            assert_eq!(one, *all);
            let mut slot = one;
            let told = file.resolve_slot(&mut slot, caller.as_ref().map(|caller| caller.0));
            let steps = take_steps();
            assert!(steps <= object_bound(), "{steps} steps for a slot");
            seen.whole &= told.is_ok();
            candidates(file, &slot);
            assert!(told.is_ok() || slot == one, "damage changes nothing");
            assert_eq!(slot.candidate_count(), one.candidate_count(), "a slot rules nothing out");
            caller = Some((address, one));
        }
        objects(file, &resolved[0], stack.get(1).copied(), index, seen);
    }
}

/// The object that a frame runs on: of a class that the file knows, or of none.
fn objects(
    file: &SymbolFile<'_>,
    frame: &Resolved,
    caller: Option<StackAddr>,
    index: usize,
    seen: &mut Seen,
) {
    let points = file.records().methods().skip(index).take(2).filter_map(|method| Some(method.ok()?.point));
    for point in points.chain([ImageAddr(index as u64), file.image_base()]).collect::<Vec<_>>() {
        let mut resolved = *frame;
        take_steps();
        let result = file.resolve_object(&mut resolved, point, caller);
        let steps = take_steps();
        assert!(steps <= object_bound(), "{steps} steps for an object");
        seen.object_steps = seen.object_steps.max(steps);
        seen.whole &= result.is_ok();
        candidates(file, &resolved);
        assert!(result.is_ok() || resolved == *frame, "damage changes nothing");
    }
}

/// The variables of the file, and those at addresses: each has a name and a file that exist.
fn variables(file: &SymbolFile<'_>, addresses: &[ImageAddr], seen: &mut Seen) {
    let all = file.records().variables();
    seen.whole &= all.is_ok();
    let starts: Vec<ImageAddr> = all
        .iter()
        .flat_map(|all| all.iter().take(LOOKED_AT))
        .filter_map(|variable| {
            seen.whole &= variable.is_ok();
            Some(variable.ok()?.start)
        })
        .collect();
    for &address in starts.iter().chain(addresses) {
        take_steps();
        let found = file.variable_at(address);
        assert!(take_steps() <= CALLEE_BOUND);
        seen.whole &= found.is_ok();
        let Ok(Some(variable)) = found else { continue };
        assert!(variable.start <= address);
        let mut text = vec![0; NAME];
        let _ = file.write_name(variable.name, &mut text);
        let _ = variable.file.map(|path| file.write_path(path, &mut text));
    }
}

/// Likely callees, the names that calls were linked to, and how such a name resolves folded code.
fn callees(file: &SymbolFile<'_>, addresses: &[ImageAddr], seen: &mut Seen) {
    let (guesses, imports) = (file.records().guesses(), file.records().imports());
    seen.whole &= guesses.is_ok() && imports.is_ok();
    let mut calls: Vec<ReturnAddr> =
        file.records().calls().take(LOOKED_AT).filter_map(|call| Some(call.ok()?.address)).collect();
    for guess in guesses.iter().flat_map(|guesses| guesses.iter().take(LOOKED_AT)) {
        seen.whole &= guess.is_ok();
        calls.extend(guess.map(|guess| guess.address));
    }
    for import in imports.iter().flat_map(|imports| imports.iter().take(LOOKED_AT)) {
        seen.whole &= import.is_ok();
        calls.extend(import.map(|import| import.0));
    }
    let near = addresses.iter().flat_map(|address| (0..8).map(|by| ReturnAddr(address.0.wrapping_add(by))));
    variables(file, addresses, seen);
    let mut text = vec![0; NAME];
    let mut names = vec![vec![], b"main".to_vec()];
    for address in calls.into_iter().chain(near) {
        take_steps();
        let callee = file.guessed_callee(address, None);
        seen.whole &= callee.is_ok();
        assert!(callee.ok().flatten().is_none_or(|id| id.0 < file.records().function_count()));
        assert!(take_steps() <= CALLEE_BOUND);
        let callee = file.imported_callee(address);
        assert!(take_steps() <= CALLEE_BOUND);
        seen.whole &= callee.is_ok();
        let Ok(Some(name)) = callee else { continue };
        let written = file.write_name(name, &mut text);
        seen.whole &= written.is_some();
        names.extend(written.filter(|_| names.len() < LOOKED_AT).map(|len| text[..len.min(NAME)].to_vec()));
    }
    // Names of the file itself: members of groups have some of them.
    for id in (0..file.records().names().len()).take(LOOKED_AT) {
        names.extend(file.records().names().write(id, &mut text).map(|len| text[..len.min(NAME)].to_vec()));
    }
    for (index, &address) in addresses.iter().enumerate() {
        let Ok(frame) = file.resolve_one(StackAddr::Exact(address), None) else { continue };
        for name in names.iter().skip(index % 7).step_by(7) {
            let mut resolved = frame;
            take_steps();
            let told = file.resolve_import(&mut resolved, name);
            let steps = take_steps();
            assert!(steps <= IMPORT_BOUND, "{steps} steps for an import");
            seen.whole &= told.is_ok();
            candidates(file, &resolved);
            assert!(told.is_ok() || resolved == frame, "damage changes nothing");
            assert_eq!(resolved.candidate_count(), frame.candidate_count(), "a name rules nothing out");
        }
    }
}

fn candidates(file: &SymbolFile<'_>, frame: &Resolved) {
    let count = frame.candidate_count();
    assert_eq!(frame.candidate(count), None);
    let Some(group) = frame.group else {
        assert_eq!(count, 0);
        return;
    };
    let len = file.records().group(group).unwrap().len();
    assert!((1..=len).contains(&count), "{count} of {len}");
    let mut members: Vec<u32> =
        (0..count).take(LOOKED_AT).map(|index| frame.candidate(index).unwrap()).collect();
    members.sort_unstable();
    assert!(members.windows(2).all(|pair| pair[0] < pair[1]));
    assert!(members.last().is_some_and(|last| *last < len));
}

/// What `dump` and `info` read.
fn entities(file: &SymbolFile<'_>, seen: &mut Seen) {
    for id in (0..file.records().function_count()).take(LOOKED_AT) {
        let Ok(function) = file.records().function(FunctionId(id)) else {
            seen.whole = false;
            continue;
        };
        seen.whole &= file.records().function_name(FunctionId(id)).is_ok();
        seen.whole &= file.records().aliases(&function).take(LOOKED_AT).all(|alias| alias.is_ok());
        match file.records().scopes(&function) {
            Ok(scopes) => {
                seen.whole &=
                    scopes.is_none_or(|scopes| scopes.iter().take(LOOKED_AT).all(|scope| scope.is_ok()));
            }
            Err(_) => seen.whole = false,
        }
    }
    for id in (0..file.records().piece_count()).take(LOOKED_AT) {
        let Ok(piece) = file.records().piece(PieceId(id)) else {
            seen.whole = false;
            continue;
        };
        if let Some(rows) = piece.rows {
            seen.whole &= file
                .records()
                .rows(rows)
                .is_ok_and(|rows| rows.iter().take(LOOKED_AT).all(|row| row.is_ok()));
        }
    }
    for id in (0..file.records().origin_count()).take(LOOKED_AT) {
        seen.whole &= file.records().origin(OriginId(id)).is_ok();
    }
    let _ = file.records().program_sections().take(LOOKED_AT).count();
    seen.whole &= file.records().calls().take(LOOKED_AT).all(|call| call.is_ok());
    seen.whole &= file.records().overriders().take(LOOKED_AT).all(|overrider| overrider.is_ok());
    seen.whole &= file.records().tail_calls().take(LOOKED_AT).all(|call| call.is_ok());
    seen.whole &= file.records().methods().take(LOOKED_AT).all(|method| method.is_ok());
    seen.whole &= file.records().slot_calls().take(LOOKED_AT).all(|call| call.is_ok());
}

/// What `lookup --blocks` reads: the block at each address, which holds it, and its function.
fn blocks(file: &SymbolFile<'_>, addresses: &[ImageAddr], seen: &mut Seen) {
    let Ok(Some(blocks)) = file.basic_blocks() else {
        seen.whole &= file.basic_blocks().is_ok();
        return;
    };
    let starts = (0..blocks.len()).take(LOOKED_AT).filter_map(|index| Some(blocks.block(index).ok()?.start));
    for address in addresses.iter().copied().chain(starts).collect::<Vec<_>>() {
        let found = blocks.at(address);
        seen.whole &= found.is_ok();
        let Ok(Some(block)) = found else { continue };
        let offset = address.0.checked_sub(block.start.0);
        assert!(offset.is_some_and(|offset| offset <= block.size), "{address:?} is in its block");
        let start = blocks.function_start(&block);
        seen.whole &= start.is_ok();
        if let Ok(start) = start {
            let found = blocks.find(start, block.id);
            seen.whole &= found.is_ok();
            seen.whole &= blocks.of_function(start).take(LOOKED_AT).all(|block| block.is_ok());
        }
        seen.blocks += 1;
    }
}

/// What `stack` reads of where objects are, and `wave` of lanes.
fn locations(file: &SymbolFile<'_>, addresses: &[ImageAddr], seen: &mut Seen) {
    let Ok(Some(locations)) = file.locations() else {
        seen.whole &= file.locations().is_ok();
        return;
    };
    for function in (0..file.records().function_count()).take(LOOKED_AT).map(FunctionId) {
        seen.whole &= locations.lanes(function).is_ok();
        for kind in
            [LocationKind::Object, LocationKind::FrameBase, LocationKind::ActiveLane, LocationKind::LanePc]
        {
            let list = locations.of(function, kind);
            seen.whole &= list.is_ok();
            let Ok(Some((list, _))) = list else { continue };
            seen.locations += list.entries().take(LOOKED_AT).count() as u64;
            for &address in addresses.iter().take(8) {
                seen.whole &= list.at(address).is_ok();
                let call = ReturnAddr(address.0);
                seen.whole &= locations.is_unknown_call(function, call).is_ok();
            }
        }
    }
}

/// What a walk reads: the row of an address, and its registers.
fn unwinding(file: &SymbolFile<'_>, addresses: &[ImageAddr], seen: &mut Seen) {
    let unwind = file.unwind();
    seen.whole &= unwind.is_ok();
    let Ok(Some(unwind)) = unwind else { return };
    for &address in addresses {
        let row = unwind.row(address.0);
        seen.whole &= row.is_ok();
        let Ok(Some(row)) = row else { continue };
        let inside = address.0.wrapping_sub(row.start);
        let is_in_row = inside < row.end.wrapping_sub(row.start);
        assert!(is_in_row || !seen.sound, "{address:?} is in its row");
        let registers: Vec<u64> = row.rules().take(LOOKED_AT).map(|(register, _)| register).collect();
        assert!(!seen.sound || registers.is_sorted(), "{registers:?}");
        seen.unwind_rows += 1;
    }
    if seen.sound {
        let rows = unwind.each_row(&mut |row| assert!(row.start < row.end));
        seen.whole &= rows.is_ok_and(|rows| seen.unwind_rows == 0 || rows > 0);
    }
}

fn names(file: &SymbolFile<'_>, seen: &mut Seen) {
    let mut text = vec![0; NAME];
    for table in [file.records().names(), file.records().files()] {
        for id in (0..table.len()).take(LOOKED_AT) {
            take_steps();
            let written = table.write(id, &mut text);
            let steps = take_steps();
            assert!(steps <= NAME_BOUND, "{steps} steps for name {id}");
            let Some(len) = written else {
                seen.whole = false;
                continue;
            };
            assert!(steps <= 64 + 19 * len as u64, "{steps} steps for a name of {len} bytes");
            let mut visited = 0;
            table.visit(id, |piece| visited += piece.len()).unwrap();
            assert_eq!(visited, len);
            // Names that are sorted are found where they are.
            if seen.sound && len <= NAME {
                assert_eq!(table.find(&text[..len]), Ok(id));
            }
        }
        assert!(table.write(table.len(), &mut text).is_none());
    }
    assert!(file.write_name(NameId(u32::MAX), &mut text).is_none());
}
