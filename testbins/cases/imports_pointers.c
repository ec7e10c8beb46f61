//# about: a library that calls functions of another through a pointer that the loader fills, and through a register that two ways fill
//# let: FLAGS = $MAP -O2 -gdwarf-5 -ffreestanding -fno-asynchronous-unwind-tables -fPIC -fno-plt -shared -nostdlib -fuse-ld=lld -Wl,--build-id imports_pointers.c
//# variant: aarch64: $CLANG --target=aarch64-linux-gnu $FLAGS -o $OUT
//# variant: riscv64: $CLANG --target=riscv64-linux-gnu $FLAGS -o $OUT
long count_apples(long n);
long count_pears(long n);

static long (*volatile hook)(long) = count_apples;

long count_hooked(long n)
{
    return hook(n) + 1;
}

long count_one(long n)
{
    long (*count)(long);
    if (n > 7) {
        count = count_apples;
        __asm__ volatile("" : "+r"(count));
    } else {
        count = count_pears;
        __asm__ volatile("" : "+r"(count));
    }
    return count(n) + 1;
}
