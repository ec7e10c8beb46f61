//# about: functions of a library that the linker folded, called from another library through stubs and through slots alone
//# let: FLAGS = $MAP -O2 -gdwarf-5 -ffreestanding -fno-asynchronous-unwind-tables -ffunction-sections -fPIC -shared -nostdlib -fuse-ld=lld -Wl,--build-id imports.c
//# variant: callee: $CLANG -gno-column-info $FLAGS -Wl,--icf=all -o $OUT
//# variant: caller: $CLANG -DCALLER $FLAGS -o $OUT
//# variant: caller-noplt: $CLANG -DCALLER -fno-plt $FLAGS -o $OUT
//# variant: caller-i386: $CLANG -DCALLER --target=i386-linux-gnu $FLAGS -o $OUT
//# variant: caller-aarch64: $CLANG -DCALLER --target=aarch64-linux-gnu $FLAGS -o $OUT
//# variant: caller-riscv64: $CLANG -DCALLER --target=riscv64-linux-gnu $FLAGS -o $OUT
long count_apples(long n);
long count_pears(long n);

#ifdef CALLER
long count(long n)
{
    long sum = count_apples(n);
    sum += count_pears(sum);
    return sum + 1;
}
#else
extern volatile long seen;
volatile long seen __attribute__((visibility("hidden")));

// In one line, so that readers that know one of the two say the same line.
long count_apples(long n) { return seen += n; } long count_pears(long n) { return seen += n; }
#endif
