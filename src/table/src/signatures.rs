//! The columns of signatures: the bucket of each row's stack.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::{ArrayRef, StringArray};
use arrow_schema::Field;
use foldsym_symbolize::json::GivenName;
use foldsym_symbolize::{Batch, BatchSigning, Query};

use crate::input::Stacks;
use crate::text_columns::{fits, text_column, text_type};
use crate::texts::{Text, Texts};
use crate::{Stack, TableError, TableOptions, TextKind};

/// The columns: the text of the signature, its hash, and the version of the rules.
pub const SIGNATURE: [&str; 3] = ["signature", "signature_hash", "signature_rules"];

/// The fields of these columns; none without signatures.
pub(crate) fn fields(options: TableOptions<'_>) -> impl Iterator<Item = Arc<Field>> {
    let names = SIGNATURE.iter().filter(move |_| options.signature.is_some());
    names.map(move |name| Arc::new(Field::new(*name, text_type(options.text), true)))
}

/// The signatures of some rows, by row; a row without a stack has none.
#[derive(Default)]
pub(crate) struct Signatures(Vec<Option<[Text; 3]>>);

impl Signatures {
    /// Makes them from the answers of a batch. `named` has the names that the stacks have themselves, a stack each; it is empty if they have
    /// none.
    pub(crate) fn of(
        signing: &mut BatchSigning,
        batch: &Batch,
        (stacks, queries): (&Stacks, &[Query<'_>]),
        named: &[Stack<'_>],
        texts: &mut Texts,
    ) -> Self {
        let (mut own, mut known) = (Vec::new(), HashMap::<String, [Text; 3]>::new());
        let mut all = vec![None; stacks.query_of_rows().len()];
        let of_rows = stacks.query_of_rows().into_iter().enumerate();
        let mut of_rows: Vec<_> = of_rows.filter_map(|(row, query)| Some((query?, row))).collect();
        // Queries of one process are together.
        of_rows.sort_unstable();
        for (query, row) in of_rows {
            own.clear();
            let names = named.get(row).map_or(&[][..], |stack| stack.names);
            own.extend(
                names.iter().map(|name| (name.frame, GivenName::new(name.function, name.file, name.line))),
            );
            let signature = signing.signature(batch.stack(query), queries[query].modules, &own);
            let found = known.get(&signature.text).copied().unwrap_or_else(|| {
                let made = [texts.of(&signature.text), texts.of(&signature.hash), texts.of(&signature.rules)];
                known.insert(signature.text, made);
                made
            });
            all[row] = Some(found);
        }
        Self(all)
    }

    /// Numbers texts as `to` says, by their number now.
    pub(crate) fn renumber(&mut self, to: &[Text]) {
        self.0.iter_mut().flatten().flatten().for_each(|text| *text = to[*text as usize]);
    }

    fn column(&self, column: usize) -> impl Iterator<Item = Option<Text>> {
        self.0.iter().map(move |row| row.map(|row| row[column]))
    }

    /// The columns. The caller has checked [`fit_together`].
    pub(crate) fn finish(
        self,
        values: &Arc<StringArray>,
        options: TableOptions<'_>,
    ) -> Result<Vec<ArrayRef>, TableError> {
        let columns = fields(options).enumerate();
        columns.map(|(at, _)| text_column(self.column(at).collect(), values, options.text)).collect()
    }
}

/// The columns of all parts together have offsets of 32 bits too.
///
/// # Errors
/// They do not.
pub(crate) fn fit_together(
    parts: &[Signatures],
    values: &StringArray,
    options: TableOptions<'_>,
) -> Result<(), TableError> {
    // Dictionaries and views have each text once, and `values` has checked their sum.
    if options.text != TextKind::Plain {
        return Ok(());
    }
    for column in 0..SIGNATURE.len() {
        let texts = parts.iter().flat_map(|part| part.column(column)).flatten();
        fits(texts.map(|text| values.value_length(text as usize) as usize), "bytes of a column's text")?;
    }
    Ok(())
}
