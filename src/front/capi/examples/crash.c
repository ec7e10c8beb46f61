/*
 * A crash handler that names the folded functions that truly ran. Finds crash.fsym beside itself. crash_report.h has what
 * the handler does; this file finds the frames.
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
 * and write, read, getpid and _exit, which POSIX lists as async-signal-safe (in a forked child pipe2, too, which Linux makes one system call). The files were found, mapped and opened before
 * (foldsym_process.h: dl_iterate_phdr takes a lock, and so is not for the handler), their build ids compared with those
 * of the modules in memory, and their pages touched, so that a damaged file system is met at the start. All calls are bound when the program starts (`-z now`): the
 * first of strlen in the handler would else take 3 KiB of its stack. It runs on a stack of its own, so a stack overflow
 * can be reported too. It follows frame pointers only upwards, to main's frame, and reads memory by a pipe, to which the
 * kernel copies what is there, whatever the crash has written over. All its memory is static: it must not run twice at once, and a second crash ends the process.
 */
#include "crash_report.h"

static uintptr_t stack_top;

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
        uintptr_t frame[2];
        if (fp == stack_top)
            break; /* main's own: its caller is the C library's */
        if (!read_memory(NULL, fp, &frame[0], sizeof frame[0]) ||
            !read_memory(NULL, fp + sizeof frame[0], &frame[1], sizeof frame[1]))
            break;
        entries[count].address = frame[1];
        entries[count++].kind = FOLDSYM_RETURN;
        low = fp + 1; /* callers lie above */
        fp = frame[0];
    }
    return count;
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
