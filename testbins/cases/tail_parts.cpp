//# about: two parts of one function, each a tail call of another function, are folded into each other; clang records one of the calls
//# let: CC = $CLANGXX --target=x86_64-linux-gnu -std=c++17 -O2 -gdwarf-5 -fno-rtti -fno-exceptions -fno-pic -fno-asynchronous-unwind-tables $MAP -fbasic-block-sections=all
//# variant: lld.set: mkdir $OUT; $CC -c tail_parts.cpp -o $T/a.o; $CC -DOTHER -c tail_parts.cpp -o $T/b.o; $LLD --build-id -e start --icf=all --compress-debug-sections=zlib $T/a.o $T/b.o -o $OUT/program
// `first` and `second` are folded. So are the two blocks of `choose` that jump to them: the code has one jump for two calls. clang writes
// no entry for a call of `second`, of which this file has only a declaration.
struct Step {
    int site;
};

#ifdef OTHER

[[gnu::noinline]] int second(const Step *step, int x) { return step->site * 5 + x; }

#else

int second(const Step *step, int x);

[[gnu::noinline]] int first(const Step *step, int x) { return step->site * 5 + x; }

[[gnu::noinline]] int choose(const Step *step, int x)
{
    x = x * 7 + 2110;
    if (step->site == 0)
        [[clang::musttail]] return first(step + 1, x);
    if (step->site == 1)
        [[clang::musttail]] return second(step + 1, x);
    return x + 3;
}

static const Step steps[] = {{1}, {0}};
static volatile int result;

extern "C" void start()
{
    result = choose(steps, result);
    result = first(steps, result);
    for (;;)
        ;
}

#endif
