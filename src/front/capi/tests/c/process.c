/*
 * The modules of a process, and programs that lie about their sections: process LIBRARY SMALL, which have symbols in a section and
 * are not loaded yet; SMALL takes less memory. Prints "the process holds".
 */
#define _GNU_SOURCE
#include "foldsym_process.h"

#include <dlfcn.h>

#define CHECK(condition)                                                   \
    do {                                                                   \
        if (!(condition)) {                                                \
            printf("line %d: %s\n", __LINE__, #condition);                 \
            exit(1);                                                       \
        }                                                                  \
    } while (0)

enum { MOST = 64 };

static foldsym_module room[MOST];
static foldsym_modules table;
static foldsym_file files[2];

static void check_modules(const char *library)
{
    foldsym_process process;
    const foldsym_module *module;
    size_t count;
    void *handle, *symbol;
    memset(&process, 0, sizeof process);
    foldsym_modules_init(&table, room, MOST);
    process.table = &table;
    process.files = files;
    process.file_capacity = 2;
    CHECK(foldsym_process_add(&process) == FOLDSYM_OK);
    count = table.count;
    CHECK(count > 1 && process.file_count == 0);
    module = foldsym_module_find(&table, (uint64_t)(uintptr_t)&check_modules, FOLDSYM_EXACT);
    CHECK(module == &room[0] && module->status == FOLDSYM_NO_SYMBOLS && module->name[0] == '/');
    CHECK(foldsym_process_add(&process) == FOLDSYM_OK && table.count == count);
    handle = dlopen(library, RTLD_NOW);
    CHECK(handle != NULL);
    symbol = dlsym(handle, "delivered");
    CHECK(symbol != NULL);
    CHECK(!foldsym_module_find(&table, (uint64_t)(uintptr_t)symbol, FOLDSYM_EXACT));
    CHECK(foldsym_process_add(&process) == FOLDSYM_OK && table.count == count + 1 && process.file_count == 1);
    module = foldsym_module_find(&table, (uint64_t)(uintptr_t)symbol, FOLDSYM_EXACT);
    CHECK(module == &room[count] && module->status == FOLDSYM_OK && module->file == &files[0]);
    CHECK(strcmp(module->name, library) == 0);
    CHECK(foldsym_process_add(&process) == FOLDSYM_OK && table.count == count + 1);

    /* No room for the modules, and none for the files. */
    foldsym_modules_init(&table, room, 1);
    CHECK(foldsym_process_add(&process) == FOLDSYM_E_FULL && table.count == 1);
    foldsym_modules_init(&table, room, MOST);
    process.file_capacity = process.file_count = 0;
    CHECK(foldsym_process_add(&process) == FOLDSYM_E_FULL && table.count == count + 1);
    module = foldsym_module_find(&table, (uint64_t)(uintptr_t)symbol, FOLDSYM_EXACT);
    CHECK(module && module->status == FOLDSYM_NO_SYMBOLS && !module->file);
    dlclose(handle);
}

/* The module that the table has for the function `name` of a library. */
static const foldsym_module *module_of(void *handle, const char *name)
{
    void *symbol = dlsym(handle, name);
    CHECK(symbol != NULL);
    return foldsym_module_find(&table, (uint64_t)(uintptr_t)symbol, FOLDSYM_EXACT);
}

/* Loads and unloads two libraries in turn, so that the second lies where the first was, and then the first again. */
static void check_reload(const char *large, const char *small)
{
    foldsym_process process;
    const foldsym_module *module;
    void *handle, *other;
    uint64_t start, end, small_start;
    int round;
    memset(&process, 0, sizeof process);
    foldsym_modules_init(&table, room, MOST);
    process.table = &table;
    process.files = files;
    process.file_capacity = 2;
    /* The symbols of both are mapped first, so that they take no place of a library. */
    other = dlopen(small, RTLD_NOW);
    CHECK(other != NULL && foldsym_process_add(&process) == FOLDSYM_OK && dlclose(other) == 0);
    handle = dlopen(large, RTLD_NOW);
    CHECK(handle != NULL && foldsym_process_add(&process) == FOLDSYM_OK);
    module = module_of(handle, "delivered");
    CHECK(module && module->status == FOLDSYM_OK);
    start = module->start;
    end = module->end;
    /* No other hole in memory is left above the library, so that the loader takes the one that it leaves. */
    for (round = 0; round < 100000; round++) {
        void *page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        CHECK(page != MAP_FAILED);
        if ((uint64_t)(uintptr_t)page < start)
            break;
    }
    for (round = 0; round < 3; round++) {
        CHECK(dlclose(handle) == 0);
        other = dlopen(small, RTLD_NOW);
        CHECK(other != NULL && foldsym_process_add(&process) == FOLDSYM_OK);
        module = module_of(other, "small");
        CHECK(module && strcmp(module->name, small) == 0 && module->status == FOLDSYM_OK);
        small_start = module->start;
        CHECK(dlclose(other) == 0);
        handle = dlopen(large, RTLD_NOW);
        CHECK(handle != NULL && foldsym_process_add(&process) == FOLDSYM_OK);
        module = module_of(handle, "delivered");
        CHECK(module && strcmp(module->name, large) == 0 && module->status == FOLDSYM_OK);
        /* Each byte of it is its own. The loader puts a library where it likes: SMALL may have been elsewhere. */
        if (module->start == start && module->end == end && small_start > start && small_start < end) {
            module = foldsym_module_find(&table, small_start, FOLDSYM_EXACT);
            CHECK(module && strcmp(module->name, large) == 0);
            printf("covered\n");
        }
    }
    /* The symbols of both were opened once. */
    CHECK(process.file_count == 2);
    dlclose(handle);
}

static uint32_t seed = 1;

static uint32_t random_below(uint32_t limit)
{
    seed = seed * 1664525u + 1013904223u;
    return (uint32_t)(((uint64_t)seed * limit) >> 32);
}

/* What a hostile program says of its section must lie in its bytes, which have memory of their own for a checker to see. */
static size_t ask(const unsigned char *program, size_t len)
{
    size_t part_len = 0;
    unsigned char *copy = (unsigned char *)malloc(len ? len : 1);
    const unsigned char *part;
    CHECK(copy != NULL);
    memcpy(copy, program, len);
    part = foldsym_process_section(copy, len, &part_len);
    CHECK(!part || (part >= copy && part_len <= len && (size_t)(part - copy) <= len - part_len));
    free(copy);
    return part ? part_len : 0;
}

static void check_sections(const char *library)
{
    size_t len = 0, part_len = 0, whole, cut, round, found = 0;
    const unsigned char *bytes = foldsym_process_map(library, &len);
    unsigned char *changed;
    ElfW(Ehdr) header;
    CHECK(bytes && foldsym_process_section(bytes, len, &part_len) && part_len > 100);
    whole = part_len;
    changed = (unsigned char *)malloc(len);
    CHECK(changed != NULL);
    memcpy(&header, bytes, sizeof header);
    for (cut = 0; cut < len; cut += cut < 128 ? 1 : 97)
        CHECK(ask(bytes, cut) == 0 || cut > header.e_shoff);
    for (round = 0; round < 20000; round++) {
        /* In the header, or in the table of sections. */
        size_t change, area = round % 2 ? header.e_shoff : 0;
        size_t size = round % 2 ? len - area : sizeof header;
        memcpy(changed, bytes, len);
        for (change = 0; change < 1 + random_below(3); change++) {
            size_t at = area + random_below((uint32_t)size);
            changed[at] = random_below(2) ? (unsigned char)random_below(256) : 0xff;
        }
        found += ask(changed, len) == whole;
    }
    /* Some changes do no harm, or nothing was asked. */
    CHECK(found > 100 && found < 20000);
    free(changed);
    munmap((void *)(uintptr_t)bytes, len);
    CHECK(!foldsym_process_map("/", &len) && !foldsym_process_map("no such file", &len));
    CHECK(!foldsym_process_map("/dev/null", &len));
}

int main(int argc, char **argv)
{
    CHECK(argc == 3);
    check_modules(argv[1]);
    check_reload(argv[1], argv[2]);
    check_sections(argv[1]);
    printf("the process holds\n");
    return 0;
}
