//! Makes a program's model from numbers, encodes it, and reads it back in two ways that share no code: each answer
//! must be the model's. The generator, the model's answers and the slow reader are those of the encoder's tests.

use foldsym_convert::internal::encode::{EncodeOptions, body};
use foldsym_lookup::SymbolFile;
use foldsym_testkit::models::{looked_up, made, model_answers, read_back};

/// Encodes the program that `input` chooses, and compares every answer.
///
/// # Panics
/// Where one differs.
pub fn check(input: &[u8]) {
    let Some((&flags, rest)) = input.split_first() else { return };
    let numbers: Vec<u32> =
        rest.as_chunks::<2>().0.iter().map(|pair| spread(u16::from_le_bytes(*pair))).collect();
    let (program, keys) = made::program(&mut made::Choices::new(&numbers));
    let options =
        EncodeOptions { columns: flags & 1 != 0, name_index: flags & 2 != 0, ..EncodeOptions::default() };
    let body = body(&program, &made::image(), &options, &|| ()).expect("a small program");
    let bytes = body.finish(&program, &keys, None).expect("without a record").to_bytes();
    let seen = crate::fsym::check(&bytes).expect("a file that was written opens");
    assert!(seen.sound && seen.whole);
    crate::c_interface::check(&bytes);
    let (slow, file) = (read_back::ReadBack::open(&bytes), SymbolFile::open(&bytes).expect("it opened"));
    assert_eq!(slow.keys(), model_answers::keys(&program, &keys));
    for (address, expected) in model_answers::answers(&program, options.columns) {
        assert_eq!(slow.answer(address), expected, "slow reader at {address:#x}");
        assert_eq!(looked_up::look_up(&file, address), expected, "reader at {address:#x}");
    }
}

/// Small numbers stay what they are; large ones reach the top of the range.
fn spread(number: u16) -> u32 {
    if number < 0xff00 { number.into() } else { u32::from(number & 0xff) << 24 | 0x55_5555 }
}
