//! How linkers name themselves, their stubs, and the symbols that mark bounds of sections.

/// Linkers' names for the end of the program's code.
pub(crate) const SECTION_ENDS: &[&[u8]] = &[b"etext", b"_etext", b"__etext"];

/// Where the code of Go's linker begins and ends, as functions without a size.
pub(crate) const GO_CODE_ENDS: &[&[u8]] = &[b"runtime.text", b"runtime.etext"];

/// Linkers' prefixes for the name of a section, for its start and its end.
const SECTION_BOUNDS: &[&[u8]] = &[b"__start_", b"__stop_"];

/// Sections of stubs that call functions of other modules: of ELF, and of Mach-O.
const STUBS: &[&[u8]] = &[b".plt", b".iplt"];
const MACHO_STUBS: &[&[u8]] = &[b"__stubs", b"__auth_stubs"];

/// Sections with the addresses of functions that the loader finds by name: of ELF, and of Mach-O.
const SLOTS: &[&str] = &[".got", ".got.plt", "__got", "__auth_got", "__la_symbol_ptr"];

/// Sections that only one tool writes: the linker gold, Go's linker or compiler, BOLT (which folds functions after the link).
pub(crate) const OF_GOLD: &[u8] = b".note.gnu.gold-version";
pub(crate) const OF_GO: &[u8] = b".note.go.buildid";
pub(crate) const OF_BOLT: &[u8] = b".note.bolt_info";

/// What the names of lld's thunks between distant code begin with and contain (`__AArch64ADRPThunk_far`).
const LLD_THUNK_PREFIX: &[u8] = b"__";
const LLD_THUNK: &[u8] = b"Thunk_";

/// Begins the name of the symbol of a Mach-O file's header, after the `_` of C names (`__mh_execute_header`).
const MACHO_HEADER: &[u8] = b"_mh_";

/// Other linkers have this text in their names (armlink, `IAR ELF Linker`), and some of them fold. GNU ld writes no name.
const OTHER: &[u8] = b"link";

/// True if a linker wrote this word to the section `.comment`; with `from`, if that version, a later one, or none that can be read
/// follows the word (`mold 1.10.1 (compatible with GNU ld)`).
pub(crate) fn names(comment: &[u8], word: &[u8], from: Option<(u32, u32)>) -> bool {
    let (text, word) = (comment.to_ascii_lowercase(), word.to_ascii_lowercase());
    let mut found = memchr::memmem::find_iter(&text, &word).map(|at| (&text[..at], &text[at + word.len()..]));
    // Whole words (`Linker: LLD 18.1.3`): the letters alone may be in the version of a compiler.
    let is_word = |before: &[u8], after: &[u8]| {
        !before.last().is_some_and(u8::is_ascii_alphanumeric)
            && !after.first().is_some_and(u8::is_ascii_alphanumeric)
    };
    let is_from = |after: &[u8]| match (from, version(after)) {
        (Some(from), Some(version)) => version >= from,
        _ => true,
    };
    found.any(|(before, after)| is_word(before, after) && is_from(after))
}

/// The first two numbers of a version that follows the name of a tool.
fn version(text: &[u8]) -> Option<(u32, u32)> {
    let text = text.strip_prefix(b" ")?;
    let end = text.iter().position(|byte| !byte.is_ascii_digit() && *byte != b'.').unwrap_or(text.len());
    let mut numbers = std::str::from_utf8(&text[..end]).ok()?.split('.').map(|number| number.parse().ok());
    Some((numbers.next()??, numbers.next()??))
}

/// True if the section `.comment` has a name of some linker.
pub(crate) fn names_linker(comment: &[u8]) -> bool {
    // In any part of a word: `armlink`, `Linker`.
    comment.windows(OTHER.len()).any(|word| word.eq_ignore_ascii_case(OTHER))
}

/// True for code that lld puts between a call and its distant target.
pub(crate) fn is_thunk_of_lld(name: &[u8]) -> bool {
    name.starts_with(LLD_THUNK_PREFIX) && name.windows(LLD_THUNK.len()).any(|part| part == LLD_THUNK)
}

/// True for the symbol of a Mach-O file's header, by its name without the `_` of C names.
pub(crate) fn is_macho_header(name: &[u8]) -> bool {
    name.starts_with(MACHO_HEADER)
}

/// True for a section of stubs in an ELF file.
pub(crate) fn has_elf_stubs(section: &[u8]) -> bool {
    // By the beginning, since `.plt.got` and `.plt.sec` hold stubs too.
    STUBS.iter().any(|stubs| section.starts_with(stubs))
}

/// True for a section of stubs in an ELF or Mach-O file.
pub(crate) fn has_stubs(section: &[u8]) -> bool {
    // An image names a section of Mach-O with its segment: `__TEXT,__stubs`.
    let contains = |stubs: &&[u8]| memchr::memmem::find(section, stubs).is_some();
    STUBS.iter().chain(MACHO_STUBS).any(contains)
}

/// True for a section with addresses of functions that the loader finds by name.
pub(crate) fn has_slots(section: &str) -> bool {
    // A Mach-O section has the name of its segment before its own (`__DATA_CONST,__got`).
    let own = section.rsplit_once(',').map_or(section, |(_, own)| own);
    SLOTS.contains(&own)
}

/// The section whose start or end a symbol of this name marks, if a linker made the symbol.
pub(crate) fn bounded_section(name: &[u8]) -> Option<&[u8]> {
    // GNU ld and lld define `__start_X` only for a section `X`. A program may have a function of such a name, so callers
    // check that there is the section.
    SECTION_BOUNDS.iter().find_map(|prefix| name.strip_prefix(*prefix))
}
