//# about: methods that run on one part of an object and are called through the table of another, and a class with a base of which two classes have the name
//# let: CC = $CLANGXX --target=x86_64-linux-gnu -std=c++17 -O1 -gdwarf-5 -fno-rtti -fno-exceptions -fno-pic -fno-asynchronous-unwind-tables $MAP -ffunction-sections
//# variant: lld: $CC -c sides.cpp -o $T/a.o; $CC -DOTHER -c sides.cpp -o $T/b.o; $LLD --build-id -e start --icf=all --compress-debug-sections=zlib $T/a.o $T/b.o -o $OUT
// `near::Node` is described where its first method is, in the other object. Of its name there is `far::Node` too, so nothing says which
// of them is the base of `Leaf`.

namespace near {
struct Node {
    virtual int weigh();
    int x = 1;
};
}

#ifdef OTHER

int near::Node::weigh() { return x; }

#else

namespace far {
struct Node {
    virtual int weigh();
    int x = 2;
};
int Node::weigh() { return x + 5; }
}

struct Leaf : near::Node {
    int weigh() override;
};
struct Tree : far::Node {
    int weigh() override;
};

[[gnu::noinline]] int Leaf::weigh() { return x * 7 + 1; }
[[gnu::noinline]] int Tree::weigh() { return x * 7 + 1; }

[[gnu::noinline]] int call_weigh(far::Node *node) { return node->weigh() + 3; }
[[gnu::noinline]] int call_weigh_near(near::Node *node) { return node->weigh() + 4; }

struct First {
    virtual int one();
    int x = 3;
};
struct Second {
    virtual int two();
    int y = 4;
};
int First::one() { return x; }
int Second::two() { return y + 6; }

// A thunk behind the second table moves the object to its start, where the first table is. Slot 0 of both leads to one code.
struct Both : First, Second {
    int one() override;
    int two() override;
};

[[gnu::noinline]] int Both::one() { return x * 9 + 2; }
[[gnu::noinline]] int Both::two() { return x * 9 + 2; }

[[gnu::noinline]] int call_one(First *object) { return object->one() + 5; }
[[gnu::noinline]] int call_two(Second *object) { return object->two() + 6; }

// A program without local symbols of functions may have lost those of tables.
[[gnu::noinline]] static int local(int x)
{
    asm volatile("");
    return x;
}

static Leaf leaf;
static Tree tree;
static Both both;

extern "C" void start()
{
    call_weigh_near(&leaf);
    call_weigh(&tree);
    call_one(&both);
    call_two(&both);
    local(1);
    for (;;)
        ;
}

#endif
