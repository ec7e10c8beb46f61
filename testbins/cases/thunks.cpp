//# about: methods behind folded thunks: a word of a table leads to thunks of several methods or classes that have one code, each of which jumps to methods that have one code
//# let: CC = $CLANGXX --target=x86_64-linux-gnu -std=c++17 -O1 -gdwarf-5 -fno-rtti -fno-exceptions -fno-pic -fno-asynchronous-unwind-tables $MAP -ffunction-sections
//# variant: lld: $CC -c thunks.cpp -o $T/a.o; $LLD --build-id -e start --icf=all --compress-debug-sections=zlib $T/a.o -o $OUT
// A method that overrides one of a base that is not the first is called through a thunk, which moves the object to its start.

struct First {
    virtual int alone();
    int x = 1;
};

struct Second {
    virtual int left();
    virtual int right();
    virtual int near();
    int y = 2;
};

int First::alone() { return x; }
int Second::left() { return y; }
int Second::right() { return y + 1; }
int Second::near() { return y + 2; }

// Two methods of one class have one code, and so have their thunks: nothing tells which of them a word means.
struct Both : First, Second {
    int left() override;
    int right() override;
    int near() override;
    int z = 40;
};

[[gnu::noinline]] int Both::left() { return z * 3; }
[[gnu::noinline]] int Both::right() { return z * 3; }

// Its own table leads to that code too, where it is one method's.
struct Direct : Second {
    int right() override;
    int pad[4] = {};
    int z = 40;
};

[[gnu::noinline]] int Direct::right() { return z * 3; }

// One method of each of two classes: a word means the method of its table's class.
struct Other : First, Second {
    int near() override;
    int z = 50;
};

[[gnu::noinline]] int Both::near() { return z * 5 + 1; }
[[gnu::noinline]] int Other::near() { return z * 5 + 1; }

[[gnu::noinline]] int not_virtual(Other *other) { return other->z * 5 + 1; }

[[gnu::noinline]] int call_left(Second *object) { return object->left() + 1; }
[[gnu::noinline]] int call_right(Second *object) { return object->right() + 2; }
[[gnu::noinline]] int call_near(Second *object) { return object->near() + 3; }
// A program without local symbols of functions may have lost those of tables.
[[gnu::noinline]] static int call_directly(Other *object)
{
    asm volatile("");
    return not_virtual(object) + 4;
}

static Both both;
static Direct direct;
static Other other;

extern "C" void start()
{
    call_left(&both);
    call_right(&both);
    call_right(&direct);
    call_near(&both);
    call_near(&other);
    call_directly(&other);
    for (;;)
        ;
}
