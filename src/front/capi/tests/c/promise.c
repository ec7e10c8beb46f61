/*
 * Holds tier 1 to its promise: promise stack|opened|malloc|seccomp FILE.fsym < STACKS (as for stacks.c).
 * stack: prints how many bytes of a painted alternate stack were used by foldsym_open and foldsym_file_info, by lookups
 * with frames and names, and by resolving stacks with a lookup of each frame, each on its own and over a table of modules.
 * opened: the same of a program that opened the file before, outside of the handler.
 * malloc: does the same while the allocator of interpose.c ends the program, and prints how many answers it got.
 * seccomp: does the same under strict mode, where any syscall but write and exit kills, and prints how many answers
 * it got.
 */
#define _DEFAULT_SOURCE
#include "foldsym_modules.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef __linux__
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#endif

enum { MOST = 256, STACKS = 512, ROOM = 1 << 18, PAINT = 0xa5 };

/* Everything is static: what is measured is the library's stack alone. */
static unsigned char bytes[1 << 20];
static size_t bytes_len;
static unsigned char alternate[ROOM];
static foldsym_file file;
static foldsym_frames frames;
static foldsym_query query;
static foldsym_answer answer;
static foldsym_frame frame;
static foldsym_stack stack;
static foldsym_stack_entry entries[STACKS][MOST];
static size_t counts[STACKS];
static uint64_t biases[STACKS];
static uint64_t vptrs[STACKS];
static size_t stack_count;
static foldsym_resolved resolved[MOST], alone[MOST];
static char text[4096];
static foldsym_info info;
static foldsym_damage damage;
static foldsym_module modules[2], module;
static foldsym_modules table;
/* Of interpose.c. */
volatile int malloc_forbidden;
static volatile unsigned long answers;

static void open_it(void)
{
    if (bytes_len > 0)
        foldsym_open(&file, bytes, bytes_len - 1, &damage);
    answers += foldsym_open(&file, bytes, bytes_len, NULL) == FOLDSYM_OK;
    answers += foldsym_file_info(&file, &info) == FOLDSYM_OK;
    foldsym_modules_init(&table, modules, 2);
    module.end = UINT64_MAX;
    module.file = &file;
    answers += foldsym_modules_add(&table, &module, info.build_id, info.build_id_len, FOLDSYM_UNCHECKED_BUILD) == FOLDSYM_OK;
}

static void look_up(void)
{
    static size_t s, i;
    static uint32_t at;
    for (s = 0; s < stack_count; s++) {
        for (i = 0; i < counts[s]; i++) {
            query.resolved = NULL;
            query.address = entries[s][i].address;
            query.kind = entries[s][i].kind;
            query.load_bias = biases[s];
            query.candidate = 0;
            if (foldsym_lookup(&file, &query, &frames, &answer) != FOLDSYM_OK)
                continue;
            for (at = 0; at < answer.frame_count; at++) {
                if (foldsym_frame_at(&file, &frames, at, &frame) != FOLDSYM_OK)
                    continue;
                foldsym_write_name(&file, frame.name, text, sizeof text);
                foldsym_write_path(&file, frame.file, text, sizeof text);
                answers++;
            }
        }
    }
}

static void resolve(void)
{
    static size_t s, i;
    static int same;
    for (s = 0; s < stack_count; s++) {
        stack.entries = entries[s];
        stack.count = counts[s];
        stack.load_bias = biases[s];
        stack.vptr = vptrs[s];
        if (foldsym_resolve_stack(&file, &stack) != FOLDSYM_OK)
            continue;
        /* The same over a table, which must find the same. */
        modules[0].load_bias = biases[s];
        stack.resolved = alone;
        same = foldsym_resolve_modules(&table, &stack) == FOLDSYM_OK;
        stack.resolved = resolved;
        for (i = 0; i < counts[s]; i++)
            same &= alone[i].certainty == resolved[i].certainty && alone[i].evidence == resolved[i].evidence &&
                    alone[i].candidate_count == resolved[i].candidate_count && alone[i].group == resolved[i].group;
        if (!same)
            continue;
        for (i = 0; i < counts[s]; i++) {
            query.resolved = &resolved[i];
            query.address = entries[s][i].address;
            query.kind = entries[s][i].kind;
            query.load_bias = biases[s];
            query.candidate = resolved[i].candidate_count ? resolved[i].candidate_count - 1 : 0;
            if (foldsym_lookup(&file, &query, &frames, &answer) == FOLDSYM_OK)
                answers++;
        }
    }
}

static void (*measured)(void);
/* Volatile: the C library declares raise() as a leaf, which calls nothing of ours. */
static volatile long used;

static void handler(int signal)
{
    (void)signal;
    /* What lies below this frame is the library's; the kernel's signal frame is above. */
    static unsigned char *base, *low;
    base = __builtin_frame_address(0);
    measured();
    for (low = alternate; low < base && *low == PAINT; low++) {
    }
    used = base - low;
}

static long measure(void (*what)(void))
{
    static stack_t where;
    static struct sigaction action;
    /* Not memset: that it is bound by then would hide what the library needs for it. */
    volatile unsigned char *at = alternate;
    while (at < alternate + sizeof alternate)
        *at++ = PAINT;
    where.ss_sp = alternate;
    where.ss_size = sizeof alternate;
    action.sa_handler = handler;
    action.sa_flags = SA_ONSTACK;
    if (sigaltstack(&where, NULL) || sigaction(SIGUSR1, &action, NULL))
        exit(1);
    measured = what;
    used = -1;
    raise(SIGUSR1);
    return used;
}

static void read_all(const char *path)
{
    static char line[1 << 16];
    FILE *f = fopen(path, "rb");
    if (!f)
        exit(1);
    bytes_len = fread(bytes, 1, sizeof bytes, f);
    fclose(f);
    while (stack_count < STACKS && fgets(line, sizeof line, stdin)) {
        char *at = line;
        size_t n = 0;
        biases[stack_count] = strtoull(at, &at, 16);
        for (; *at == ' ' && at[1] != 'v' && n < MOST; n++) {
            entries[stack_count][n].address = strtoull(at, &at, 16);
            entries[stack_count][n].kind = n ? FOLDSYM_RETURN : FOLDSYM_EXACT;
        }
        vptrs[stack_count] = *at == ' ' ? strtoull(at + 2, &at, 16) : 0;
        counts[stack_count++] = n;
    }
    query.size = sizeof query;
    answer.size = sizeof answer;
    frame.size = sizeof frame;
    stack.size = sizeof stack;
    stack.resolved = resolved;
    stack.resolved_size = sizeof *resolved;
    info.size = sizeof info;
}

#ifdef __linux__
/* stdio may ask the system for more than a write. */
static void put(const char *what)
{
    if (write(1, what, strlen(what)) < 0)
        syscall(SYS_exit, 1);
}

static void confined(void)
{
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 0, 0, 0))
        exit(2);
    open_it();
    look_up();
    resolve();
    char digits[24], *at = digits + sizeof digits;
    unsigned long n = answers;
    *--at = 0;
    *--at = '\n';
    do
        *--at = (char)('0' + n % 10);
    while (n /= 10);
    put(at);
    /* exit() is exit_group, which strict mode does not know. */
    syscall(SYS_exit, 0);
}
#endif

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    read_all(argv[2]);
    if (!strcmp(argv[1], "malloc") || !strcmp(argv[1], "allocates")) {
        /* That the allocator ends the program: this must. */
        void *volatile allocated;
        malloc_forbidden = 1;
        allocated = argv[1][0] == 'a' ? malloc(1) : NULL;
        open_it();
        look_up();
        resolve();
        malloc_forbidden = 0;
        printf("%lu\n", answers);
        free(allocated);
        return 0;
    }
    if (!strcmp(argv[1], "opened")) {
        /* The measured open comes last: at the start it has the stack of main. */
        long looked, walked, opened;
        open_it();
        looked = measure(look_up);
        walked = measure(resolve);
        opened = measure(open_it);
        printf("%ld %ld %ld %lu\n", opened, looked, walked, answers);
        return 0;
    }
    if (!strcmp(argv[1], "stack")) {
        long opened = measure(open_it), looked = measure(look_up), walked = measure(resolve);
        printf("%ld %ld %ld %lu\n", opened, looked, walked, answers);
        return 0;
    }
#ifdef __linux__
    if (!strcmp(argv[1], "seccomp"))
        confined();
    if (!strcmp(argv[1], "killed")) {
        /* That strict mode is on: this syscall must kill. */
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 0, 0, 0);
        syscall(SYS_getpid);
        return 0;
    }
#endif
    return 2;
}
