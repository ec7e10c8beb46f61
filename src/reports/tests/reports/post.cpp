// A program that spends its time in functions of the same code, in an inlined one, and in the kernel.
#include <fcntl.h>
#include <unistd.h>
#define NOINLINE __attribute__((noinline))
volatile long sink;
static inline __attribute__((always_inline)) long mix(long sum, long n) { return sum * 31 + (n ^ sink); }
NOINLINE long weigh_parcel(long n) { long sum = 0; for (long i = 0; i < n; i++) sum += i * 7 ^ sink; return sum; }
NOINLINE long weigh_letter(long n) { long sum = 0; for (long i = 0; i < n; i++) sum += i * 7 ^ sink; return sum; }
NOINLINE long price_parcel(long n) { return weigh_parcel(n) + 1; }
NOINLINE long price_letter(long n) { return weigh_letter(n) + 1; }
NOINLINE long parcels() { long all = 0; for (int i = 0; i < 60; i++) all += price_parcel(1000000); return all; }
NOINLINE long letters() { long all = 0; for (int i = 0; i < 30; i++) all += price_letter(1000000); return all; }
NOINLINE long sort_mail() { long all = 1; for (long i = 1; i < 40000000; i++) all = mix(all, i); return all; }
NOINLINE long send_mail(int fd) { long sent = 0; char text[4096] = {}; for (int i = 0; i < 20000; i++) sent += read(fd, text, sizeof text); return sent; }
int main() {
    sink = 3;
    sink = parcels() + letters() + sort_mail() + send_mail(open("/dev/zero", O_RDONLY));
}
