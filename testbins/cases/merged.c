//# about: functions that gcc merges itself (-fipa-icf): their entries have no address, calls name them, symbols are aliases
//# let: FLAGS = -O2 -ffreestanding -fno-asynchronous-unwind-tables -fno-stack-protector -fcf-protection=none $MAP -nostdlib -static -Wl,--build-id,-e,start
//# variant: gcc: $GCC -gdwarf-5 -fno-pie -no-pie $FLAGS merged.c -o $OUT
//# variant: gcc-dwarf4: $GCC -gdwarf-4 -fno-pie -no-pie $FLAGS merged.c -o $OUT
//# variant: gcc-lld: $GCC -gdwarf-5 -fno-pie -ffunction-sections -c -O2 -ffreestanding -fno-asynchronous-unwind-tables -fno-stack-protector -fcf-protection=none $MAP merged.c -o $T/a.o && $LLD --build-id -e start --icf=all $T/a.o -o $OUT
// `table` takes the addresses of `one` and `two`: they keep code of their own, or a jump. The others have that of `one`.
#define ALONE __attribute__((noinline, noclone))

int sink(int n);

ALONE int one(int n) { return sink(n * 3) + 1; }
ALONE int two(int n) { return sink(n * 3) + 1; }
static ALONE int three(int n) { return sink(n * 3) + 1; }
static ALONE int four(int n) { return sink(n * 3) + 1; }

int (*table[])(int) = {one, two};

ALONE int sink(int n)
{
    __asm__ volatile("");
    return n;
}

// Calls in the order of the source: each is kept where it is.
ALONE int all(int n)
{
    int sum = one(n);
    __asm__ volatile("" : "+r"(sum));
    sum += three(sum);
    __asm__ volatile("" : "+r"(sum));
    sum += four(sum);
    __asm__ volatile("" : "+r"(sum));
    return sum + 1;
}

void start(void)
{
    table[0](all(1) + two(2));
    for (;;)
        ;
}
