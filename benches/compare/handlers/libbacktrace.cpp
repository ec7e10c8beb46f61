// The library has no handler: its user writes one, as in its README.
#include "install.h"
#include <backtrace.h>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
static backtrace_state *state;
static void failed(void *, const char *text, int)
{
    std::fprintf(stderr, "libbacktrace: %s\n", text);
}
static int print(void *, uintptr_t pc, const char *file, int line, const char *function)
{
    std::fprintf(stderr, "0x%lx %s at %s:%d\n", static_cast<unsigned long>(pc), function ? function : "??", file ? file : "??", line);
    return 0;
}
static void handle(int signal)
{
    backtrace_full(state, 0, print, failed, nullptr);
    std::raise(signal);
}
void install(const char *program)
{
    state = backtrace_create_state(program, 1, failed, nullptr);
    static char room[1 << 16];
    stack_t stack = {};
    stack.ss_sp = room;
    stack.ss_size = sizeof room;
    sigaltstack(&stack, nullptr);
    struct sigaction action = {};
    action.sa_handler = handle;
    action.sa_flags = SA_RESETHAND | SA_ONSTACK;
    for (int signal : { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP })
        sigaction(signal, &action, nullptr);
}
