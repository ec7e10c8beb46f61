// The second unit of split.cpp.
#include "split.h"

namespace {
struct Square final : Shape {
    int side;
    explicit Square(int side) : side(side) {}
    int area() const override { return side * side; }
};

[[gnu::noinline]] int local(int n)
{
    auto add = [&](int by) {
        split_sink = by;
        return n + twice(by);
    };
    return add(n) + add(3);
}
} // namespace

namespace other {
[[gnu::cold, gnu::noinline]] int rare(int n)
{
    split_sink = -n;
    return n;
}

int run(int n)
{
    Counter<short> counter{static_cast<short>(n)};
    if (n > 1000)
        return rare(n);
    Square square(n);
    return local(counter.count(9)) + square.report();
}
} // namespace other
