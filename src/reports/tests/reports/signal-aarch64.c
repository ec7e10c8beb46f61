/* Gets SIGSEGV in a handler of SIGSEGV, without a C library. The kernel, or QEMU, gives the handler a trampoline that is in no file. */
struct action {
    void (*handler)(int);
    unsigned long flags, restorer, mask;
};

static volatile long sink;

static long system_call(long number, long a, long b, long c, long d) {
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d;
    __asm__ volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3) : "memory");
    return x0;
}

static void handler(int number) {
    *(volatile int *)(long)(number + 5) = 1;
}

__attribute__((noinline)) void inner(long place) {
    *(volatile int *)place = 1;
}

__attribute__((noinline)) void middle(long place) {
    inner(place + 1);
    sink = 1;
}

void run(void) {
    struct action action = {handler, 0, 0, 0};
    system_call(134, 11, (long)&action, 0, 8);
    middle(sink);
    sink = 2;
}

__asm__(".globl _start\n.type _start, %function\n_start: .cfi_startproc\n.cfi_undefined x30\nmov x29, #0\nbl run\nbrk #1\n"
        ".cfi_endproc\n.size _start, . - _start\n");
