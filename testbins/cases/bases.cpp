//# about: the bases of classes that no unit describes, from their type information; classes whose methods have the same names in another order
//# let: CC = $CLANGXX --target=x86_64-linux-gnu -std=c++17 -O1 -gdwarf-5 -fno-exceptions -fno-asynchronous-unwind-tables $MAP -ffunction-sections
//# let: LD = $LLD --build-id -e start --icf=all --compress-debug-sections=zlib
//# variant: typed.set: mkdir $OUT; $CC -fno-pic -c bases.cpp -o $T/a.o; $CC -fno-pic -g0 -DOTHER -c bases.cpp -o $T/b.o; $LD $T/a.o $T/b.o -o $OUT/program;
//#| $CC -fPIC -c bases.cpp -o $T/a.o; $CC -fPIC -g0 -DOTHER -c bases.cpp -o $T/b.o; $LD -shared $T/a.o $T/b.o -o $OUT/library;
//#| $CC -fno-pic -fno-rtti -c bases.cpp -o $T/a.o; $CC -fno-pic -fno-rtti -g0 -DOTHER -c bases.cpp -o $T/b.o; $LD $T/a.o $T/b.o -o $OUT/untyped;
//#| $CC -fno-pic -mretpoline -c bases.cpp -o $T/a.o; $CC -fno-pic -mretpoline -g0 -DOTHER -c bases.cpp -o $T/b.o; $LD $T/a.o $T/b.o -o $OUT/retpoline
// All classes are in an object without debug information. Methods of one body are folded.

struct Item {
    virtual int weigh(int) = 0;
    virtual int price(int) = 0;
    int x;
};
struct Letter : Item {
    int weigh(int) override;
    int price(int) override;
};
struct Book : Item {
    int weigh(int) override;
    int price(int) override;
};
// Letter and Book tell where the methods of Item are, and so which of the two of Parcel is at which word.
struct Parcel : Item {
    int weigh(int) override;
    int price(int) override;
};
// It inherits one method of this code and has another.
struct Gift : Parcel {
    int price(int) override;
};
// Nothing to do with Item: its methods of these names are in another order.
struct Shelf {
    virtual int price(int);
    virtual int weigh(int);
    int x;
};
// Box and Bag add methods of the same names to Thing, in another order, so Box does not tell where those of Bag are.
struct Thing {
    virtual int kind(int) = 0;
    int x;
};
struct Box : Thing {
    int kind(int) override;
    virtual int open(int);
    virtual int close(int);
};
struct Bag : Thing {
    int kind(int) override;
    virtual int close(int);
    virtual int open(int);
};
// The words of the second table are those of Right. The first has no third word.
struct Left {
    virtual int one(int);
    int x;
};
struct Right {
    virtual int zero(int);
    virtual int null(int);
    virtual int two(int);
    int y;
};
struct Multi : Left, Right {
    int one(int) override;
    int two(int) override;
};

#ifdef OTHER

#define BODY(method, n) \
    int method(int a) { return x * n + a; }
BODY(Letter::weigh, 3)
BODY(Letter::price, 4)
BODY(Book::weigh, 5)
BODY(Book::price, 6)
BODY(Parcel::weigh, 7)
BODY(Parcel::price, 7)
BODY(Gift::price, 7)
BODY(Shelf::weigh, 7)
BODY(Shelf::price, 7)
BODY(Box::kind, 10)
BODY(Box::open, 11)
BODY(Box::close, 12)
BODY(Bag::kind, 13)
BODY(Bag::open, 14)
BODY(Bag::close, 14)
BODY(Left::one, 15)
int Right::zero(int a) { return y * 18 + a; }
int Right::null(int a) { return y * 19 + a; }
int Right::two(int a) { return y * 16 + a; }
BODY(Multi::one, 17)
BODY(Multi::two, 17)

Letter letter;
Book book;
Parcel parcel;
Gift gift;
Shelf shelf;
Box box;
Bag bag;
Multi multi;

#else

// The vtables of the runtime's type information.
#define RUNTIME(name, symbol) extern "C" __attribute__((used)) void *const name[8] asm(symbol) = {};
#ifndef __PIC__
RUNTIME(plain, "_ZTVN10__cxxabiv117__class_type_infoE")
RUNTIME(single, "_ZTVN10__cxxabiv120__si_class_type_infoE")
RUNTIME(listed, "_ZTVN10__cxxabiv121__vmi_class_type_infoE")
#endif
extern "C" void __cxa_pure_virtual()
{
    for (;;)
        ;
}

[[gnu::noinline]] int call_weigh(Item *item) { return item->weigh(1) + 1; }
[[gnu::noinline]] int call_price(Item *item) { return item->price(2) + 2; }
[[gnu::noinline]] int call_first(Shelf *shelf) { return shelf->price(3) + 3; }
[[gnu::noinline]] int call_close(Bag *bag) { return bag->close(4) + 4; }
[[gnu::noinline]] int call_one(Left *left) { return left->one(5) + 5; }
[[gnu::noinline]] int call_two(Right *right) { return right->two(6) + 6; }

// A program without local symbols of functions may have lost those of tables.
[[gnu::noinline]] static int local(int x)
{
    asm volatile("");
    return x;
}

extern Letter letter;
extern Book book;
extern Parcel parcel;
extern Gift gift;
extern Shelf shelf;
extern Box box;
extern Bag bag;
extern Multi multi;

extern "C" void start()
{
    Item *items[] = {&letter, &book, &parcel, &gift};
    for (Item *item : items) {
        call_weigh(item);
        call_price(item);
    }
    call_first(&shelf);
    call_close(&bag);
    box.open(7);
    call_one(&multi);
    call_two(&multi);
    local(1);
    for (;;)
        ;
}

#endif
