/*
 * foldsym_modules.h: several modules in one process: a table in the caller's memory, and lookups in it.
 *
 * The functions are inline, so that they take no room in programs that do not use them. foldsym_module_find,
 * foldsym_resolve_modules and foldsym_build_id are async-signal-safe as tier 1 is: no allocation, no lock, no syscall.
 * Fill the table before the handler is installed. One thread may add to it later, while handlers and other threads look
 * modules up; two must not add at once.
 *
 * A library that was unloaded stays in the table until another is added that takes its place in memory: of several modules
 * at an address the one that was added last counts.
 */
#ifndef FOLDSYM_MODULES_H
#define FOLDSYM_MODULES_H

#include "foldsym.h"

#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Sets a table up, empty, over `capacity` modules of the caller's. */
static inline void foldsym_modules_init(foldsym_modules *table, foldsym_module *modules, size_t capacity)
{
    memset(table, 0, sizeof *table);
    table->size = sizeof *table;
    table->modules = modules;
    table->capacity = capacity;
    table->module_size = sizeof *modules;
}

/*
 * Says whether `file` may answer for a running module with this build id (`build_id` NULL: it has none, or it is not
 * known): FOLDSYM_OK; FOLDSYM_E_OTHER_BUILD where the file is of another build, or one of the two has no build id and
 * `flags` is not FOLDSYM_UNCHECKED_BUILD; FOLDSYM_NO_SYMBOLS where `file` is NULL or not open.
 */
static inline int32_t foldsym_check_build(const foldsym_file *file, const void *build_id, size_t len, uint32_t flags)
{
    foldsym_info info;
    info.size = sizeof info;
    if (!file || foldsym_file_info(file, &info) != FOLDSYM_OK)
        return FOLDSYM_NO_SYMBOLS;
    if (!build_id || len == 0 || !info.build_id)
        return flags & FOLDSYM_UNCHECKED_BUILD ? FOLDSYM_OK : FOLDSYM_E_OTHER_BUILD;
    return len == info.build_id_len && memcmp(build_id, info.build_id, len) == 0 ? FOLDSYM_OK : FOLDSYM_E_OTHER_BUILD;
}

/*
 * Adds a module, as `module` has start, end, load bias, file and name; file and name must stay as long as the table is
 * used. Returns what foldsym_check_build says: a module whose symbols may not answer is added too, without them, so that
 * its frames can say why. One that comes without a file may say why itself, by a `status` that is not FOLDSYM_OK: that
 * stays, and is returned. It is not added where the table is full (FOLDSYM_E_FULL), or where `end` is not above `start`,
 * flags are unknown, or reserved is not 0 (FOLDSYM_E_ARGUMENT).
 */
static inline int32_t foldsym_modules_add(foldsym_modules *table, const foldsym_module *module, const void *build_id,
                                          size_t len, uint32_t flags)
{
    foldsym_module *place;
    if (module->start >= module->end || module->reserved != 0 || (flags & ~FOLDSYM_UNCHECKED_BUILD) != 0)
        return FOLDSYM_E_ARGUMENT;
    if (table->count >= table->capacity)
        return FOLDSYM_E_FULL;
    place = &table->modules[table->count];
    *place = *module;
    if (module->file || module->status == FOLDSYM_OK)
        place->status = foldsym_check_build(module->file, build_id, len, flags);
    if (place->status != FOLDSYM_OK)
        place->file = NULL;
    /* Whoever sees the count sees the module. */
    __atomic_store_n(&table->count, table->count + 1, __ATOMIC_RELEASE);
    return place->status;
}

/*
 * The module of an address of this kind (FOLDSYM_EXACT, FOLDSYM_RETURN: looked up one byte before; FOLDSYM_FOREIGN has
 * none); NULL where there is none. Takes as many steps as there are modules.
 */
static inline const foldsym_module *foldsym_module_find(const foldsym_modules *table, uint64_t address, uint32_t kind)
{
    size_t index = __atomic_load_n(&table->count, __ATOMIC_ACQUIRE);
    if (kind > FOLDSYM_RETURN)
        return NULL;
    if (kind == FOLDSYM_RETURN)
        address--;
    while (index-- > 0) {
        const foldsym_module *module = &table->modules[index];
        if (module->start <= address && address < module->end)
            return module;
    }
    return NULL;
}

/*
 * As foldsym_resolve_stack, for a stack over the modules of a table; `stack->load_bias` is not read. A caller tells of its
 * callee only within one module: each run of frames in one module is a stack for itself. Frames without symbols are
 * FOLDSYM_UNKNOWN. Look each frame up in its module's file with its module's load bias then. Returns the first error;
 * the other modules' frames are resolved nevertheless.
 */
static inline int32_t foldsym_resolve_modules(const foldsym_modules *table, const foldsym_stack *stack)
{
    int32_t status = FOLDSYM_OK;
    size_t from = 0, to;
    if (stack->size < sizeof *stack || stack->resolved_size < sizeof(foldsym_resolved) ||
        stack->resolved_size % sizeof(uint64_t) != 0)
        return FOLDSYM_E_SIZE;
    if (stack->count > 0 && (!stack->entries || !stack->resolved))
        return FOLDSYM_E_ARGUMENT;
    for (; from < stack->count; from = to) {
        const foldsym_stack_entry *entry = &stack->entries[from];
        const foldsym_module *module = foldsym_module_find(table, entry->address, entry->kind);
        char *resolved = (char *)stack->resolved + from * stack->resolved_size;
        foldsym_stack run = *stack;
        int32_t of_run;
        for (to = from + 1; to < stack->count; to++) {
            entry = &stack->entries[to];
            if (foldsym_module_find(table, entry->address, entry->kind) != module)
                break;
        }
        if (!module || !module->file) {
            size_t index;
            memset(resolved, 0, (to - from) * stack->resolved_size);
            for (index = 0; index < to - from; index++)
                ((foldsym_resolved *)(void *)(resolved + index * stack->resolved_size))->group = FOLDSYM_NONE;
            continue;
        }
        run.size = sizeof run;
        run.entries = &stack->entries[from];
        run.resolved = (foldsym_resolved *)(void *)resolved;
        run.count = to - from;
        run.load_bias = module->load_bias;
        run.vptr = from == 0 ? stack->vptr : 0;
        of_run = foldsym_resolve_stack(module->file, &run);
        if (status == FOLDSYM_OK)
            status = of_run;
    }
    return status;
}

/*
 * Finds the build id in notes, which are the memory of a PT_NOTE segment, `align` its p_align; NULL and length 0 where it
 * has none, or the notes are damaged. The id lies in the notes.
 */
static inline const void *foldsym_build_id(const void *notes, size_t len, uint64_t align, size_t *id_len)
{
    const unsigned char *bytes = (const unsigned char *)notes;
    size_t at = 0;
    /* 0 and 1 stand for 4, as in old programs. */
    const size_t mask = align == 8 ? 7 : 3;
    *id_len = 0;
    while (len - at >= 12) {
        uint32_t words[3]; /* lengths of name and value, type */
        size_t left = len - at - 12, name = at + 12, padded;
        memcpy(words, bytes + at, sizeof words);
        if (words[0] > left)
            return NULL;
        padded = (12 + (size_t)words[0] + mask) & ~mask;
        if (padded > len - at || words[1] > len - at - padded)
            return NULL;
        if (words[2] == 3 && words[0] == 4 && memcmp(bytes + name, "GNU", 4) == 0 && words[1] > 0) {
            *id_len = words[1];
            return bytes + at + padded;
        }
        padded = (padded + words[1] + mask) & ~mask;
        if (padded > len - at)
            return NULL;
        at += padded;
    }
    return NULL;
}

#ifdef __cplusplus
}
#endif

#endif
