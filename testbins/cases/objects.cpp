//# about: C++ lambdas, templates, local classes with code, constructor and destructor variants, virtual bases, cold parts, blocks in sections of their own, type units
//# let: FLAGS = -std=c++17 $MAP -nostdlib -static -fno-exceptions -fno-rtti -Wl,--build-id
//# let: LL = $CLANGXX $FLAGS -fuse-ld=lld -Wno-unused-command-line-argument
//# let: GG = $GXX $FLAGS
//# variant: clang-o2: $LL -O2 -gdwarf-5 objects.cpp -o $OUT
//# variant: clang-o0: $LL -O0 -gdwarf-5 objects.cpp -o $OUT
//# variant: clang-dwarf4: $LL -O2 -gdwarf-4 objects.cpp -o $OUT
//# variant: clang-types-v4: $LL -O1 -gdwarf-4 -fdebug-types-section objects.cpp -o $OUT
//# variant: clang-types-v5: $LL -O1 -gdwarf-5 -fdebug-types-section objects.cpp -o $OUT
//# variant: clang-bb-sections: $LL -O2 -gdwarf-5 -fbasic-block-sections=all objects.cpp -o $OUT
//# variant: clang-split: $LL -O2 -gdwarf-5 -fbasic-block-sections=list=objects.split.txt objects.cpp -o $OUT
//# variant: clang-split-dwarf4: $LL -O2 -gdwarf-4 -fbasic-block-sections=list=objects.split.txt objects.cpp -o $OUT
//# variant: clang-stmt-sequence: $LL -O2 -gdwarf-5 -ffunction-sections -mllvm -emit-func-debug-line-table-offsets objects.cpp -o $OUT
//# variant: gcc-o2: $GG -O2 -gdwarf-5 objects.cpp -o $OUT
//# variant: gcc-o0: $GG -O0 -gdwarf-4 objects.cpp -o $OUT
//# variant: gcc-types-v4: $GG -O1 -gdwarf-4 -fdebug-types-section objects.cpp -o $OUT
//# variant: gcc-types-v5: $GG -O1 -gdwarf-5 -fdebug-types-section objects.cpp -o $OUT
//# variant: gcc-cold-dwarf4: $GG -O2 -gdwarf-4 -freorder-blocks-and-partition -ffunction-sections objects.cpp -o $OUT
//# variant: gcc-cold-dwarf5: $GG -O2 -gdwarf-5 -freorder-blocks-and-partition objects.cpp -o $OUT
//# variant: gcc-lto: $GG -O2 -gdwarf-5 -flto objects.cpp -o $OUT -dumpdir $T/
//# variant: gcc-sections.o: $GG -O2 -gdwarf-5 -ffunction-sections -c objects.cpp -o $OUT
//# variant: clang-sections.o: $LL -O2 -gdwarf-4 -ffunction-sections -c objects.cpp -o $OUT
volatile int out;
volatile int in = 3;

// What a virtual table needs without a C++ runtime.
void operator delete(void *, unsigned long) noexcept {}
void *operator new(unsigned long, void *p) noexcept { return p; }
extern "C" void __cxa_pure_virtual() { __builtin_trap(); }
extern "C" void __gxx_personality_v0() { __builtin_trap(); }
extern "C" void _Unwind_Resume() { __builtin_trap(); }

[[gnu::cold, gnu::noinline, noreturn]] void fail(int code)
{
    out = code;
    __builtin_trap();
}
[[gnu::cold, gnu::noinline]] void complain(int code) { out = -code; }

namespace geo {
struct Base {
    int tag;
    [[gnu::noinline]] Base(int t) : tag(t) { out = t; }
    [[gnu::noinline]] virtual ~Base() { out = tag; }
    virtual int size() const = 0;
};
struct Left : virtual Base {
    [[gnu::noinline]] Left() : Base(1) { out = 10; }
    [[gnu::noinline]] ~Left() override { out = 11; }
    int size() const override { return tag + 1; }
};
struct Right : virtual Base {
    [[gnu::noinline]] Right() : Base(2) { out = 20; }
    int size() const override { return tag + 2; }
};
struct Both final : Left, Right {
    int n;
    [[gnu::noinline]] Both(int n) : Base(3), n(n) { out = 30; }
    [[gnu::noinline]] ~Both() override { out = 31; }
    int size() const override { return tag + n; }
};
} // namespace geo

template <typename T, int N> struct Ring {
    T items[N] {};
    int at = 0;
    [[gnu::noinline]] void push(T v)
    {
        if (v == T(-1))
            fail(N);
        items[at++ % N] = v;
    }
    template <typename F> [[gnu::always_inline]] T fold(F f) const
    {
        T acc {};
        for (int i = 0; i < N; i++)
            acc = f(acc, items[i]);
        return acc;
    }
};

template <typename T> [[gnu::noinline]] T sum_twice(const Ring<T, 4> &r)
{
    auto add = [](T a, T b) { return a + b * T(in); };
    auto nested = [&add](T a, T b) {
        auto inner = [&](T c) { return add(c, a) + 1; };
        return inner(b);
    };
    return r.fold(add) + r.fold(nested);
}

// A local class whose method has code of its own: its DIE is inside the function's type.
[[gnu::noinline]] int local_class(int x)
{
    struct Counter {
        int n;
        [[gnu::noinline]] int bump(int by)
        {
            n += by;
            out = n;
            return n * in;
        }
        static int halve(int v) { return v / (in | 1); }
    };
    Counter c { x };
    return c.bump(x) + Counter::halve(x);
}

namespace {
[[gnu::noinline]] int hidden(int x) { return x * in + 5; }
} // namespace

// Hot and cold parts: one function, two ranges.
[[gnu::noinline]] int partitioned(int x)
{
    int r = x * in;
    if (__builtin_expect(r == 12345, 0)) {
        complain(1);
        for (int i = 0; i < in; i++)
            complain(r + i);
        fail(r);
    }
    if (__builtin_expect(r == 54321, 0)) {
        complain(2);
        out = hidden(r);
    }
    out = r;
    return r + hidden(x);
}

using Callback = int (*)(int);
Callback volatile callback = [](int v) -> int { return v + in; };

extern "C" [[noreturn]] void _start()
{
    Ring<int, 4> ints;
    Ring<long, 4> longs;
    ints.push(in);
    longs.push(in);
    out = sum_twice(ints) + int(sum_twice(longs));
    out = local_class(in) + partitioned(in) + callback(in);
    {
        geo::Left left;
        geo::Right right;
        geo::Both both(in);
        geo::Base *volatile p = &both;
        out = p->size() + left.size() + right.size();
    }
    fail(0);
}
