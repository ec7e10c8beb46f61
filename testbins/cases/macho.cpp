//# about: Mach-O: arm64 and x86_64, objects, linked programs whose DWARF stays in the objects, dSYM bundles, a fat file
//# let: CC = $CLANGXX -std=c++17 -O2 -fno-exceptions -fno-rtti -gdwarf-4 $MAP
//# let: LINK = -platform_version macos 11.0 11.0 -oso_prefix $T/ -syslibroot tbd -lSystem -adhoc_codesign
//# let: ARM = $CC -target arm64-apple-macos11 -c macho.cpp -o $T/a.o && $CLANG -O1 -gdwarf-5 $MAP -target arm64-apple-macos11 -c units_b.c -o $T/b.o && $LD64 -arch arm64 $LINK -o $T/macho $T/a.o $T/b.o
//# let: X86 = $CC -target x86_64-apple-macos11 -c macho.cpp -o $T/a.o && $CLANG -O1 -gdwarf-5 $MAP -target x86_64-apple-macos11 -c units_b.c -o $T/b.o && $LD64 -arch x86_64 $LINK -o $T/macho $T/a.o $T/b.o
//# let: DSYM = $DSYMUTIL --oso-prepend-path $T -o $T/d.dSYM $T/macho && rm -rf $T/d.dSYM/Contents/Resources/Relocations
//# variant: arm64: $ARM && cp $T/macho $OUT
//# variant: arm64.o: $CC -target arm64-apple-macos11 -c macho.cpp -o $OUT
//# variant: x86_64.o: $CC -target x86_64-apple-macos11 -c macho.cpp -o $OUT
//# variant: arm64.dSYM: $ARM && $DSYM && mv $T/d.dSYM $OUT
//# variant: x86_64.dSYM: $X86 && $DSYM && mv $T/d.dSYM $OUT
//# variant: fat: $ARM && $DSYM && mv $T/d.dSYM/Contents/Resources/DWARF/macho $T/one && $X86 && $DSYM && $LIPO -create $T/one $T/d.dSYM/Contents/Resources/DWARF/macho -output $OUT
extern "C" {
#include "units.h"
volatile int units_sink;
}

template <typename T> struct Box {
    T value;
    __attribute__((noinline)) T scaled(T by) const
    {
        auto scale = [this](T x) { return x * value; };
        return scale(by) + scale(by + 1);
    }
};

struct Node {
    int depth;
    __attribute__((noinline)) explicit Node(int d) : depth(d) { units_sink = d; }
    __attribute__((noinline)) int walk(int left) const { return left ? walk(left - 1) + depth : units_sink; }
};

static __attribute__((noinline)) int helper(const shape *s) { return area(s) + 77; }

int first(const shape *s) { return helper(s) + Box<int> { units_sink }.scaled(3); }

// The other units of this program never call it: dead stripping removes it, and the symbol table forgets it.
int main()
{
    shape s = { 1, 2, 3 };
    Node node(units_sink);
    return first(&s) + second(&s) + node.walk(5) + static_cast<int>(Box<long> { units_sink }.scaled(5));
}
