/*
 * crash.c's second form: its handler walks frames by section UNWIND, so that the program needs no frame pointers. Finds
 * crash_unwind.fsym beside itself.
 *
 *   clang -O2 -gdwarf-5 -mllvm -emit-func-debug-line-table-offsets -ffunction-sections -fomit-frame-pointer -I include \
 *         examples/crash_unwind.c libfoldsym_embedded.a libfoldsym_unwind.a \
 *         -fuse-ld=lld -Wl,--icf=all -Wl,-z,now -Wl,--build-id -o crash_unwind
 *   foldsym convert --unwind crash_unwind && ./crash_unwind
 *
 * Why the handler is safe: as in crash.c. The stepper reads memory through read_stack alone, which gives what is between
 * the stack pointer at the crash and the end of the thread's stack, whatever the crash has written over.
 */
#define _GNU_SOURCE
#include "foldsym_process.h"
#include "foldsym_unwind.h"

#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

#if defined(__aarch64__)
enum { STACK_POINTER = 31, PROGRAM_COUNTER = 32 };
#else
enum { STACK_POINTER = 7, PROGRAM_COUNTER = 16 };
#endif

enum { MOST_FRAMES = 64, MOST_MODULES = 64, MOST_FILES = 4, ALTERNATE = 1 << 16 };

static foldsym_modules table;
static foldsym_module modules[MOST_MODULES];
static foldsym_file files[MOST_FILES];
static foldsym_frames frames;
static foldsym_stack_entry entries[MOST_FRAMES];
static foldsym_resolved resolved[MOST_FRAMES];
static foldsym_unwind unwind;
static const foldsym_file *opened_file;
static foldsym_walk frame;
static uintptr_t stack_end;
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

/* Reads memory of the crashed stack: what is above the stack pointer, and the red zone below it. */
static int read_stack(void *context, uint64_t address, void *bytes, size_t len)
{
    uintptr_t low = *(const uintptr_t *)context;
    if (address < low || address > stack_end || stack_end - address < len)
        return 0;
    memcpy(bytes, (const void *)(uintptr_t)address, len);
    return 1;
}

/* The registers of the crashed code, by DWARF's numbers. */
static void begin(const ucontext_t *context)
{
    memset(&frame, 0, sizeof frame);
    frame.size = sizeof frame;
    frame.exact = 1;
#if defined(__x86_64__)
    static const int order[] = { REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI, REG_RBP, REG_RSP, REG_R8,
                                 REG_R9, REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP };
    for (size_t i = 0; i < sizeof order / sizeof *order; i++)
        frame.registers[i] = (uint64_t)context->uc_mcontext.gregs[order[i]];
    frame.known = (1u << 17) - 1;
#elif defined(__aarch64__)
    for (size_t i = 0; i < 31; i++)
        frame.registers[i] = context->uc_mcontext.regs[i];
    frame.registers[31] = context->uc_mcontext.sp;
    frame.registers[32] = context->uc_mcontext.pc;
    frame.known = ((uint64_t)1 << 33) - 1;
#else
#error "say where this machine keeps its registers"
#endif
}

/* The frames of the crashed code, innermost first; how many. */
static size_t walk(const ucontext_t *context)
{
    size_t count = 0;
    begin(context);
    uintptr_t low = (uintptr_t)frame.registers[STACK_POINTER] - 128;
    while (count < MOST_FRAMES) {
        uint64_t pc = frame.registers[PROGRAM_COUNTER];
        entries[count].address = pc;
        entries[count].kind = frame.exact ? FOLDSYM_EXACT : FOLDSYM_RETURN;
        const foldsym_module *module = foldsym_module_find(&table, pc, entries[count].kind);
        count++;
        if (!module || !module->file || module->file != opened_file)
            break; /* the C library's: its rows are not at hand */
        if (foldsym_unwind_step(&unwind, module->load_bias, &frame, read_stack, &low) != FOLDSYM_UNWIND_OK)
            break;
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

/* Opens the rows of this program, and finds the end of its stack. */
static int find_rows(void)
{
    static char path[PATH_MAX];
    size_t len = 0;
    ssize_t end = readlink("/proc/self/exe", path, sizeof path - sizeof ".fsym");
    if (end <= 0)
        return 1;
    strcpy(path + end, ".fsym");
    const unsigned char *bytes = foldsym_process_map(path, &len);
    int status = bytes ? foldsym_unwind_open(bytes, len, &unwind) : FOLDSYM_UNWIND_E_ARGUMENT;
    if (status != FOLDSYM_UNWIND_OK) {
        fputs("crash_unwind: the symbols have no rows: convert with --unwind\n", stderr);
        return 1;
    }
    opened_file = modules[0].file;
    pthread_attr_t attributes;
    void *start = NULL;
    size_t size = 0;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0 || pthread_attr_getstack(&attributes, &start, &size) != 0)
        return 1;
    pthread_attr_destroy(&attributes);
    stack_end = (uintptr_t)start + size;
    return 0;
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
        fprintf(stderr, "crash_unwind: %s\n", foldsym_status_text(status));
        return 2;
    }
    if (install() != 0)
        return 1;
    if (find_rows() != 0)
        return 2;
    long parcel = price_parcel(mail);
    const volatile long *lost = parcel == 16 ? NULL : mail;
    long letter = price_letter(lost); /* from main */
    return (int)(parcel + letter);
}
