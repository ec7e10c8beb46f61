/*
 * A program with its own symbols in memory, found without any file. It is linked twice, with the same room and the same build
 * id, so that code and addresses are the same; only the second link has the symbols:
 *
 *   id=$(od -An -tx1 -N20 /dev/urandom | tr -d ' \n')
 *   flags="-g -O2 -DROOM=65536 $(pkg-config --cflags foldsym-embedded) -Wl,--build-id=0x$id"
 *   cc $flags inside.c symbols.S $(pkg-config --libs foldsym-embedded) -o inside
 *   foldsym convert inside
 *   cc $flags -DSYMBOLS='"inside.fsym"' inside.c symbols.S $(pkg-config --libs foldsym-embedded) -o inside
 *   rm inside.fsym; ./inside
 *
 * The assembler refuses symbols that are larger than the room. A fresh id for each build is what a build id is for: where it
 * is kept while the code changes, the symbols of another build are believed.
 */
#define _GNU_SOURCE
#include "foldsym_process.h"

extern const unsigned char foldsym_section[];
extern const uint64_t foldsym_section_len;

static foldsym_modules table;
static foldsym_module modules[64];
static foldsym_file file;
static foldsym_frames frames;

/* Prints the functions at an address that a call returns to. */
static void print(uintptr_t address)
{
    const foldsym_module *module = foldsym_module_find(&table, address, FOLDSYM_RETURN);
    foldsym_query query;
    foldsym_answer answer;
    int status = !module ? FOLDSYM_NO_MODULE : module->status;
    memset(&query, 0, sizeof query);
    query.size = sizeof query;
    query.address = address;
    query.kind = FOLDSYM_RETURN;
    answer.size = sizeof answer;
    if (status == FOLDSYM_OK) {
        query.load_bias = module->load_bias;
        status = foldsym_lookup(module->file, &query, &frames, &answer);
    }
    if (status != FOLDSYM_OK) {
        puts(foldsym_status_text(status));
        return;
    }
    for (uint32_t i = 0; i < answer.frame_count; i++) {
        foldsym_frame frame;
        char name[256], path[1024];
        frame.size = sizeof frame;
        if (foldsym_frame_at(module->file, &frames, i, &frame) != FOLDSYM_OK)
            return;
        foldsym_write_name(module->file, frame.name, name, sizeof name);
        foldsym_write_path(module->file, frame.file, path, sizeof path);
        const char *base = strrchr(path, '/');
        printf("%s %s:%u\n", name, base ? base + 1 : path, (unsigned)frame.line);
    }
}

__attribute__((noinline)) static void where_am_i(void)
{
    print((uintptr_t)__builtin_return_address(0));
}

__attribute__((noinline)) static int deliver(int letters)
{
    where_am_i(); /* delivered here */
    return letters + 1;
}

int main(int argc, char **argv)
{
    foldsym_process process;
    (void)argv;
    memset(&process, 0, sizeof process);
    foldsym_modules_init(&table, modules, sizeof modules / sizeof *modules);
    process.table = &table;
    process.files = &file;
    process.file_capacity = 1;
    process.program = foldsym_section;
    process.program_len = (size_t)foldsym_section_len;
    foldsym_process_add(&process);
    return deliver(argc) == 0;
}
