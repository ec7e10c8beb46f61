// Exceptions through folded frames, clean-up code, and signals that stop folded functions, whose handlers are folded too.
#include <csignal>
#include <cstring>
#include <stdexcept>
#include <string>

#define NOINLINE __attribute__((noinline))
volatile long sink;

struct Guard {
    long *where;
    explicit Guard(long *where) : where(where) { ++*where; }
    NOINLINE ~Guard() { --*where; }
};
struct Lock {
    long *where;
    explicit Lock(long *where) : where(where) { ++*where; }
    NOINLINE ~Lock() { --*where; }
};
static long held;

NOINLINE long parse_length(long x) {
    if (x > 3) throw std::runtime_error("too long");
    return x * 2 + sink % 3;
}
NOINLINE long parse_weight(long x) {
    if (x > 3) throw std::runtime_error("too long");
    return x * 2 + sink % 3;
}
NOINLINE long read_length(long x) { Guard guard(&held); return parse_length(x) + held; }
NOINLINE long read_weight(long x) { Lock lock(&held); return parse_weight(x) + held; }
NOINLINE long check_length(long x) { try { return read_length(x); } catch (const std::exception &) { return -1; } }
NOINLINE long check_weight(long x) { try { return read_weight(x); } catch (const std::exception &) { return -1; } }

NOINLINE void note_user(long n) { sink += n; }
NOINLINE void note_term(long n) { sink += n; }
NOINLINE static void on_user(int n) { note_user(n); sink++; }
NOINLINE static void on_term(int n) { note_term(n); sink++; }
NOINLINE long stop_user(long x) { raise(SIGUSR1); return x + sink % 2; }
NOINLINE long stop_term(long x) { raise(SIGTERM); return x + sink % 2; }
// A trap stops the function itself.
#if defined(__x86_64__) || defined(__i386__)
#define TRAP "ud2"
#elif defined(__aarch64__)
#define TRAP ".inst 0"
#else
#define TRAP ".word 0xc0001073"
#endif
NOINLINE long trap_user(long x) { long y = x + 1; __asm__ volatile(TRAP : "+r"(y)); return y; }
NOINLINE long trap_term(long x) { long y = x + 1; __asm__ volatile(TRAP : "+r"(y)); return y; }
NOINLINE static void note_trap(void *context);
NOINLINE static void on_trap(int, siginfo_t *, void *context) { note_trap(context); sink++; }
#include <ucontext.h>
static void note_trap(void *context) {
    mcontext_t *stopped = &((ucontext_t *)context)->uc_mcontext;
#if defined(__x86_64__)
    stopped->gregs[REG_RIP] += 2;
#elif defined(__i386__)
    stopped->gregs[REG_EIP] += 2;
#elif defined(__aarch64__)
    stopped->pc += 4;
#else
    stopped->__gregs[REG_PC] += 4;
#endif
    note_user(3);
}

int main() {
    std::signal(SIGUSR1, on_user);
    std::signal(SIGTERM, on_term);
    struct sigaction action;
    std::memset(&action, 0, sizeof action);
    action.sa_sigaction = on_trap;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGILL, &action, nullptr);
    long sum = 0;
    for (long x = 2; x < 6; x++) sum += check_length(x) + check_weight(x);
    sum += stop_user(1) + stop_term(2) + trap_user(3) + trap_term(4);
    return sum == 0;
}
