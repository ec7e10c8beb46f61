//# about: gcc's thunks for covariant results, which have lines of their own, beside a removed function of their size
//# variant: gcc.set: mkdir -p $OUT; $GXX -std=c++17 -O0 -gdwarf-5 -fno-pie -fno-rtti -fno-exceptions -fno-threadsafe-statics -fno-asynchronous-unwind-tables $MAP -ffunction-sections -c covariant.cpp -o $T/a.o; $LLD --build-id -e start --icf=all --gc-sections --compress-debug-sections=zlib $T/a.o -o $OUT/program
// The two thunks have the same code and are folded.

// As long as a thunk.
void unused() { asm volatile(".skip 35, 0x90"); }

struct Item {
    virtual void item();
    int x;
};
struct Base {
    virtual Base *copy();
    int y;
};
struct Parcel : Item, Base {
    Parcel *copy() override;
};
struct Letter : Item, Base {
    Letter *copy() override;
};
void Item::item() {}
Base *Base::copy() { return this; }
Parcel *Parcel::copy() { return this; }
Letter *Letter::copy() { return this; }

extern "C" int start()
{
    static Parcel parcel;
    static Letter letter;
    return !parcel.copy() + !letter.copy();
}
