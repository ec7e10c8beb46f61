// Walks the tables of a generated program and prints each stack as the machine has it, with who the source says is
// on it:
//
//     stack BIAS VPTR PC RETURN... | WHO...
//
// innermost address first, outermost name first. The addresses come from the unwinder, which reads .eh_frame alone;
// the names come from the tables. Debug information is on neither side.
#include "runtime.h"

#include <link.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <ucontext.h>
#include <unwind.h>

const Step *volatile now;
const void *volatile now_vptr;
volatile int sink;

static const Step *walk_begin;
static void *walk_end;
static jmp_buf out;
static unsigned long bias;
// Addresses are printed as they were at run time, or with an argument as the linker placed them.
static unsigned long subtract;

static unsigned long found[256];
static int found_count;

static _Unwind_Reason_Code one_frame(_Unwind_Context *context, void *)
{
    found[found_count++] = _Unwind_GetIP(context);
    return found_count < 256 ? _URC_NO_REASON : _URC_END_OF_STACK;
}

// Linkers fold parts of functions whose frames differ in size, and keep one unwind entry: the unwinder then reads
// anywhere. Such a walk is lost.
static sigjmp_buf lost;

static void crashed(int)
{
    siglongjmp(lost, 1);
}

// Prints from the frame that stands at `from`, or from the one inside it.
static void print(const Step *last, const void *vptr, unsigned long from, bool inside)
{
    if (sigsetjmp(lost, 1)) {
        puts("stack lost");
        return;
    }
    found_count = 0;
    _Unwind_Backtrace(one_frame, nullptr);
    int at = 0;
    while (at < found_count && found[at] != from)
        at++;
    printf("stack 0x%lx ", bias - subtract);
    if (vptr)
        printf("0x%lx", (unsigned long)vptr - subtract);
    else
        printf("-");
    for (at -= inside; at < found_count && found[at] != (unsigned long)walk_end; at++)
        printf(" 0x%lx", found[at] - subtract);
    printf(" |");
    for (const Step *step = walk_begin; step <= last; step++)
        printf(" %s", step->who);
    printf("%s\n", inside ? " probe@runtime.cpp:0/direct!" : "");
}

extern "C" NOINLINE int probe(const Step *s)
{
    print(s, nullptr, (unsigned long)__builtin_return_address(0), true);
    return sink;
}

static void trapped(int, siginfo_t *, void *context)
{
    print(now, now_vptr, ((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP], false);
}

// A function that does not return ends its walk here.
extern "C" NOINLINE void leave()
{
    longjmp(out, 1);
}

extern "C" NOINLINE int run(const Step *walk, Function root)
{
    walk_begin = walk;
    walk_end = __builtin_return_address(0);
    if (setjmp(out))
        return 0;
    return root(walk + 1, 1) + 1;
}

// The program is the first object that the loader knows.
static int first(dl_phdr_info *info, size_t, void *)
{
    bias = info->dlpi_addr;
    return 1;
}

#ifdef MODULES
// A program of several modules says where each is: `module BIAS START END NAME`, without a name the program itself.
static int module(dl_phdr_info *info, size_t, void *)
{
    unsigned long start = -1ul, end = 0;
    for (int at = 0; at < info->dlpi_phnum; at++) {
        unsigned long from = info->dlpi_addr + info->dlpi_phdr[at].p_vaddr;
        if (info->dlpi_phdr[at].p_type != PT_LOAD)
            continue;
        start = from < start ? from : start;
        if (from + info->dlpi_phdr[at].p_memsz > end)
            end = from + info->dlpi_phdr[at].p_memsz;
    }
    printf("module 0x%lx 0x%lx 0x%lx %s\n", info->dlpi_addr, start, end, info->dlpi_name);
    return 0;
}
#endif

int main(int count, char **)
{
    dl_iterate_phdr(first, nullptr);
    if (count > 1)
        subtract = bias;
#ifdef MODULES
    dl_iterate_phdr(module, nullptr);
#endif
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = trapped;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGTRAP, &action, nullptr);
    signal(SIGSEGV, crashed);
    signal(SIGBUS, crashed);
    for (int walk = 0; walk < walk_count; walk++)
        sink = run(walks[walk].steps, walks[walk].root);
    return 0;
}
