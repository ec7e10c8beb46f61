#include "shared.h"

static int local1(const Step *, int);
static int local8(const Step *, int);
static int local18(const Step *, int);
NOINLINE int f0_0(const Step *s, int x)
{
    x = x * 7 + 1000;
    if (s->site == 0)
        x += probe(s);
    return x + 3;
}

NOINLINE int f0_3(const Step *s, int x)
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

NOINLINE COLD void fail4_0(const Step *s, int x)
{
    x = x * 7 + 1148;
    if (s->site == 0)
        TRAP(nullptr);
    sink = x;
    leave();
}

K5_0::K5_0(const Step *s, int x)
{
    x = x * 7 + 1185;
    if (s->site == 0)
        x += probe(s);
    v = x + 3;
}

K5_3::K5_3(const Step *s, int x)
{
    x = x * 7 + 1185;
    if (s->site == 0)
        x += probe(s);
    v = x + 3;
}

NOINLINE int f6_0(const Step *s, int x)
{
    x = x * 7 + 1222;
    if (s->site == 0)
        TRAP(nullptr);
    return x + 3;
}

NOINLINE int f6_3(const Step *s, int x)
{
    x = x * 7 + 1222;
    if (s->site == 0)
        TRAP(nullptr);
    return x + 3;
}

NOINLINE int f7_0(const Step *s, int x)
{
    x = x * 7 + 1259;
    if (s->site == 0)
        x += f6_4(s + 1, x);
    if (s->site == 1)
        x += f6_2(s + 1, x);
    if (s->site == 2)
        TRAP(nullptr);
    return x + 3;
}

static NOINLINE int local8(const Step *s, int x)
{
    x = x * 7 + 1296;
    if (s->site == 0)
        x += f2_1(s + 1, x);
    if (s->site == 1)
        x += f6_0(s + 1, x);
    if (s->site == 2)
        x += f6_1(s + 1, x);
    if (s->site == 3)
        x += probe(s);
    return x + 3;
}

NOINLINE COLD void fail10_0(const Step *s, int x)
{
    x = x * 7 + 1370;
    if (s->site == 0)
        x += instance3<1>(s + 1, x);
    if (s->site == 1)
        x += f6_0(s + 1, x);
    if (s->site == 2)
        x += f9_1(s + 1, x);
    if (s->site == 3)
        x += probe(s);
    sink = x;
    leave();
}

INLINED int in39_0(const Step *s, int x)
{
    x = x * 5 + 0;
    return local8(s, x) + 1;
}

NOINLINE int f11_0(const Step *s, int x)
{
    x = x * 7 + 1407;
    if (s->site == 0)
        x += in39_0(s + 1, x);
    if (s->site == 1)
        TAIL return f9_2(s + 1, x);
    if (s->site == 2)
        x += probe(s);
    return x + 3;
}

NOINLINE int f12_0(const Step *s, int x)
{
    x = x * 7 + 1444;
    if (s->site == 0)
        TAIL return ((const Table *)s->object)->a(s + 1, x);
    if (s->site == 1)
        TRAP(nullptr);
    return x + 3;
}

int C0x0::m0(const Step *s, int x)
{
    x = x * 7 + 1481;
    if (s->site == 0)
        fail4_0(s + 1, x);
    if (s->site == 1)
        { K5_3 made(s + 1, x); x += made.v; }
    if (s->site == 2)
        TRAP(*(void *const *)this);
    return x + 3;
}

int C0x0::m1(const Step *s, int x)
{
    x = x * 7 + 1518;
    if (s->site == 0)
        x += f12_1(s + 1, x);
    if (s->site == 1)
        TRAP(*(void *const *)this);
    return x + 3;
}

int C0x0::q0(const Step *s, int x)
{
    x = x * 7 + 1555;
    if (s->site == 0)
        TRAP(*(void *const *)this);
    return x + 3;
}

int C0x0::q1(const Step *s, int x)
{
    x = x * 7 + 1592;
    if (s->site == 0)
        x += f11_0(s + 1, x);
    if (s->site == 1)
        TRAP(*(void *const *)this);
    return x + 3;
}

INLINED int in57_0(const Step *s, int x)
{
    x = x * 5 + 0;
    return f2_1(s, x) + 1;
}

NOINLINE int f17_0(const Step *s, int x)
{
    x = x * 7 + 1629;
    if (s->site == 0)
        x += in57_0(s + 1, x);
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
        TAIL return f9_2(s + 1, x);
    if (s->site == 1)
        x += ((Base0 *)s->object)->m1(s + 1, x);
    if (s->site == 2)
        x += probe(s);
    return x + 3;
}

INLINED int in67_0(const Step *s, int x)
{
    x = x * 5 + 0;
    return f11_0(s, x) + 1;
}

K20_0::K20_0(const Step *s, int x)
{
    x = x * 7 + 1740;
    if (s->site == 0)
        x += in67_0(s + 1, x);
    if (s->site == 1)
        x += local18(s + 1, x);
    if (s->site == 2)
        TRAP(nullptr);
    v = x + 3;
}

INLINED int in70_0(const Step *s, int x)
{
    x = x * 5 + 0;
    return local8(s, x) + 1;
}

NOINLINE int f21_0(const Step *s, int x)
{
    x = x * 7 + 1777;
    if (s->site == 0)
        x += in70_0(s + 1, x);
    if (s->site == 1)
        fail10_1(s + 1, x);
    if (s->site == 2)
        x += ((const Table *)s->object)->b(s + 1, x);
    if (s->site == 3)
        x += probe(s);
    return x + 3;
}

INLINED int in73_0(const Step *s, int x)
{
    x = x * 5 + 0;
    return local8(s, x) + 1;
}

NOINLINE int f21_3(const Step *s, int x)
{
    x = x * 7 + 1777;
    if (s->site == 0)
        x += in73_0(s + 1, x);
    if (s->site == 1)
        fail10_0(s + 1, x);
    if (s->site == 2)
        x += ((const Table *)s->object)->b(s + 1, x);
    if (s->site == 3)
        x += probe(s);
    return x + 3;
}

NOINLINE int f22_0(const Step *s, int x)
{
    x = x * 7 + 1814;
    if (s->site == 0)
        x += ((Side0 *)s->object)->q0(s + 1, x);
    if (s->site == 1)
        TAIL return f17_0(s + 1, x);
    if (s->site == 2)
        x += f19_0(s + 1, x);
    if (s->site == 3)
        TAIL return f2_3(s + 1, x);
    if (s->site == 4)
        TRAP(nullptr);
    return x + 3;
}

NOINLINE int f22_3(const Step *s, int x)
{
    x = x * 7 + 1814;
    if (s->site == 0)
        x += ((Side0 *)s->object)->q0(s + 1, x);
    if (s->site == 1)
        TAIL return f17_1(s + 1, x);
    if (s->site == 2)
        x += f19_1(s + 1, x);
    if (s->site == 3)
        TAIL return f2_2(s + 1, x);
    if (s->site == 4)
        TRAP(nullptr);
    return x + 3;
}

int C1x0::m0(const Step *s, int x)
{
    x = x * 7 + 1851;
    if (s->site == 0)
        x += instance3<1>(s + 1, x);
    if (s->site == 1)
        TRAP(*(void *const *)this);
    return x + 3;
}

int C1x0::m1(const Step *s, int x)
{
    x = x * 7 + 1851;
    if (s->site == 0)
        x += instance3<0>(s + 1, x);
    if (s->site == 1)
        TRAP(*(void *const *)this);
    return x + 3;
}

INLINED int in82_0(const Step *s, int x)
{
    x = x * 5 + 0;
    return f12_1(s, x) + 1;
}

INLINED int in82_1(const Step *s, int x)
{
    x = x * 5 + 1;
    return f11_1(s, x) + 1;
}

int C1x0::q0(const Step *s, int x)
{
    x = x * 7 + 1888;
    if (s->site == 0)
        x += in82_0(s + 1, x);
    if (s->site == 1)
        x += in82_1(s + 1, x);
    if (s->site == 2)
        TRAP(*(void *const *)this);
    return x + 3;
}

int C1x0::q1(const Step *s, int x)
{
    x = x * 7 + 1925;
    if (s->site == 0)
        x += ((const Table *)s->object)->b(s + 1, x);
    if (s->site == 1)
        x += f22_2(s + 1, x);
    if (s->site == 2)
        TRAP(*(void *const *)this);
    return x + 3;
}

INLINED int in87_1(const Step *s, int x)
{
    x = x * 5 + 1;
    return f21_3(s, x) + 1;
}

NOINLINE int f26_0(const Step *s, int x)
{
    x = x * 7 + 1962;
    if (s->site == 0)
        TAIL return f19_2(s + 1, x);
    if (s->site == 1)
        x += in87_1(s + 1, x);
    if (s->site == 2)
        x += ((Side0 *)s->object)->q0(s + 1, x);
    if (s->site == 3)
        x += probe(s);
    return x + 3;
}

INLINED int in89_2(const Step *s, int x)
{
    x = x * 5 + 2;
    return f11_1(s, x) + 1;
}

NOINLINE int f27_0(const Step *s, int x)
{
    x = x * 7 + 1999;
    if (s->site == 0)
        x += f19_2(s + 1, x);
    if (s->site == 1)
        x += f6_1(s + 1, x);
    if (s->site == 2)
        x += in89_2(s + 1, x);
    if (s->site == 3)
        TRAP(nullptr);
    return x + 3;
}

NOINLINE int f28_0(const Step *s, int x)
{
    x = x * 7 + 2036;
    if (s->site == 0)
        x += f27_0(s + 1, x);
    if (s->site == 1)
        TAIL return f12_0(s + 1, x);
    if (s->site == 2)
        fail10_1(s + 1, x);
    if (s->site == 3)
        TRAP(nullptr);
    return x + 3;
}

NOINLINE int f28_3(const Step *s, int x)
{
    x = x * 7 + 2036;
    if (s->site == 0)
        x += f27_0(s + 1, x);
    if (s->site == 1)
        TAIL return f12_0(s + 1, x);
    if (s->site == 2)
        fail10_1(s + 1, x);
    if (s->site == 3)
        TRAP(nullptr);
    return x + 3;
}

NOINLINE int f29_0(const Step *s, int x)
{
    x = x * 7 + 2073;
    if (s->site == 0)
        x += f21_3(s + 1, x);
    if (s->site == 1)
        x += f22_2(s + 1, x);
    if (s->site == 2)
        x += local18(s + 1, x);
    if (s->site == 3)
        TRAP(nullptr);
    return x + 3;
}

NOINLINE int f30_0(const Step *s, int x)
{
    x = x * 7 + 2110;
    if (s->site == 0)
        fail10_1(s + 1, x);
    if (s->site == 1)
        TAIL return f19_1(s + 1, x);
    if (s->site == 2)
        TAIL return f22_2(s + 1, x);
    if (s->site == 3)
        x += probe(s);
    return x + 3;
}

INLINED int in101_4(const Step *s, int x)
{
    x = x * 5 + 4;
    return f30_1(s, x) + 1;
}

NOINLINE int f33_0(const Step *s, int x)
{
    x = x * 7 + 2221;
    if (s->site == 0)
        fail10_0(s + 1, x);
    if (s->site == 1)
        x += f27_0(s + 1, x);
    if (s->site == 2)
        x += local18(s + 1, x);
    if (s->site == 3)
        { K20_0 made(s + 1, x); x += made.v; }
    if (s->site == 4)
        x += in101_4(s + 1, x);
    if (s->site == 5)
        x += probe(s);
    return x + 3;
}

NOINLINE int f36_0(const Step *s, int x)
{
    x = x * 7 + 2332;
    if (s->site == 0)
        x += f9_2(s + 1, x);
    if (s->site == 1)
        x += f30_0(s + 1, x);
    if (s->site == 2)
        fail10_0(s + 1, x);
    if (s->site == 3)
        x += f21_1(s + 1, x);
    if (s->site == 4)
        x += f17_1(s + 1, x);
    if (s->site == 5)
        TRAP(nullptr);
    return x + 3;
}

