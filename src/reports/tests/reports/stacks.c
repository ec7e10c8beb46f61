/* Crashes in the way that the argument names. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

static volatile int sink;

/* An overflow of the stack. */
__attribute__((noinline)) long deep(long n) {
    volatile char pad[200];
    pad[0] = (char)n;
    return deep(n + 1) + pad[0];
}

static void *thread(void *start) {
    return (void *)deep((long)start);
}

static void die(int number) {
    (void)number;
    abort();
}

/* The kernel's own structure: the C library would put its trampoline in place of ours. */
struct action {
    void (*handler)(int, siginfo_t *, void *);
    unsigned long flags;
    void (*restorer)(void);
    unsigned long mask;
};

/* A trampoline without call frame information, behind a function that has some. */
void trampoline(void) __asm__("__restore_rt");
void faults(int *place);
void injected(void) __asm__("runtime.sigpanic");
void on_stack(long *stack, void (*function)(void)) __asm__("runtime.mcall");
__asm__(".text\n"
        ".globl faults, __restore_rt\n"
        ".type faults, @function\n"
        "faults: .cfi_startproc\n movl $1, (%rdi)\n ret\n.cfi_endproc\n.size faults, . - faults\n"
        ".globl \"runtime.mcall\"\n.type \"runtime.mcall\", @function\n"
        "\"runtime.mcall\": .cfi_startproc\n mov %rdi, %rsp\n call *%rsi\n ud2\n.cfi_endproc\n"
        ".size \"runtime.mcall\", . - \"runtime.mcall\"\n"
        ".type __restore_rt, @function\n"
        "__restore_rt: mov $15, %rax\n syscall\n.size __restore_rt, . - __restore_rt\n");

static void handler(int number, siginfo_t *info, void *context) {
    (void)number, (void)info, (void)context;
    *(volatile int *)16 = 1;
}

/* As Go's runtime does: the interrupted code appears to have called a function. */
static void inject(int number, siginfo_t *info, void *context) {
    (void)number, (void)info;
    greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
    registers[REG_RSP] -= 8;
    *(greg_t *)registers[REG_RSP] = registers[REG_RIP];
    registers[REG_RIP] = (greg_t)injected;
}

__attribute__((noinline)) void injected(void) {
    abort();
}

__attribute__((noinline)) void outer(int *place) {
    faults(place);
    sink = 1;
}

static void crash(void) {
    *(volatile int *)16 = 1;
}

static void on_fault(void (*action)(int, siginfo_t *, void *)) {
    struct action given = {action, SA_SIGINFO | 0x04000000, trampoline, 0};
    syscall(SYS_rt_sigaction, SIGSEGV, &given, 0, 8);
    outer(0);
}

int main(int count, char **words) {
    static char alternate[65536];
    stack_t stack = {alternate, 0, sizeof alternate};
    struct sigaction action = {0};
    pthread_attr_t attributes;
    pthread_t other;
    (void)count;
    switch (words[1][0]) {
    case 'a':
        action.sa_handler = die;
        action.sa_flags = SA_ONSTACK;
        sigaltstack(&stack, 0);
        sigaction(SIGSEGV, &action, 0);
        return (int)deep(1);
    case 't':
        pthread_attr_init(&attributes);
        pthread_attr_setstacksize(&attributes, 65536);
        pthread_create(&other, &attributes, thread, 0);
        pthread_join(other, 0);
        return 0;
    case 'h':
        on_fault(handler);
        return 0;
    case 'i':
        on_fault(inject);
        return 0;
    case 'm':
        /* Behind a word of zero, a return address of the stack that is changed to. */
        ((long *)alternate)[4097] = (long)outer + 8;
        on_stack((long *)alternate + 4096, crash);
        return 0;
    case 'v':
        return clock_gettime(CLOCK_MONOTONIC, (struct timespec *)8);
    default:
        return (int)deep(1);
    }
}
