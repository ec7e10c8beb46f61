//# about: virtual calls of which clang 23 records the method of the static class
//# let: CC = $CLANGXX_23 --target=x86_64-linux-gnu -std=c++17 -O2 -gdwarf-5 -fno-pic -fno-rtti -fno-exceptions -fno-threadsafe-statics -fno-asynchronous-unwind-tables $MAP -ffunction-sections
//# let: LD = $LLD --build-id -e start --icf=all --compress-debug-sections=zlib
//# variant: clang.set: mkdir $OUT; $CC -c virtual_origin.cpp -o $T/a.o; $LD $T/a.o -o $OUT/program; $CC -fdebug-types-section -DOTHER -c virtual_origin.cpp -o $T/b.o; $CC -DMAIN -c virtual_origin.cpp -o $T/c.o; $LD $T/b.o $T/c.o -o $OUT/units
// All methods with one body are folded, and all functions that call in one way. With -DMAIN and -DOTHER there are two units.

struct Item {
    virtual int weigh(int);
    virtual ~Item();
    int x;
};
struct Parcel : Item {
    int weigh(int) override;
};
struct Stamp {
    virtual int weigh(int);
    virtual ~Stamp();
    int x;
};
struct Base {
    virtual int price(int);
    int y;
};
// Word 0 of both of its tables leads to one code: the first to `Both::weigh`, the second by a thunk to `Both::price`.
struct Both : Item, Base {
    int weigh(int) override;
    int price(int) override;
};

#ifndef OTHER
int Item::weigh(int n) { return n + x; }
int Parcel::weigh(int n) { return n * 3 + 1; }
int Stamp::weigh(int n) { return n * 3 + 1; }
int Base::price(int n) { return n - y; }
int Both::weigh(int n) { return n * 5 + 1; }
int Both::price(int n) { return n * 5 + 1; }
Item::~Item() {}
Stamp::~Stamp() {}
extern "C" void operator_delete(void *) asm("_ZdlPvm");
void operator_delete(void *) {}
#endif

#ifndef MAIN
#define CALL(name, type, method, plus) [[gnu::noinline]] int name(type *object, int n) { return object->method(n) + plus; }
CALL(weigh_item, Item, weigh, 2)
CALL(weigh_stamp, Stamp, weigh, 3)
CALL(price_base, Base, price, 4)
// Folded: each names a method of its own.
CALL(weigh_parcel_too, Parcel, weigh, 5)
CALL(weigh_stamp_too, Stamp, weigh, 5)
// Folded, with one method.
CALL(weigh_items, Item, weigh, 6)
CALL(weigh_more, Item, weigh, 6)

[[gnu::noinline]] void note(int n) { asm volatile("" : : "r"(n)); }

// LLVM merges the two calls into one, and keeps the record of the first.
[[gnu::noinline]] int merged(int choice, Item *item, Stamp *stamp, int n)
{
    if (choice) {
        note(1);
        item->weigh(n);
        __builtin_trap();
    }
    note(2);
    stamp->weigh(n);
    __builtin_trap();
}
[[gnu::noinline]] void destroy(Item *item) { item->~Item(); note(3); }
#endif

#ifndef OTHER
int weigh_item(Item *, int);
int weigh_stamp(Stamp *, int);
int price_base(Base *, int);
int weigh_parcel_too(Parcel *, int);
int weigh_stamp_too(Stamp *, int);
int weigh_items(Item *, int);
int weigh_more(Item *, int);
int merged(int, Item *, Stamp *, int);
void destroy(Item *);
// A local symbol shows that the program has its symbols.
[[gnu::noinline]] static int local(int n)
{
    asm volatile("" : "+r"(n));
    return n * 9;
}
extern "C" int start()
{
    static Item item;
    static Parcel parcel;
    static Stamp stamp;
    static Both both;
    destroy(&item);
    return weigh_item(&item, 1) + weigh_stamp(&stamp, 2) + price_base(&both, 3) + weigh_parcel_too(&parcel, 4)
        + weigh_stamp_too(&stamp, 5) + weigh_items(&parcel, 6) + weigh_more(&both, 7) + merged(1, &item, &stamp, local(8));
}
#endif
