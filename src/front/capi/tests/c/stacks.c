/*
 * Resolves recorded stacks with tier 1, prints every candidate of every frame.
 * stacks FILE.fsym < STACKS: one stack a line, load bias first, then addresses, innermost first, in hexadecimal; last,
 * behind a `v`, what the object of the innermost function holds.
 * Prints a line a frame: certainty evidence reason count, then for each candidate " | name:line<name:line..."; then "--".
 */
#include "foldsym.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 256 };

static foldsym_file file;
static foldsym_frames frames;
static foldsym_stack_entry entries[MOST];
static foldsym_resolved resolved[MOST];

static void fail(const char *what, int status)
{
    printf("%s: %s\n", what, foldsym_status_text(status));
    exit(1);
}

static void *read_file(const char *path, size_t *len)
{
    FILE *f = fopen(path, "rb");
    static unsigned char bytes[1 << 20];
    if (!f)
        fail(path, FOLDSYM_E_IO);
    *len = fread(bytes, 1, sizeof bytes, f);
    fclose(f);
    return bytes;
}

static void print_candidate(const foldsym_query *query)
{
    foldsym_answer answer;
    memset(&answer, 0, sizeof answer);
    answer.size = sizeof answer;
    int status = foldsym_lookup(&file, query, &frames, &answer);
    if (status != FOLDSYM_OK)
        fail("lookup", status);
    printf(" | ");
    for (uint32_t i = 0; i < answer.frame_count; i++) {
        foldsym_frame frame;
        char name[512], path[512];
        frame.size = sizeof frame;
        if ((status = foldsym_frame_at(&file, &frames, i, &frame)) != FOLDSYM_OK)
            fail("frame", status);
        foldsym_write_name(&file, frame.name, name, sizeof name);
        foldsym_write_path(&file, frame.file, path, sizeof path);
        printf("%s%s@%s:%u", i ? "<" : "", name, path, (unsigned)frame.line);
    }
    foldsym_frame none;
    none.size = sizeof none;
    if (foldsym_frame_at(&file, &frames, answer.frame_count, &none) != FOLDSYM_END)
        fail("a frame after the last", FOLDSYM_OK);
}

static void print_frame(size_t i, uint64_t bias)
{
    foldsym_query query;
    memset(&query, 0, sizeof query);
    query.size = sizeof query;
    query.address = entries[i].address;
    query.kind = entries[i].kind;
    query.load_bias = bias;
    query.resolved = &resolved[i];
    uint32_t count = resolved[i].candidate_count;
    printf("%u %u %u %u", (unsigned)resolved[i].certainty, (unsigned)resolved[i].evidence,
           (unsigned)resolved[i].reason, (unsigned)count);
    if (resolved[i].certainty != FOLDSYM_UNKNOWN) {
        for (query.candidate = 0; query.candidate < (count ? count : 1); query.candidate++)
            print_candidate(&query);
    }
    printf("\n");
}

int main(int argc, char **argv)
{
    static char line[1 << 16];
    size_t len;
    void *bytes = read_file(argc > 1 ? argv[1] : "", &len);
    int status = foldsym_open(&file, bytes, len, NULL);
    if (status != FOLDSYM_OK)
        fail("open", status);
    while (fgets(line, sizeof line, stdin)) {
        char *at = line;
        size_t count = 0;
        foldsym_stack stack;
        memset(&stack, 0, sizeof stack);
        stack.size = sizeof stack;
        stack.load_bias = strtoull(at, &at, 16);
        while (*at == ' ' && at[1] != 'v') {
            entries[count].address = strtoull(at, &at, 16);
            entries[count].kind = count ? FOLDSYM_RETURN : FOLDSYM_EXACT;
            count++;
        }
        if (*at == ' ')
            stack.vptr = strtoull(at + 2, &at, 16);
        stack.entries = entries;
        stack.resolved = resolved;
        stack.resolved_size = sizeof *resolved;
        stack.count = count;
        if ((status = foldsym_resolve_stack(&file, &stack)) != FOLDSYM_OK)
            fail("resolve", status);
        for (size_t i = 0; i < count; i++)
            print_frame(i, stack.load_bias);
        printf("--\n");
    }
    return 0;
}
