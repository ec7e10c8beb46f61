// Tables of callbacks, comparators and visitors that are equal in code, called directly, through tables and by tail calls.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define NOINLINE __attribute__((noinline))
volatile long sink;

NOINLINE static int cmp_long(const void *a, const void *b) { long x = *(const long *)a, y = *(const long *)b; return (x > y) - (x < y); }
NOINLINE static int cmp_time(const void *a, const void *b) { int64_t x = *(const int64_t *)a, y = *(const int64_t *)b; return (x > y) - (x < y); }
NOINLINE long visit_node(long v) { sink += v; return v * 3 + sink % 7; }
NOINLINE long visit_edge(long v) { sink += v; return v * 3 + sink % 7; }
NOINLINE long visit_leaf(long v) { sink += v; return v * 3 + sink % 7; }
NOINLINE long walk_nodes(long n) { long s = 0; for (long i = 0; i < n; i++) s += visit_node(i); return s; }
NOINLINE long walk_edges(long n) { long s = 0; for (long i = 0; i < n; i++) s += visit_edge(i); return s; }
NOINLINE long forward_leaf(long v) { sink--; return visit_leaf(v + 1); }
NOINLINE long forward_edge(long v) { sink--; return visit_edge(v + 1); }
struct table { const char *name; long (*call)(long); };
static const struct table tables[] = {{"node", visit_node}, {"edge", visit_edge}, {"leaf", visit_leaf},
                                      {"nodes", walk_nodes}, {"edges", walk_edges}, {"fleaf", forward_leaf}, {"fedge", forward_edge}};

int main(void) {
    long s = 0, values[] = {5, 3, 9, 1};
    int64_t times[] = {7, 2, 8, 4};
    qsort(values, 4, sizeof *values, cmp_long);
    qsort(times, 4, sizeof *times, cmp_time);
    for (int round = 0; round < 3; round++)
        for (unsigned i = 0; i < sizeof tables / sizeof *tables; i++) s += tables[i].call(round + 2);
    s += forward_leaf(4) + forward_edge(5) + walk_nodes(3) + walk_edges(3);
    printf("%ld\n", s + values[0] + times[0]);
    return 0;
}
