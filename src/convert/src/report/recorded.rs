//! Makes the conversion record from the report.

use crate::diagnostics::opening::OpenDiagnostic;
use crate::diagnostics::{Kind, Seen};
use crate::model::{How, Reason};
use crate::report::conversion::Report;
use crate::report::record::{
    ConversionRecord, RecordedBlocks, RecordedCase, RecordedDecisions, RecordedUnkept, SectionOffset,
};

impl Report {
    /// The part of the report that the `.fsym` itself keeps. It does not depend on time, on threads, on the program's name, or on
    /// the folders of the program and of the files that belong to it.
    pub fn record(&self) -> ConversionRecord {
        let case = |(kind, seen): (Kind, &Seen)| {
            // The same program gives the same bytes in any folder, so a path of this machine is left out.
            let example = kind.portable_example(seen).map(str::to_owned);
            let case = RecordedCase { count: seen.count, first: SectionOffset(seen.first), example };
            (kind.name().to_owned(), case)
        };
        ConversionRecord {
            tool: concat!("foldsym ", env!("CARGO_PKG_VERSION")).to_owned(),
            counts: self.counts,
            decided: self.recorded_decisions(),
            diagnostics: self.diagnostics.iter().map(case).collect(),
            notes: self.notes.iter().map(OpenDiagnostic::portable).collect(),
        }
    }

    pub(super) fn recorded_decisions(&self) -> RecordedDecisions {
        let decided = &self.decided;
        let likely = Reason::ALL.iter().zip(decided.likely).filter(|(_, count)| *count > 0);
        let counts = decided.block_counts;
        let blocks = RecordedBlocks {
            map_bytes: counts.bytes,
            functions: counts.functions,
            ranges: decided.block_ranges,
            blocks: decided.blocks,
            not_kept: RecordedUnkept {
                call_ends: counts.call_ends,
                functions_with_profile: counts.profiles,
                hashes: counts.hashes,
            },
        };
        RecordedDecisions {
            functions: decided.functions,
            unique: decided.unique,
            likely: likely.map(|(reason, count)| (reason.text().to_owned(), count)).collect(),
            symbol_only: decided.symbol_only,
            aliases: decided.aliases,
            folded_addresses: decided.folded_addresses,
            folded_functions: decided.folded_functions,
            folded_by_evidence: How::ALL
                .iter()
                .map(|how| how.text().to_owned())
                .zip(decided.by_evidence)
                .collect(),
            calls_into_folded: decided.calls.into_groups,
            calls_with_key: decided.calls.keyed,
            call_keys: decided.call_keys,
            tail_keys: decided.tail_keys,
            vtable_keys: decided.vtable_keys,
            sure_vtable_keys: decided.sure_vtable_keys,
            slot_keys: decided.slot_keys,
            inlines_by_rows: decided.inlines.by_rows,
            inlines_by_twin: decided.inlines.by_twin,
            inlines_lost: decided.inlines.lost,
            // Few programs have a map: only those built with `-fbasic-block-address-map`.
            basic_blocks: (counts.bytes > 0).then_some(blocks),
        }
    }
}
