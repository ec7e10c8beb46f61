//! A program's model made from numbers, the answers that it must give, and two ways to read the encoded file: a slow reader that
//! was written from the text of the format alone, and `foldsym-lookup`.

pub mod looked_up;
pub mod made;
pub mod model_answers;
pub mod read_back;
