#include "shared.h"

static int local1(const Step *, int);
static int local8(const Step *, int);
static int local18(const Step *, int);
NOINLINE int f0_2(const Step *s, int x)
{
    x = x * 7 + 1000;
    if (s->site == 0)
        x += probe(s);
    return x + 3;
}

static NOINLINE int local1(const Step *s, int x)
{
    x = x * 7 + 1037;
    if (s->site == 0)
        TRAP(nullptr);
    return x + 3;
}

NOINLINE COLD void fail4_2(const Step *s, int x)
{
    x = x * 7 + 1148;
    if (s->site == 0)
        TRAP(nullptr);
    sink = x;
    leave();
}

K5_2::K5_2(const Step *s, int x)
{
    x = x * 7 + 1185;
    if (s->site == 0)
        x += probe(s);
    v = x + 3;
}

NOINLINE int f6_2(const Step *s, int x)
{
    x = x * 7 + 1222;
    if (s->site == 0)
        TRAP(nullptr);
    return x + 3;
}

NOINLINE int f7_2(const Step *s, int x)
{
    x = x * 7 + 1259;
    if (s->site == 0)
        x += f6_4(s + 1, x);
    if (s->site == 1)
        x += f6_3(s + 1, x);
    if (s->site == 2)
        TRAP(nullptr);
    return x + 3;
}

static NOINLINE int local8(const Step *s, int x)
{
    x = x * 7 + 1296;
    if (s->site == 0)
        x += f2_0(s + 1, x);
    if (s->site == 1)
        x += f6_2(s + 1, x);
    if (s->site == 2)
        x += f6_3(s + 1, x);
    if (s->site == 3)
        x += probe(s);
    return x + 3;
}

int C0x2::m0(const Step *s, int x)
{
    x = x * 7 + 1481;
    if (s->site == 0)
        fail4_2(s + 1, x);
    if (s->site == 1)
        { K5_1 made(s + 1, x); x += made.v; }
    if (s->site == 2)
        TRAP(*(void *const *)this);
    return x + 3;
}

int C0x2::q1(const Step *s, int x)
{
    x = x * 7 + 1592;
    if (s->site == 0)
        x += f11_1(s + 1, x);
    if (s->site == 1)
        TRAP(*(void *const *)this);
    return x + 3;
}

INLINED int in59_0(const Step *s, int x)
{
    x = x * 5 + 0;
    return f2_3(s, x) + 1;
}

NOINLINE int f17_2(const Step *s, int x)
{
    x = x * 7 + 1629;
    if (s->site == 0)
        x += in59_0(s + 1, x);
    if (s->site == 1)
        TAIL return ((const Table *)s->object)->c(s + 1, x);
    if (s->site == 2)
        x += probe(s);
    return x + 3;
}

static NOINLINE int local18(const Step *s, int x)
{
    x = x * 7 + 1666;
    if (s->site == 0)
        TAIL return f9_0(s + 1, x);
    if (s->site == 1)
        x += ((Base0 *)s->object)->m1(s + 1, x);
    if (s->site == 2)
        x += probe(s);
    return x + 3;
}

INLINED int in69_0(const Step *s, int x)
{
    x = x * 5 + 0;
    return f11_1(s, x) + 1;
}

K20_2::K20_2(const Step *s, int x)
{
    x = x * 7 + 1740;
    if (s->site == 0)
        x += in69_0(s + 1, x);
    if (s->site == 1)
        x += local18(s + 1, x);
    if (s->site == 2)
        TRAP(nullptr);
    v = x + 3;
}

INLINED int in72_0(const Step *s, int x)
{
    x = x * 5 + 0;
    return local8(s, x) + 1;
}

NOINLINE int f21_2(const Step *s, int x)
{
    x = x * 7 + 1777;
    if (s->site == 0)
        x += in72_0(s + 1, x);
    if (s->site == 1)
        fail10_1(s + 1, x);
    if (s->site == 2)
        x += ((const Table *)s->object)->b(s + 1, x);
    if (s->site == 3)
        x += probe(s);
    return x + 3;
}

NOINLINE int f22_2(const Step *s, int x)
{
    x = x * 7 + 1814;
    if (s->site == 0)
        x += ((Side0 *)s->object)->q0(s + 1, x);
    if (s->site == 1)
        TAIL return f17_0(s + 1, x);
    if (s->site == 2)
        x += f19_2(s + 1, x);
    if (s->site == 3)
        TAIL return f2_2(s + 1, x);
    if (s->site == 4)
        TRAP(nullptr);
    return x + 3;
}

int C1x2::q1(const Step *s, int x)
{
    x = x * 7 + 1925;
    if (s->site == 0)
        x += ((const Table *)s->object)->b(s + 1, x);
    if (s->site == 1)
        x += f22_1(s + 1, x);
    if (s->site == 2)
        TRAP(*(void *const *)this);
    return x + 3;
}

NOINLINE int f28_2(const Step *s, int x)
{
    x = x * 7 + 2036;
    if (s->site == 0)
        x += f27_1(s + 1, x);
    if (s->site == 1)
        TAIL return f12_0(s + 1, x);
    if (s->site == 2)
        fail10_0(s + 1, x);
    if (s->site == 3)
        TRAP(nullptr);
    return x + 3;
}

INLINED int in100_2(const Step *s, int x)
{
    x = x * 5 + 2;
    return f11_0(s, x) + 1;
}

NOINLINE int f32_0(const Step *s, int x)
{
    x = x * 7 + 2184;
    if (s->site == 0)
        x += f0_3(s + 1, x);
    if (s->site == 1)
        x += f28_2(s + 1, x);
    if (s->site == 2)
        x += in100_2(s + 1, x);
    if (s->site == 3)
        x += f7_1(s + 1, x);
    if (s->site == 4)
        x += f17_2(s + 1, x);
    if (s->site == 5)
        x += probe(s);
    return x + 3;
}

NOINLINE int f35_0(const Step *s, int x)
{
    x = x * 7 + 2295;
    if (s->site == 0)
        fail10_0(s + 1, x);
    if (s->site == 1)
        x += f29_0(s + 1, x);
    if (s->site == 2)
        x += f30_1(s + 1, x);
    if (s->site == 3)
        x += f21_2(s + 1, x);
    if (s->site == 4)
        x += f27_1(s + 1, x);
    if (s->site == 5)
        x += probe(s);
    return x + 3;
}

NOINLINE int f38_0(const Step *s, int x)
{
    x = x * 7 + 2406;
    if (s->site == 0)
        x += f22_1(s + 1, x);
    if (s->site == 1)
        x += f6_1(s + 1, x);
    if (s->site == 2)
        x += f26_0(s + 1, x);
    if (s->site == 3)
        { K20_2 made(s + 1, x); x += made.v; }
    if (s->site == 4)
        x += ((Base1 *)s->object)->m0(s + 1, x);
    if (s->site == 5)
        x += probe(s);
    return x + 3;
}

