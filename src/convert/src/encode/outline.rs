//! Lists what the file holds, in the file's order: functions, row records, groups.
//!
//! The file keeps a function if it owns a piece or is a member of a group that does. A [`Job`] is one row record to write:
//! the rows of a function's piece or of a member of a group, cut to the piece.

use super::sort::Buckets;
use crate::model::{FuncId, Member, NameId, Owner, Program, Row, Rows};

/// The rank of an item that the file does not keep.
pub(super) const ABSENT: u32 = u32::MAX;

/// The rows of one function for one piece. A large program has a million.
#[derive(Clone, Copy)]
pub(super) struct Job {
    /// Index of the function in the file.
    pub(super) function: u32,
    pub(super) piece: u32,
    /// If the piece belongs to a group: the number of the member.
    member: u32,
}

impl Job {
    pub(super) fn rows(self, program: &Program<'_>) -> Option<Rows> {
        match self.member(program) {
            Some(member) => member.rows,
            None => program.pieces[self.piece as usize].rows,
        }
    }

    /// The member of the group that the piece belongs to.
    pub(super) fn member<'p>(self, program: &'p Program<'_>) -> Option<&'p Member> {
        members(program, program.pieces[self.piece as usize].owner).get(self.member as usize)
    }

    /// Bytes of the piece, padding included.
    fn span(self, program: &Program<'_>) -> u64 {
        let piece = &program.pieces[self.piece as usize];
        u64::from(piece.body) + u64::from(piece.pad)
    }
}

/// The functions and row records of the file, in its order.
pub(super) struct Outline {
    pub(super) functions: Vec<FuncId>,
    /// Index in the file by [`FuncId`], or [`ABSENT`].
    pub(super) function_ranks: Vec<u32>,
    /// In the order of pieces, and of members in a piece.
    pub(super) jobs: Vec<Job>,
    /// Index of each piece's first job, and one past the last.
    pub(super) piece_jobs: Vec<u32>,
    /// Jobs by function.
    pub(super) function_jobs: Buckets<u32>,
}

impl Outline {
    pub(super) fn of(program: &Program<'_>) -> Outline {
        debug_assert!(program.pieces.is_sorted_by_key(|p| p.start));
        let mut functions = Vec::new();
        let mut function_ranks = vec![ABSENT; program.functions.len()];
        let mut keep = |id: FuncId| {
            let rank = &mut function_ranks[id.index()];
            if *rank == ABSENT {
                *rank = functions.len() as u32;
                functions.push(id);
            }
        };
        for piece in &program.pieces {
            if let Owner::Function(id) = piece.owner {
                keep(id);
            }
        }
        // Only now, since functions that only groups name are last in the file (schema, section 3): the others are in
        // the order of their first pieces.
        for piece in &program.pieces {
            members(program, piece.owner).iter().for_each(|member| keep(member.function));
        }

        let mut jobs = Vec::with_capacity(program.pieces.len());
        let mut piece_jobs = Vec::with_capacity(program.pieces.len() + 1);
        for (piece, found) in (0..).zip(&program.pieces) {
            piece_jobs.push(jobs.len() as u32);
            let mut job = |id: FuncId, member| {
                jobs.push(Job { function: function_ranks[id.index()], piece, member });
            };
            match found.owner {
                Owner::Function(id) => job(id, 0),
                owner => {
                    let members = (0..).zip(members(program, owner));
                    members.for_each(|(number, member)| job(member.function, number));
                }
            }
        }
        piece_jobs.push(jobs.len() as u32);
        let function_jobs =
            Buckets::of(functions.len(), jobs.iter().enumerate().map(|(i, job)| (job.function, i as u32)));
        Outline { functions, function_ranks, jobs, piece_jobs, function_jobs }
    }

    /// The jobs of one function of the file.
    pub(super) fn jobs_of(&self, function: usize) -> impl Iterator<Item = Job> {
        self.function_jobs.bucket(function).iter().map(|&job| self.jobs[job as usize])
    }
}

/// The members of a group; none for a function.
pub(super) fn members<'p>(program: &'p Program<'_>, owner: Owner) -> &'p [Member] {
    match owner {
        Owner::Function(_) => &[],
        Owner::Group(group) => &program.groups[group.index()].members,
    }
}

/// All names of the file's functions other than those of their origins: symbols and aliases of functions, symbols of pieces and
/// of members.
pub(super) fn extra_names<'p>(
    program: &'p Program<'_>,
    outline: &'p Outline,
) -> impl Iterator<Item = (FuncId, NameId)> + 'p {
    let functions = outline.functions.iter().flat_map(|&id| {
        let function = &program.functions[id.index()];
        function.symbol.iter().chain(&function.aliases).map(move |&name| (id, name))
    });
    let pieces = program.pieces.iter().filter_map(|piece| match piece.owner {
        Owner::Function(id) => Some((id, piece.symbol?)),
        Owner::Group(_) => None,
    });
    let members = program
        .pieces
        .iter()
        .flat_map(|piece| members(program, piece.owner))
        .filter_map(|member| Some((member.function, member.symbol?)));
    functions.chain(pieces).chain(members)
}

/// The rows of a unit that cover a job's piece; the first row may begin before the piece.
pub(super) fn window<'r>(program: &'r Program<'_>, job: Job, found: Option<Rows>) -> &'r [Row] {
    let Some(Rows { unit, range, skip }) = found else { return &[] };
    let rows = program.code[unit.index()].rows_of(range);
    let end = u64::from(skip) + job.span(program);
    // Only a piece that begins inside the range of its rows has a `skip` ([`Rows::skip`]). The row that begins before the
    // piece holds at its start.
    let first = if skip == 0 { 0 } else { rows.partition_point(|row| row.offset <= skip).saturating_sub(1) };
    // Nearly always all rows begin before the end of the piece.
    let last = match rows.last() {
        Some(row) if u64::from(row.offset) >= end => rows.partition_point(|row| u64::from(row.offset) < end),
        _ => rows.len(),
    };
    &rows[first.min(last)..last]
}
