//# about: nested inlining to depth 6 across a header, an included body, #line, line 0, a noreturn call at the end, a function at the section's end
//# let: CC = $CLANG -O2 -std=gnu11 $MAP -nostdlib -static -fuse-ld=lld -Wl,--build-id -fno-asynchronous-unwind-tables
//# let: GC = $GCC -O2 -std=gnu11 $MAP -nostdlib -static -Wl,--build-id -fno-asynchronous-unwind-tables
//# let: XC = $CLANG -O2 -std=gnu11 $MAP -nostdlib -static -fuse-ld=lld -Wl,--build-id -fno-asynchronous-unwind-tables -gdwarf-5
//# same: clang-dwarf6: clang-dwarf5
//# variant: clang-dwarf2: $CC -gdwarf-2 inline.c -o $OUT
//# variant: clang-dwarf3: $CC -gdwarf-3 inline.c -o $OUT
//# variant: clang-dwarf4: $CC -gdwarf-4 inline.c -o $OUT
//# variant: clang-dwarf5: $CC -gdwarf-5 inline.c -o $OUT
//# variant: clang-dwarf5-o0: $CC -O0 -gdwarf-5 inline.c -o $OUT
//# variant: clang-dwarf5-o1: $CC -O1 -gdwarf-5 inline.c -o $OUT
//# variant: clang-dwarf4-64bit: $CC -gdwarf-4 -gdwarf64 inline.c -o $OUT
//# variant: clang-dwarf5-64bit: $CC -gdwarf-5 -gdwarf64 inline.c -o $OUT
//# variant: clang-lines-only: $CC -gline-tables-only inline.c -o $OUT
//# variant: clang-zlib: $CC -gdwarf-5 -Wl,--compress-debug-sections=zlib inline.c -o $OUT
//# variant: clang-zstd: $CC -gdwarf-5 -Wl,--compress-debug-sections=zstd inline.c -o $OUT
//# variant: clang-zdebug: $CC -gdwarf-4 inline.c -o $T/a && $OBJCOPY --compress-debug-sections=zlib-gnu $T/a $OUT
//# same: clang-zdebug: clang-dwarf4
//# variant: clang-pie: $CC -gdwarf-5 -fPIE -pie -Wl,--no-dynamic-linker inline.c -o $OUT
//# variant: clang-gold: $CC -gdwarf-4 -fuse-ld=gold inline.c -o $OUT
//# variant: clang-bfd: $CC -gdwarf-5 -fuse-ld=bfd inline.c -o $OUT
//# variant: clang-shared-dynsym: $CC -gdwarf-5 -fPIC -shared inline.c -o $T/a && $LLVM_OBJCOPY --strip-all $T/a $OUT
//# variant: clang-shared-dynsym-dwarf: $CC -gdwarf-5 -fPIC -shared inline.c -o $T/a && $LLVM_OBJCOPY --strip-all --keep-section=.debug_* $T/a $OUT
//# variant: clang-no-symbols: $CC -gdwarf-5 inline.c -o $T/a && $LLVM_OBJCOPY --strip-all --keep-section=.debug_* $T/a $OUT
//# variant: clang-symbols-only: $CC -g0 inline.c -o $OUT
//# variant: clang-only-keep-debug: $CC -gdwarf-5 inline.c -o $T/a && $LLVM_OBJCOPY --only-keep-debug $T/a $OUT
//# variant: clang-dwarf6: $CC -gdwarf-6 inline.c -o $OUT
//# variant: gcc-dwarf2: $GC -gdwarf-2 -gstrict-dwarf inline.c -o $OUT
//# variant: gcc-dwarf3: $GC -gdwarf-3 -gstrict-dwarf inline.c -o $OUT
//# variant: gcc-dwarf4: $GC -gdwarf-4 inline.c -o $OUT
//# variant: gcc-dwarf5: $GC -gdwarf-5 inline.c -o $OUT
//# variant: gcc-dwarf5-o0: $GC -O0 -gdwarf-5 inline.c -o $OUT
//# variant: gcc-dwarf5-o1: $GC -O1 -gdwarf-5 inline.c -o $OUT
//# variant: gcc-dwarf4-64bit: $GC -gdwarf-4 -gdwarf64 inline.c -o $OUT
//# variant: gcc-dwarf5-64bit: $GC -gdwarf-5 -gdwarf64 inline.c -o $OUT
//# variant: gcc-g1: $GC -g1 inline.c -o $OUT
//# variant: gcc-g3: $GC -g3 inline.c -o $OUT
//# variant: gcc-gold-zlib: $GC -gdwarf-5 -fuse-ld=gold -Wl,--compress-debug-sections=zlib inline.c -o $OUT
//#
//# variant: clang.o: $CC -gdwarf-5 -c inline.c -o $OUT
//# variant: clang-sections.o: $CC -gdwarf-5 -ffunction-sections -c inline.c -o $OUT
//# variant: gcc-sections.o: $GC -gdwarf-4 -ffunction-sections -c inline.c -o $OUT
//#
//# variant: i386: $XC -m32 inline.c -o $OUT
//# variant: i386-gcc: $GC -m32 -march=i686 -gdwarf-4 inline.c -o $OUT
//# variant: x32: $XC -mx32 inline.c -o $OUT
//# variant: aarch64: $XC -target aarch64-linux-gnu inline.c -o $OUT
//# variant: aarch64-gcc: $GCC_AARCH64 -O2 -std=gnu11 $MAP -nostdlib -static -Wl,--build-id -fno-asynchronous-unwind-tables -gdwarf-5 inline.c -o $OUT
//# variant: arm-thumb: $XC -target armv7a-linux-gnueabi -mcpu=cortex-a15 -mthumb inline.c -o $OUT
//# variant: mips-be: $XC -target mips-linux-gnu -fno-pic -mno-abicalls inline.c -o $OUT
//# variant: ppc64-be: $XC -target powerpc64-linux-gnu -mabi=elfv2 inline.c -o $OUT
//# variant: s390x-be: $XC -target s390x-linux-gnu inline.c -o $OUT
//# variant: s390x-be.o: $XC -target s390x-linux-gnu -c inline.c -o $OUT
//# variant: riscv64-relax: $XC -target riscv64-linux-gnu -mrelax -Wl,--relax inline.c -o $OUT
//# variant: riscv64-relax.o: $XC -target riscv64-linux-gnu -mrelax -c inline.c -o $OUT
#include "inline.h"

volatile int sink, source = 7;

static inline int twice(int x) { return x * 2 + source; }

__attribute__((noinline)) int chain(int x) { return step1(x) + twice(x); }

__attribute__((noinline)) int with_include(int x)
{
#include "inline.inc"
    return x + sink;
}

__attribute__((noinline)) int relined(int x)
{
    sink = x;
#line 1000 "generated/grammar.y"
    if (source > x)
        sink = source;
#line 5000 "generated/lexer.l"
    return sink / (source | 1);
}
#line 80 "inline.c"

__attribute__((noreturn, noinline)) void die(int code)
{
    sink = code;
    for (;;)
        sink = source;
}

/* Ends with a call that does not return: its return address is the next function's first byte. */
__attribute__((noinline)) int checked(int x)
{
    if (x > source)
        return x;
    die(x);
}

/* The merged tails of two branches get line 0 at -O2. */
__attribute__((noinline)) int merged(int x)
{
    int r;
    if (x > 3)
        r = source * 17 + x;
    else
        r = source * 17 - x;
    sink = r;
    return r;
}

static int switchy(int x)
{
    switch (x) {
    case 0: return chain(1);
    case 1: return with_include(2);
    case 2: return relined(3);
    case 3: return checked(4);
    case 4: return merged(5);
    default: return twice(6);
    }
}

__attribute__((noreturn)) void _start(void)
{
    for (int i = 0; i < 6; i++)
        sink = switchy(i);
    die(0);
}
