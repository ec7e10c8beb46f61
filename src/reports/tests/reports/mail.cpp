// A program that spends its time in functions of the same code.
#include <cstdio>
#include <cstdlib>
#include <gperftools/profiler.h>
#define NOINLINE __attribute__((noinline))
volatile long sink;
NOINLINE long weigh_parcel(long n) { long sum = 0; for (long i = 0; i < n; i++) sum += i * 7 ^ sink; return sum; }
NOINLINE long weigh_letter(long n) { long sum = 0; for (long i = 0; i < n; i++) sum += i * 7 ^ sink; return sum; }
NOINLINE long price_parcel(long n) { return weigh_parcel(n) + 1; }
NOINLINE long price_letter(long n) { return weigh_letter(n) + 1; }
NOINLINE long parcels() { long all = 0; for (int i = 0; i < 300; i++) all += price_parcel(1000000); return all; }
NOINLINE long letters() { long all = 0; for (int i = 0; i < 100; i++) all += price_letter(1000000); return all; }
NOINLINE long sort_one(long n) { long all = 1; for (long i = 1; i < n; i++) all = all * 31 + (i ^ sink); return all; }
// Has other callers than the functions above: pprof takes an address that is second in all samples for that of its signal handler.
NOINLINE long sort_mail() { long all = 0; for (int i = 0; i < 200; i++) all ^= sort_one(1000000); return all; }
int main(int argc, char **argv) {
    if (argc > 1) ProfilerStart(argv[1]);
    sink = 3;
    printf("%ld\n", parcels() + letters() + sort_mail());
    if (argc > 1) ProfilerStop();
}
