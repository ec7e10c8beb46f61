/* Walks a stack of its own by UNWIND, through the C library's qsort, and compares it with libgcc's backtrace().
 *
 *   unwind PROGRAM.fsym LIBC.fsym
 */
#define _GNU_SOURCE
#include "foldsym_unwind.h"

#include <alloca.h>
#include <execinfo.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <fcntl.h>
#include <ucontext.h>
#include <unistd.h>

struct module {
    uintptr_t bias, low, high;
    foldsym_unwind unwind;
};

static struct module modules[2];
static uintptr_t stack_low, stack_high;
static unsigned failed;

static int read_stack(void *context, uint64_t address, void *bytes, size_t len)
{
    (void)context;
    if (address < stack_low || address > stack_high || stack_high - address < len)
        return 0;
    memcpy(bytes, (const void *)(uintptr_t)address, len);
    return 1;
}

static int each(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size;
    const char *name = info->dlpi_name;
    struct module *module = NULL;
    size_t *count = context;
    if ((*count)++ == 0)
        module = &modules[0];
    else if (strstr(name, "/libc.so") || strstr(name, "/libc-"))
        module = &modules[1];
    if (!module)
        return 0;
    module->bias = info->dlpi_addr;
    module->low = UINTPTR_MAX;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        if (info->dlpi_phdr[i].p_type != PT_LOAD)
            continue;
        uintptr_t start = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr, end = start + info->dlpi_phdr[i].p_memsz;
        module->low = start < module->low ? start : module->low;
        module->high = end > module->high ? end : module->high;
    }
    return 0;
}

/* The frames from here on, beside backtrace()'s. */
__attribute__((noinline)) static void compare(const char *what)
{
    void *expected[64];
    static uintptr_t found[64];
    ucontext_t context;
    int count = backtrace(expected, 64), got = 0;
    getcontext(&context);
    foldsym_walk walk;
    memset(&walk, 0, sizeof walk);
    walk.size = sizeof walk;
    walk.exact = 1;
#if defined(__x86_64__)
    static const int order[] = { REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI, REG_RBP, REG_RSP, REG_R8,
                                 REG_R9, REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP };
    for (int i = 0; i < 17; i++)
        walk.registers[i] = (uint64_t)context.uc_mcontext.gregs[order[i]];
    walk.known = (1u << 17) - 1;
    const int pc = 16, sp = 7;
#else
    for (int i = 0; i < 31; i++)
        walk.registers[i] = context.uc_mcontext.regs[i];
    walk.registers[31] = context.uc_mcontext.sp;
    walk.registers[32] = context.uc_mcontext.pc;
    walk.known = ((uint64_t)1 << 33) - 1;
    const int pc = 32, sp = 31;
#endif
    stack_low = walk.registers[sp] - 128;
    int status = FOLDSYM_UNWIND_OK;
    while (got < 64 && status == FOLDSYM_UNWIND_OK) {
        uintptr_t at = walk.registers[pc] - !walk.exact;
        found[got++] = walk.registers[pc];
        const struct module *module = NULL;
        for (int i = 0; i < 2; i++)
            if (at >= modules[i].low && at < modules[i].high)
                module = &modules[i];
        if (!module)
            break;
        status = foldsym_unwind_step(&module->unwind, module->bias, &walk, read_stack, NULL);
    }
    /* The first is this function, once at the call of backtrace and once at that of getcontext. */
    int same = count == got && count > 3;
    for (int i = 1; i < count && i < got; i++)
        same &= (uintptr_t)expected[i] == found[i];
    printf("%s: %d frames, status %d%s\n", what, got, status, same ? "" : ": DIFFERS");
    failed += !same;
    if (!same)
        for (int i = 0; i < count || i < got; i++)
            printf("  %p %p\n", i < count ? expected[i] : NULL, i < got ? (void *)found[i] : NULL);
}

static const char *current;
static volatile int calls;

static int less(const void *a, const void *b)
{
    if (calls++ == 3)
        compare(current);
    return *(const int *)a - *(const int *)b;
}

/* A frame whose size is known at run time alone, with registers that are saved. */
__attribute__((noinline)) static int nest(int depth, int size)
{
    int *numbers = alloca((size_t)size * sizeof *numbers);
    for (int i = 0; i < size; i++)
        numbers[i] = (i * 7919) % (size + 1);
    if (depth == 0) {
        calls = 0;
        qsort(numbers, (size_t)size, sizeof *numbers, less);
        return numbers[0];
    }
    return nest(depth - 1, size + 3) + numbers[depth % size];
}

static void *thread(void *argument)
{
    pthread_attr_t attributes;
    void *start = NULL;
    size_t size = 0;
    pthread_getattr_np(pthread_self(), &attributes);
    pthread_attr_getstack(&attributes, &start, &size);
    pthread_attr_destroy(&attributes);
    stack_high = (uintptr_t)start + size;
    current = argument;
    return (void *)(intptr_t)nest(5, 16);
}

static int open_rows(const char *path, foldsym_unwind *out)
{
    struct stat about;
    int descriptor = open(path, O_RDONLY);
    if (descriptor < 0 || fstat(descriptor, &about) != 0)
        return -100;
    void *bytes = mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_PRIVATE, descriptor, 0);
    /* A file that is cut short, and none at all. */
    foldsym_unwind none;
    memset(&none, 0, sizeof none);
    foldsym_walk walk;
    memset(&walk, 0, sizeof walk);
    if (foldsym_unwind_open(bytes, (size_t)about.st_size - 1, &none) != FOLDSYM_UNWIND_E_DAMAGED ||
        foldsym_unwind_open(NULL, 1, &none) != FOLDSYM_UNWIND_E_ARGUMENT ||
        foldsym_unwind_step(&none, 0, &walk, read_stack, NULL) != FOLDSYM_UNWIND_E_ARGUMENT)
        return -101;
    return foldsym_unwind_open(bytes, (size_t)about.st_size, out);
}

int main(int argc, char **argv)
{
    size_t count = 0;
    dl_iterate_phdr(each, &count);
    for (int i = 0; i < 2; i++) {
        int status = argc == 3 ? open_rows(argv[1 + i], &modules[i].unwind) : -102;
        if (status != FOLDSYM_UNWIND_OK) {
            printf("%s: status %d\n", argc == 3 ? argv[1 + i] : "", status);
            return 2;
        }
    }
    thread("main thread");
    pthread_t other;
    if (pthread_create(&other, NULL, thread, "another thread") != 0 || pthread_join(other, NULL) != 0)
        return 2;
    return failed ? 1 : 0;
}
