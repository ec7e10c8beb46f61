//# about: gcc merges one of two local overloads into a third function; a tool may have removed its symbol
//# let: BUILD = $GXX -gdwarf-5 -O2 -ffreestanding -fno-exceptions -fno-asynchronous-unwind-tables -fno-stack-protector -fcf-protection=none -fno-pie -no-pie $MAP -nostdlib -static -Wl,--build-id,-e,start merged_overloads.cpp
//# variant: symbols.set: mkdir -p $OUT; $BUILD -o $OUT/program
//# variant: removed.set: mkdir -p $OUT; $BUILD -o $OUT/program; $OBJCOPY -N _ZL5widthP6Carton $OUT/program
// `width(Carton*)` has the code of `length`. gcc gives neither overload a linkage name, and `start` reaches both by tail calls alone.
struct Parcel;
struct Carton;
struct Letter;

int measured;

[[gnu::noinline]] static long length(Letter *letter);

[[gnu::noinline]] static long width(Parcel *parcel)
{
    measured += 3;
    return (long)parcel * 7 + measured;
}

[[gnu::noinline]] static long width(Carton *carton)
{
    measured += 5;
    return (long)carton * 3 + measured;
}

[[gnu::noinline]] long of_parcel(Parcel *parcel) { return width(parcel); }
[[gnu::noinline]] long of_carton(Carton *carton) { return width(carton); }
[[gnu::noinline]] long of_letter(Letter *letter) { return length(letter); }

[[gnu::noinline]] static long length(Letter *letter)
{
    measured += 5;
    return (long)letter * 3 + measured;
}

extern "C" void start(void *place)
{
    measured = of_parcel((Parcel *)place) + of_carton((Carton *)place) + of_letter((Letter *)place);
    for (;;)
        ;
}
