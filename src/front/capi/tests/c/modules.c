/*
 * The table of modules and the notes, at their edges: modules FILE.fsym BUILD-ID OTHER.fsym; the last without a build id.
 * Prints "the table holds". Valid C and C++.
 */
#include "foldsym_modules.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition)                                                   \
    do {                                                                   \
        if (!(condition)) {                                                \
            printf("line %d: %s\n", __LINE__, #condition);                 \
            exit(1);                                                       \
        }                                                                  \
    } while (0)

enum { MOST = 6 };

static foldsym_module room[MOST];
static foldsym_modules table;
static foldsym_file file, anonymous, closed;
static unsigned char bytes[2][1 << 20];

static void open_file(foldsym_file *opened, const char *path, int number)
{
    FILE *f = fopen(path, "rb");
    size_t len;
    CHECK(f != NULL);
    len = fread(bytes[number], 1, sizeof bytes[number], f);
    fclose(f);
    CHECK(foldsym_open(opened, bytes[number], len, NULL) == FOLDSYM_OK);
}

static foldsym_module at(uint64_t start, uint64_t end, const foldsym_file *symbols)
{
    foldsym_module module;
    memset(&module, 0, sizeof module);
    module.start = start;
    module.end = end;
    module.file = symbols;
    return module;
}

/* Of another build, without a build id, without symbols: in the table, and never served. */
static void check_builds(const unsigned char *id, size_t len)
{
    unsigned char other[64];
    foldsym_module module = at(0x1000, 0x2000, &file);
    foldsym_modules_init(&table, room, MOST);
    CHECK(foldsym_modules_add(&table, &module, id, len, 0) == FOLDSYM_OK && room[0].file == &file);
    memcpy(other, id, len);
    other[len - 1] ^= 1;
    CHECK(foldsym_modules_add(&table, &module, other, len, 0) == FOLDSYM_E_OTHER_BUILD && !room[1].file);
    CHECK(room[1].status == FOLDSYM_E_OTHER_BUILD);
    /* Not even where it need not be checked. */
    CHECK(foldsym_modules_add(&table, &module, other, len, FOLDSYM_UNCHECKED_BUILD) == FOLDSYM_E_OTHER_BUILD);
    CHECK(foldsym_modules_add(&table, &module, id, len - 1, FOLDSYM_UNCHECKED_BUILD) == FOLDSYM_E_OTHER_BUILD);
    CHECK(foldsym_modules_add(&table, &module, NULL, 0, 0) == FOLDSYM_E_OTHER_BUILD && !room[4].file);
    CHECK(foldsym_modules_add(&table, &module, NULL, 0, FOLDSYM_UNCHECKED_BUILD) == FOLDSYM_OK && room[5].file == &file);
    CHECK(foldsym_modules_add(&table, &module, id, len, 0) == FOLDSYM_E_FULL && table.count == MOST);

    foldsym_modules_init(&table, room, MOST);
    module.file = &anonymous;
    CHECK(foldsym_modules_add(&table, &module, id, len, 0) == FOLDSYM_E_OTHER_BUILD);
    CHECK(foldsym_modules_add(&table, &module, NULL, 0, 0) == FOLDSYM_E_OTHER_BUILD);
    CHECK(foldsym_modules_add(&table, &module, id, len, FOLDSYM_UNCHECKED_BUILD) == FOLDSYM_OK);
    module.file = &closed;
    CHECK(foldsym_modules_add(&table, &module, id, len, 0) == FOLDSYM_NO_SYMBOLS && !room[3].file);
    module.file = NULL;
    CHECK(foldsym_modules_add(&table, &module, id, len, 0) == FOLDSYM_NO_SYMBOLS);
    CHECK(foldsym_modules_add(&table, &module, id, len, 2) == FOLDSYM_E_ARGUMENT && table.count == 5);
    /* Who looked for the file knows why there is none; of a file that is there this says nothing. */
    module.status = FOLDSYM_E_DAMAGED;
    CHECK(foldsym_modules_add(&table, &module, id, len, 0) == FOLDSYM_E_DAMAGED && room[5].status == FOLDSYM_E_DAMAGED);
    foldsym_modules_init(&table, room, MOST);
    module.file = &file;
    CHECK(foldsym_modules_add(&table, &module, id, len, 0) == FOLDSYM_OK && room[0].status == FOLDSYM_OK);
    module.reserved = 1;
    CHECK(foldsym_modules_add(&table, &module, id, len, 0) == FOLDSYM_E_ARGUMENT);
    module = at(0x2000, 0x2000, NULL);
    CHECK(foldsym_modules_add(&table, &module, id, len, 0) == FOLDSYM_E_ARGUMENT && table.count == 1);
}

static void check_find(const unsigned char *id, size_t len)
{
    foldsym_module old = at(0x1000, 0x3000, &file), next = at(0x2000, 0x2800, NULL), last = at(UINT64_MAX - 4, UINT64_MAX, NULL);
    foldsym_modules_init(&table, room, MOST);
    CHECK(foldsym_module_find(&table, 0x1000, FOLDSYM_EXACT) == NULL);
    CHECK(foldsym_modules_add(&table, &old, id, len, 0) == FOLDSYM_OK);
    CHECK(foldsym_modules_add(&table, &next, id, len, 0) == FOLDSYM_NO_SYMBOLS);
    CHECK(foldsym_modules_add(&table, &last, id, len, 0) == FOLDSYM_NO_SYMBOLS);
    CHECK(foldsym_module_find(&table, 0xfff, FOLDSYM_EXACT) == NULL);
    CHECK(foldsym_module_find(&table, 0x1000, FOLDSYM_EXACT) == &room[0]);
    CHECK(foldsym_module_find(&table, 0x1000, FOLDSYM_RETURN) == NULL);
    CHECK(foldsym_module_find(&table, 0x1fff, FOLDSYM_EXACT) == &room[0]);
    /* What was added last has taken the place of what was there. */
    CHECK(foldsym_module_find(&table, 0x2000, FOLDSYM_EXACT) == &room[1]);
    CHECK(foldsym_module_find(&table, 0x2000, FOLDSYM_RETURN) == &room[0]);
    CHECK(foldsym_module_find(&table, 0x2800, FOLDSYM_RETURN) == &room[1]);
    CHECK(foldsym_module_find(&table, 0x2800, FOLDSYM_EXACT) == &room[0]);
    CHECK(foldsym_module_find(&table, 0x3000, FOLDSYM_RETURN) == &room[0]);
    CHECK(foldsym_module_find(&table, 0x3000, FOLDSYM_EXACT) == NULL);
    CHECK(foldsym_module_find(&table, 0x1000, FOLDSYM_FOREIGN) == NULL);
    CHECK(foldsym_module_find(&table, 0x1000, 9) == NULL);
    CHECK(foldsym_module_find(&table, 0, FOLDSYM_RETURN) == NULL);
    CHECK(foldsym_module_find(&table, UINT64_MAX - 1, FOLDSYM_EXACT) == &room[2]);
}

static void check_resolve(void)
{
    foldsym_stack stack;
    foldsym_resolved resolved[2];
    foldsym_stack_entry entries[2];
    memset(&stack, 0, sizeof stack);
    memset(entries, 0, sizeof entries);
    memset(resolved, 0xff, sizeof resolved);
    CHECK(foldsym_resolve_modules(&table, &stack) == FOLDSYM_E_SIZE);
    stack.size = sizeof stack;
    CHECK(foldsym_resolve_modules(&table, &stack) == FOLDSYM_E_SIZE);
    stack.resolved_size = sizeof *resolved;
    CHECK(foldsym_resolve_modules(&table, &stack) == FOLDSYM_OK);
    stack.count = 2;
    CHECK(foldsym_resolve_modules(&table, &stack) == FOLDSYM_E_ARGUMENT);
    stack.entries = entries;
    stack.resolved = resolved;
    entries[0].address = 0x2000;
    entries[1].address = 0x5000;
    CHECK(foldsym_resolve_modules(&table, &stack) == FOLDSYM_OK);
    CHECK(resolved[0].certainty == FOLDSYM_UNKNOWN && resolved[0].group == FOLDSYM_NONE);
    CHECK(resolved[1].certainty == FOLDSYM_UNKNOWN && resolved[1].group == FOLDSYM_NONE);
    /* What the library refuses is refused, and the rest is resolved. */
    entries[0].address = 0x1000;
    entries[0].reserved = 1;
    CHECK(foldsym_resolve_modules(&table, &stack) == FOLDSYM_E_RESERVED);
    CHECK(resolved[1].group == FOLDSYM_NONE);
}

/* Appends a note to memory of exactly its size, so that a checker sees each byte that is read behind it. */
static unsigned char *note(unsigned char *notes, size_t *len, uint32_t type, const char *name, uint32_t name_len,
                           const void *value, uint32_t value_len, size_t align)
{
    uint32_t words[3];
    size_t desc = (12 + name_len + align - 1) / align * align, whole = (desc + value_len + align - 1) / align * align;
    words[0] = name_len;
    words[1] = value_len;
    words[2] = type;
    notes = (unsigned char *)realloc(notes, *len + whole);
    CHECK(notes != NULL);
    memset(notes + *len, 0, whole);
    memcpy(notes + *len, words, sizeof words);
    memcpy(notes + *len + 12, name, name_len);
    if (value_len)
        memcpy(notes + *len + desc, value, value_len);
    *len += whole;
    return notes;
}

static void check_notes(size_t align)
{
    static const uint32_t lies[] = { UINT32_MAX, UINT32_MAX - 11, 0x80000000u, 0x7fffffffu, 200 };
    static const char id[] = "12345678901234567890";
    unsigned char *notes = NULL;
    size_t len = 0, id_len = 7, cut, field, lie;
    const void *found;
    CHECK(foldsym_build_id(NULL, 0, align, &id_len) == NULL && id_len == 0);
    notes = note(notes, &len, 1, "GNU", 4, "0123456789abcdef", 16, align);
    notes = note(notes, &len, 5, "GNU", 4, "123456789", 9, align);
    notes = note(notes, &len, 3, "Go\0", 4, "not it", 6, align);
    notes = note(notes, &len, 3, "stapsdt", 8, "x", 1, align);
    notes = note(notes, &len, 3, "GNU", 4, "", 0, align);
    CHECK(foldsym_build_id(notes, len, align, &id_len) == NULL && id_len == 0);
    notes = note(notes, &len, 3, "GNU", 4, id, 20, align);
    found = foldsym_build_id(notes, len, align, &id_len);
    CHECK(found && id_len == 20 && memcmp(found, id, 20) == 0);
    for (cut = 0; cut < len; cut++) {
        unsigned char *copy = (unsigned char *)malloc(cut ? cut : 1);
        CHECK(copy != NULL);
        memcpy(copy, notes, cut);
        found = foldsym_build_id(copy, cut, align, &id_len);
        CHECK(found ? id_len == 20 && memcmp(found, id, 20) == 0 : id_len == 0);
        free(copy);
    }
    /* Lengths that lie, in the first note. */
    for (field = 0; field < 2; field++) {
        for (lie = 0; lie < sizeof lies / sizeof *lies; lie++) {
            unsigned char *copy = (unsigned char *)malloc(len);
            CHECK(copy != NULL);
            memcpy(copy, notes, len);
            memcpy(copy + 4 * field, &lies[lie], 4);
            CHECK(foldsym_build_id(copy, len, align, &id_len) == NULL && id_len == 0);
            free(copy);
        }
    }
    free(notes);
}

int main(int argc, char **argv)
{
    unsigned char id[64];
    size_t len = 0;
    CHECK(argc == 4);
    open_file(&file, argv[1], 0);
    open_file(&anonymous, argv[3], 1);
    for (; argv[2][2 * len] && len < sizeof id; len++) {
        char digits[3] = { argv[2][2 * len], argv[2][2 * len + 1], 0 };
        id[len] = (unsigned char)strtoul(digits, NULL, 16);
    }
    CHECK(len > 4);
    check_builds(id, len);
    check_find(id, len);
    check_resolve();
    check_notes(4);
    check_notes(8);
    printf("the table holds\n");
    return 0;
}
