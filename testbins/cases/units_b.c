/* The second unit of units.c: a `helper` and an out-of-line `slow_area` of its own with the same names. */
#include "units.h"

static __attribute__((noinline)) int helper(const struct shape *s)
{
    units_sink = 200;
    return area(s) + 2;
}

static __attribute__((noinline)) int slow_area(const struct shape *s) { return area(s) * 4; }

int second(const struct shape *s) { return helper(s) * slow_area(s) + area(s); }
