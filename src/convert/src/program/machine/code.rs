//! Divides the code of an image into runs of one instruction set and answers the questions of [`Machine`] from them,
//! for processors with load and store instructions.

use super::flow::{Flow, Hop, MAX_STUB, Target};
use super::inst::{Convention, Goal, Inst, Op, Values};
use super::reader::{CodeMarks, Machine, Processor, RunStarts};
use super::run::{self, InstRun, MAX_INSTRUCTION, Mode};
use super::{aarch64, arm, riscv};
use crate::model::{AddressRange, ImageAddr};
use crate::open::{Image, MarkKind};

impl Processor {
    fn convention(self) -> &'static Convention {
        match self {
            Processor::Arm => &arm::CONVENTION,
            Processor::RiscV { .. } => &riscv::CONVENTION,
            _ => &aarch64::CONVENTION,
        }
    }
}

pub(super) fn marks(image: &Image<'_>) -> CodeMarks {
    // A sized object does not say what follows it. Mapping symbols mark the data too.
    let all = image.code_marks.iter().filter(|mark| mark.kind != MarkKind::Object);
    // Stable, since the last mark of an address counts.
    let mut marks: CodeMarks = all.map(|mark| (ImageAddr(mark.address), mark.kind)).collect();
    marks.sort_by_key(|mark| mark.0);
    // Of several marks at one address the last counts.
    marks.dedup_by(|next, before| {
        let same = next.0 == before.0;
        if same {
            *before = *next;
        }
        same
    });
    marks
}

impl<'f> Machine<'_, 'f> {
    fn marks(&self) -> &CodeMarks {
        self.marks.get_or_init(|| marks(self.image))
    }

    /// The instruction set at an address, in the section that begins at `section`; `None` for data, and if ARM's is
    /// not known.
    fn mode(&self, address: ImageAddr, section: ImageAddr) -> Option<Mode> {
        let marks = self.marks();
        let before = marks[..marks.partition_point(|mark| mark.0 <= address)].last();
        // A mapping symbol counts up to the end of its section only.
        self.mode_of(before.filter(|mark| mark.0 >= section).map(|mark| mark.1))
    }

    fn mode_of(&self, mark: Option<MarkKind>) -> Option<Mode> {
        match (self.processor?, mark) {
            (Processor::X86 { .. }, _) | (_, Some(MarkKind::Data | MarkKind::Object)) => None,
            (Processor::AArch64, _) => Some(Mode::A64),
            (Processor::RiscV { wide }, _) => Some(Mode::RiscV { wide }),
            (Processor::Arm, Some(MarkKind::Code)) => Some(Mode::A32),
            (Processor::Arm, Some(MarkKind::Thumb)) => Some(Mode::T32),
            (Processor::Arm, None) => None,
        }
    }

    /// The code of a range without its data; `None` if it is missing or of an unknown instruction set.
    pub(super) fn runs(&self, code: AddressRange) -> Option<Vec<InstRun<'f>>> {
        let AddressRange { start, end } = code;
        let (section, bytes) = self.section_bytes(code)?;
        let marks = self.marks();
        let within =
            marks.partition_point(|mark| mark.0 <= start)..marks.partition_point(|mark| mark.0 < end);
        let mut runs = Vec::new();
        let mut from = start;
        let mut mode = self.mode(start, section);
        // Without mapping symbols (a stripped program) nothing shows whether ARM code is A32 or T32.
        if mode.is_none() && self.processor == Some(Processor::Arm) && !self.is_data(start, section) {
            return None;
        }
        // The end of the range counts as data, so that it ends the last run.
        for (to, mark) in marks[within].iter().copied().chain([(end, MarkKind::Data)]) {
            if let Some(mode) = mode.filter(|_| from < to) {
                let bytes = &bytes[(from - start) as usize..(to - start) as usize];
                runs.push(InstRun { mode, start: from.0, bytes });
            }
            (from, mode) = (to, self.mode_of(Some(mark)));
        }
        Some(runs)
    }

    /// True if the code is present and its instruction set is known.
    pub(super) fn has_instruction_set(&self, code: AddressRange) -> bool {
        self.runs(code).is_some()
    }

    fn is_data(&self, address: ImageAddr, section: ImageAddr) -> bool {
        let marks = self.marks();
        let before = marks[..marks.partition_point(|mark| mark.0 <= address)].last();
        before.is_some_and(|mark| mark.0 >= section && mark.1 == MarkKind::Data)
    }

    /// The word at an address, if it is a constant among code. Only for 32-bit ARM, whose instructions cannot hold
    /// addresses.
    fn constant(&self, address: u64) -> Option<u64> {
        let address = ImageAddr(address);
        let (section, word) = self.section_bytes(AddressRange::new(address, address.checked_add(4)?))?;
        let is_constant = self.processor == Some(Processor::Arm) && self.is_data(address, section);
        is_constant.then(|| word.first_chunk().map(|word| u32::from_le_bytes(*word).into()))?
    }

    /// As [`super::x86::flows`].
    pub(super) fn flows_of_runs(&self, code: AddressRange) -> Option<Vec<Flow>> {
        let runs = self.runs(code)?;
        let constant = |address: u64| self.constant(address);
        run::flows(&runs, code.start.0..code.end.0, Values::new(self.processor?.is_narrow(), &constant))
    }

    /// As [`Machine::calls_in_order`].
    pub(super) fn calls_of_runs(
        &self,
        code: AddressRange,
        entries: &[ImageAddr],
    ) -> Option<Vec<(ImageAddr, Target)>> {
        let constant = |address: u64| self.constant(address);
        let values = Values::new(self.processor?.is_narrow(), &constant);
        let mut calls = run::calls(&self.runs(code)?, code.start.0..code.end.0, entries, values)?;
        for (_, target) in &mut calls {
            if let Target::To(target) = target {
                *target = self.without_mode(*target);
            }
        }
        Some(calls)
    }

    /// The end of the first instruction of a range that a linker may have made shorter; `None` where there is none, and for processors
    /// other than RISC-V.
    pub(crate) fn shortened_until(&self, code: AddressRange) -> Option<ImageAddr> {
        let AddressRange { start, end } = code;
        if !matches!(self.processor?, Processor::RiscV { .. }) {
            return None;
        }
        let mut until = None;
        for run in self.runs(code)? {
            run.each(|address, inst| {
                if until.is_none() && riscv::may_be_shortened(&inst, start.0, end.0) {
                    until = Some(ImageAddr(address).saturating_add(inst.len as u64).min(end));
                }
            });
        }
        until
    }

    /// Adds everything that may be a direct jump from `code`.
    pub(super) fn add_jumps_of_runs(&self, code: AddressRange, targets: &mut Vec<ImageAddr>) {
        let mut add = |_: u64, inst: Inst| {
            if let Op::Jump(Goal::To(to)) = inst.op {
                targets.push(ImageAddr(to));
            }
        };
        for run in self.runs(code).unwrap_or_default() {
            // Instructions of fixed length mostly need no decoder.
            let words = run.bytes.chunks_exact(4).map(|w| u32::from_le_bytes([w[0], w[1], w[2], w[3]]));
            let words = (run.start..).step_by(4).zip(words);
            match run.mode {
                Mode::A64 => words
                    .filter(|(_, word)| aarch64::may_branch(*word))
                    .for_each(|(address, word)| add(address, aarch64::decode(word, address))),
                Mode::A32 => words
                    .filter(|(_, word)| arm::may_branch_a32(*word))
                    .for_each(|(address, word)| add(address, arm::decode_a32(word, address))),
                Mode::T32 => arm::branches_of_t32(run.bytes, run.start, &mut add),
                Mode::RiscV { .. } => _ = run.each(&mut add),
            }
        }
        // A far jump is two instructions there.
        if matches!(self.processor, Some(Processor::RiscV { .. })) {
            for flow in self.flows_of_runs(code).unwrap_or_default() {
                if let Flow::Jump(Target::To(to)) = flow {
                    targets.push(to);
                }
            }
        }
    }

    /// As [`super::x86::only_passes_on`].
    pub(super) fn runs_only_pass_on(&self, code: AddressRange) -> bool {
        let (Some(processor), Some(runs)) = (self.processor, self.runs(code)) else { return false };
        run::only_pass_on(&runs, processor.convention())
    }

    /// The target of code that only jumps: a stub, or a thunk between distant code.
    pub(super) fn hop_of_run(&self, code: AddressRange) -> Option<Hop> {
        let AddressRange { start, end } = code;
        // A stub is short. What follows it is other stubs.
        let runs = self.runs(AddressRange::new(start, end.min(start.saturating_add(MAX_STUB))))?;
        let run = runs.first().filter(|run| run.start == start.0)?;
        let constant = |address: u64| self.constant(address);
        run::hop(run, Values::new(self.processor?.is_narrow(), &constant))
    }

    /// The instruction at an address.
    fn inst_at(&self, address: ImageAddr) -> Option<Inst> {
        let (section, bytes) = self.section_from(address)?;
        let bytes = &bytes[..bytes.len().min(MAX_INSTRUCTION)];
        // Whether an `IT` block contains the instruction is not known here. It would change `conditional` alone.
        self.mode(address, section)?.decode(bytes, address.0, &mut arm::Conditional::default())
    }

    /// The return address of the call at an address: one instruction, or two of RISC-V.
    pub(super) fn return_of_call(&self, address: ImageAddr) -> Option<ImageAddr> {
        let first = self.inst_at(address)?;
        let next = address.checked_add(first.len as u64)?;
        match (first.op, self.processor?) {
            (Op::Call(_), _) => Some(next),
            (Op::Constant { to, .. }, Processor::RiscV { .. }) => {
                let second = self.inst_at(next)?;
                let calls = matches!(second.op, Op::Call(Goal::Register(from, _)) if from == to);
                calls.then(|| next.checked_add(second.len as u64))?
            }
            _ => None,
        }
    }

    /// The call before a return address.
    pub(super) fn call_of_run(&self, return_addr: ImageAddr) -> Option<Target> {
        let call_at = |len: u64| {
            let address = return_addr.checked_sub(len)?;
            let inst = self.inst_at(address).filter(|inst| inst.len as u64 == len)?;
            Some((address, inst.op))
        };
        let to = |op: Op| match op {
            Op::Call(Goal::To(to)) => Some(Target::To(ImageAddr(to))),
            Op::Call(_) => Some(Target::Anywhere),
            _ => None,
        };
        match self.processor? {
            // No 16-bit call ends like a 32-bit one: BLX to a register begins with the bits 0100, the second half of
            // a 32-bit call with 11.
            Processor::Arm => [4, 2].into_iter().find_map(|len| to(call_at(len)?.1)),
            Processor::RiscV { .. } => {
                // If instructions begin at both places, the one that is 4 bytes away has only 2, and the call is the one
                // behind it.
                let len = [2, 4]
                    .into_iter()
                    .find(|len| self.begins(ImageAddr(return_addr.0.wrapping_sub(*len))))?;
                let (address, op) = call_at(len)?;
                let before = ImageAddr(address.0.wrapping_sub(4));
                match op {
                    Op::Call(Goal::Register(from, by)) if self.begins(before) => {
                        match self.inst_at(before).map(|inst| inst.op) {
                            Some(Op::Constant { to, value }) if to == from => {
                                // JALR clears bit 0 of the sum (RISC-V ISA manual volume 1, 2.5).
                                Some(Target::To(ImageAddr(value.wrapping_add_signed(by) & !1)))
                            }
                            _ => Some(Target::Anywhere),
                        }
                    }
                    op => to(op),
                }
            }
            _ => to(call_at(4)?.1),
        }
    }

    /// True if a RISC-V instruction begins at an address.
    fn begins(&self, address: ImageAddr) -> bool {
        let starts = self.starts.get_or_init(|| self.read_starts());
        let after = starts.partition_point(|section| section.0 <= address);
        let Some((section, bits)) = after.checked_sub(1).map(|at| &starts[at]) else { return false };
        let place = (address - *section) / 2;
        bits.get((place / 64) as usize)
            .is_some_and(|bits| address.0 & 1 == 0 && bits >> (place % 64) & 1 != 0)
    }

    fn read_starts(&self) -> RunStarts {
        let symbols = self.image.symbols.iter().map(|symbol| ImageAddr(symbol.address));
        let mut known: Vec<ImageAddr> = symbols.chain(self.marks().iter().map(|mark| mark.0)).collect();
        known.sort_unstable();
        let of_section = |&(start, bytes): &(u64, &[u8])| {
            let start = ImageAddr(start);
            let mut bits = vec![0; bytes.len().div_ceil(128)];
            let mut next = known[known.partition_point(|known| *known <= start)..].iter().peekable();
            let mut at = 0;
            while let Some(&half) = bytes.get(at..).and_then(|rest| rest.first_chunk::<2>()) {
                bits[at / 128] |= 1 << (at / 2 % 64);
                // An instruction of more than 32 bits is read as several, until the next known start.
                let len = if half[0] & 3 == 3 { 4 } else { 2 };
                let end = start.saturating_add((at + len) as u64);
                // A known start lies within the instruction: the bytes before it were no instructions.
                let mut ends = end;
                while let Some(&&known) = next.peek().filter(|known| ***known <= end) {
                    ends = ends.min(known.max(start + at as u64 + 2));
                    next.next();
                }
                at = ((ends - start) as usize).next_multiple_of(2);
            }
            (start, bits)
        };
        self.image.code.iter().map(of_section).collect()
    }
}
