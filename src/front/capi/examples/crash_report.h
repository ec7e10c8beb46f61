/*
 * crash_report.h: what the two forms of the example share: the handler, which names the frames that a form's walk() found,
 * its installation, and a program whose functions are folded. See crash.c.
 */
#define _GNU_SOURCE
#include "foldsym_process.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

enum { MOST_FRAMES = 64, MOST_MODULES = 64, MOST_FILES = 4, ALTERNATE = 1 << 16 };

static foldsym_modules table;
static foldsym_module modules[MOST_MODULES];
static foldsym_file files[MOST_FILES];
static foldsym_bytes bytes_of_files[MOST_FILES];
static foldsym_process process;
static foldsym_frames frames;
static foldsym_stack_entry entries[MOST_FRAMES];
static foldsym_resolved resolved[MOST_FRAMES];
static char alternate[ALTERNATE];
static char text[512];
static int through[2];
static pid_t opened_by;

/* ---- In the handler: async-signal-safe only. ---- */

static void put(const char *what)
{
    size_t left = strlen(what);
    while (left > 0) {
        ssize_t done = write(STDOUT_FILENO, what, left);
        if (done <= 0)
            return;
        what += done;
        left -= (size_t)done;
    }
}

static void put_number(uint32_t number)
{
    char digits[12], *at = digits + sizeof digits;
    *--at = 0;
    do
        *--at = (char)('0' + number % 10);
    while (number /= 10);
    put(at);
}

/* Reads memory of the process that may not be there: a pipe takes the bytes, and where they are not there the kernel
   answers EFAULT, which nothing but the crash of the handler would tell otherwise. */
static int read_memory(void *context, uint64_t address, void *bytes, size_t len)
{
    (void)context;
    if (len > 8 || write(through[1], (const void *)(uintptr_t)address, len) != (ssize_t)len)
        return 0;
    return read(through[0], bytes, len) == (ssize_t)len;
}

/* Puts the frames of the crashed code into `entries`, innermost first; how many. Each form has its own. */
static size_t walk(const ucontext_t *context);

static void print_frames(size_t number, const foldsym_file *file, const foldsym_query *query)
{
    static const char *const certainties[] = { "", "", " [exact]", "", " [narrowed]", " [ambiguous]" };
    foldsym_answer answer;
    answer.size = sizeof answer;
    if (foldsym_lookup(file, query, &frames, &answer) != FOLDSYM_OK)
        return;
    for (uint32_t i = 0; i < answer.frame_count; i++) {
        foldsym_frame frame;
        frame.size = sizeof frame;
        if (foldsym_frame_at(file, &frames, i, &frame) != FOLDSYM_OK)
            return;
        put("#");
        put_number((uint32_t)number);
        put(" ");
        foldsym_write_name(file, frame.name, text, sizeof text);
        put(text);
        put(" ");
        foldsym_write_path(file, frame.file, text, sizeof text);
        const char *base = strrchr(text, '/');
        put(base ? base + 1 : text);
        put(":");
        put_number(frame.line);
        if (frame.flags & FOLDSYM_OUTERMOST && answer.certainty <= FOLDSYM_IS_AMBIGUOUS)
            put(certainties[answer.certainty]);
        put("\n");
    }
}

static void handler(int number, siginfo_t *info, void *context)
{
    (void)number;
    (void)info;
    /* A process that was forked since has the pipe of its parent, which may read from it as well. */
    if (getpid() != opened_by && pipe2(through, O_CLOEXEC) != 0)
        through[0] = through[1] = -1;
    foldsym_stack stack;
    memset(&stack, 0, sizeof stack);
    stack.size = sizeof stack;
    stack.count = walk((const ucontext_t *)context);
    stack.entries = entries;
    stack.resolved = resolved;
    stack.resolved_size = sizeof *resolved;
    int status = foldsym_resolve_modules(&table, &stack);
    if (status != FOLDSYM_OK)
        put(foldsym_status_text(status));
    for (size_t i = 0; i < stack.count; i++) {
        const foldsym_module *module = foldsym_module_find(&table, entries[i].address, entries[i].kind);
        foldsym_query query;
        if (!module || !module->file)
            continue;
        memset(&query, 0, sizeof query);
        query.size = sizeof query;
        query.address = entries[i].address;
        query.kind = entries[i].kind;
        query.load_bias = module->load_bias;
        query.resolved = &resolved[i];
        print_frames(i, module->file, &query);
    }
    _exit(42);
}

/* ---- At the start. ---- */

/* What the symbols of this program came to. */
static int find_symbols(void)
{
    foldsym_modules_init(&table, modules, MOST_MODULES);
    memset(&process, 0, sizeof process);
    process.table = &table;
    process.files = files;
    process.file_capacity = MOST_FILES;
    process.bytes = bytes_of_files;
    int status = foldsym_process_add(&process);
    /* The loader lists the program first. */
    return status == FOLDSYM_OK ? modules[0].status : status;
}

/* A stack for the handler, as the thread's own may have no room left or be lost. It is the calling thread's alone. */
static int alternate_stack(char *memory)
{
    stack_t stack;
    memset(&stack, 0, sizeof stack);
    stack.ss_sp = memory;
    stack.ss_size = ALTERNATE;
    return sigaltstack(&stack, NULL);
}

static int install(void)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = handler;
    /* One shot: a crash in the handler ends the process. */
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESETHAND;
    sigemptyset(&action.sa_mask);
    opened_by = getpid();
    return pipe2(through, O_CLOEXEC) || alternate_stack(alternate) || sigaction(SIGSEGV, &action, NULL);
}

/* ---- The program: letters and parcels have the same code. ---- */

__attribute__((noinline)) long weigh_parcel(const volatile long *mail)
{
    return mail[0] + mail[1];
}

__attribute__((noinline)) long weigh_letter(const volatile long *mail)
{
    return mail[0] + mail[1]; /* crashes here */
}

__attribute__((noinline)) long price_parcel(const volatile long *mail)
{
    return 3 * weigh_parcel(mail) + 7;
}

__attribute__((noinline)) long price_letter(const volatile long *mail)
{
    return 3 * weigh_letter(mail) + 7; /* called from here */
}
