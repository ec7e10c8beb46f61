// What each file of a generated program includes. See runtime.cpp.
#pragma once

// One step of a walk. `who` is what the source knows of the function that takes it: the caller passes it, so the
// code of functions that are folded stays the same.
struct Step {
    const char *who;
    void *object;
    int site;
};

typedef int (*Function)(const Step *, int);

struct Table {
    Function a, b, c;
};

struct Walk {
    const Step *steps;
    Function root;
};

extern const Walk walks[];
extern const int walk_count;

extern const Step *volatile now;
extern const void *volatile now_vptr;
extern volatile int sink;

extern "C" int probe(const Step *);
extern "C" [[noreturn]] void leave();

#ifdef __clang__
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noinline, noclone))
#endif
#define INLINED static inline __attribute__((always_inline))
#define COLD __attribute__((cold))
#ifdef MUSTTAIL
#define TAIL [[clang::musttail]]
#else
#define TAIL
#endif
#ifdef __aarch64__
#define STOP "brk #1\n\tnop"
#elif defined(__riscv)
#define STOP ".option push\n\t.option norvc\n\tebreak\n\t.option pop\n\tnop"
#elif defined(__arm__)
#define STOP "bkpt #0\n\tnop"
#else
#define STOP "int3\n\tnop"
#endif
// Where a stop leaves the program counter at itself, the handler that reads it moves it behind the stop. (What the handler calls
// `gregs[REG_RIP]` is x86's.)
#ifdef __riscv
#define gregs __gregs
#define REG_RIP REG_PC] += ((const unsigned long[]){4})[0
#elif defined(__thumb__)
#define gregs arm_pc += ((const unsigned long[]){2})
#define REG_RIP 0
// Bit 0 tells the instruction set, and is not in what the unwinder gives.
#define __builtin_return_address(level) ((void *)((unsigned long)__builtin_return_address(level) & ~1ul))
#elif defined(__arm__)
#define gregs arm_pc += ((const unsigned long[]){4})
#define REG_RIP 0
#endif
// Stops in the middle of this very function. The `nop` is where the program goes on: still on this line.
#define TRAP(vptr)                                       \
    do {                                                 \
        now = s;                                         \
        now_vptr = (vptr);                               \
        __asm__ volatile(STOP ::: "memory");              \
    } while (0)
