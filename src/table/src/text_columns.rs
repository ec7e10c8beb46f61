//! Columns of text, in the form that the caller wants.

use std::sync::Arc;

use arrow_array::builder::StringViewBuilder;
use arrow_array::types::Int32Type;
use arrow_array::{Array as _, ArrayRef, DictionaryArray, Int32Array, StringArray};
use arrow_schema::DataType;

use crate::texts::Text;
use crate::{TableError, TextKind};

/// # Errors
/// The lengths together have more than 31 bits.
pub(crate) fn fits(lengths: impl Iterator<Item = usize>, what: &'static str) -> Result<(), TableError> {
    let total = lengths.fold(0, usize::saturating_add);
    match i32::try_from(total) {
        Ok(_) => Ok(()),
        Err(_) => Err(TableError::TooLarge { what, total }),
    }
}

/// A column of text. The caller has checked that it fits.
pub(crate) fn text_column(
    keys: Vec<Option<Text>>,
    values: &Arc<StringArray>,
    kind: TextKind,
) -> Result<ArrayRef, TableError> {
    match kind {
        TextKind::Dictionary => {
            let keys = Int32Array::from(keys);
            Ok(Arc::new(DictionaryArray::<Int32Type>::try_new(keys, values.clone())?))
        }
        TextKind::Plain => {
            let plain = keys.into_iter().map(|key| key.map(|key| values.value(key as usize)));
            Ok(Arc::new(plain.collect::<StringArray>()))
        }
        TextKind::View => views(keys, values),
    }
}

/// The type of a column of text.
pub(crate) fn text_type(kind: TextKind) -> DataType {
    match kind {
        TextKind::Dictionary => DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8)),
        TextKind::Plain => DataType::Utf8,
        TextKind::View => DataType::Utf8View,
    }
}

/// A column of text as views into one copy of each text that it has. A stream sends the copies with each column, so the texts of other
/// columns are left out.
fn views(keys: Vec<Option<Text>>, values: &StringArray) -> Result<ArrayRef, TableError> {
    let mut numbers: Vec<Option<Text>> = vec![None; values.len()];
    let (mut own, mut bytes) = (Vec::new(), 0);
    let mut number = |key: Text| {
        *numbers[key as usize].get_or_insert_with(|| {
            let text = values.value(key as usize);
            own.push(text);
            // The offsets of `values` have 32 bits, so the sum of some of its texts fits.
            bytes += text.len() as u32;
            own.len() as Text - 1
        })
    };
    let keys: Vec<Option<Text>> = keys.into_iter().map(|key| key.map(&mut number)).collect();
    // One block has all of the texts. The builder does not allow a block of 0 bytes.
    let mut texts = StringViewBuilder::with_capacity(own.len()).with_fixed_block_size(bytes.max(1));
    own.into_iter().for_each(|text| texts.append_value(text));
    // `take` copies only views of 16 bytes each, not the texts.
    Ok(arrow_select::take::take(&texts.finish(), &Int32Array::from(keys), None)?)
}
