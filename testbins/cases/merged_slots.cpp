//# about: two methods of a class with the same code, at two words of a vtable for a base that nothing describes
//# let: CC = $CLANGXX --target=x86_64-linux-gnu -std=c++17 -O1 -gdwarf-5 -fno-pic -fno-rtti -fno-exceptions -fno-asynchronous-unwind-tables $MAP -ffunction-sections
//# let: LD = $LLD --build-id -e start --icf=all --compress-debug-sections=zlib
//# variant: lld: $CC -Xclang -fmerge-functions -c merged_slots.cpp -o $T/a.o; $LD $T/a.o -o $OUT
//# variant: folded: $CC -c merged_slots.cpp -o $T/a.o; $LD $T/a.o -o $OUT
//# variant: lines.set: mkdir $OUT; $CC -gmlt -c merged_slots.cpp -o $T/a.o; $LD $T/a.o -o $OUT/program
//# variant: shared.set: mkdir $OUT; $CC -fPIC -Xclang -fmerge-functions -c merged_slots.cpp -o $T/a.o; $LD -shared $T/a.o -o $OUT/program
// `Parcel::weigh` has the code of `Parcel::price`: LLVM merges them in `lld` and `shared`, and lld folds them in the others. The thunk to
// that code is at both words of the table for `Scale`, so a call of `weigh` looks like a call of `price`. `Scale` has no table of its
// own, and no entry describes its methods. In `lines` nothing but symbols describes those of `Parcel`. In `shared` relocations with
// names are at the words.

struct First {
    virtual int first();
    virtual int second();
};
struct Scale {
    virtual int weigh(int) = 0;
    virtual int price(int) = 0;
};
struct Parcel : First, Scale {
    int first() override;
    int weigh(int) override;
    int price(int) override;
    int x = 3;
};
struct Letter : First, Scale {
    int first() override;
    int weigh(int) override;
    int price(int) override;
    int x = 3;
};

int First::first() { return 1; }
int First::second() { return 5; }
int Parcel::first() { return 2; }
int Letter::first() { return 4; }
[[gnu::noinline]] int Parcel::weigh(int y)
{
    int z = y * x + 17;
    asm volatile("nop");
    return z / 3 - y % 7;
}
[[gnu::noinline]] int Parcel::price(int y)
{
    int z = y * x + 17;
    asm volatile("nop");
    return z / 3 - y % 7;
}
[[gnu::noinline]] int Letter::weigh(int y)
{
    int z = y * x + 19;
    asm volatile("nop");
    return z / 3 - y % 7;
}
[[gnu::noinline]] int Letter::price(int y)
{
    int z = y * x + 19;
    asm volatile("nop");
    return z / 3 - y % 7;
}

// Each caller has the name of the other method.
[[gnu::noinline]] int before_price(Scale *scale) { return scale->weigh(5) + 1; }
[[gnu::noinline]] int after_weigh(Scale *scale) { return scale->price(6) + 2; }

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
    return before_price(&parcel) + after_weigh(&parcel) + before_price(&letter) + after_weigh(&letter) + local(1);
}
