/*
 * foldsym.h: reads a .fsym, the symbol file that knows every folded function.
 *
 * Tier 1 is async-signal-safe: no allocation, no lock, no syscall, at most 4 KiB of stack; it reads the file's
 * bytes and writes memory of the caller's. It calls memcpy, memset and their like: where calls are bound when they are
 * first made, the loader takes some 3 KiB of stack more, once. So open the file before the handler is installed, which
 * makes all of these calls, or link with `-z now`. Tier 2 (the end of this file) maps files and allocates: never call it
 * in a signal handler.
 * Any bytes may be opened: a damaged file gives FOLDSYM_E_DAMAGED or no answer.
 *
 * A struct that begins with `size` may grow. Set `size` to its sizeof, of an input after setting all of it to zero:
 * what is not named here stays zero. Of an output nothing but `size` is read.
 * An opened file may be used by any number of threads at once; scratch and outputs are each thread's own.
 * Addresses are those of the running program; `load_bias` is what the loader added to the link-time addresses
 * (`dlpi_addr` of dl_iterate_phdr; 0 for a program that is not position-independent).
 * Functions return FOLDSYM_OK, a positive number where there is no answer, a negative one for an error.
 * Lengths are bytes. Texts end with a zero, and are bytes as the program has them: nothing says that they are UTF-8.
 *
 * Beside this file: foldsym_modules.h (several modules in one process, in handlers too), foldsym_process.h (finds the
 * modules of the process and their symbols at its start), foldsym.hpp (C++17).
 */
#ifndef FOLDSYM_H
#define FOLDSYM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Grows with each change of this header. */
#define FOLDSYM_API 3u
/* No id: no name, no file, no group. */
#define FOLDSYM_NONE UINT32_MAX
/* The length of a name or path that does not exist or is damaged. */
#define FOLDSYM_BAD SIZE_MAX

/* What functions return. */
#define FOLDSYM_OK 0
#define FOLDSYM_OUTSIDE_CODE 1 /* the address is below all known code or above it */
#define FOLDSYM_NO_FUNCTION 2  /* the address is between known functions, or of another module */
#define FOLDSYM_END 3          /* there is no frame of this number, or no candidate */
#define FOLDSYM_NO_MODULE 4    /* the address is in none of the table's modules */
#define FOLDSYM_NO_SYMBOLS 5   /* the address is in a module whose symbols are missing */
#define FOLDSYM_E_ARGUMENT (-1) /* null, a number that is not allowed, or a struct that was not set up */
#define FOLDSYM_E_SIZE (-2)     /* the size of a struct is none that this library can read */
#define FOLDSYM_E_RESERVED (-3) /* a reserved field is not zero: the caller asks for something newer */
#define FOLDSYM_E_DAMAGED (-4)  /* the file is damaged where it was read, or is no .fsym */
#define FOLDSYM_E_IO (-5)       /* tier 2: the file cannot be opened or mapped */
#define FOLDSYM_E_MEMORY (-6)   /* tier 2: there is no memory for the answer, or it would be larger than answers are */
/* the symbols are of another build than the module that runs, or nothing shows that they are of this one */
#define FOLDSYM_E_OTHER_BUILD (-7)
#define FOLDSYM_E_FULL (-8) /* the table of modules has no free place */

/* What an address is. */
#define FOLDSYM_EXACT 0u   /* executed, or was when a signal came */
#define FOLDSYM_RETURN 1u  /* where a call returns to: looked up one byte before */
#define FOLDSYM_FOREIGN 2u /* a frame of another module */

/* How sure it is which function ran; the surest first. */
#define FOLDSYM_UNKNOWN 0u      /* nothing is known */
#define FOLDSYM_IS_UNIQUE 1u    /* the code is one function's, which was checked */
#define FOLDSYM_IS_EXACT 2u     /* folded, and the compiler recorded which function this call calls */
#define FOLDSYM_IS_LIKELY 3u    /* no second function has left a trace, which is no proof; or folded, and one of several is likely */
#define FOLDSYM_IS_NARROWED 4u  /* folded, and some of the functions are ruled out */
#define FOLDSYM_IS_AMBIGUOUS 5u /* folded, and any of the functions may have run */

/* Why an answer is FOLDSYM_IS_LIKELY. */
#define FOLDSYM_FOR_NOTHING 0u
#define FOLDSYM_FOR_STRIPPED 1u             /* local symbols are gone, perhaps those of folded functions */
#define FOLDSYM_FOR_PLAIN_NAMES 2u          /* several plain names are there, perhaps of folded functions */
#define FOLDSYM_FOR_UNCLAIMED_LINES 3u      /* the line table has lines for the code that no function has */
#define FOLDSYM_FOR_MERGED_WITHOUT_TRACE 4u /* the compiler merges functions and leaves no trace of them */
#define FOLDSYM_FOR_NO_CODE 5u              /* the code that would show merged functions was missing or not read */
#define FOLDSYM_FOR_UNDESCRIBED_OBJECT 6u   /* code without debug information has a part in it */
#define FOLDSYM_FOR_CAP_REACHED 7u          /* more is there than the converter compares */

/* What that rests on. */
#define FOLDSYM_BY_NOTHING 0u
#define FOLDSYM_BY_DIRECT_CALL 1u   /* the compiler recorded the callee of the call */
#define FOLDSYM_BY_RELOCATION 2u    /* the linker kept the relocation of the call */
#define FOLDSYM_BY_MERGED_CALLER 3u /* the caller is folded itself, and each of its functions calls another */
#define FOLDSYM_BY_TAIL_CALL 4u     /* the call reaches the code by tail calls */
#define FOLDSYM_BY_VIRTUAL_SLOT 5u  /* the call goes through this slot of a vtable */
#define FOLDSYM_BY_VTABLE 6u        /* the object's vtable pointer was given */
#define FOLDSYM_BY_CALL_TYPE 7u     /* the caller's calls through pointers are of functions of this type */

/* Flags of an answer. */
#define FOLDSYM_PADDING 1u /* the address is in padding after the function */
#define FOLDSYM_PARTIAL 2u /* the function's .dwo was missing: inlined frames are unknown */
/* Flag of a frame: the function that holds the code; the others are inlined. */
#define FOLDSYM_OUTERMOST 1u
/* Flag of a file: names are readable ones, without parameters, not linkage names (`convert --demangled`). */
#define FOLDSYM_READABLE_NAMES 1u

/* Flag of foldsym_modules_add: serve symbols also where module or file has no build id. Two that differ are never served. */
#define FOLDSYM_UNCHECKED_BUILD 1u
/* Flags of tier 2's requests. */
#define FOLDSYM_DEMANGLE 1u   /* names as people read them, with parameters */
#define FOLDSYM_CANDIDATES 2u /* list all functions that may have run */
#define FOLDSYM_ALIASES 4u    /* list the other names of functions */

/* What is damaged. */
#define FOLDSYM_DAMAGE_OTHER 0u
#define FOLDSYM_DAMAGE_TRUNCATED 1u
#define FOLDSYM_DAMAGE_MAGIC 2u
#define FOLDSYM_DAMAGE_VERSION 3u /* the offset is the version that the file has */
#define FOLDSYM_DAMAGE_FEATURES 4u
#define FOLDSYM_DAMAGE_RESERVED 5u
#define FOLDSYM_DAMAGE_LENGTH 6u
#define FOLDSYM_DAMAGE_CHECKSUM 7u
#define FOLDSYM_DAMAGE_ORDER 8u
#define FOLDSYM_DAMAGE_MISSING 9u
#define FOLDSYM_DAMAGE_COLUMNS 10u
#define FOLDSYM_DAMAGE_WIDTH 11u
#define FOLDSYM_DAMAGE_NO_RECORD 12u
#define FOLDSYM_DAMAGE_VALUE 13u
#define FOLDSYM_DAMAGE_DEPTH 14u
#define FOLDSYM_DAMAGE_NAME 15u

/* Where a file is damaged. */
typedef struct foldsym_damage {
    uint32_t section; /* id of the section, 0: header and directory */
    uint32_t what;    /* FOLDSYM_DAMAGE_... */
    uint64_t offset;  /* byte offset in the section, or number of the record */
} foldsym_damage;

/* An opened file. May be copied; its bytes must stay where they are. Zero it before it is opened. */
typedef struct foldsym_file {
    uint64_t tag;
    uint64_t opaque[191];
} foldsym_file;

/* Scratch of a lookup: the frames that it found. Zero it before its first use. */
typedef struct foldsym_frames {
    uint64_t tag;
    uint64_t opaque[383];
} foldsym_frames;

/* Output: what is known of a file. */
typedef struct foldsym_info {
    size_t size;
    const uint8_t *build_id; /* in the file's bytes; NULL: none */
    size_t build_id_len;
    uint64_t image_base; /* the link-time address that the program's addresses begin at */
    uint32_t machine;    /* e_machine of ELF */
    uint32_t address_size;
    uint32_t max_depth; /* the deepest inline tree */
    uint32_t max_group; /* the largest group of folded functions */
    uint32_t flags;     /* FOLDSYM_READABLE_NAMES */
    uint32_t reserved;  /* 0 */
} foldsym_info;

/* Output: which functions one frame of a stack may be. May be copied. */
typedef struct foldsym_resolved {
    uint32_t certainty;       /* FOLDSYM_IS_... */
    uint32_t evidence;        /* FOLDSYM_BY_... */
    uint32_t candidate_count; /* 0 where the code is not folded */
    uint32_t group;           /* or FOLDSYM_NONE */
    uint32_t reason;          /* FOLDSYM_FOR_...: why it is FOLDSYM_IS_LIKELY */
    uint32_t reserved;        /* 0 */
    uint64_t tag;
    uint64_t opaque[12];
} foldsym_resolved;

/* One frame of a stack. */
typedef struct foldsym_stack_entry {
    uint64_t address;  /* with the load bias */
    uint32_t kind;     /* FOLDSYM_EXACT, FOLDSYM_RETURN, FOLDSYM_FOREIGN */
    uint32_t reserved; /* 0 */
} foldsym_stack_entry;

/* Input: a stack to be resolved. */
typedef struct foldsym_stack {
    size_t size;
    const foldsym_stack_entry *entries; /* innermost first */
    foldsym_resolved *resolved;         /* as many as entries; written */
    size_t count;
    size_t resolved_size; /* sizeof(foldsym_resolved) */
    uint64_t load_bias;
    uint64_t vptr; /* what the first word of the object of the innermost function is, as in memory; 0: not known */
    uint64_t reserved[3];
} foldsym_stack;

/* Input: what is looked up. */
typedef struct foldsym_query {
    size_t size;
    const foldsym_resolved *resolved; /* of this frame; NULL or FOLDSYM_UNKNOWN: all of a group are candidates */
    uint64_t address;                 /* with the load bias */
    uint64_t load_bias;
    uint32_t kind;      /* FOLDSYM_EXACT, FOLDSYM_RETURN, FOLDSYM_FOREIGN */
    uint32_t candidate; /* which of the candidates, from 0; the likeliest first */
    uint64_t reserved[4];
} foldsym_query;

/* Output: what was found. */
typedef struct foldsym_answer {
    size_t size;
    uint32_t certainty;       /* FOLDSYM_IS_... */
    uint32_t evidence;        /* FOLDSYM_BY_... */
    uint32_t candidate_count; /* 1 where the code is not folded */
    uint32_t group;           /* or FOLDSYM_NONE */
    uint32_t frame_count;     /* frames of this candidate, for foldsym_frame_at */
    uint32_t flags;           /* FOLDSYM_PADDING, FOLDSYM_PARTIAL */
    uint64_t function_start;  /* with the load bias */
    uint32_t reason;          /* FOLDSYM_FOR_...: why it is FOLDSYM_IS_LIKELY */
    uint32_t reserved;        /* 0 */
} foldsym_answer;

/* Output: one function at an address. */
typedef struct foldsym_frame {
    size_t size;
    uint32_t name; /* linkage name, for foldsym_write_name; FOLDSYM_NONE: none */
    uint32_t file; /* of the line, for foldsym_write_path; FOLDSYM_NONE: unknown */
    uint32_t line; /* from 1; 0: unknown */
    uint32_t column;
    uint32_t start_file; /* where the function is declared */
    uint32_t start_line;
    uint32_t flags; /* FOLDSYM_OUTERMOST */
} foldsym_frame;

/* A program or library of a process. */
typedef struct foldsym_module {
    uint64_t start;           /* its lowest address in memory */
    uint64_t end;             /* the address after its last byte */
    uint64_t load_bias;       /* what the loader added to link-time addresses */
    const foldsym_file *file; /* its symbols, of this build; NULL unless status is FOLDSYM_OK */
    const char *name;         /* what it is called, for messages; may be NULL */
    int32_t status;           /* FOLDSYM_OK, FOLDSYM_NO_SYMBOLS, FOLDSYM_E_OTHER_BUILD or FOLDSYM_E_DAMAGED */
    uint32_t reserved;        /* 0 */
} foldsym_module;

/* Input: the programs and libraries of a process; foldsym_modules.h fills it and looks modules up. */
typedef struct foldsym_modules {
    size_t size;
    foldsym_module *modules; /* room for them; files and names must stay as long as they are used */
    size_t capacity;         /* how many there is room for */
    size_t count;            /* how many there are; of several at one address the last counts */
    size_t module_size;      /* sizeof(foldsym_module) */
    uint64_t reserved[3];
} foldsym_modules;

/*
 * Opens a file that lies whole in memory, at any alignment. The bytes must stay as long as the file is used.
 * Takes constant time: content is checked where it is read. `damage` may be NULL.
 */
int32_t foldsym_open(foldsym_file *file, const void *bytes, size_t len, foldsym_damage *damage);

/* Says what is known of an open file, its build id among it. */
int32_t foldsym_file_info(const foldsym_file *file, foldsym_info *info);

/*
 * Finds the function at an address and its inlined frames, which are left in `frames`.
 * FOLDSYM_OUTSIDE_CODE, FOLDSYM_NO_FUNCTION: nothing is known there. FOLDSYM_END: no such candidate.
 */
int32_t foldsym_lookup(const foldsym_file *file, const foldsym_query *query, foldsym_frames *frames, foldsym_answer *answer);

/*
 * Reads frame `index` of those that the last lookup left in `frames`, innermost first; takes as many steps as that is
 * deep. FOLDSYM_END: no more.
 */
int32_t foldsym_frame_at(const foldsym_file *file, const foldsym_frames *frames, uint32_t index, foldsym_frame *frame);

/*
 * Says for each frame of a stack which of the functions that share its code ran; look each up with
 * foldsym_query.resolved then. A frame is told by its caller: the next entry, where that is a FOLDSYM_RETURN. What tier 2
 * knows besides is not looked at: slots of virtual calls, names of calls into other modules, and who is likeliest.
 * On FOLDSYM_E_DAMAGED the frames further in are FOLDSYM_UNKNOWN.
 */
int32_t foldsym_resolve_stack(const foldsym_file *file, const foldsym_stack *stack);

/*
 * Writes a function's name to `out`, cut to len - 1 bytes and with a zero behind, and returns its whole length in
 * bytes; FOLDSYM_BAD and "" for one that does not exist or is damaged; 0 and "" for FOLDSYM_NONE. What `out` holds
 * behind that zero is not said. Control characters are as the program has them.
 */
size_t foldsym_write_name(const foldsym_file *file, uint32_t name, char *out, size_t len);

/* Writes a path, in the same way. */
size_t foldsym_write_path(const foldsym_file *file, uint32_t path, char *out, size_t len);

/* The words for what a function returned; never NULL. */
const char *foldsym_status_text(int32_t status);

/*
 * ---- Tier 2: allocates, and is not for signal handlers. Not in the library of the crate `embedded`. ----
 * Its functions may be called from any number of threads at once. An answer belongs to the caller, is never written again,
 * and may be read by all threads until it is freed; it needs neither files nor mappings.
 */

/* A mapped file. */
typedef struct foldsym_map foldsym_map;

/* Input: many addresses. */
typedef struct foldsym_addresses {
    size_t size;
    const uint64_t *addresses; /* with the load bias */
    size_t count;
    uint64_t load_bias;
    uint32_t kind;  /* what all of them are: FOLDSYM_EXACT or FOLDSYM_RETURN */
    uint32_t flags; /* FOLDSYM_DEMANGLE, FOLDSYM_CANDIDATES, FOLDSYM_ALIASES */
    uint64_t reserved[4];
} foldsym_addresses;

/* Input: a stack over many modules. */
typedef struct foldsym_stack_request {
    size_t size;
    const foldsym_stack_entry *entries; /* innermost first, with the load biases of their modules */
    size_t count;
    uint64_t vptr;  /* as in foldsym_stack */
    uint32_t flags; /* FOLDSYM_DEMANGLE, FOLDSYM_CANDIDATES, FOLDSYM_ALIASES */
    uint32_t reserved0;
    uint64_t reserved[4];
} foldsym_stack_request;

/* One function at an address, with its texts; "" where they are unknown. */
typedef struct foldsym_text_frame {
    const char *name;         /* readable with FOLDSYM_DEMANGLE, where it has such a name; else the linkage name */
    const char *linkage_name; /* as the symbol table or the compiler spells it */
    const char *file;
    const char *start_file; /* where the function is declared */
    uint32_t line;          /* from 1; 0: unknown */
    uint32_t column;        /* from 1; 0: unknown */
    uint32_t start_line;    /* 0: unknown */
    uint32_t flags;         /* FOLDSYM_OUTERMOST */
} foldsym_text_frame;

/* A function that may have run. */
typedef struct foldsym_candidate {
    const foldsym_text_frame *frames; /* innermost first; the last is the function, the others are inlined in it */
    size_t frame_count;
    const char *how; /* what recovered it: live_range, stmt_sequence, relocation, symbol, ... */
    const char *const *aliases; /* other linkage names of the function, with FOLDSYM_ALIASES */
    size_t alias_count;
    uint64_t reserved;
} foldsym_candidate;

/* What is at one address. */
typedef struct foldsym_symbol {
    uint64_t address;                    /* as given */
    uint64_t function_start;             /* with the load bias; 0 in padding, and where nothing was found */
    const foldsym_text_frame *frames;    /* of the likeliest function, innermost first */
    size_t frame_count;                  /* 0 where nothing was found */
    const foldsym_candidate *candidates; /* the functions that may have run, the likeliest first */
    size_t listed_count;                 /* how many are listed; 0 without FOLDSYM_CANDIDATES, or where nothing is folded */
    const char *module;                  /* its module's name, the caller's memory; NULL where there is no module */
    uint32_t module_index;               /* in the table; FOLDSYM_NONE where there is no module */
    int32_t status;                      /* as foldsym_lookup returns it; in a stack also that of the module */
    uint32_t certainty;                  /* FOLDSYM_IS_... */
    uint32_t evidence;                   /* FOLDSYM_BY_... */
    uint32_t reason;                     /* FOLDSYM_FOR_...: why it is FOLDSYM_IS_LIKELY */
    uint32_t candidate_count;            /* how many functions it may be; 1 where the code is not folded */
    uint32_t flags;                      /* FOLDSYM_PADDING, FOLDSYM_PARTIAL */
    uint32_t reserved0;                  /* 0 */
    const char *const *aliases;          /* other linkage names of the likeliest function, with FOLDSYM_ALIASES */
    size_t alias_count;
    uint64_t reserved; /* 0 */
} foldsym_symbol;

/* What is at many addresses, in their order. */
typedef struct foldsym_symbols {
    const foldsym_symbol *symbols;
    size_t count;
} foldsym_symbols;

/*
 * Maps a file and opens it. The file must not be cut short while it is mapped. `damage` may be NULL. FOLDSYM_E_IO: it
 * cannot be read, is empty, or is no regular file.
 */
int32_t foldsym_map_open(const char *path, foldsym_map **out, foldsym_damage *damage);

/* The opened file of a mapping, for all of tier 1. */
const foldsym_file *foldsym_map_file(const foldsym_map *map);

/* Unmaps a file; NULL is allowed. */
void foldsym_map_close(foldsym_map *map);

/*
 * Looks many addresses of one file up, with all texts, each once in memory. Every address stands for itself: at folded
 * code all functions may have run. Give the answer back with foldsym_symbols_free; on an error `*out` is NULL.
 * FOLDSYM_E_MEMORY: there is no memory for the answer, or it has over 16 frames for each address and over 1,048,576 in
 * all, those of candidates and other names included: ask for less at once. An address for whose texts a file claims more room than 64 MiB
 * and 64 times its bytes is FOLDSYM_E_DAMAGED, and so is one at which the file is damaged; the others are answered.
 */
int32_t foldsym_symbolize(const foldsym_file *file, const foldsym_addresses *addresses, foldsym_symbols **out);

/*
 * Answers a whole stack over the modules of a table: a symbol for each entry, in order. Which function of folded code ran
 * is told by the caller, the next entry, where that is a FOLDSYM_RETURN: in the same module by what is recorded of its
 * call, in another one by the name that the call was linked to (`foldsym convert --imports`). Of several functions that
 * are left the likeliest comes first, by the order of calls, names and files. Tier 1 looks at neither. A frame without an answer says
 * why in `status`: FOLDSYM_NO_MODULE (that of FOLDSYM_FOREIGN too), FOLDSYM_NO_SYMBOLS, FOLDSYM_E_OTHER_BUILD,
 * FOLDSYM_E_DAMAGED, FOLDSYM_OUTSIDE_CODE or FOLDSYM_NO_FUNCTION. Takes as many steps as there are entries times modules,
 * and to rank reads the names of up to 128 functions for each distinct call of folded code; where memory for that is gone, the process
 * is aborted, as it is by any allocation of Rust. Bounds and other errors are those of foldsym_symbolize. Nobody may add to the table meanwhile.
 */
int32_t foldsym_symbolize_stack(const foldsym_modules *table, const foldsym_stack_request *request, foldsym_symbols **out);

/* Frees; NULL is allowed. */
void foldsym_symbols_free(foldsym_symbols *symbols);

/*
 * Writes the readable name of a C++ or Rust linkage name, with parameters, in the way of foldsym_write_name; FOLDSYM_BAD
 * and "" where it has none. Names of over 16 KiB, and readable ones of over 64 KiB, have none.
 */
size_t foldsym_demangle(const char *name, char *out, size_t len);

/* A compiler that lays these out otherwise cannot call the library. */
#if defined(__cplusplus)
#if __cplusplus >= 201103L
#define FOLDSYM_STATIC_ASSERT(condition) static_assert(condition, #condition)
#endif
#elif defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L
#define FOLDSYM_STATIC_ASSERT(condition) _Static_assert(condition, #condition)
#endif
#ifdef FOLDSYM_STATIC_ASSERT
FOLDSYM_STATIC_ASSERT(sizeof(foldsym_file) == 1536);
FOLDSYM_STATIC_ASSERT(sizeof(foldsym_frames) == 3072);
FOLDSYM_STATIC_ASSERT(offsetof(foldsym_file, opaque) == 8);
FOLDSYM_STATIC_ASSERT(offsetof(foldsym_frames, opaque) == 8);
FOLDSYM_STATIC_ASSERT(offsetof(foldsym_resolved, opaque) == 32);
FOLDSYM_STATIC_ASSERT(offsetof(foldsym_text_frame, line) == 4 * sizeof(char *));
#endif

#ifdef __cplusplus
}
#endif

#endif
