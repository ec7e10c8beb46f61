/* Bodies that end up inside other files' functions: the header's lines must be told from the unit's. */
#ifndef INLINE_H
#define INLINE_H

extern volatile int sink;
extern volatile int source;

/* Depth 6 when all of it is inlined: step6 <- step5 <- ... <- step1. */
static inline __attribute__((always_inline)) int step6(int x)
{
    sink = x;
    return source * 3 + x;
}
static inline __attribute__((always_inline)) int step5(int x)
{
    int y = step6(x + 1);
    return y ^ step6(y);
}
static inline __attribute__((always_inline)) int step4(int x)
{
    if (x & 1)
        return step5(x);
    return step5(x >> 1) - 1;
}
static inline __attribute__((always_inline)) int step3(int x) { return step4(x) + step4(~x); }
static inline __attribute__((always_inline)) int step2(int x)
{
    for (int i = 0; i < 3; i++)
        x += step3(i + source);
    return x;
}
static inline __attribute__((always_inline)) int step1(int x) { sink = 1; return step2(x); }

#endif
