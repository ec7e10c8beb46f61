// A plugin: folded functions, also of the names that the other plugin has, which call back into the program and are called by it.
#include "plugins.h"

#include <cstdlib>
#include <stdexcept>

static volatile long sink;

NOINLINE static long scale(long x) { sink++; return x * 3 + sink % 5; }
NOINLINE static long weigh(long x) { sink++; return x * 3 + sink % 5; }
NOINLINE static long host_round(const Host &host, long x) { sink += 2; return host.round(x) + 1; }
NOINLINE static long host_ask(const Host &host, long x) { sink += 2; return host.round(x) + 1; }
NOINLINE static int by_size(const void *a, const void *b) { sink += 3; return *(const int *)a - *(const int *)b; }
NOINLINE static int by_age(const void *a, const void *b) { sink += 3; return *(const int *)a - *(const int *)b; }
NOINLINE static long check_size(long x) { if (x % 2) throw std::runtime_error("first"); return x + sink % 3; }
NOINLINE static long check_age(long x) { if (x % 2) throw std::runtime_error("first"); return x + sink % 3; }

EXPORTED long run(const Host &host, long x) {
    int sizes[] = {4, 2, 7}, ages[] = {3, 1, 9};
    qsort(sizes, 3, sizeof *sizes, by_size);
    qsort(ages, 3, sizeof *ages, by_age);
    long other = host.ask(host, x);
    long sum = scale(x) + weigh(x) + host_round(host, x) + host_ask(host, x) + host.square(other) + sizes[0] + ages[0];
    return x % 4 < 2 ? sum + check_size(x) : sum + check_age(x);
}
