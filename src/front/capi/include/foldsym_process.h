/*
 * foldsym_process.h: finds the programs and libraries of this process (ELF, dl_iterate_phdr) and their symbols.
 *
 * For the start of a program, before the handler is installed: it allocates, takes the loader's lock and reads files. What
 * it finds stays mapped until the process ends. In C, define _GNU_SOURCE before anything is included.
 *
 * The symbols of a module are looked for in the section `.fsym` of its own file (which `objcopy --add-section` adds and the
 * loader need not load), then beside it (PATH.fsym), then in a folder (FOLDER/NAME.fsym). The first whose build id is that of the module in memory is taken; a file of another build is passed
 * over, and the module's status says so if there is no better one. No file may be cut short while it is mapped.
 */
#ifndef FOLDSYM_PROCESS_H
#define FOLDSYM_PROCESS_H

#if !defined(_GNU_SOURCE)
#error "define _GNU_SOURCE before the first include: dl_iterate_phdr needs it"
#endif

#include "foldsym_modules.h"

#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Where the bytes of a file of symbols lie. */
typedef struct foldsym_bytes {
    const void *bytes;
    size_t len;
} foldsym_bytes;

/* How the modules are found. Zero it before it is filled in. */
typedef struct foldsym_process {
    foldsym_modules *table; /* set up by foldsym_modules_init */
    foldsym_file *files;    /* room for opened files: one for each build of a module that has symbols */
    size_t file_capacity;   /* how many that is; foldsym_process_count() is enough, and more where libraries are loaded later */
    size_t file_count;  /* written: how many are taken */
    const void *program; /* symbols of the program that are in memory already, by `.incbin`; tried first; NULL: none */
    size_t program_len;
    const char *folder; /* where NAME.fsym files are, NAME as the module's file is called; NULL: nowhere */
    uint32_t flags;     /* FOLDSYM_UNCHECKED_BUILD: take symbols also where a module has no build id */
    uint32_t is_full;   /* written: not 0 where modules, files or memory had no room */
    foldsym_bytes *bytes; /* room for as many as `files`, written: where each file lies, for foldsym_unwind_modules.h; NULL: not wanted */
} foldsym_process;

/* Maps a regular file that is not empty; NULL where that cannot be. */
static inline const unsigned char *foldsym_process_map(const char *path, size_t *len)
{
    struct stat about;
    void *bytes = MAP_FAILED;
    /* To open a pipe would wait for its writer. */
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0)
        return NULL;
    if (fstat(descriptor, &about) == 0 && S_ISREG(about.st_mode) && about.st_size > 0 &&
        (uintmax_t)about.st_size <= SIZE_MAX) {
        *len = (size_t)about.st_size;
        bytes = mmap(NULL, *len, PROT_READ, MAP_PRIVATE, descriptor, 0);
    }
    close(descriptor);
    return bytes == MAP_FAILED ? NULL : (const unsigned char *)bytes;
}

/* The section `.fsym` of a program; NULL where it has none. */
static inline const unsigned char *foldsym_process_section(const unsigned char *program, size_t len, size_t *section_len)
{
    ElfW(Ehdr) header;
    ElfW(Shdr) section, names;
    size_t index, count, names_index, room;
    if (len < sizeof header)
        return NULL;
    memcpy(&header, program, sizeof header);
    if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
        header.e_ident[EI_CLASS] != (sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32) ||
        header.e_shentsize != sizeof section || header.e_shoff >= len || header.e_shoff == 0)
        return NULL;
    room = (len - (size_t)header.e_shoff) / sizeof section;
    if (room == 0)
        return NULL;
    /* Where there are too many for the header's fields, the first section has them (gABI, "Section Header"). */
    memcpy(&section, program + header.e_shoff, sizeof section);
    count = header.e_shnum ? header.e_shnum : (size_t)section.sh_size;
    names_index = header.e_shstrndx == SHN_XINDEX ? section.sh_link : header.e_shstrndx;
    if (count > room || names_index >= count)
        return NULL;
    memcpy(&names, program + header.e_shoff + names_index * sizeof names, sizeof names);
    if (names.sh_offset > len || names.sh_size > len - names.sh_offset)
        return NULL;
    for (index = 1; index < count; index++) {
        memcpy(&section, program + header.e_shoff + index * sizeof section, sizeof section);
        if (section.sh_type == SHT_NOBITS || (section.sh_flags & SHF_COMPRESSED) || section.sh_name >= names.sh_size ||
            names.sh_size - section.sh_name < sizeof ".fsym" || section.sh_offset > len ||
            section.sh_size > len - section.sh_offset)
            continue;
        if (memcmp(program + names.sh_offset + section.sh_name, ".fsym", sizeof ".fsym") == 0) {
            *section_len = (size_t)section.sh_size;
            return program + section.sh_offset;
        }
    }
    return NULL;
}

/* A module while its symbols are looked for. */
typedef struct foldsym_process_search {
    foldsym_process *process;
    foldsym_file *file;
    const void *build_id;
    size_t build_id_len;
    int32_t status; /* the best that was seen */
} foldsym_process_search;

/* Tries symbols; 1 where they are the module's. */
static inline int foldsym_process_try(foldsym_process_search *search, const unsigned char *bytes, size_t len)
{
    int32_t status = foldsym_open(search->file, bytes, len, NULL);
    if (status == FOLDSYM_OK)
        status = foldsym_check_build(search->file, search->build_id, search->build_id_len, search->process->flags);
    if (status == FOLDSYM_OK) {
        /* Each page is read once: a file system that fails does so now, and not in the handler. */
        volatile unsigned char sum = 0;
        size_t at;
        for (at = 0; at < len; at += 4096)
            sum = (unsigned char)(sum + bytes[at]);
        (void)sum;
    }
    if (search->status != FOLDSYM_E_OTHER_BUILD)
        search->status = status;
    if (status == FOLDSYM_OK) {
        search->status = status;
        if (search->process->bytes) {
            foldsym_bytes *place = &search->process->bytes[search->file - search->process->files];
            place->bytes = bytes;
            place->len = len;
        }
    }
    return status == FOLDSYM_OK;
}

/* Tries a file of symbols, or, where `is_program`, the section of a program. */
static inline int foldsym_process_try_file(foldsym_process_search *search, const char *path, int is_program)
{
    size_t len = 0, part_len = 0;
    const unsigned char *bytes = foldsym_process_map(path, &len), *part;
    if (!bytes)
        return 0;
    part = is_program ? foldsym_process_section(bytes, len, &part_len) : bytes;
    if (!is_program)
        part_len = len;
    if (part && foldsym_process_try(search, part, part_len))
        return 1;
    munmap((void *)(uintptr_t)bytes, len);
    return 0;
}

/* Looks for the symbols of the module whose file has this path; 1 where they are open. */
static inline int foldsym_process_find(foldsym_process_search *search, const char *path, int is_main)
{
    const char *folder = search->process->folder, *name = strrchr(path, '/');
    size_t room = strlen(path) + (folder ? strlen(folder) : 0) + sizeof "/.fsym";
    char *other;
    int found;
    if (is_main && search->process->program &&
        foldsym_process_try(search, (const unsigned char *)search->process->program, search->process->program_len))
        return 1;
    /* The vDSO has a name and no file. */
    if (!name)
        return 0;
    if (foldsym_process_try_file(search, is_main ? "/proc/self/exe" : path, 1))
        return 1;
    other = (char *)malloc(room);
    if (!other) {
        search->process->is_full = 1;
        return 0;
    }
    snprintf(other, room, "%s.fsym", path);
    found = foldsym_process_try_file(search, other, 0);
    if (!found && folder) {
        snprintf(other, room, "%s%s.fsym", folder, name);
        found = foldsym_process_try_file(search, other, 0);
    }
    free(other);
    return found;
}

/*
 * Whether the table answers for every byte of `module` by an entry of the same file and build. A library that was loaded and unloaded in
 * between may cover a part of an older entry. Writes symbols of that file and build that are open already into `*open`.
 */
static inline int foldsym_process_knows(const foldsym_process_search *search, const foldsym_module *module, const char *path,
                                        const foldsym_file **open)
{
    const foldsym_modules *table = search->process->table;
    size_t index = table->count;
    int is_covered = 0, is_known = 0;
    *open = NULL;
    while (index-- > 0 && !is_known && !(is_covered && *open)) {
        const foldsym_module *known = &table->modules[index];
        const int overlaps = known->start < module->end && module->start < known->end;
        int is_same = known->name && strcmp(known->name, path) == 0;
        if (is_same && known->file) {
            is_same = foldsym_check_build(known->file, search->build_id, search->build_id_len, search->process->flags) ==
                      FOLDSYM_OK;
            if (is_same && !*open)
                *open = known->file;
        }
        is_known = !is_covered && is_same && known->start == module->start && known->end == module->end;
        is_covered |= overlaps;
    }
    return is_known;
}

/* The loader's list while it is read. */
typedef struct foldsym_process_list {
    foldsym_process *process;
    size_t count; /* modules before this one */
} foldsym_process_list;

/* Adds a module of the loader's list, if it is not in the table. */
static inline int foldsym_process_each(struct dl_phdr_info *info, size_t size, void *context)
{
    foldsym_process_list *list = (foldsym_process_list *)context;
    foldsym_process *process = list->process;
    foldsym_process_search search;
    const foldsym_file *open_file;
    foldsym_module module;
    char self[PATH_MAX];
    const char *path = info->dlpi_name ? info->dlpi_name : "";
    size_t index;
    ssize_t len;
    /* The loader lists the program first: glibc without a name, static musl as /proc/self/exe. */
    const int is_main = list->count++ == 0;
    (void)size;
    memset(&module, 0, sizeof module);
    memset(&search, 0, sizeof search);
    search.process = process;
    search.status = FOLDSYM_NO_SYMBOLS;
    module.start = UINT64_MAX;
    module.load_bias = info->dlpi_addr;
    for (index = 0; index < info->dlpi_phnum; index++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[index];
        const uint64_t start = (uint64_t)info->dlpi_addr + segment->p_vaddr;
        if (segment->p_type == PT_LOAD && segment->p_memsz > 0) {
            module.start = start < module.start ? start : module.start;
            module.end = start + segment->p_memsz > module.end ? start + segment->p_memsz : module.end;
        }
    }
    for (index = 0; index < info->dlpi_phnum && !search.build_id; index++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[index];
        const uint64_t start = (uint64_t)info->dlpi_addr + segment->p_vaddr;
        /* Notes that are not loaded cannot be read here. */
        if (segment->p_type == PT_NOTE && start >= module.start && start < module.end &&
            segment->p_memsz <= module.end - start)
            search.build_id = foldsym_build_id((const void *)(uintptr_t)start, segment->p_memsz, segment->p_align,
                                               &search.build_id_len);
    }
    if (module.start >= module.end)
        return 0;
    if (is_main) {
        len = readlink("/proc/self/exe", self, sizeof self - 1);
        self[len > 0 ? len : 0] = 0;
        path = self;
    } else if (path[0] == 0) {
        /* With dynamic musl the vDSO has no name. */
        path = "[vdso]";
    }
    if (foldsym_process_knows(&search, &module, path, &open_file))
        return 0;
    if (open_file) {
        module.file = open_file;
        search.status = FOLDSYM_OK;
    } else if (process->file_count < process->file_capacity) {
        search.file = &process->files[process->file_count];
        if (foldsym_process_find(&search, path, is_main)) {
            module.file = search.file;
            process->file_count++;
        }
    } else {
        process->is_full = 1;
    }
    /* The loader's name goes when the module does. */
    module.name = strdup(path);
    module.status = search.status;
    if (foldsym_modules_add(process->table, &module, search.build_id, search.build_id_len, process->flags) ==
        FOLDSYM_E_FULL)
        process->is_full = 1;
    return 0;
}

/* Counts a module. */
static inline int foldsym_process_count_one(struct dl_phdr_info *info, size_t size, void *count)
{
    (void)info;
    (void)size;
    ++*(size_t *)count;
    return 0;
}

/* How many modules this process has now: room for so many modules and files is enough for foldsym_process_add at this moment. */
static inline size_t foldsym_process_count(void)
{
    size_t count = 0;
    dl_iterate_phdr(foldsym_process_count_one, &count);
    return count;
}

/*
 * Adds the modules of this process that are not in the table yet: at the start, and again after a dlopen. FOLDSYM_OK;
 * FOLDSYM_E_FULL where `table`, `files` or memory had no room for all of them: what had room is there. One thread at a
 * time. What each module came to is its `status` in the table.
 */
static inline int32_t foldsym_process_add(foldsym_process *process)
{
    foldsym_process_list list;
    list.process = process;
    list.count = 0;
    process->is_full = 0;
    dl_iterate_phdr(foldsym_process_each, &list);
    return process->is_full ? FOLDSYM_E_FULL : FOLDSYM_OK;
}

#ifdef __cplusplus
}
#endif

#endif
