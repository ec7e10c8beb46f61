#pragma once
#include "runtime.h"

int f0_0(const Step *, int);
int f0_1(const Step *, int);
int f0_2(const Step *, int);
int f0_3(const Step *, int);
int f0_4(const Step *, int);
inline NOINLINE int f2_0(const Step *, int);
inline NOINLINE int f2_1(const Step *, int);
inline NOINLINE int f2_2(const Step *, int);
inline NOINLINE int f2_3(const Step *, int);
inline NOINLINE int f2_4(const Step *, int);
template <int> NOINLINE int instance3(const Step *, int);
[[noreturn]] void fail4_0(const Step *, int);
[[noreturn]] void fail4_1(const Step *, int);
[[noreturn]] void fail4_2(const Step *, int);
struct K5_0 { int v; NOINLINE K5_0(const Step *, int); };
struct K5_1 { int v; NOINLINE K5_1(const Step *, int); };
struct K5_2 { int v; NOINLINE K5_2(const Step *, int); };
struct K5_3 { int v; NOINLINE K5_3(const Step *, int); };
struct K5_4 { int v; NOINLINE K5_4(const Step *, int); };
int f6_0(const Step *, int);
int f6_1(const Step *, int);
int f6_2(const Step *, int);
int f6_3(const Step *, int);
int f6_4(const Step *, int);
int f7_0(const Step *, int);
int f7_1(const Step *, int);
int f7_2(const Step *, int);
inline NOINLINE int f9_0(const Step *, int);
inline NOINLINE int f9_1(const Step *, int);
inline NOINLINE int f9_2(const Step *, int);
[[noreturn]] void fail10_0(const Step *, int);
[[noreturn]] void fail10_1(const Step *, int);
int f11_0(const Step *, int);
int f11_1(const Step *, int);
int f12_0(const Step *, int);
int f12_1(const Step *, int);
int f17_0(const Step *, int);
int f17_1(const Step *, int);
int f17_2(const Step *, int);
inline NOINLINE int f19_0(const Step *, int);
inline NOINLINE int f19_1(const Step *, int);
inline NOINLINE int f19_2(const Step *, int);
inline NOINLINE int f19_3(const Step *, int);
struct K20_0 { int v; NOINLINE K20_0(const Step *, int); };
struct K20_1 { int v; NOINLINE K20_1(const Step *, int); };
struct K20_2 { int v; NOINLINE K20_2(const Step *, int); };
int f21_0(const Step *, int);
int f21_1(const Step *, int);
int f21_2(const Step *, int);
int f21_3(const Step *, int);
int f22_0(const Step *, int);
int f22_1(const Step *, int);
int f22_2(const Step *, int);
int f22_3(const Step *, int);
int f26_0(const Step *, int);
int f26_1(const Step *, int);
int f27_0(const Step *, int);
int f27_1(const Step *, int);
int f28_0(const Step *, int);
int f28_1(const Step *, int);
int f28_2(const Step *, int);
int f28_3(const Step *, int);
int f29_0(const Step *, int);
int f29_1(const Step *, int);
int f30_0(const Step *, int);
int f30_1(const Step *, int);
int f31_0(const Step *, int);
int f32_0(const Step *, int);
int f33_0(const Step *, int);
int f34_0(const Step *, int);
int f35_0(const Step *, int);
int f36_0(const Step *, int);
int f37_0(const Step *, int);
int f38_0(const Step *, int);
struct Base0 {
    virtual int m0(const Step *, int) = 0;
    virtual int m1(const Step *, int) = 0;
};
struct Side0 {
    virtual int q0(const Step *, int) = 0;
    virtual int q1(const Step *, int) = 0;
};
struct C0x0 : Base0, Side0 {
    NOINLINE int m0(const Step *, int) override;
    NOINLINE int m1(const Step *, int) override;
    NOINLINE int q0(const Step *, int) override;
    NOINLINE int q1(const Step *, int) override;
};
struct C0x1 : Base0, Side0 {
    NOINLINE int m0(const Step *, int) override;
    NOINLINE int m1(const Step *, int) override;
    NOINLINE int q0(const Step *, int) override;
    NOINLINE int q1(const Step *, int) override;
};
struct C0x2 : C0x0 {
    NOINLINE int m0(const Step *, int) override;
    NOINLINE int q1(const Step *, int) override;
};
struct C0x3 : C0x1 {
};
struct C0x4 : Base0, Side0 {
    NOINLINE int m0(const Step *, int) override;
    NOINLINE int m1(const Step *, int) override;
    NOINLINE int q0(const Step *, int) override;
    NOINLINE int q1(const Step *, int) override;
};
struct Base1 {
    virtual int m0(const Step *, int) = 0;
    virtual int m1(const Step *, int) = 0;
};
struct Side1 {
    virtual int q0(const Step *, int) = 0;
    virtual int q1(const Step *, int) = 0;
};
struct C1x0 : Base1, Side1 {
    NOINLINE int m0(const Step *, int) override;
    NOINLINE int m1(const Step *, int) override;
    NOINLINE int q0(const Step *, int) override;
    NOINLINE int q1(const Step *, int) override;
};
struct C1x1 : Base1, Side1 {
    NOINLINE int m0(const Step *, int) override;
    NOINLINE int m1(const Step *, int) override;
    NOINLINE int q0(const Step *, int) override;
    NOINLINE int q1(const Step *, int) override;
};
struct C1x2 : C1x0 {
    NOINLINE int q1(const Step *, int) override;
};
struct C1x3 : C1x1 {
};

inline NOINLINE int f2_0(const Step *s, int x)
{
    x = x * 7 + 1074;
    if (s->site == 0)
        x += probe(s);
    return x + 3;
}

inline NOINLINE int f2_1(const Step *s, int x)
{
    x = x * 7 + 1074;
    if (s->site == 0)
        x += probe(s);
    return x + 3;
}

inline NOINLINE int f2_2(const Step *s, int x)
{
    x = x * 7 + 1074;
    if (s->site == 0)
        x += probe(s);
    return x + 3;
}

inline NOINLINE int f2_3(const Step *s, int x)
{
    x = x * 7 + 1074;
    if (s->site == 0)
        x += probe(s);
    return x + 3;
}

inline NOINLINE int f2_4(const Step *s, int x)
{
    x = x * 7 + 1074;
    if (s->site == 0)
        x += probe(s);
    return x + 3;
}

template <int> NOINLINE int instance3(const Step *s, int x)
{
    x = x * 7 + 1111;
    if (s->site == 0)
        TRAP(nullptr);
    return x + 3;
}

inline NOINLINE int f9_0(const Step *s, int x)
{
    x = x * 7 + 1333;
    if (s->site == 0)
        TAIL return f6_1(s + 1, x);
    if (s->site == 1)
        x += probe(s);
    return x + 3;
}

inline NOINLINE int f9_1(const Step *s, int x)
{
    x = x * 7 + 1333;
    if (s->site == 0)
        TAIL return f6_0(s + 1, x);
    if (s->site == 1)
        x += probe(s);
    return x + 3;
}

inline NOINLINE int f9_2(const Step *s, int x)
{
    x = x * 7 + 1333;
    if (s->site == 0)
        TAIL return f6_1(s + 1, x);
    if (s->site == 1)
        x += probe(s);
    return x + 3;
}

inline NOINLINE int f19_0(const Step *s, int x)
{
    x = x * 7 + 1703;
    if (s->site == 0)
        x += f11_0(s + 1, x);
    if (s->site == 1)
        TAIL return f7_2(s + 1, x);
    if (s->site == 2)
        TRAP(nullptr);
    return x + 3;
}

inline NOINLINE int f19_1(const Step *s, int x)
{
    x = x * 7 + 1703;
    if (s->site == 0)
        x += f11_1(s + 1, x);
    if (s->site == 1)
        TAIL return f7_1(s + 1, x);
    if (s->site == 2)
        TRAP(nullptr);
    return x + 3;
}

inline NOINLINE int f19_2(const Step *s, int x)
{
    x = x * 7 + 1703;
    if (s->site == 0)
        x += f11_1(s + 1, x);
    if (s->site == 1)
        TAIL return f7_2(s + 1, x);
    if (s->site == 2)
        TRAP(nullptr);
    return x + 3;
}

inline NOINLINE int f19_3(const Step *s, int x)
{
    x = x * 7 + 1703;
    if (s->site == 0)
        x += f11_0(s + 1, x);
    if (s->site == 1)
        TAIL return f7_1(s + 1, x);
    if (s->site == 2)
        TRAP(nullptr);
    return x + 3;
}

