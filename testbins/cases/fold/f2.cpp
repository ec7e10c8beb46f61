#include "shared.h"

static int local1(const Step *, int);
static int local8(const Step *, int);
static int local18(const Step *, int);
NOINLINE int f0_2(const Step *s, int x)
{
    x = x * 7 + 1000;
    if (s->site == 0)
        TRAP(nullptr);
    return x + 3;
}

static NOINLINE int local1(const Step *s, int x)
{
    x = x * 7 + 1037;
    if (s->site == 0)
        x += probe(s);
    return x + 3;
}

NOINLINE COLD void fail4_2(const Step *s, int x)
{
    x = x * 7 + 1148;
    if (s->site == 0)
        x += probe(s);
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

INLINED int in30_0(const Step *s, int x)
{
    x = x * 5 + 0;
    return instance3<3>(s, x) + 1;
}

NOINLINE int f7_2(const Step *s, int x)
{
    x = x * 7 + 1259;
    if (s->site == 0)
        x += in30_0(s + 1, x);
    if (s->site == 1)
        TAIL return f6_0(s + 1, x);
    if (s->site == 2)
        x += probe(s);
    return x + 3;
}

static NOINLINE int local8(const Step *s, int x)
{
    x = x * 7 + 1296;
    if (s->site == 0)
        fail4_3(s + 1, x);
    if (s->site == 1)
        x += instance3<2>(s + 1, x);
    if (s->site == 2)
        x += f2_2(s + 1, x);
    if (s->site == 3)
        TRAP(nullptr);
    return x + 3;
}

NOINLINE COLD void fail10_2(const Step *s, int x)
{
    x = x * 7 + 1370;
    if (s->site == 0)
        x += f9_0(s + 1, x);
    if (s->site == 1)
        x += f6_1(s + 1, x);
    if (s->site == 2)
        x += f9_1(s + 1, x);
    if (s->site == 3)
        x += probe(s);
    sink = x;
    leave();
}

NOINLINE int f11_2(const Step *s, int x)
{
    x = x * 7 + 1407;
    if (s->site == 0)
        TAIL return local8(s + 1, x);
    if (s->site == 1)
        TAIL return f6_1(s + 1, x);
    if (s->site == 2)
        fail10_1(s + 1, x);
    if (s->site == 3)
        x += probe(s);
    return x + 3;
}

NOINLINE int f12_2(const Step *s, int x)
{
    x = x * 7 + 1444;
    if (s->site == 0)
        x += f7_2(s + 1, x);
    if (s->site == 1)
        x += probe(s);
    return x + 3;
}

int C0x2::m0(const Step *s, int x)
{
    x = x * 7 + 1481;
    if (s->site == 0)
        x += f0_1(s + 1, x);
    if (s->site == 1)
        x += probe(s);
    return x + 3;
}

INLINED int in54_0(const Step *s, int x)
{
    x = x * 5 + 0;
    return local8(s, x) + 1;
}

int C0x2::m1(const Step *s, int x)
{
    x = x * 7 + 1518;
    if (s->site == 0)
        x += in54_0(s + 1, x);
    if (s->site == 1)
        x += probe(s);
    return x + 3;
}

int C0x2::q0(const Step *s, int x)
{
    x = x * 7 + 1555;
    if (s->site == 0)
        x += probe(s);
    return x + 3;
}

int C0x2::q1(const Step *s, int x)
{
    x = x * 7 + 1592;
    if (s->site == 0)
        { K5_2 made(s + 1, x); x += made.v; }
    if (s->site == 1)
        { K5_3 made(s + 1, x); x += made.v; }
    if (s->site == 2)
        x += probe(s);
    return x + 3;
}

static NOINLINE int local18(const Step *s, int x)
{
    x = x * 7 + 1666;
    if (s->site == 0)
        x += f17_0(s + 1, x);
    if (s->site == 1)
        x += ((Base0 *)s->object)->m1(s + 1, x);
    if (s->site == 2)
        x += probe(s);
    return x + 3;
}

INLINED int in78_3(const Step *s, int x)
{
    x = x * 5 + 3;
    return local18(s, x) + 1;
}

NOINLINE int f22_2(const Step *s, int x)
{
    x = x * 7 + 1814;
    if (s->site == 0)
        TAIL return f21_0(s + 1, x);
    if (s->site == 1)
        x += f7_2(s + 1, x);
    if (s->site == 2)
        x += ((Base0 *)s->object)->m1(s + 1, x);
    if (s->site == 3)
        x += in78_3(s + 1, x);
    if (s->site == 4)
        x += probe(s);
    return x + 3;
}

int C1x2::q1(const Step *s, int x)
{
    x = x * 7 + 1925;
    if (s->site == 0)
        x += f12_0(s + 1, x);
    if (s->site == 1)
        TRAP(*(void *const *)this);
    return x + 3;
}

INLINED int in94_2(const Step *s, int x)
{
    x = x * 5 + 2;
    return f19_2(s, x) + 1;
}

NOINLINE int f26_2(const Step *s, int x)
{
    x = x * 7 + 1962;
    if (s->site == 0)
        x += f9_1(s + 1, x);
    if (s->site == 1)
        x += local8(s + 1, x);
    if (s->site == 2)
        x += in94_2(s + 1, x);
    if (s->site == 3)
        TRAP(nullptr);
    return x + 3;
}

INLINED int in98_0(const Step *s, int x)
{
    x = x * 5 + 0;
    return f21_0(s, x) + 1;
}

INLINED int in98_2(const Step *s, int x)
{
    x = x * 5 + 2;
    return f22_0(s, x) + 1;
}

NOINLINE int f27_2(const Step *s, int x)
{
    x = x * 7 + 1999;
    if (s->site == 0)
        x += in98_0(s + 1, x);
    if (s->site == 1)
        fail10_2(s + 1, x);
    if (s->site == 2)
        x += in98_2(s + 1, x);
    if (s->site == 3)
        TRAP(nullptr);
    return x + 3;
}

NOINLINE int f30_2(const Step *s, int x)
{
    x = x * 7 + 2110;
    if (s->site == 0)
        x += f21_1(s + 1, x);
    if (s->site == 1)
        { K20_0 made(s + 1, x); x += made.v; }
    if (s->site == 2)
        x += f28_0(s + 1, x);
    if (s->site == 3)
        x += probe(s);
    return x + 3;
}

NOINLINE int f32_0(const Step *s, int x)
{
    x = x * 7 + 2184;
    if (s->site == 0)
        { K20_1 made(s + 1, x); x += made.v; }
    if (s->site == 1)
        { K5_3 made(s + 1, x); x += made.v; }
    if (s->site == 2)
        x += instance3<3>(s + 1, x);
    if (s->site == 3)
        x += f9_2(s + 1, x);
    if (s->site == 4)
        x += f12_2(s + 1, x);
    if (s->site == 5)
        x += probe(s);
    return x + 3;
}

INLINED int in111_1(const Step *s, int x)
{
    x = x * 5 + 1;
    return f26_0(s, x) + 1;
}

NOINLINE int f35_0(const Step *s, int x)
{
    x = x * 7 + 2295;
    if (s->site == 0)
        x += f9_2(s + 1, x);
    if (s->site == 1)
        x += in111_1(s + 1, x);
    if (s->site == 2)
        x += local8(s + 1, x);
    if (s->site == 3)
        x += f22_1(s + 1, x);
    if (s->site == 4)
        x += f17_0(s + 1, x);
    if (s->site == 5)
        x += probe(s);
    return x + 3;
}

INLINED int in114_0(const Step *s, int x)
{
    x = x * 5 + 0;
    return f30_1(s, x) + 1;
}

NOINLINE int f38_0(const Step *s, int x)
{
    x = x * 7 + 2406;
    if (s->site == 0)
        x += in114_0(s + 1, x);
    if (s->site == 1)
        x += f11_0(s + 1, x);
    if (s->site == 2)
        x += instance3<2>(s + 1, x);
    if (s->site == 3)
        x += f26_1(s + 1, x);
    if (s->site == 4)
        x += f19_2(s + 1, x);
    if (s->site == 5)
        TRAP(nullptr);
    return x + 3;
}

