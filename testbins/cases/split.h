// Inlined into both units of the case; declared here, called from there.
#pragma once
extern volatile int split_sink;

inline int twice(int n)
{
    split_sink = n;
    return n * 2;
}

template <typename T>
struct Counter {
    T value;
    [[gnu::always_inline]] T step(T by)
    {
        value = static_cast<T>(twice(value) + by);
        return value;
    }
    [[gnu::noinline]] T count(T to)
    {
        while (value < to)
            step(1);
        return value;
    }
};

struct Shape {
    virtual int area() const = 0;
    [[gnu::noinline]] int report() const
    {
        split_sink = area();
        return split_sink;
    }
};

namespace other {
int run(int n);
}
