// Crashes in the way that its first argument names, under the crash handler. A second argument names a file for the line of JSON.
#include "foldsym_crash.h"
#include "mail.hpp"

#include <atomic>
#include <cassert>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdexcept>
#include <string>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {
const volatile long mail[2] = { 1, 2 };
std::atomic<int> ready;

__attribute__((noinline)) int deeper(int depth)
{
    volatile char room[64];
    room[0] = static_cast<char>(depth);
    return deeper(depth + 1) + room[0];
}

__attribute__((noinline)) int divide(int by)
{
    return 100 / by;
}

__attribute__((noinline)) void lose_stack()
{
#if defined(__x86_64__)
    __asm__ volatile("mov $0x1000, %%rsp; mov (%%rsp), %%rax" ::: "rax", "memory");
#else
    __asm__ volatile("mov x0, #0x1000; mov sp, x0; ldr x0, [sp]" ::: "x0", "memory");
#endif
}

void on_user_signal(int)
{
    carry(letters::post, nullptr);
}

void before(int number, siginfo_t *info, void *)
{
    static const char text[] = "the handler that was there before\n";
    (void)!write(2, text, sizeof text - 1);
    _exit(number == SIGSEGV && info->si_addr == nullptr ? 77 : 78);
}

// Paints an alternate stack, and tells how much of it the handler has used, from the handler that was there before.
char painted[256 << 10];

void measure(int, siginfo_t *, void *)
{
    char text[32];
    size_t unused = 0;
    while (unused < sizeof painted && painted[unused] == 0x5a)
        unused++;
    const int len = std::snprintf(text, sizeof text, "used %zu\n", sizeof painted - unused);
    (void)!write(1, text, static_cast<size_t>(len));
    _exit(0);
}

void paint()
{
    stack_t stack = {};
    stack.ss_sp = painted;
    stack.ss_size = sizeof painted;
    memset(painted, 0x5a, sizeof painted);
    sigaltstack(&stack, nullptr);
    struct sigaction action = {};
    action.sa_sigaction = measure;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigaction(SIGSEGV, &action, nullptr);
}

void *in_thread(void *how)
{
    foldsym_crash_thread();
    if (strcmp(static_cast<const char *>(how), "two") == 0)
        ready = static_cast<int>(syscall(SYS_gettid));
    if (strcmp(static_cast<const char *>(how), "overflow-thread") == 0)
        return reinterpret_cast<void *>(static_cast<long>(deeper(0)));
    return reinterpret_cast<void *>(carry(letters::post, nullptr));
}

int in_one_thread(const char *how)
{
    pthread_t thread;
    pthread_create(&thread, nullptr, in_thread, const_cast<char *>(how));
    pthread_join(thread, nullptr);
    return 1;
}

// Waits until a thread sleeps in the system: the first one because it writes to a full pipe, the second one until the first is done.
void wait_for_sleep(int thread)
{
    const std::string path = "/proc/self/task/" + std::to_string(thread) + "/stat";
    char text[256] = "";
    const char *state = nullptr;
    do {
        const int file = open(path.c_str(), O_RDONLY);
        const ssize_t len = read(file, text, sizeof text - 1);
        text[len > 0 ? len : 0] = 0;
        close(file);
        state = strrchr(text, ')');
    } while (!state || state[2] != 'S');
}

// Two threads crash in a child, the second one while the report of the first is being written: its pipe is full until both crashed.
int two_at_once(int reports[2])
{
    int go[2];
    char buffer[4096] = {};
    if (pipe(go) != 0)
        return 2;
    const pid_t child = fork();
    if (child == 0) {
        close(reports[0]);
        fcntl(reports[1], F_SETFL, O_NONBLOCK);
        while (write(reports[1], buffer, sizeof buffer) > 0) {
        }
        fcntl(reports[1], F_SETFL, 0);
        for (int index = 0; index < 2; index++) {
            pthread_t thread;
            ready = 0;
            pthread_create(&thread, nullptr, in_thread, const_cast<char *>("two"));
            while (ready == 0) {
            }
            wait_for_sleep(ready);
        }
        (void)!write(go[1], buffer, 1);
        for (;;)
            pause();
    }
    close(reports[1]);
    (void)!read(go[0], buffer, 1);
    for (ssize_t len; (len = read(reports[0], buffer, sizeof buffer)) > 0;)
        for (ssize_t at = 0; at < len; at++)
            if (buffer[at] != 0)
                (void)!write(2, buffer + at, 1);
    int status = 0;
    waitpid(child, &status, 0);
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : 1;
}

// Cuts a file of symbols short while it is mapped: the handler then meets SIGBUS.
void truncate_symbols(const char *path)
{
    std::string name = std::string(path) + ".fsym";
    if (truncate(name.c_str(), 100) != 0)
        _exit(2);
}

long late(const char *path)
{
    void *library = dlopen(path, RTLD_NOW);
    if (!library || foldsym_crash_refresh() != FOLDSYM_CRASH_OK)
        return 2;
    void *function = dlsym(library, "_ZN7letters4postEPVKl");
    return function ? carry(reinterpret_cast<long (*)(const volatile long *)>(function), nullptr) : 2;
}
} // namespace

int main(int count, char **words)
{
    const std::string how = count > 1 ? words[1] : "";
    foldsym_crash_options options = {};
    options.size = sizeof options;
    options.flags = how == "registers" ? FOLDSYM_CRASH_REGISTERS : 0;
    if (count > 2)
        options.json_fd = open(words[2], O_WRONLY | O_CREAT | O_TRUNC, 0666);
    if (how == "chain") {
        struct sigaction action = {};
        action.sa_sigaction = before;
        action.sa_flags = SA_SIGINFO;
        sigaction(SIGSEGV, &action, nullptr);
    }
    if (how == "stack")
        paint();
    int reports[2] = { -1, -1 };
    if (how == "two" && pipe(reports) == 0)
        options.fd = reports[1];
    const int status = foldsym_install_crash_handler(&options);
    if (status != FOLDSYM_CRASH_OK) {
        std::fprintf(stderr, "program: %s\n", foldsym_crash_text(status));
        return 2;
    }
    if (how == "thread" || how == "overflow-thread")
        return in_one_thread(words[1]);
    if (how == "two")
        return two_at_once(reports);
    if (how == "overflow")
        return deeper(0);
    if (how == "abort")
        std::abort();
    if (how == "terminate")
        throw std::runtime_error("no such parcel");
    if (how == "assert")
        assert(mail[0] == 77);
    if (how == "null")
        return static_cast<int>(carry(reinterpret_cast<long (*)(const volatile long *)>(static_cast<long>(ready)), mail)) + 1;
    if (how == "divide")
        return divide(static_cast<int>(mail[0] - 1)) + 1;
    if (how == "trap")
        raise(SIGTRAP);
    if (how == "lost")
        lose_stack();
    if (how == "print")
        return foldsym_print_stack(1);
    if (how == "modules")
        return foldsym_print_modules(1);
    if (how == "truncated")
        truncate_symbols(words[0]);
    if (how == "late")
        return static_cast<int>(late(words[3]));
    if (how == "forked") {
        int of_child = 0;
        const pid_t child = fork();
        if (child == 0)
            std::abort();
        return waitpid(child, &of_child, 0) == child && WIFSIGNALED(of_child) && WTERMSIG(of_child) == SIGABRT ? 0 : 1;
    }
    if (how == "in-handler") {
        signal(SIGUSR1, on_user_signal);
        raise(SIGUSR1);
    }
    return static_cast<int>(carry(letters::post, nullptr)) + 1;
}
