//# about: two units with equal static names; references across units by LTO; partial and imported units by dwz
//# let: FLAGS = -std=gnu11 $MAP -nostdlib -static -Wl,--build-id -fno-asynchronous-unwind-tables
//# variant: clang-dwarf5: $CLANG -O2 -gdwarf-5 $FLAGS -fuse-ld=lld units.c units_b.c -o $OUT
//# variant: gcc-dwarf4: $GCC -O2 -gdwarf-4 $FLAGS units.c units_b.c -o $OUT
//# variant: clang-lto: $CLANG -O2 -gdwarf-5 $FLAGS -fuse-ld=lld -flto units.c units_b.c -o $OUT
//# variant: clang-thinlto: $CLANG -O2 -gdwarf-4 $FLAGS -fuse-ld=lld -flto=thin units.c units_b.c -o $OUT
//# variant: gcc-lto-dwarf4: $GCC -O2 -gdwarf-4 $FLAGS -flto units.c units_b.c -o $OUT -dumpdir $T/
//# variant: gcc-lto-dwarf5: $GCC -O2 -gdwarf-5 $FLAGS -flto units.c units_b.c -o $OUT -dumpdir $T/
//# variant: gcc-dwz-dwarf4: $GCC -O2 -gdwarf-4 $FLAGS units.c units_b.c -o $T/a && $DWZ -l none -L none -o $OUT $T/a
//# variant: gcc-dwz-dwarf5: $GCC -O2 -gdwarf-5 $FLAGS units.c units_b.c -o $T/a && $DWZ -l none -L none -o $OUT $T/a
//# variant: half-debug: $CLANG -O2 -gdwarf-5 $FLAGS -c units.c -o $T/a.o && $CLANG -O2 -g0 $FLAGS -c units_b.c -o $T/b.o && $CLANG $FLAGS -fuse-ld=lld $T/a.o $T/b.o -o $OUT
//# variant: gc-sections: $CLANG -O2 -gdwarf-5 -ffunction-sections $FLAGS -fuse-ld=lld -Wl,--gc-sections units.c units_b.c -o $OUT
//# variant: gc-sections-dwarf4: $CLANG -O2 -gdwarf-4 -ffunction-sections $FLAGS -fuse-ld=lld -Wl,--gc-sections units.c units_b.c -o $OUT
//# variant: gc-sections-bfd: $GCC -O2 -gdwarf-4 -ffunction-sections $FLAGS -Wl,--gc-sections units.c units_b.c -o $OUT
//# variant: relocatable-link.o: $CLANG -O2 -gdwarf-5 $FLAGS -c units.c -o $T/a.o && $CLANG -O2 -gdwarf-4 $FLAGS -c units_b.c -o $T/b.o && $LLD -r $T/a.o $T/b.o -o $OUT
//# variant: emit-relocs: $CLANG -O2 -gdwarf-5 $FLAGS -fuse-ld=lld -Wl,--emit-relocs units.c units_b.c -o $OUT
#include "units.h"

volatile int units_sink;

static __attribute__((noinline)) int helper(const struct shape *s)
{
    units_sink = 100;
    return area(s) + 1;
}

static __attribute__((noinline)) int slow_area(const struct shape *s) { return area(s) * 3; }

int first(const struct shape *s) { return helper(s) + slow_area(s) - area(s); }

/* Never called: gone with --gc-sections, its DWARF stays with a tombstone for an address. */
int unused_by_all(const struct shape *s)
{
    units_sink = 300;
    return area(s) * area(s + 1);
}

__attribute__((noreturn)) void _start(void)
{
    struct shape s = { 1, units_sink + 2, units_sink + 3 };
    units_sink = first(&s) + second(&s);
    for (;;)
        units_sink = second(&s);
}
