// Equal methods of classes that have no name outside of their file, called by one function each.
volatile long sink;
#define OUTLINE __attribute__((noinline))

namespace {
struct First {
    long value;
    OUTLINE long get() { return value * sink + 5; }
};
struct Second {
    long value;
    OUTLINE long get() { return value * sink + 5; }
};
}

OUTLINE long call_first(long a)
{
    First object{a};
    return object.get();
}

OUTLINE long call_second(long a)
{
    Second object{a};
    return object.get() * 2;
}

extern "C" int run(int a)
{
    return call_first(a) + call_second(a);
}
