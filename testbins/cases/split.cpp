//# about: split DWARF: two units built plain, with loose .dwo files, as a package and stripped; a folder holds the same code with all of its debug info each way
//# let: FLAGS = -std=c++17 $MAP -I$SRC -O2 -fno-exceptions -fno-rtti -fno-asynchronous-unwind-tables -fno-stack-protector
//# let: LINK = -nostdlib -static -Wl,--build-id
//# let: CC = cd $T; mkdir $OUT; two() { name=$1; shift; $CLANGXX $FLAGS "$@" -c $SRC/split.cpp -o a.o; $CLANGXX $FLAGS "$@" -c $SRC/split_b.cpp -o b.o; $CLANGXX $LINK -fuse-ld=lld a.o b.o -o $OUT/$name; };
//# let: GG = cd $T; mkdir $OUT; two() { name=$1; shift; $GXX $FLAGS "$@" -c $SRC/split.cpp -o a.o; $GXX $FLAGS "$@" -c $SRC/split_b.cpp -o b.o; $GXX $LINK a.o b.o -o $OUT/$name; };
//# let: KEEP = mv a.dwo b.dwo $OUT; $LLVM_DWP $OUT/a.dwo $OUT/b.dwo -o $OUT/split.dwp
//# let: KEEP_GNU = mv a.dwo b.dwo $OUT; $DWP $OUT/a.dwo $OUT/b.dwo -o $OUT/split.dwp
//# let: KEEP_B = mv a.dwo b.dwo $OUT; $LLVM_DWP $OUT/b.dwo -o $OUT/split.dwp
//# let: STRIP = cd $OUT; $LLVM_OBJCOPY --only-keep-debug split stripped.debug; $LLVM_OBJCOPY --strip-all --add-gnu-debuglink=stripped.debug split stripped
//# variant: clang-dwarf4.set: $CC two plain -gdwarf-4; two split -gdwarf-4 -gsplit-dwarf; $KEEP; $STRIP
//# variant: clang-dwarf5.set: $CC two plain -gdwarf-5; two split -gdwarf-5 -gsplit-dwarf; $KEEP; $STRIP
//# variant: clang-types-v4.set: $CC two plain -gdwarf-4 -fdebug-types-section; two split -gdwarf-4 -fdebug-types-section -gsplit-dwarf; $KEEP; $STRIP
//# variant: clang-types-v5.set: $CC two plain -gdwarf-5 -fdebug-types-section; two split -gdwarf-5 -fdebug-types-section -gsplit-dwarf; $KEEP; $STRIP
//# variant: clang-inlining-v4.set: $CC two plain -gdwarf-4; two split -gdwarf-4 -fsplit-dwarf-inlining -gsplit-dwarf; $KEEP; $STRIP
//# variant: clang-inlining-v5.set: $CC two plain -gdwarf-5; two split -gdwarf-5 -fsplit-dwarf-inlining -gsplit-dwarf; $KEEP; $STRIP
//# variant: clang-single.set: $CC two plain -gdwarf-5; two split -gdwarf-5 -gsplit-dwarf=single; mv a.o b.o $OUT; $LLVM_DWP $OUT/a.o $OUT/b.o -o $OUT/split.dwp; $STRIP
//# variant: clang-lto.set: $CC two plain -gdwarf-5 -flto; two split -gdwarf-5 -flto -gsplit-dwarf; $CLANGXX $LINK -fuse-ld=lld -Wl,--plugin-opt=dwo_dir=dwo a.o b.o -o $OUT/split; mv dwo/0.dwo $OUT; $LLVM_DWP $OUT/0.dwo -o $OUT/split.dwp; $STRIP
//# variant: clang-mixed.set: $CC two plain -gdwarf-5; cp b.o plain.o; two split -gdwarf-4 -gsplit-dwarf; $CLANGXX $LINK -fuse-ld=lld a.o plain.o -o $OUT/split; mv a.dwo $OUT; $LLVM_DWP $OUT/a.dwo -o $OUT/split.dwp; $STRIP
//# variant: clang-wide.set: $CC two plain -gdwarf-5; two split -gdwarf-5 -gsplit-dwarf; $LLVM_DWP -dwarf64-str-offsets-promotion=always a.dwo b.dwo -o $OUT/split.dwp
//# variant: gcc-dwarf4.set: $GG two plain -gdwarf-4; two split -gdwarf-4 -gsplit-dwarf; $KEEP_GNU; $STRIP
//# variant: gcc-dwarf5.set: $GG two plain -gdwarf-5; two split -gdwarf-5 -gsplit-dwarf; $KEEP_B; $STRIP
//# variant: gcc-types-v4.set: $GG two plain -gdwarf-4 -fdebug-types-section; two split -gdwarf-4 -fdebug-types-section -gsplit-dwarf; $KEEP; $STRIP
//# variant: gcc-types-v5.set: $GG two plain -gdwarf-5 -fdebug-types-section; two split -gdwarf-5 -fdebug-types-section -gsplit-dwarf; $KEEP_B; $STRIP
//# variant: gnu-dwp5.set: $GG two plain -gdwarf-5; cp b.o plain.o; two split -gdwarf-5 -gsplit-dwarf; $GXX $LINK a.o plain.o -o $OUT/split; $DWP a.dwo -o $OUT/split.dwp
#include "split.h"

volatile int split_sink;

// What a virtual table needs without a C++ runtime.
extern "C" void __cxa_pure_virtual() { __builtin_trap(); }

static int helper(int n)
{
    int sum = 0;
    for (int i = 0; i < n; i++)
        sum += twice(i);
    return sum;
}

[[gnu::noinline]] int outer(int n)
{
    Counter<int> counter{n};
    return helper(n) + counter.step(2) + counter.count(20);
}

[[gnu::cold, gnu::noinline]] int complain(int n)
{
    split_sink = n;
    return -1;
}

extern "C" [[noreturn]] void _start()
{
    int n = split_sink;
    split_sink = n > 3 ? complain(n) : outer(n);
    split_sink = other::run(split_sink);
    for (;;)
        split_sink = 0;
}
