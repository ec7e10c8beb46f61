//! Writes the whole report as JSON.

use std::time::Duration;

use serde_json::{Value, json};

use super::conversion::{Report, Step};

impl Report {
    /// The whole report as JSON, for `--report`.
    pub fn to_json(&self) -> Value {
        let by_step = |figure: fn(Step) -> Value| -> serde_json::Map<String, Value> {
            self.steps.named().into_iter().map(|(name, step)| (name.to_owned(), figure(step))).collect()
        };
        let mut seconds = by_step(|step| json!(step.time.as_secs_f64()));
        let total: Duration = self.steps.named().into_iter().map(|(_, step)| step.time).sum();
        seconds.insert("total".to_owned(), json!(total.as_secs_f64()));
        let warnings: Vec<Value> = self
            .warnings()
            .into_iter()
            .map(|warning| json!({"kind": warning.kind.name(), "count": warning.count, "message": warning.message}))
            .collect();
        let sections: serde_json::Map<String, Value> =
            self.sections.iter().map(|(name, len)| (name.clone(), json!(len))).collect();
        let (stats, record) = (&self.stats, self.record().to_json());
        json!({
            "tool": concat!("foldsym ", env!("CARGO_PKG_VERSION")),
            "input": self.input.to_string_lossy(),
            "arch": self.arch,
            "build_id": hex(&self.build_id),
            "debug_info": self.debug_info().text(),
            "warnings": warnings,
            "counts": record["counts"],
            "decided": record["decided"],
            "stored": {
                "pieces": stats.pieces, "functions": stats.functions, "groups": stats.groups,
                "members": stats.members, "origins": stats.origins, "edges": stats.edges,
                "names": stats.names, "files": stats.files, "rows": stats.rows,
                "row_blocks": stats.row_blocks, "row_records": stats.row_records,
                "row_records_shared": stats.row_records_shared, "scopes": stats.scopes,
                "scope_records": stats.scope_records, "scope_records_shared": stats.scope_records_shared,
                "objects": stats.objects.kept,
            },
            "left_out": {
                "scopes_too_deep": stats.left_out.scopes_too_deep,
                "scopes_foreign": stats.left_out.scopes_foreign,
                "rows_stray": stats.left_out.rows_stray,
                "tables_outside": stats.left_out.tables_outside,
                "objects": stats.objects.lost,
            },
            "diagnostics": self.diagnostics_json(),
            "notes": self.notes.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "seconds": seconds,
            "peak_kib": self.peak_kib,
            "peak_kib_after": by_step(|step| json!(step.peak_kib)),
            "file_bytes": self.file_len,
            "section_bytes": sections,
        })
    }

    fn diagnostics_json(&self) -> Value {
        let entries = self.diagnostics.iter().map(|(kind, seen)| {
            let first = format!("{:#x}", seen.first);
            (kind.name().to_owned(), json!({"count": seen.count, "first": first, "example": seen.example}))
        });
        Value::Object(entries.collect())
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
