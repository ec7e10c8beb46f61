//! Encodes programs, reads the files back and compares every answer with the model's: as a slow reader
//! gives it that was written from `schema/` alone, and as `foldsym-lookup` does.

mod by_hand;

use foldsym_convert::internal::encode::*;
use foldsym_convert::internal::model::{EncodeStats, Keys, LeftOut, Program};
use foldsym_lookup::SymbolFile;
use foldsym_testkit::models::looked_up::look_up;
use foldsym_testkit::models::made::{self, Choices, image};
use foldsym_testkit::models::model_answers::{ModelAnswer, answers, keys};
use foldsym_testkit::models::read_back::ReadBack;
use proptest::prelude::*;

fn encode(
    program: &Program<'_>,
    keys: &Keys,
    image: &ImageInfo,
    options: &EncodeOptions,
) -> Result<Encoded, EncodeError> {
    body(program, image, options, &|| ())?.finish(program, keys, None)
}

fn encode_in_pool(program: &Program<'_>, keys: &Keys, options: &EncodeOptions, threads: usize) -> Encoded {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    pool.install(|| encode(program, keys, &image(), options)).unwrap()
}

fn check_answers((program, known): &(Program<'_>, Keys), columns: bool) {
    let options = EncodeOptions { columns, ..EncodeOptions::default() };
    let bytes = encode(program, known, &image(), &options).unwrap().to_bytes();
    let file = ReadBack::open(&bytes);
    let symbols = SymbolFile::open(&bytes).unwrap();
    symbols.verify().unwrap();
    assert_eq!(file.keys(), keys(program, known));
    for (address, expected) in answers(program, columns) {
        assert_eq!(file.answer(address), expected, "at {address:#x}");
        assert_eq!(look_up(&symbols, address), expected, "at {address:#x}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn files_answer_as_the_model_says(choices in prop::collection::vec(any::<u32>(), 0..3000), columns: bool) {
        check_answers(&made::program(&mut Choices::new(&choices)), columns);
    }

    #[test]
    fn the_number_of_threads_changes_nothing(choices in prop::collection::vec(any::<u32>(), 0..3000)) {
        let (program, keys) = made::program(&mut Choices::new(&choices));
        let options = EncodeOptions { columns: true, name_index: true, ..EncodeOptions::default() };
        let one = encode_in_pool(&program, &keys, &options, 1).to_bytes();
        let four = encode_in_pool(&program, &keys, &options, 4).to_bytes();
        prop_assert!(one == four);
    }
}

#[test]
fn an_empty_program_gives_a_file_without_answers() {
    let encoded = encode(&Program::default(), &Keys::default(), &image(), &EncodeOptions::default()).unwrap();
    let bytes = encoded.to_bytes();
    assert_eq!(bytes.len() as u64, encoded.file_len());
    assert_eq!(ReadBack::open(&bytes).answer(0x1000), ModelAnswer::Nothing);
}

/// 20,000 names that are the ends of one, 1.3 GB together: their table would not fit the offsets in it.
#[test]
fn more_names_than_a_table_holds_are_an_error() {
    let text = vec![b'n'; 65_535 + 20_000];
    let name = |at: usize| std::borrow::Cow::Borrowed(&text[at..at + 65_535]);
    let program = Program { names: (0..20_000).map(name).collect(), ..Program::default() };
    let error = encode(&program, &Keys::default(), &image(), &EncodeOptions::default()).unwrap_err();
    assert!(matches!(error, EncodeError::TooLong { what: "names", bytes: 1_310_700_000 }), "{error}");
}

/// The generated programs reach what is special, else the tests above say little.
#[test]
fn generated_programs_reach_the_special_cases() {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;
    let mut runner = TestRunner::deterministic();
    let strategy = prop::collection::vec(any::<u32>(), 0..3000);
    let mut sum = EncodeStats::default();
    let mut deep = 0;
    let mut units = [0; 3];
    for _ in 0..200 {
        let choices = strategy.new_tree(&mut runner).unwrap().current();
        let (program, keys) = made::program(&mut Choices::new(&choices));
        let encoded = encode(&program, &keys, &image(), &EncodeOptions::default()).unwrap();
        let stats = encoded.stats;
        sum.groups += stats.groups;
        sum.row_blocks_shared += stats.row_blocks_shared;
        sum.row_records_shared += stats.row_records_shared;
        sum.scope_records_shared += stats.scope_records_shared;
        sum.scopes += stats.scopes;
        sum.scopes_read += stats.scopes_read;
        deep += stats.left_out.scopes_too_deep;
        let bytes = encoded.to_bytes();
        units[usize::from(SymbolFile::open(&bytes).unwrap().header().unit_log2)] += 1;
        assert_eq!(LeftOut { scopes_too_deep: 0, ..stats.left_out }, LeftOut::default());
    }
    assert!(sum.groups > 0 && sum.row_blocks_shared > 0 && sum.row_records_shared > 0);
    assert!(sum.scope_records_shared > 0 && sum.scopes < sum.scopes_read && deep > 0);
    assert!(!units.contains(&0));
}
