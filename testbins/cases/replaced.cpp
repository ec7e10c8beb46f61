//# about: calls whose record names one function while the linker or a label chose another; inline functions whose DIEs gold keeps once for each unit; local functions of one name in two units
//# let: CC = $CLANGXX --target=x86_64-linux-gnu -std=c++17 -O1 -gdwarf-5 -fno-pic -fno-exceptions -fno-asynchronous-unwind-tables $MAP -ffunction-sections
//# let: LD = $LLD --build-id -e start --icf=all --compress-debug-sections=zlib
//# variant: weak.set: mkdir -p $OUT; $CC -gmlt -c replaced.cpp -o $T/a.o; $CC -gmlt -DSECOND -c replaced.cpp -o $T/b.o; $LD $T/a.o $T/b.o -o $OUT/program
//# variant: label.set: mkdir -p $OUT; $CC -gmlt -DLABEL -c replaced.cpp -o $T/a.o; $CC -g -DLABEL -DSECOND -c replaced.cpp -o $T/b.o; $LD $T/a.o $T/b.o -o $OUT/program
//# variant: wrap.set: mkdir -p $OUT; $CC -g -DWRAP -c replaced.cpp -o $T/a.o; $CC -g -DWRAP -DSECOND -c replaced.cpp -o $T/b.o; $LD --wrap=_Z4areai $T/a.o $T/b.o -o $OUT/program
//# variant: copies.set: mkdir -p $OUT; $CC -gmlt -DCOPIES -c replaced.cpp -o $T/a.o; $CC -gmlt -DCOPIES -DSECOND -c replaced.cpp -o $T/b.o; $GOLD -e start --icf=all $T/a.o $T/b.o -o $OUT/program
//# variant: locals.set: mkdir -p $OUT; $CC -gmlt -DLOCALS -c replaced.cpp -o $T/a.o; $CC -gmlt -DLOCALS -DSECOND -c replaced.cpp -o $T/b.o; $LD $T/a.o $T/b.o -o $OUT/program
// All functions but the callers in LOCALS have inlined code, so clang describes them by DIEs at `-gmlt`. `start` calls `area`, which has the code of another function.

[[gnu::always_inline]] inline int twice(int value)
{
    asm volatile("nop");
    return value * 2;
}

#define NOINLINE [[gnu::noinline]]
#define BODY                                                                                                                                \
    {                                                                                                                                       \
        int scaled = twice(value) + 5;                                                                                                      \
        return scaled / 3 - value % 7;                                                                                                      \
    }

#if defined(LABEL)
// `area` of the first unit is the function `volume`.
#ifndef SECOND
extern "C" int area(int) asm("volume");
extern "C" int start(int value) { return twice(area(value)); }
#else
extern "C" NOINLINE int area(int value) BODY
extern "C" NOINLINE int volume(int value) BODY
#endif
#elif defined(WRAP)
#ifndef SECOND
int area(int);
extern "C" int start(int value) { return twice(area(value)); }
#else
NOINLINE int area(int value) BODY
extern "C" NOINLINE int wrapper(int value) asm("__wrap__Z4areai");
extern "C" NOINLINE int wrapper(int value) BODY
#endif
#elif defined(COPIES)
template <int sides> NOINLINE inline int area(int value)
{
    int scaled = twice(value) + sides;
    return scaled / 3 - value % 7;
}
NOINLINE inline int volume(int value)
{
    int scaled = twice(value) + 5;
    return scaled / 3 - value % 7;
}
#ifndef SECOND
int second(int value);
extern "C" int start(int value) { return twice(area<5>(value) + area<6>(value)) + volume(value) + second(value); }
#else
int second(int value) { return twice(area<5>(value) + area<6>(value)) - volume(value); }
#endif
#elif defined(LOCALS)
// Both units have an `area` of their own. Its callers have no inlined code, so no DIE records their calls.
#ifdef SECOND
#line 1 "second.cpp"
#endif
NOINLINE static int area(int value) BODY
#ifndef SECOND
int second(int value);
extern "C" int start(int value) { return area(value) * 3 + second(value); }
#else
int second(int value) { return area(value) * 5; }
#endif
#else
// The weak `area` of the first unit gives way to that of the second.
#ifndef SECOND
[[gnu::weak]] NOINLINE int area(int value) BODY
NOINLINE int volume(int value) BODY
int second(int value);
extern "C" int start(int value) { return twice(area(value)) + volume(value) + second(value); }
#else
NOINLINE int area(int value) BODY
int second(int value) { return twice(area(value)); }
#endif
#endif
