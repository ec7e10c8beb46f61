// Class templates that three files use, each for types of its own and for shared ones: a linker keeps one copy of a shared one.
#pragma once
#include <vector>

#define NOINLINE __attribute__((noinline))
extern volatile long sink;
extern long rate;

struct Coin { long value; };
struct Note { long value; };
long shop_a(long x);
long shop_b(long x);
long shop_c(long x);

template <class T> struct Till {
    std::vector<T> held;
    NOINLINE void take(long value) { held.push_back(T{value}); sink += value; }
    NOINLINE long total() const { long all = 0; for (const T &one : held) all += one.value; return all + sink % 3; }
    NOINLINE long change(long price) { sink++; return total() - price; }
};
template <class T> NOINLINE long sell(Till<T> &till, long price) {
    till.take(price + rate);
    return till.change(price);
}
template <class T> NOINLINE long audit(const Till<T> &one, const Till<T> &other) { return one.total() + other.total() * rate; }
