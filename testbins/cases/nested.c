//# about: nested functions of GNU C, with an inlined one, one reached through a trampoline, and equal names in two parents
//# variant: gcc-o0: $GCC -O0 -gdwarf-5 $MAP -nostdlib -static -Wl,--build-id nested.c -o $OUT
//# variant: gcc-o2: $GCC -O2 -gdwarf-4 $MAP -nostdlib -static -Wl,--build-id nested.c -o $OUT
volatile int sink, source = 4;

__attribute__((noinline)) static int apply(int (*f)(int), int x) { return f(x) + f(x + 1); }

__attribute__((noinline)) int outer_a(int k)
{
    __attribute__((noinline)) int inner(int x)
    {
        int innermost(int y) { return y * k + source; }
        sink = x;
        return innermost(x) - k;
    }
    return apply(inner, k) + inner(1);
}

__attribute__((noinline)) int outer_b(int k)
{
    int inner(int x) { return x ^ (k += source); }
    if (source > 9) {
        int deep(int x) { return inner(x) << 1; }
        return apply(deep, k);
    }
    return inner(k);
}

void _start(void)
{
    sink = outer_a(source) + outer_b(source);
    __builtin_trap();
}
