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
#else
#define STOP "int3\n\tnop"
#endif
// Stops in the middle of this very function. The `nop` is where the program goes on: still on this line.
#define TRAP(vptr)                                       \
    do {                                                 \
        now = s;                                         \
        now_vptr = (vptr);                               \
        __asm__ volatile(STOP ::: "memory");              \
    } while (0)
