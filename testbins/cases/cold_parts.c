//# about: two folded functions with cold parts, with 0, -1 and -2 as the tombstone
//# let: CC = $GCC -O2 -gdwarf-5 -ffreestanding -ffunction-sections -fno-pie -fno-asynchronous-unwind-tables -fno-stack-protector -fcf-protection=none $MAP
//# let: LD = $LLD --build-id -e start --icf=all
//# variant: zero.set: mkdir -p $OUT; $CC -c cold_parts.c -o $T/a.o; $CC -DSECOND -c cold_parts.c -o $T/b.o; $CC -DTHIRD -c cold_parts.c -o $T/c.o; $LD $T/a.o $T/b.o $T/c.o -o $OUT/program
//# variant: minus-one.set: mkdir -p $OUT; $CC -c cold_parts.c -o $T/a.o; $CC -DSECOND -c cold_parts.c -o $T/b.o; $CC -DTHIRD -c cold_parts.c -o $T/c.o; $LD -z 'dead-reloc-in-nonalloc=.debug_*=0xffffffffffffffff' $T/a.o $T/b.o $T/c.o -o $OUT/program
//# variant: minus-two.set: mkdir -p $OUT; $CC -c cold_parts.c -o $T/a.o; $CC -DSECOND -c cold_parts.c -o $T/b.o; $CC -DTHIRD -c cold_parts.c -o $T/c.o; $LD -z 'dead-reloc-in-nonalloc=.debug_*=0xfffffffffffffffe' $T/a.o $T/b.o $T/c.o -o $OUT/program
// lld folds `pack` and `ship`, each with its cold part: gcc describes each by a list of two ranges.

extern int stock;
__attribute__((cold, noinline)) void refuse(int value);

#define BODY                                                                                                                                \
    {                                                                                                                                       \
        stock += value * 5;                                                                                                                 \
        if (__builtin_expect(value == 77, 0)) {                                                                                             \
            refuse(value);                                                                                                                  \
            refuse(value + 1);                                                                                                              \
            stock ^= 9;                                                                                                                     \
        }                                                                                                                                   \
        return value * 13 + stock;                                                                                                          \
    }

#if defined(THIRD)
int stock;
void refuse(int value) { stock = value; }
#elif !defined(SECOND)
__attribute__((noinline)) static int pack(int value) BODY
int (*packs)(int) = pack;
int second(int value);
int start(int value) { return pack(value) + packs(value + 1) + second(value); }
#else
__attribute__((noinline)) static int ship(int value) BODY
int (*ships)(int) = ship;
int second(int value) { return ship(value) + ships(value + 2); }
#endif
