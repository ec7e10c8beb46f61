/*
 * A crash handler that names the folded functions that truly ran: crash FILE.fsym
 *
 * Two kinds of mail have functions with the same code, which the linker folds into one. The program crashes in one
 * of them, called by another that is folded too. The handler walks the frames, asks which functions they are, and
 * prints them.
 *
 *   clang -O2 -gdwarf-5 -mllvm -emit-func-debug-line-table-offsets -ffunction-sections -fno-omit-frame-pointer \
 *         -mno-omit-leaf-frame-pointer -I include examples/crash.c libfoldsym_embedded.a \
 *         -fuse-ld=lld -Wl,--icf=all -Wl,-z,now -Wl,--build-id -o crash
 *   foldsym convert crash -o crash.fsym && ./crash crash.fsym
 *
 * Why the handler is safe: it calls foldsym's tier 1, which allocates nothing, takes no lock and makes no syscall,
 * and write and _exit, which POSIX lists as async-signal-safe. The file was mapped and opened before, and its pages
 * touched, so that a damaged file system is met at the start. All calls are bound when the program starts (`-z now`): the
 * first of strlen in the handler would else take 3 KiB of its stack. It runs on a stack of its own, so a stack overflow
 * can be reported too. It follows frame pointers only upwards and only inside the part of the crashed stack that is
 * in use, between the stack pointer and a frame of main, so it reads nothing that is not there, whatever the crash
 * has written over. All its memory is static: it must not run twice at once, and a second crash ends the process.
 */
#define _GNU_SOURCE
#include "foldsym.h"

#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <ucontext.h>
#include <unistd.h>

enum { MOST_FRAMES = 64, ALTERNATE = 1 << 16 };

static foldsym_file file;
static foldsym_frames frames;
static foldsym_stack_entry entries[MOST_FRAMES];
static foldsym_resolved resolved[MOST_FRAMES];
static uint64_t load_bias;
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

static void print_frames(size_t number, const foldsym_query *query)
{
    static const char *const certainties[] = { "", "", " [exact]", "", " [narrowed]", " [ambiguous]" };
    foldsym_answer answer;
    answer.size = sizeof answer;
    if (foldsym_lookup(&file, query, &frames, &answer) != FOLDSYM_OK)
        return;
    for (uint32_t i = 0; i < answer.frame_count; i++) {
        foldsym_frame frame;
        frame.size = sizeof frame;
        if (foldsym_frame_at(&file, &frames, i, &frame) != FOLDSYM_OK)
            return;
        put("#");
        put_number((uint32_t)number);
        put(" ");
        foldsym_write_name(&file, frame.name, text, sizeof text);
        put(text);
        put(" ");
        foldsym_write_path(&file, frame.file, text, sizeof text);
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
    stack.load_bias = load_bias;
    int status = foldsym_resolve_stack(&file, &stack);
    if (status != FOLDSYM_OK)
        put(foldsym_status_text(status));
    for (size_t i = 0; i < stack.count; i++) {
        foldsym_query query;
        memset(&query, 0, sizeof query);
        query.size = sizeof query;
        query.address = entries[i].address;
        query.kind = entries[i].kind;
        query.load_bias = load_bias;
        query.resolved = &resolved[i];
        print_frames(i, &query);
    }
    _exit(42);
}

/* ---- At the start. ---- */

/* The program itself comes first: takes its load bias, and compares its build id with the file's. */
static int first_object(struct dl_phdr_info *info, size_t size, void *is_ours)
{
    foldsym_info known;
    known.size = sizeof known;
    (void)size;
    load_bias = info->dlpi_addr;
    if (foldsym_file_info(&file, &known) != FOLDSYM_OK || !known.build_id)
        return 1;
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        if (segment->p_type != PT_NOTE)
            continue;
        const char *at = (const char *)(info->dlpi_addr + segment->p_vaddr), *end = at + segment->p_memsz;
        while ((size_t)(end - at) >= sizeof(ElfW(Nhdr))) {
            const ElfW(Nhdr) *note = (const void *)at;
            const char *name = at + sizeof *note, *id = name + ((note->n_namesz + 3) & ~3u);
            if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 && memcmp(name, "GNU", 4) == 0)
                *(int *)is_ours =
                    note->n_descsz == known.build_id_len && memcmp(id, known.build_id, known.build_id_len) == 0;
            at = id + ((note->n_descsz + 3) & ~3u);
        }
    }
    return 1;
}

static int open_symbols(const char *path)
{
    struct stat stat;
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0 || fstat(descriptor, &stat) != 0)
        return FOLDSYM_E_IO;
    void *bytes = mmap(NULL, (size_t)stat.st_size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, descriptor, 0);
    close(descriptor);
    if (bytes == MAP_FAILED)
        return FOLDSYM_E_IO;
    return foldsym_open(&file, bytes, (size_t)stat.st_size, NULL);
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

int main(int argc, char **argv)
{
    static const volatile long mail[2] = { 1, 2 };
    int is_ours = 0;
    if (argc < 2 || open_symbols(argv[1]) != FOLDSYM_OK || install() != 0) {
        fprintf(stderr, "crash FILE.fsym\n");
        return 1;
    }
    dl_iterate_phdr(first_object, &is_ours);
    if (!is_ours) {
        fprintf(stderr, "%s: not of this build\n", argv[1]);
        return 2;
    }
    stack_top = (uintptr_t)__builtin_frame_address(0);
    long parcel = price_parcel(mail);
    const volatile long *lost = parcel == 16 ? NULL : mail;
    long letter = price_letter(lost); /* from main */
    return (int)(parcel + letter);
}
