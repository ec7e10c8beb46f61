//! The structs and numbers of `foldsym.h`, as C lays them out.
//!
//! The header is written by hand, for C readers; `tests/header.rs` compiles a program that prints what a C
//! compiler makes of it and compares it with [`LAYOUTS`] and [`CONSTANTS`].
//!
//! Structs that can grow begin with their size. A caller's input that is longer than ours must be zero where
//! we know nothing; of an output that is longer the rest is zeroed. One that is shorter than the first version's is refused.

use core::ffi::c_char;
use core::mem::{align_of, offset_of, size_of};

/// A field as C sees it: name, offset, size.
pub type FieldLayout = (&'static str, usize, usize);
/// A struct as C sees it: name, size, alignment, fields.
pub type Layout = (&'static str, usize, usize, &'static [FieldLayout]);

macro_rules! constants {
    ($($(#[$doc:meta])* $name:ident: $type:ty = $value:expr;)*) => {
        $($(#[$doc])* pub const $name: $type = $value;)*
        /// Every constant of the header.
        // `i128` holds the values of every type used here, so that one table is enough.
        pub const CONSTANTS: &[(&str, i128)] = &[$((stringify!($name), $name as i128)),*];
    };
}

constants! {
    /// Grows with each change of the header.
    FOLDSYM_API: u32 = 3;
    /// No id: no name, no file, no group.
    FOLDSYM_NONE: u32 = u32::MAX;
    /// The length of a name or path that does not exist or is damaged.
    FOLDSYM_BAD: usize = usize::MAX;

    /// Done.
    FOLDSYM_OK: i32 = 0;
    /// The address is below all known code or above it.
    FOLDSYM_OUTSIDE_CODE: i32 = 1;
    /// The address is between known functions, or of another module.
    FOLDSYM_NO_FUNCTION: i32 = 2;
    /// There is no frame of this number, or no candidate.
    FOLDSYM_END: i32 = 3;
    /// The address is in none of the table's modules.
    FOLDSYM_NO_MODULE: i32 = 4;
    /// The address is in a module whose symbols are missing.
    FOLDSYM_NO_SYMBOLS: i32 = 5;
    /// A pointer is null that must not be, a number is not an allowed one, or a struct was not set up.
    FOLDSYM_E_ARGUMENT: i32 = -1;
    /// This library cannot read a struct of this size.
    FOLDSYM_E_SIZE: i32 = -2;
    /// A reserved field is not zero: the caller needs a newer library.
    FOLDSYM_E_RESERVED: i32 = -3;
    /// The file is damaged at a place that was read, or is not a `.fsym`.
    FOLDSYM_E_DAMAGED: i32 = -4;
    /// Tier 2: the file cannot be opened or mapped.
    FOLDSYM_E_IO: i32 = -5;
    /// Tier 2: there is no memory for the answer, or it would be larger than answers are.
    FOLDSYM_E_MEMORY: i32 = -6;
    /// The symbols are of another build than the module that runs, or nothing shows that they are of this one.
    FOLDSYM_E_OTHER_BUILD: i32 = -7;
    /// The table of modules has no free slot.
    FOLDSYM_E_FULL: i32 = -8;

    /// The address is executed, or was when a signal came.
    FOLDSYM_EXACT: u32 = 0;
    /// The address is a return address.
    FOLDSYM_RETURN: u32 = 1;
    /// A frame of another module.
    FOLDSYM_FOREIGN: u32 = 2;

    /// Nothing is known.
    FOLDSYM_UNKNOWN: u32 = 0;
    /// The code is one function's, which was checked. The surest come first.
    FOLDSYM_IS_UNIQUE: u32 = 1;
    /// The code is folded, and the compiler recorded which function this call calls.
    FOLDSYM_IS_EXACT: u32 = 2;
    /// Nothing shows a second function, and whether there is one could not be checked: there is a reason.
    FOLDSYM_IS_LIKELY: u32 = 3;
    /// The code is folded, and some of the functions are ruled out.
    FOLDSYM_IS_NARROWED: u32 = 4;
    /// The code is folded, and any of the functions may have run.
    FOLDSYM_IS_AMBIGUOUS: u32 = 5;

    /// No reason.
    FOLDSYM_FOR_NOTHING: u32 = 0;
    /// The local symbols are gone, and with them perhaps the name of a folded or merged function.
    FOLDSYM_FOR_STRIPPED: u32 = 1;
    /// Several plain names are there, perhaps of folded functions.
    FOLDSYM_FOR_PLAIN_NAMES: u32 = 2;
    /// The line table has lines for the code that no function has.
    FOLDSYM_FOR_UNCLAIMED_LINES: u32 = 3;
    /// The compiler merges functions and leaves no trace of them.
    FOLDSYM_FOR_MERGED_WITHOUT_TRACE: u32 = 4;
    /// The code that would show merged functions was missing, or was not read.
    FOLDSYM_FOR_NO_CODE: u32 = 5;
    /// Code without debug information has a part in it.
    FOLDSYM_FOR_UNDESCRIBED_OBJECT: u32 = 6;
    /// More is there than the converter compares.
    FOLDSYM_FOR_CAP_REACHED: u32 = 7;

    /// No evidence.
    FOLDSYM_BY_NOTHING: u32 = 0;
    /// The compiler recorded the callee of the call.
    FOLDSYM_BY_DIRECT_CALL: u32 = 1;
    /// The linker kept the relocation of the call.
    FOLDSYM_BY_RELOCATION: u32 = 2;
    /// The caller is folded itself, and each of its functions calls another.
    FOLDSYM_BY_MERGED_CALLER: u32 = 3;
    /// The call reaches the code by tail calls.
    FOLDSYM_BY_TAIL_CALL: u32 = 4;
    /// The call goes through this slot of a vtable.
    FOLDSYM_BY_VIRTUAL_SLOT: u32 = 5;
    /// The object's vtable pointer was given.
    FOLDSYM_BY_VTABLE: u32 = 6;
    /// The caller's calls through pointers are of functions of this type.
    FOLDSYM_BY_CALL_TYPE: u32 = 7;

    /// Answer: the address is in padding after the function.
    FOLDSYM_PADDING: u32 = 1;
    /// Answer: the function's `.dwo` was missing, and inlined frames are unknown.
    FOLDSYM_PARTIAL: u32 = 2;
    /// Frame: the function that holds the code; the others are inlined.
    FOLDSYM_OUTERMOST: u32 = 1;
    /// File: names are readable ones, without parameters, in place of linkage names (`convert --demangled`).
    FOLDSYM_READABLE_NAMES: u32 = 1;

    /// `foldsym_modules_add`: serve symbols even if the module or the file has no build id. Two that differ are never served.
    FOLDSYM_UNCHECKED_BUILD: u32 = 1;
    /// Tier 2: names as people read them, with parameters.
    FOLDSYM_DEMANGLE: u32 = 1;
    /// Tier 2: list all functions that may have run.
    FOLDSYM_CANDIDATES: u32 = 2;
    /// Tier 2: list the other names of functions.
    FOLDSYM_ALIASES: u32 = 4;

    /// Damage of a kind newer than this header, or none.
    FOLDSYM_DAMAGE_OTHER: u32 = 0;
    /// Damage: the bytes end early.
    FOLDSYM_DAMAGE_TRUNCATED: u32 = 1;
    /// Damage: No `.fsym`.
    FOLDSYM_DAMAGE_MAGIC: u32 = 2;
    /// Damage: another version of the format; the offset is that version.
    FOLDSYM_DAMAGE_VERSION: u32 = 3;
    /// Damage: a feature that this reader does not know.
    FOLDSYM_DAMAGE_FEATURES: u32 = 4;
    /// Damage: a reserved bit that is not 0.
    FOLDSYM_DAMAGE_RESERVED: u32 = 5;
    /// Damage: a length, count or offset that does not fit.
    FOLDSYM_DAMAGE_LENGTH: u32 = 6;
    /// Damage: a checksum that does not match.
    FOLDSYM_DAMAGE_CHECKSUM: u32 = 7;
    /// Damage: records out of order.
    FOLDSYM_DAMAGE_ORDER: u32 = 8;
    /// Damage: a section that must be present is not.
    FOLDSYM_DAMAGE_MISSING: u32 = 9;
    /// Damage: a table with a wrong number of columns.
    FOLDSYM_DAMAGE_COLUMNS: u32 = 10;
    /// Damage: a field wider than allowed.
    FOLDSYM_DAMAGE_WIDTH: u32 = 11;
    /// Damage: an index past the last record.
    FOLDSYM_DAMAGE_NO_RECORD: u32 = 12;
    /// Damage: a value out of range.
    FOLDSYM_DAMAGE_VALUE: u32 = 13;
    /// Damage: an inline tree that is not one.
    FOLDSYM_DAMAGE_DEPTH: u32 = 14;
    /// Damage: a name that cannot be decoded.
    FOLDSYM_DAMAGE_NAME: u32 = 15;
}

macro_rules! structs {
    ($($(#[$doc:meta])* $name:ident $c:literal { $($(#[$field_doc:meta])* $field:ident: $type:ty,)* })*) => {
        $(
            $(#[$doc])*
            #[repr(C)]
            #[derive(Clone, Copy, Debug)]
            pub struct $name { $($(#[$field_doc])* pub $field: $type,)* }
        )*
        /// Every struct of the header.
        pub const LAYOUTS: &[Layout] = &[$((
            $c,
            size_of::<$name>(),
            align_of::<$name>(),
            &[$((stringify!($field), offset_of!($name, $field), {
                // This takes the size from the field's type: `size_of_val` would need a value.
                const fn size<T>(_: fn(&$name) -> &T) -> usize { size_of::<T>() }
                size(|s| &s.$field)
            })),*],
        )),*];
    };
}

structs! {
    /// Where a file is damaged.
    Damage "foldsym_damage" {
        /// Id of the section, 0: header and directory.
        section: u32,
        /// `FOLDSYM_DAMAGE_...`.
        what: u32,
        /// Byte offset in the section, or number of the record.
        offset: u64,
    }
    /// An opened file, in the caller's memory. May be copied; the bytes must stay.
    File "foldsym_file" {
        /// Set once it is open.
        tag: u64,
        /// The reader's.
        // The reader's values are aligned as a `u64` (`hold!` in `boundary`).
        opaque: [u64; 191],
    }
    /// Scratch of a lookup, the caller's: the frames that it found.
    Frames "foldsym_frames" {
        /// Set once it was used.
        tag: u64,
        /// The reader's.
        opaque: [u64; 383],
    }
    /// Data of a file.
    Info "foldsym_info" {
        /// Set by the caller: `sizeof`.
        size: usize,
        /// The program's build id, in the file's bytes; null if there is none.
        build_id: *const u8,
        /// Its bytes.
        build_id_len: usize,
        /// The link-time address that the program's addresses begin at.
        image_base: u64,
        /// `e_machine` of ELF.
        machine: u32,
        /// Bytes of an address.
        address_size: u32,
        /// The deepest inline tree.
        max_depth: u32,
        /// The largest group of folded functions.
        max_group: u32,
        /// `FOLDSYM_READABLE_NAMES`.
        flags: u32,
        /// 0.
        reserved: u32,
    }
    /// Which functions one frame of a stack may be.
    Resolved "foldsym_resolved" {
        /// `FOLDSYM_IS_...`.
        certainty: u32,
        /// `FOLDSYM_BY_...`.
        evidence: u32,
        /// How many functions it may be; 0 if the code is not folded.
        candidate_count: u32,
        /// The group of folded functions, or `FOLDSYM_NONE`.
        group: u32,
        /// `FOLDSYM_FOR_...`: why it is `FOLDSYM_IS_LIKELY`.
        reason: u32,
        /// 0.
        reserved: u32,
        /// Set once it is resolved.
        tag: u64,
        /// The reader's.
        opaque: [u64; 12],
    }
    /// One frame of a stack.
    StackEntry "foldsym_stack_entry" {
        /// The address, with the load bias.
        address: u64,
        /// `FOLDSYM_EXACT`, `FOLDSYM_RETURN` or `FOLDSYM_FOREIGN`.
        kind: u32,
        /// 0.
        reserved: u32,
    }
    /// A stack to be resolved.
    Stack "foldsym_stack" {
        /// Set by the caller: `sizeof`.
        size: usize,
        /// The frames, innermost first.
        entries: *const StackEntry,
        /// As many as entries; written.
        resolved: *mut Resolved,
        /// Frames.
        count: usize,
        /// `sizeof(foldsym_resolved)`.
        resolved_size: usize,
        /// The bias that the loader added to link-time addresses.
        load_bias: u64,
        /// The vtable pointer of the object that the innermost function runs on; 0 if unknown.
        vptr: u64,
        /// 0.
        reserved: [u64; 3],
    }
    /// A lookup.
    Query "foldsym_query" {
        /// Set by the caller: `sizeof`.
        size: usize,
        /// The result of `foldsym_resolve_stack` for this frame; null: nothing is known, and each member of a group is a candidate.
        resolved: *const Resolved,
        /// The address, with the load bias.
        address: u64,
        /// The bias that the loader added to link-time addresses.
        load_bias: u64,
        /// `FOLDSYM_EXACT`, `FOLDSYM_RETURN` or `FOLDSYM_FOREIGN`.
        kind: u32,
        /// Which of the candidates, from 0; the likeliest first.
        candidate: u32,
        /// 0.
        reserved: [u64; 4],
    }
    /// The answer for an address.
    Answer "foldsym_answer" {
        /// Set by the caller: `sizeof`.
        size: usize,
        /// `FOLDSYM_IS_...`.
        certainty: u32,
        /// `FOLDSYM_BY_...`.
        evidence: u32,
        /// How many functions it may be; 1 if the code is not folded.
        candidate_count: u32,
        /// The group of folded functions, or `FOLDSYM_NONE`.
        group: u32,
        /// Frames of this candidate, for `foldsym_frame_at`.
        frame_count: u32,
        /// `FOLDSYM_PADDING`, `FOLDSYM_PARTIAL`.
        flags: u32,
        /// Where the function starts, with the load bias.
        function_start: u64,
        /// `FOLDSYM_FOR_...`: why it is `FOLDSYM_IS_LIKELY`.
        reason: u32,
        /// 0.
        reserved: u32,
    }
    /// One function at an address.
    Frame "foldsym_frame" {
        /// Set by the caller: `sizeof`.
        size: usize,
        /// Its linkage name, for `foldsym_write_name`; `FOLDSYM_NONE` if it has none.
        name: u32,
        /// The file of the line, for `foldsym_write_path`; `FOLDSYM_NONE`: unknown.
        file: u32,
        /// The line, from 1; 0: unknown.
        line: u32,
        /// The column, from 1; 0: unknown.
        column: u32,
        /// The file where the function is declared.
        start_file: u32,
        /// The line of its declaration, 0: unknown.
        start_line: u32,
        /// `FOLDSYM_OUTERMOST`.
        flags: u32,
    }
    /// A program or library of a process.
    Module "foldsym_module" {
        /// Its lowest address in memory.
        start: u64,
        /// The address after its last byte.
        end: u64,
        /// The bias that the loader added to link-time addresses.
        load_bias: u64,
        /// Its symbols, of this build; null where `status` is not `FOLDSYM_OK`.
        file: *const File,
        /// Its name, for messages; may be null.
        name: *const c_char,
        /// `FOLDSYM_OK`, `FOLDSYM_NO_SYMBOLS`, `FOLDSYM_E_OTHER_BUILD` or `FOLDSYM_E_DAMAGED`.
        status: i32,
        /// 0.
        reserved: u32,
    }
    /// The programs and libraries of a process.
    Modules "foldsym_modules" {
        /// Set by the caller: `sizeof`.
        size: usize,
        /// Room for modules.
        modules: *mut Module,
        /// How many there is room for.
        capacity: usize,
        /// How many there are; of several at an address the last counts.
        count: usize,
        /// `sizeof(foldsym_module)`.
        module_size: usize,
        /// 0.
        reserved: [u64; 3],
    }
    /// Tier 2: many addresses.
    Addresses "foldsym_addresses" {
        /// Set by the caller: `sizeof`.
        size: usize,
        /// The addresses, with the load bias.
        addresses: *const u64,
        /// How many.
        count: usize,
        /// The bias that the loader added to link-time addresses.
        load_bias: u64,
        /// The kind of all of them: `FOLDSYM_EXACT` or `FOLDSYM_RETURN`.
        kind: u32,
        /// `FOLDSYM_DEMANGLE`, `FOLDSYM_CANDIDATES`.
        flags: u32,
        /// 0.
        reserved: [u64; 4],
    }
    /// Tier 2: a stack.
    StackRequest "foldsym_stack_request" {
        /// Set by the caller: `sizeof`.
        size: usize,
        /// The frames, innermost first.
        entries: *const StackEntry,
        /// How many.
        count: usize,
        /// As in `foldsym_stack`.
        vptr: u64,
        /// `FOLDSYM_DEMANGLE`, `FOLDSYM_CANDIDATES`.
        flags: u32,
        /// 0.
        reserved0: u32,
        /// 0.
        reserved: [u64; 4],
    }
    /// Tier 2: one function at an address, with its texts.
    TextFrame "foldsym_text_frame" {
        /// Its name: readable if that was requested, else the linkage name; "" if it has none.
        name: *const c_char,
        /// Its linkage name, "" if it has none.
        linkage_name: *const c_char,
        /// The path of the line, "" if it is unknown.
        file: *const c_char,
        /// The path of its declaration, "" if it is unknown.
        start_file: *const c_char,
        /// The line, from 1; 0: unknown.
        line: u32,
        /// The column, from 1; 0: unknown.
        column: u32,
        /// The line of its declaration; 0: unknown.
        start_line: u32,
        /// `FOLDSYM_OUTERMOST`.
        flags: u32,
    }
    /// Tier 2: a function that may have run.
    Candidate "foldsym_candidate" {
        /// Innermost first.
        frames: *const TextFrame,
        /// How many.
        frame_count: usize,
        /// How it was recovered: a word of the file format.
        how: *const c_char,
        /// Other names of the function.
        aliases: *const *const c_char,
        /// How many.
        alias_count: usize,
        /// 0.
        reserved: u64,
    }
    /// Tier 2: the symbol at one address.
    Symbol "foldsym_symbol" {
        /// The address as given.
        address: u64,
        /// The start of the function, with the load bias; 0 in padding, and if nothing was found.
        function_start: u64,
        /// The first candidate's, innermost first.
        frames: *const TextFrame,
        /// How many; 0 if nothing was found.
        frame_count: usize,
        /// The functions that may have run, the likeliest first.
        candidates: *const Candidate,
        /// How many are listed: 0 unless they were requested and the code is folded.
        listed_count: usize,
        /// The name of its module as it was given; null without one.
        module: *const c_char,
        /// Which module of the table; `FOLDSYM_NONE` without one.
        module_index: u32,
        /// As `foldsym_lookup` returns it, or that of its module, or `FOLDSYM_NO_MODULE`.
        status: i32,
        /// `FOLDSYM_IS_...`.
        certainty: u32,
        /// `FOLDSYM_BY_...`.
        evidence: u32,
        /// `FOLDSYM_FOR_...`: why it is `FOLDSYM_IS_LIKELY`.
        reason: u32,
        /// How many functions it may be; 1 if the code is not folded.
        candidate_count: u32,
        /// `FOLDSYM_PADDING`, `FOLDSYM_PARTIAL`.
        flags: u32,
        /// 0.
        reserved0: u32,
        /// Other names of the first candidate.
        aliases: *const *const c_char,
        /// How many.
        alias_count: usize,
        /// 0.
        reserved: u64,
    }
    /// Tier 2: the symbols at many addresses, in their order.
    Symbols "foldsym_symbols" {
        /// One for each address.
        symbols: *const Symbol,
        /// How many.
        count: usize,
    }
}

/// A struct that begins with its size and is read from the caller.
///
/// Every bit pattern, all zeros included, must be a valid value: numbers, arrays of them and raw pointers.
pub(crate) trait Input: Copy + Sized {
    /// Bytes of its first version: no caller has less.
    const FIRST: usize;
    /// Whether all reserved fields are zero.
    fn is_clear(&self) -> bool;
}

impl Input for Stack {
    // The first version has the reserved fields: a later version can use them without changing the size.
    const FIRST: usize = offset_of!(Stack, reserved) + size_of::<[u64; 3]>();

    fn is_clear(&self) -> bool {
        self.reserved == [0; 3]
    }
}

impl Input for Query {
    const FIRST: usize = offset_of!(Query, reserved) + size_of::<[u64; 4]>();

    fn is_clear(&self) -> bool {
        self.reserved == [0; 4]
    }
}

impl Input for Addresses {
    const FIRST: usize = offset_of!(Addresses, reserved) + size_of::<[u64; 4]>();

    fn is_clear(&self) -> bool {
        self.reserved == [0; 4]
    }
}

impl Input for Modules {
    const FIRST: usize = offset_of!(Modules, reserved) + size_of::<[u64; 3]>();

    fn is_clear(&self) -> bool {
        self.reserved == [0; 3]
    }
}

impl Input for StackRequest {
    const FIRST: usize = offset_of!(StackRequest, reserved) + size_of::<[u64; 4]>();

    fn is_clear(&self) -> bool {
        self.reserved == [0; 4] && self.reserved0 == 0
    }
}

/// A struct that begins with its size and is written to the caller.
///
/// Every bit pattern must be a valid value.
pub(crate) trait Output: Copy + Sized {
    /// Bytes of its first version: no caller has less.
    const FIRST: usize;
}

impl Output for Info {
    const FIRST: usize = offset_of!(Info, reserved) + size_of::<u32>();
}

impl Output for Answer {
    // Callers of the first version have no `reason`.
    const FIRST: usize = offset_of!(Answer, function_start) + size_of::<u64>();
}

impl Output for Frame {
    const FIRST: usize = offset_of!(Frame, flags) + size_of::<u32>();
}
