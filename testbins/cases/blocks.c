//# about: basic blocks: loops, switches, cold paths, tail calls, functions that are folded; as one range, and as a range for each block
//# let: CC = $CLANG -O2 -g -fno-pie -ffunction-sections -fno-asynchronous-unwind-tables $MAP
//# let: LINK = $CLANG -fuse-ld=lld --ld-path=$LLD -no-pie -nostdlib -Wl,--icf=all,-e,start
//# let: SAVE = $READOBJ --bb-addr-map $OUT/program | sed "s|^File: .*|File: program|" > $OUT/map
//# variant: clang.set: mkdir -p $OUT; $CC -fbasic-block-address-map -c blocks.c -o $T/a.o; $LINK $T/a.o -o $OUT/program; $SAVE; cp $T/a.o $OUT/object.o
//# variant: sections.set: mkdir -p $OUT; $CC -fbasic-block-address-map -fbasic-block-sections=all -c blocks.c -o $T/a.o; $LINK $T/a.o -o $OUT/program; $SAVE
//# variant: split.set: mkdir -p $OUT; printf '!collatz\n!!0 1\n!dispatch\n!!0 2\n' > $T/list; $CC -fbasic-block-address-map -fbasic-block-sections=list=$T/list -c blocks.c -o $T/a.o; $LINK $T/a.o -o $OUT/program; $SAVE
//# variant: profile.set: mkdir -p $OUT; $CC -fbasic-block-address-map -mllvm -pgo-analysis-map=all -mllvm -emit-bb-hash -c blocks.c -o $T/a.o; $LINK $T/a.o -o $OUT/program; $SAVE
//# variant: aarch64.set: mkdir -p $OUT; $CC --target=aarch64-linux-gnu -fbasic-block-address-map -c blocks.c -o $T/a.o; $LLD --icf=all -e start $T/a.o -o $OUT/program; $SAVE

typedef int (*handler)(int);

volatile int sink;

__attribute__((noinline)) static int leaf(int n)
{
    return n * 3 + sink;
}

/* Two functions with the same code: one address and one map remain. */
__attribute__((noinline)) int weigh(int n)
{
    if (n > sink)
        return leaf(n) - 1;
    return leaf(n + 1);
}

__attribute__((noinline)) int price(int n)
{
    if (n > sink)
        return leaf(n) - 1;
    return leaf(n + 1);
}

__attribute__((noinline)) int collatz(int n)
{
    int steps = 0;
    while (n != 1) {
        n = n % 2 ? 3 * n + 1 : n / 2;
        if (__builtin_expect(++steps > 1000, 0)) {
            sink = leaf(steps);
            return -sink;
        }
    }
    return steps;
}

__attribute__((noinline)) int dispatch(handler *table, int n, int which)
{
    switch (which) {
    case 0: return table[0](n);
    case 1: sink = table[1](n) + weigh(n); break;
    case 2: return price(n) + leaf(n);
    case 3: sink = collatz(n); break;
    case 5: sink += 7; break;
    case 6: sink = n; return weigh(n) * price(n);
    default: return collatz(n + which);
    }
    return sink;
}

__attribute__((noinline)) int sum(const int *values, int count)
{
    int total = 0;
    for (int i = 0; i < count; i++)
        total += values[i] * i;
    return total;
}

void start(void)
{
    static handler table[] = { weigh, price };
    static int values[8];
    for (int i = 0; i < 8; i++)
        values[i] = dispatch(table, i, sink & 7);
    sink = sum(values, 8);
}
