//# about: a method of a second base with the code of a method of the first base, and classes of which little is described
//# let: CC = $CLANGXX --target=x86_64-linux-gnu -std=c++17 -O1 -gdwarf-5 -fno-pic -fno-rtti -fno-exceptions -fno-asynchronous-unwind-tables $MAP -ffunction-sections
//# let: LD = $LLD --build-id -e start --icf=all --compress-debug-sections=zlib
//# variant: lld: $CC -c second_tables.cpp -o $T/a.o; $LD $T/a.o -o $OUT
//# variant: lines.set: mkdir -p $OUT; $CC -gmlt -c second_tables.cpp -o $T/a.o; $LD $T/a.o -o $OUT/program
// `second` and `weigh` of a class have one code. A call through slot 0 reaches it only by the second table, whose word leads to a thunk.
// No type information and no entry gives the methods of `Scale`. `Box` has no methods of its own, so no linkage name begins with its name.
// The tables of `Crate` begin with the offsets of its virtual bases. In `lines` nothing but symbols describes the classes.

struct First {
    virtual int first(int);
    virtual int second(int);
};
struct Scale {
    virtual int weigh(int) = 0;
    virtual int price(int) = 0;
};
struct Parcel : First, Scale {
    int second(int) override;
    int weigh(int) override;
    int price(int) override;
    int x = 17;
};
struct Letter : First, Scale {
    int second(int) override;
    int weigh(int) override;
    int price(int) override;
    int x = 17;
};
struct Box : Parcel {
};
struct Crate : virtual First, virtual Scale {
    int second(int) override;
    int weigh(int) override;
    int price(int) override;
    int x = 17;
};

#define BODY(number)                                                                                                                        \
    {                                                                                                                                       \
        int z = y * x + number;                                                                                                             \
        asm volatile("nop");                                                                                                                \
        return z / 3 - y % 7;                                                                                                               \
    }
[[gnu::noinline]] int First::first(int y) { return y + 1; }
[[gnu::noinline]] int First::second(int y) { return y + 2; }
[[gnu::noinline]] int Parcel::second(int y) BODY(3)
[[gnu::noinline]] int Parcel::weigh(int y) BODY(3)
[[gnu::noinline]] int Parcel::price(int y) BODY(4)
[[gnu::noinline]] int Letter::second(int y) BODY(3)
[[gnu::noinline]] int Letter::weigh(int y) BODY(3)
[[gnu::noinline]] int Letter::price(int y) BODY(5)
[[gnu::noinline]] int Crate::second(int y) BODY(3)
[[gnu::noinline]] int Crate::weigh(int y) BODY(3)
[[gnu::noinline]] int Crate::price(int y) BODY(6)

[[gnu::noinline]] int call_weigh(Scale *scale) { return scale->weigh(5) + 1; }
[[gnu::noinline]] int call_second(First *first) { return first->second(6) + 2; }

// A program without local symbols of functions may have lost those of tables.
[[gnu::noinline]] static int local(int x)
{
    asm volatile("");
    return x;
}

extern "C" void __cxa_pure_virtual() { asm volatile("hlt"); }

extern "C" int start()
{
    static Parcel parcel;
    static Letter letter;
    static Box box;
    Crate crate;
    return call_weigh(&parcel) + call_second(&parcel) + call_weigh(&letter) + call_second(&letter) + call_weigh(&box) + call_second(&box)
           + call_weigh(&crate) + call_second(&crate) + local(1);
}
