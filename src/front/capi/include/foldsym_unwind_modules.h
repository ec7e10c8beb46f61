/*
 * foldsym_unwind_modules.h: walks frames over all modules of a process: the unwinder of foldsym_unwind.h with the table of
 * foldsym_process.h. The files are those that foldsym_process_add has mapped; none is mapped twice.
 *
 * foldsym_unwind_modules_open is for the start of a program; foldsym_unwind_modules_step is async-signal-safe. Link
 * libfoldsym_unwind.a and a library with tier 1.
 */
#ifndef FOLDSYM_UNWIND_MODULES_H
#define FOLDSYM_UNWIND_MODULES_H

#include "foldsym_process.h"
#include "foldsym_unwind.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Opens the rows of all files of `process`, whose `bytes` were wanted: `rows` has room for `file_count`. Those of a file without section
 * UNWIND stay closed. How many are open. Call it after each foldsym_process_add.
 */
static inline size_t foldsym_unwind_modules_open(const foldsym_process *process, foldsym_unwind *rows)
{
    size_t index, count = 0;
    for (index = 0; process->bytes && index < process->file_count; index++) {
        memset(&rows[index], 0, sizeof rows[index]);
        count += foldsym_unwind_open(process->bytes[index].bytes, process->bytes[index].len, &rows[index]) ==
                 FOLDSYM_UNWIND_OK;
    }
    return count;
}

/* As foldsym_unwind_step, by the module that has the frame. FOLDSYM_UNWIND_NO_ENTRY where no module has it, or its symbols are not
   there or have no rows. */
static inline int foldsym_unwind_modules_step(const foldsym_process *process, const foldsym_unwind *rows,
                                              foldsym_walk *walk, foldsym_read read, void *context)
{
#if defined(__aarch64__)
    const uint64_t pc = walk->registers[32];
#else
    const uint64_t pc = walk->registers[16];
#endif
    const foldsym_module *module =
        foldsym_module_find(process->table, pc, walk->exact ? FOLDSYM_EXACT : FOLDSYM_RETURN);
    const foldsym_unwind *of_module;
    if (!module || !module->file)
        return FOLDSYM_UNWIND_NO_ENTRY;
    of_module = &rows[module->file - process->files];
    if (of_module->tag == 0)
        return FOLDSYM_UNWIND_NO_ENTRY;
    return foldsym_unwind_step(of_module, module->load_bias, walk, read, context);
}

#ifdef __cplusplus
}
#endif

#endif
