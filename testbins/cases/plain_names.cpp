//# about: calls that clang at -g1 records by the plain name of the callee, and an unknown base whose thunk is folded with another
//# let: CC = $CLANGXX --target=x86_64-linux-gnu -std=c++17 -O1 -gdwarf-5 -fno-pic -fno-rtti -fno-exceptions -fno-asynchronous-unwind-tables $MAP -ffunction-sections
//# let: LD = $LLD --build-id -e start --icf=all --compress-debug-sections=zlib
//# variant: lines.set: mkdir -p $OUT; $CC -gmlt -c plain_names.cpp -o $T/a.o; $CC -gmlt -DSTART -c plain_names.cpp -o $T/b.o; $LD $T/a.o $T/b.o -o $OUT/program
//# variant: relocs.set: mkdir -p $OUT; $CC -gmlt -c plain_names.cpp -o $T/a.o; $CC -gmlt -DSTART -c plain_names.cpp -o $T/b.o; $LD --emit-relocs $T/a.o $T/b.o -o $OUT/program
//# variant: base.set: mkdir -p $OUT; $CC -g -DTABLES -c plain_names.cpp -o $T/a.o; $CC -g0 -DTABLES -DBASE -c plain_names.cpp -o $T/b.o; $LD $T/a.o $T/b.o -o $OUT/program
// `start` has inlined code, so at `-gmlt` it has a DIE with call sites. Three functions have one code; two have the plain name `area`.
// With TABLES, no DIE describes `Mid` and its bases. `Mid::weigh` has the code of `Parcel::price`, and their thunks have one code too.

#define BODY(number)                                                                                                                        \
    {                                                                                                                                       \
        asm volatile("nop");                                                                                                                \
        int scaled = value * 3 + number;                                                                                                    \
        return scaled / 3 - value % 7;                                                                                                      \
    }

#ifdef START
int area(const char *, int);
int area(const long *, int);
int volume(const char *, int);

[[gnu::always_inline]] inline int twice(int value)
{
    asm volatile("nop");
    return value * 2;
}

extern "C" int start(int value)
{
    int sum = area("", value);
    sum += area((const long *)0, sum);
    sum += volume("", sum);
    return twice(sum);
}
#elif !defined(TABLES)
[[gnu::noinline]] int area(const char *, int value) BODY(5)
[[gnu::noinline]] int area(const long *, int value) BODY(5)
[[gnu::noinline]] int volume(const char *, int value) BODY(5)
#else
struct First {
    virtual int first(int);
};
struct Price {
    virtual int price(int) = 0;
};
struct Early {
    virtual int early(int);
};
struct Scale {
    virtual int weigh(int) = 0;
};
struct Mid : Early, Scale {
    int weigh(int) override;
    int x = 17;
};
struct Parcel : First, Price, Mid {
    int price(int) override;
    int y = 17;
};
#ifdef BASE
[[gnu::noinline]] int Early::early(int value) { return value + 2; }
[[gnu::noinline]] int Mid::weigh(int value) BODY(3 + (int)(__INTPTR_TYPE__)this)
#else
[[gnu::noinline]] int First::first(int value) { return value + 1; }
[[gnu::noinline]] int Parcel::price(int value) BODY(3 + (int)(__INTPTR_TYPE__)this)
[[gnu::noinline]] int call_weigh(Scale *scale) { return scale->weigh(5) + 1; }
[[gnu::noinline]] int call_price(Price *price) { return price->price(6) + 2; }
static Parcel parcel;
extern "C" void __cxa_pure_virtual() { asm volatile("hlt"); }
extern "C" int start() { return call_weigh(&parcel) + call_price(&parcel); }
#endif
#endif
