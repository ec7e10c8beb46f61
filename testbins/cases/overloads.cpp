//# about: a class that overrides the const one of two overloads, and has the code of the other one
//# let: CC = $CLANGXX --target=x86_64-linux-gnu -std=c++17 -O1 -fno-pic -fno-exceptions -fno-asynchronous-unwind-tables $MAP -ffunction-sections
//# let: LD = $LLD --build-id -e start --icf=all --compress-debug-sections=zlib
//# variant: const.set: mkdir $OUT; for level in -gdwarf-5 -gmlt -g0; do $CC $level -c overloads.cpp -o $T/a.o; $LD $T/a.o -o $OUT/program$level; done
// `Base::get()` and `Parcel::get() const` are folded. On a `Parcel`, a call of `get()` through `Base` runs `Base::get()`.

struct Item {
    virtual int weigh();
    int x = 1;
};
struct Base {
    virtual int get();
    virtual int get() const;
    int x = 2;
};
struct Parcel : Item, Base {
    int get() const override;
};

int Item::weigh() { return x; }
int Base::get() { return 7; }
int Base::get() const { return 8 + x; }
int Parcel::get() const { return 7; }

// The vtables of the runtime's type information.
#define RUNTIME(name, symbol) extern "C" __attribute__((used)) void *const name[8] asm(symbol) = {};
RUNTIME(plain, "_ZTVN10__cxxabiv117__class_type_infoE")
RUNTIME(listed, "_ZTVN10__cxxabiv121__vmi_class_type_infoE")

[[gnu::noinline]] int call_get(Base *base) { return base->get() + 1; }
[[gnu::noinline]] int call_const(const Base *base) { return base->get() + 2; }

// A program without local symbols of functions may have lost those of tables.
[[gnu::noinline]] static int local(int x)
{
    asm volatile("");
    return x;
}

extern "C" int start()
{
    static Parcel parcel;
    static Base base;
    return call_get(&parcel) + call_const(&parcel) + call_get(&base) + local(1);
}
