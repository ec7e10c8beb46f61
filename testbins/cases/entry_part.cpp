//# about: a part of a function is folded with the entry of another one, which the function also calls by a tail call that clang does not record
//# let: CC = $CLANGXX --target=x86_64-linux-gnu -std=c++17 -O2 -gdwarf-5 -fno-rtti -fno-exceptions -fno-pic -fno-asynchronous-unwind-tables $MAP -fbasic-block-sections=all
//# variant: lld.set: mkdir $OUT; $CC -c entry_part.cpp -o $T/a.o; $CC -DOTHER -c entry_part.cpp -o $T/b.o; $CC -DMAIN -c entry_part.cpp -o $T/c.o; $LLD --build-id -e start --icf=all --compress-debug-sections=zlib $T/a.o $T/b.o $T/c.o -o $OUT/program
// `other` is the block of `choose` that returns `x * 5 + 3`. A jump there may be a jump within `choose`, or a tail call of `other`. clang
// writes no entry for that call, since this file has only a declaration of `other`.
struct Step {
    int site;
};

#ifdef OTHER

[[gnu::noinline]] int other(const Step *, int x) { return x * 5 + 3; }

#elif defined(MAIN)

int other(const Step *step, int x);
int choose(const Step *step, int x);

static const Step steps[] = {{1}, {0}};
static volatile int result;

extern "C" void start()
{
    result = choose(steps, result);
    result = other(steps, result);
    for (;;)
        ;
}

#else

int other(const Step *step, int x);

[[gnu::noinline]] int choose(const Step *step, int x)
{
    if (step->site == 0)
        [[clang::musttail]] return other(step, x);
    if (step->site == 1)
        return x * 5 + 3;
    return x + step->site * 11;
}

#endif
