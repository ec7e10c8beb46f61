// Comparators, hashers and closures that are equal in code, passed to algorithms and stored in tables.
#include <algorithm>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#define NOINLINE __attribute__((noinline))
volatile long sink;

#define RECORD(Name)                                                                                         \
    struct Name { long key, value; };                                                                        \
    NOINLINE int compare(const Name &one, const Name &other) { sink++; return one.key < other.key ? -1 : one.key > other.key; } \
    NOINLINE unsigned hash(const Name &record) { sink += 2; return (unsigned)(record.key * 31 + record.value); } \
    NOINLINE bool same(const Name &one, const Name &other) { return compare(one, other) == 0 && hash(one) == hash(other); } \
    NOINLINE int order_##Name(const void *one, const void *other) { return compare(*static_cast<const Name *>(one), *static_cast<const Name *>(other)); }
namespace city { RECORD(Street) RECORD(Square) }
namespace farm { RECORD(Field) RECORD(Stable) }
namespace port { RECORD(Quay) RECORD(Crane) }

template <class T> struct ByKey { NOINLINE bool operator()(const T &one, const T &other) const { sink++; return one.key < other.key; } };
template <class T> NOINLINE long sorted(std::vector<T> all) {
    std::sort(all.begin(), all.end(), ByKey<T>());
    long sum = 0;
    for (size_t i = 1; i < all.size(); i++) sum += compare(all[i - 1], all[i]) + same(all[0], all[i]);
    return sum;
}
template <class T> NOINLINE long counted(const std::vector<T> &all, long limit) {
    auto above = [limit](const T &record) __attribute__((noinline)) { sink += 3; return record.key > limit; };
    return std::count_if(all.begin(), all.end(), above);
}
template <class T> NOINLINE std::vector<T> made(long count) {
    std::vector<T> all;
    for (long i = 0; i < count; i++) all.push_back(T{(i * 37) % 11, i});
    return all;
}
struct Row { const char *name; int (*compare)(const void *, const void *); };
static const Row rows[] = {
    {"quay", port::order_Quay}, {"field", farm::order_Field}, {"street", city::order_Street},
    {"crane", port::order_Crane}, {"square", city::order_Square}, {"stable", farm::order_Stable},
};
NOINLINE long by_table(long seed) {
    long sum = 0;
    for (const Row &row : rows) {
        long values[][2] = {{seed % 5, 1}, {seed % 3, 2}, {7, 3}, {2, 4}};
        std::qsort(values, 4, sizeof *values, row.compare);
        sum += values[0][0];
    }
    return sum;
}
int main() {
    auto quays = made<port::Quay>(9);
    auto fields = made<farm::Field>(7);
    auto streets = made<city::Street>(8);
    auto cranes = made<port::Crane>(6);
    auto squares = made<city::Square>(5);
    auto stables = made<farm::Stable>(7);
    std::vector<std::function<long(long)>> calls{
        [&](long limit) { return counted(stables, limit); }, [&](long limit) { return counted(quays, limit); },
        [&](long limit) { return counted(streets, limit); }, [&](long limit) { return counted(cranes, limit); },
    };
    long sum = sorted(streets) + sorted(quays) + sorted(stables) + sorted(cranes) + sorted(fields) + sorted(squares);
    for (long round = 0; round < 3; round++) {
        sum += by_table(round);
        for (auto &call : calls) sum += call(round);
        sum += counted(fields, round) + counted(squares, round);
        sum += same(fields[0], fields[1]) + same(squares[1], squares[2]) + compare(cranes[0], cranes[2]);
    }
    return sum == 0;
}
