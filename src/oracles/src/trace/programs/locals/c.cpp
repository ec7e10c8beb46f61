// Local functions, classes and lambdas of the names that the other files have, and of the same code.
#include "locals.h"

NOINLINE static long scale(long x) { sink++; return x * 3 + sink % 5; }
NOINLINE static long shift(long x) { sink += 2; return scale(x) + 4; }
namespace {
struct Step {
    long at;
    NOINLINE long run(long x) const { sink += 3; return at * x + scale(x); }
};
template <typename T> NOINLINE T twice(T x) { sink += 4; return x + x; }
}
static const struct { long (*call)(long); } table[] = {{scale}, {shift}};

long entry_c(long x) {
    struct Local {
        long y;
        NOINLINE long half() const { sink += 5; return y / 2; }
    };
    auto add = [x](long y) __attribute__((noinline)) { sink += 6; return x + y; };
    long sum = scale(x) + shift(x) + Step{x}.run(2) + twice(x) + Local{x}.half() + add(3);
    for (const auto &row : table) sum += row.call(x);
    return sum + tail_c(x);
}
NOINLINE long last_c(long x) { sink += 7; return x - 1; }
long tail_c(long x) { sink--; return last_c(x + 1); }
