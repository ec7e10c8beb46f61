/*
 * crash.c's second form: its handler walks frames by section UNWIND, so that the program needs no frame pointers. Finds
 * crash_unwind.fsym beside itself.
 *
 *   clang -O2 -gdwarf-5 -mllvm -emit-func-debug-line-table-offsets -ffunction-sections -fomit-frame-pointer -I include \
 *         -pthread examples/crash_unwind.c libfoldsym_embedded.a libfoldsym_unwind.a \
 *         -fuse-ld=lld -Wl,--icf=all -Wl,-z,now -Wl,--build-id -o crash_unwind
 *   foldsym convert --unwind crash_unwind && ./crash_unwind [thread|lost|forked]
 *
 * Why the handler is safe: as in crash.c. The stepper reads memory by read_memory alone, so it walks the stack of any
 * thread, and a stack pointer that the crash destroyed ends the walk. With `thread` the crash is in a thread of its own,
 * with `lost` its stack pointer is destroyed, with `forked` it is in a child, while the parent has bytes in its own pipe.
 */
#include "crash_report.h"

#include "foldsym_unwind_modules.h"

#include <pthread.h>
#include <sys/wait.h>

#if defined(__aarch64__)
enum { PROGRAM_COUNTER = 32 };
#else
enum { PROGRAM_COUNTER = 16 };
#endif

static foldsym_unwind rows[MOST_FILES];
static foldsym_walk frame;

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
    while (count < MOST_FRAMES) {
        uint64_t pc = frame.registers[PROGRAM_COUNTER];
        entries[count].address = pc;
        entries[count].kind = frame.exact ? FOLDSYM_EXACT : FOLDSYM_RETURN;
        count++;
        /* The walk ends in the C library, whose rows are not at hand. */
        if (foldsym_unwind_modules_step(&process, rows, &frame, read_memory, NULL) != FOLDSYM_UNWIND_OK)
            break;
    }
    return count;
}

/* Opens the rows of this program and its libraries. */
static int find_rows(void)
{
    if (foldsym_unwind_modules_open(&process, rows) == 0) {
        fputs("crash_unwind: the symbols have no rows: convert with --unwind\n", stderr);
        return 1;
    }
    return 0;
}

__attribute__((noinline)) static long crash(void)
{
    static const volatile long mail[2] = { 1, 2 };
    long parcel = price_parcel(mail);
    const volatile long *gone = parcel == 16 ? NULL : mail;
    long letter = price_letter(gone); /* from here */
    return parcel + letter;
}

static void *in_thread(void *memory)
{
    if (alternate_stack((char *)memory) != 0)
        exit(1);
    exit((int)crash());
}

/* Destroys the stack pointer, then crashes. */
__attribute__((noinline)) static void lose_stack(void)
{
#if defined(__x86_64__)
    __asm__ volatile("mov $0x1000, %%rsp; mov (%%rsp), %%rax" ::: "rax", "memory"); /* lost */
#elif defined(__aarch64__)
    __asm__ volatile("mov x0, #0x1000; mov sp, x0; ldr x0, [sp]" ::: "x0", "memory"); /* lost */
#endif
}

/* Crashes in a child. What is in the parent's pipe is what the parent's own handler would be about to read. */
__attribute__((noinline)) static int in_child(void)
{
    static const char pending[8] = "pending";
    int status = 0;
    if (write(through[1], pending, sizeof pending) != sizeof pending)
        return 1;
    pid_t child = fork();
    if (child == 0)
        exit((int)crash());
    return child > 0 && waitpid(child, &status, 0) == child ? WEXITSTATUS(status) : 1;
}

int main(int count, char **words)
{
    static char of_thread[ALTERNATE];
    const char *how = count > 1 ? words[1] : "";
    int status = find_symbols();
    if (status != FOLDSYM_OK) {
        fprintf(stderr, "crash_unwind: %s\n", foldsym_status_text(status));
        return 2;
    }
    if (install() != 0)
        return 1;
    if (find_rows() != 0)
        return 2;
    if (strcmp(how, "lost") == 0)
        lose_stack();
    if (strcmp(how, "forked") == 0)
        return in_child();
    if (strcmp(how, "thread") == 0) {
        pthread_t thread;
        return pthread_create(&thread, NULL, in_thread, of_thread) || pthread_join(thread, NULL);
    }
    return (int)crash(); /* from main */
}
