//# about: a linker that drops the symbols of folded functions removed a function at -g1, whose code and lines equal those of a function that is there
//# let: CC = $CLANG --target=x86_64-linux-gnu -O2 -g1 -fno-pic -ffunction-sections -fno-asynchronous-unwind-tables $MAP
//# variant: mold: $CC -c collected.c -o $T/a.o; $MOLD_3 -e start --gc-sections --build-id $T/a.o -o $OUT
// clang describes `weigh_letter` alone, since `step` is inlined there. The linker removes it. The sequence of `weigh_parcel`, which no DIE
// describes, is on the same line.

static inline __attribute__((always_inline)) int step(const volatile int *mail) { return *mail + 7; }
#define PAIR(plain, other) \
    __attribute__((noinline)) int plain(const volatile int *mail) { return *mail + 7; } \
    __attribute__((noinline)) int other(const volatile int *mail) { return step(mail); }
PAIR(weigh_parcel, weigh_letter)
int start(const volatile int *mail) { return weigh_parcel(mail) * 3; }
