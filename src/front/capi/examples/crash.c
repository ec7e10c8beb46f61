/*
 * A crash handler that names the folded functions that truly ran. Finds crash.fsym beside itself.
 *
 * Two kinds of mail have functions with the same code, which the linker folds into one. The program crashes in one
 * of them, called by another that is folded too. The handler walks the frames, asks which functions they are, and
 * prints them.
 *
 *   clang -O2 -gdwarf-5 -mllvm -emit-func-debug-line-table-offsets -ffunction-sections -fno-omit-frame-pointer \
 *         -mno-omit-leaf-frame-pointer -I include examples/crash.c libfoldsym_embedded.a \
 *         -fuse-ld=lld -Wl,--icf=all -Wl,-z,now -Wl,--build-id -o crash
 *   foldsym convert crash && ./crash
 *
 * Why the handler is safe: it calls foldsym's tier 1, which allocates nothing, takes no lock and makes no syscall,
 * and write and _exit, which POSIX lists as async-signal-safe. The files were found, mapped and opened before
 * (foldsym_process.h: dl_iterate_phdr takes a lock, and so is not for the handler), their build ids compared with those
 * of the modules in memory, and their pages touched, so that a damaged file system is met at the start. All calls are bound when the program starts (`-z now`): the
 * first of strlen in the handler would else take 3 KiB of its stack. It runs on a stack of its own, so a stack overflow
 * can be reported too. It follows frame pointers only upwards and only inside the part of the crashed stack that is
 * in use, between the stack pointer and a frame of main, so it reads nothing that is not there, whatever the crash
 * has written over. All its memory is static: it must not run twice at once, and a second crash ends the process.
 */
#define _GNU_SOURCE
#include "foldsym_process.h"

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
static foldsym_frames frames;
static foldsym_stack_entry entries[MOST_FRAMES];
static foldsym_resolved resolved[MOST_FRAMES];
static uintptr_t stack_top;
static char alternate[ALTERNATE];
static char text[512];

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

/* The frames of the crashed code, innermost first; how many. */
static size_t walk(const ucontext_t *context)
{
#if defined(__x86_64__)
    uintptr_t pc = (uintptr_t)context->uc_mcontext.gregs[REG_RIP];
    uintptr_t fp = (uintptr_t)context->uc_mcontext.gregs[REG_RBP];
    uintptr_t low = (uintptr_t)context->uc_mcontext.gregs[REG_RSP];
#elif defined(__aarch64__)
    uintptr_t pc = context->uc_mcontext.pc;
    uintptr_t fp = context->uc_mcontext.regs[29];
    uintptr_t low = context->uc_mcontext.sp;
#else
#error "say where this machine keeps its frame pointer"
#endif
    size_t count = 0;
    entries[count].address = pc;
    entries[count++].kind = FOLDSYM_EXACT;
    while (count < MOST_FRAMES && fp >= low && fp <= stack_top && fp % sizeof(uintptr_t) == 0) {
        const uintptr_t *frame = (const uintptr_t *)fp;
        if (fp == stack_top)
            break; /* main's own: its caller is the C library's */
        entries[count].address = frame[1];
        entries[count++].kind = FOLDSYM_RETURN;
        low = fp + 1; /* callers lie above */
        fp = frame[0];
    }
    return count;
}

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
    foldsym_process process;
    foldsym_modules_init(&table, modules, MOST_MODULES);
    memset(&process, 0, sizeof process);
    process.table = &table;
    process.files = files;
    process.file_capacity = MOST_FILES;
    int status = foldsym_process_add(&process);
    /* The loader lists the program first. */
    return status == FOLDSYM_OK ? modules[0].status : status;
}

static int install(void)
{
    stack_t stack;
    struct sigaction action;
    memset(&stack, 0, sizeof stack);
    memset(&action, 0, sizeof action);
    stack.ss_sp = alternate;
    stack.ss_size = sizeof alternate;
    action.sa_sigaction = handler;
    /* One shot: a crash in the handler ends the process. */
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESETHAND;
    sigemptyset(&action.sa_mask);
    return sigaltstack(&stack, NULL) || sigaction(SIGSEGV, &action, NULL);
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

int main(void)
{
    static const volatile long mail[2] = { 1, 2 };
    int status = find_symbols();
    if (status != FOLDSYM_OK) {
        fprintf(stderr, "crash: %s\n", foldsym_status_text(status));
        return 2;
    }
    if (install() != 0)
        return 1;
    stack_top = (uintptr_t)__builtin_frame_address(0);
    long parcel = price_parcel(mail);
    const volatile long *lost = parcel == 16 ? NULL : mail;
    long letter = price_letter(lost); /* from main */
    return (int)(parcel + letter);
}
