//! How compilers name themselves (`DW_AT_producer`), and what they say of merging functions.

/// Beginnings of gcc's `DW_AT_producer`, and of the producer of the compiler that `-flto` runs at the link.
const GNU: &[u8] = b"GNU ";
const GNU_LINK: &[u8] = b"GNU GIMPLE ";

/// Go's own compiler.
const GO: &[u8] = b"Go cmd/compile";

/// Options that make clang merge functions, in a recorded command line (`-grecord-command-line`): an option of clang,
/// and one of LLVM (`-mllvm`), which may have a value.
const MERGES: &[u8] = b"-fmerge-functions";
const LLVM_MERGES: &[u8] = b"-enable-merge-functions";

/// What both options contain. Few command lines do, and only those are read word by word.
const MERGES_PART: &[u8] = b"merge-functions";

/// The prefix of an LLVM option in one word with it, the beginning of a word of linker options, and the values that
/// mean "no".
const LLVM_OPTION: &[&[u8]] = &[b"-mllvm=", b"-plugin-opt="];
const LINKER_OPTIONS: &[u8] = b"-Wl,";
const NO: &[&[u8]] = &[b"=false", b"=FALSE", b"=False", b"=0"];

/// How a compiler merges functions, by its `DW_AT_producer` with the command line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Producer {
    /// It merges functions, and recorded calls keep the callee that the source names (gcc's ipa-icf).
    pub(crate) keeps_callees: bool,
    /// It is gcc at the link: the unit is made of all units that were compiled with `-flto`.
    pub(crate) of_link: bool,
    /// It merges no functions (Go).
    pub(crate) merges_nothing: bool,
    /// It was told to merge functions, and rewrites the calls of merged ones.
    pub(crate) merges: bool,
}

impl Producer {
    pub(crate) fn of(name: &[u8]) -> Producer {
        Producer {
            keeps_callees: name.starts_with(GNU),
            of_link: name.starts_with(GNU_LINK),
            merges_nothing: name.starts_with(GO),
            merges: asks_to_merge(name),
        }
    }
}

/// True if a recorded command line has an option that makes the compiler merge functions. A backslash escapes spaces
/// and backslashes within a word; linker options (the linker compiles at `-flto`) are one word with commas.
fn asks_to_merge(producer: &[u8]) -> bool {
    if memchr::memmem::find(producer, MERGES_PART).is_none() {
        return false;
    }
    let mut continued = false;
    producer.split(|byte| *byte == b' ').any(|word| {
        let backslashes = word.iter().rev().take_while(|byte| **byte == b'\\').count();
        // The parts of a word with spaces are no options: `-DTEXT=a\ -fmerge-functions` defines a macro.
        let is_whole = !std::mem::replace(&mut continued, backslashes % 2 == 1) && !continued;
        let mut options = word.strip_prefix(LINKER_OPTIONS).unwrap_or(word).split(|byte| *byte == b',');
        is_whole && options.any(option_asks_to_merge)
    })
}

fn option_asks_to_merge(option: &[u8]) -> bool {
    // LLVM's options may begin with two dashes.
    let has_two_dashes = |option: &[u8]| option.strip_prefix(b"-").is_some_and(|rest| rest.starts_with(b"-"));
    let of_llvm = if has_two_dashes(option) { &option[1..] } else { option };
    // Both options may have two dashes: `--plugin-opt=--enable-merge-functions`.
    let of_llvm = LLVM_OPTION.iter().find_map(|prefix| of_llvm.strip_prefix(*prefix)).unwrap_or(of_llvm);
    let of_llvm = if has_two_dashes(of_llvm) { &of_llvm[1..] } else { of_llvm };
    option == MERGES
        || of_llvm
            .strip_prefix(LLVM_MERGES)
            // Without a value a Boolean option of LLVM is on.
            .is_some_and(|value| value.is_empty() || (value.starts_with(b"=") && !NO.contains(&value)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_lines_with_an_option_are_read() {
        for option in [MERGES, LLVM_MERGES] {
            assert!(memchr::memmem::find(option, MERGES_PART).is_some(), "{}", option.escape_ascii());
        }
    }
}
