//# about: instances of templates that the linker folds, called without any record of the calls (-O0): compilers describe them in the order of their first use
//# let: FLAGS = -std=c++17 $MAP -ffreestanding -fno-exceptions -fno-rtti -fno-asynchronous-unwind-tables -fno-stack-protector -O0 -gdwarf-5 -ffunction-sections
//# variant: clang: $CLANGXX $FLAGS -nostdlib -static -fuse-ld=lld -Wl,--build-id,-e,start,--icf=all first_use.cpp -o $OUT
//# variant: gcc: $GXX $FLAGS -gdwarf-4 -fcf-protection=none -fno-pie -c first_use.cpp -o $T/a.o && $LLD --build-id -e start --icf=all $T/a.o -o $OUT
struct Celsius { long v; };
struct Metres { long v; };
struct Miles { long v; };

template <class T> long twice(T value) { return value.v * 2; }
template <class T> long next(T value) { return value.v + 1; }

// The types stand in another order than their names.
extern "C" void start()
{
    volatile long sum = twice(Miles{1});
    sum += twice(Celsius{2});
    sum += next(Metres{3});
    sum += twice(Metres{4});
    sum += next(Celsius{5});
    for (;;)
        ;
}
