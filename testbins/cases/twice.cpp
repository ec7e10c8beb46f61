//# about: objects with two parts of one class; one of the two overrides its method, or each does by itself
//# let: CC = $CLANGXX --target=x86_64-linux-gnu -std=c++17 -O1 -gdwarf-5 -fno-pic -fno-exceptions -fno-asynchronous-unwind-tables $MAP -ffunction-sections
//# let: LD = $LLD --build-id -e start --icf=all --compress-debug-sections=zlib
//# variant: lld: $CC -fno-rtti -c twice.cpp -o $T/a.o; $LD $T/a.o -o $OUT
//# variant: gold.set: mkdir -p $OUT; $CC -fno-rtti -c twice.cpp -o $T/a.o; $GOLD --build-id=sha1 -e start --icf=all --compress-debug-sections=zlib $T/a.o -o $OUT/program
// Methods of one body are folded. So are the thunks to `One::get` and `Two::get`.

struct Item {
    virtual int weigh();
    virtual int price();
    int x = 1;
};
struct Parcel : Item {
    int weigh() override;
};
struct Letter : Item {
    int y = 2;
};
// `weigh` of its Letter is that of Item.
struct Both : Parcel, Letter {
    virtual int both();
};
int Item::weigh() { return x; }
int Item::price() { return x + 1; }
int Parcel::weigh() { return x; }
int Both::both() { return 3; }

struct Left {
    virtual int left();
};
struct Right {
    virtual int right();
};
struct Base {
    virtual int get();
};
struct One : Left, Base {
    int get() override;
};
struct Two : Right, Base {
    int get() override;
};
// Neither `One::get` nor `Two::get` overrides the other.
struct All : One, Two {
    virtual int all();
};
int Left::left() { return 4; }
int Right::right() { return 5; }
int Base::get() { return 6; }
int One::get() { return 7; }
int Two::get() { return 7; }
int All::all() { return 8; }

[[gnu::noinline]] int call_weigh(Item *item) { return item->weigh() + 1; }
[[gnu::noinline]] int call_get(Base *base) { return base->get() + 2; }

// A program without local symbols of functions may have lost those of tables.
[[gnu::noinline]] static int local(int x)
{
    asm volatile("");
    return x;
}

extern "C" int start()
{
    static Both both;
    static All all;
    return call_weigh(static_cast<Letter *>(&both)) + call_get(static_cast<Two *>(&all)) + local(1);
}
