// The library has no handler. This is the short way; the one that its documentation calls safe in handlers needs a second program, which
// the handler starts, and about 60 lines.
#include "install.h"
#include <cpptrace/cpptrace.hpp>
#include <csignal>
#include <iostream>
static void handle(int signal)
{
    cpptrace::generate_trace().print(std::cerr);
    std::raise(signal);
}
void install(const char *)
{
    static char room[1 << 20];
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
