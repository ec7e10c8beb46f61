//# about: clones of gcc, whose symbols stand in another order than their DIEs: no name by order, since it would be that of the other instance
//# variant: gcc-lld: $GXX -O2 -g1 -fno-ipa-icf -ffunction-sections -ffreestanding -fno-exceptions -fno-asynchronous-unwind-tables -fno-stack-protector -fcf-protection=none -fno-pie $MAP -c clones.cpp -o $T/a.o; $LLD -e start --icf=all --build-id $T/a.o -o $OUT

struct Car { long x; };
struct Bus { long x; };
volatile long sink;
template <class T> inline __attribute__((always_inline)) long get(T *t) { return t->x + sink; }
namespace {
template <class T> struct Box {
    T *t;
    __attribute__((noinline)) long weigh(long n) {
        sink = n;
        return get(t) * 3 + n;
    }
};
}
__attribute__((noinline)) long load(long k) {
    {
        Car x{k};
        Box<Car> box{&x};
        k += box.weigh(2);
        k += box.weigh(5);
    }
    {
        Bus x{k};
        Box<Bus> box{&x};
        k += box.weigh(3);
        k += box.weigh(6);
    }
    return k;
}
extern "C" long start(long k) { return load(k); }
