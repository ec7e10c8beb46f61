//# about: aliases, weak aliases, IFUNC, labels inside functions, zero-size and NOTYPE symbols, several symbols on one address, code without DWARF in between
//# let: FLAGS = -O2 $MAP -nostdlib -static -Wl,--build-id
//# variant: clang: $CLANG $FLAGS -gdwarf-5 -c symbols.c -o $T/c.o && $CLANG -c symbols_plain.s -o $T/s.o && $CLANG $FLAGS -fuse-ld=lld $T/c.o $T/s.o -o $OUT
//# variant: gcc-bfd: $GCC $FLAGS -gdwarf-4 -c symbols.c -o $T/c.o && $GCC -c symbols_plain.s -o $T/s.o && $GCC $FLAGS $T/c.o $T/s.o -o $OUT
//# variant: gcc-gold: $GCC $FLAGS -gdwarf-5 -c symbols.c -o $T/c.o && $GCC -c symbols_plain.s -o $T/s.o && $GCC $FLAGS -fuse-ld=gold $T/c.o $T/s.o -o $OUT
//# variant: gcc-shared-dynsym: $GCC -O2 $MAP -nostdlib -fPIC -shared -g0 -Wl,--build-id symbols.c symbols_plain.s -s -o $OUT
//# variant: gcc-shared-dynsym-dwarf: $GCC -O2 $MAP -nostdlib -fPIC -shared -gdwarf-5 -Wl,--build-id symbols.c symbols_plain.s -o $T/a && $LLVM_OBJCOPY --strip-all --keep-section=.debug_* $T/a $OUT
//# variant: gcc.o: $GCC $FLAGS -gdwarf-5 -c symbols.c -o $OUT
volatile int sym_sink, sym_source = 2;

extern int plain_function(int), plain_notype(int), plain_sized_zero(int), plain_last(int);

__attribute__((noinline)) int real_read(int fd) { return sym_source + fd; }
int alias_read(int fd) __attribute__((alias("real_read")));
int weak_read(int fd) __attribute__((weak, alias("real_read")));

static int pick_fast(int x) { return x + sym_source; }
static int pick_slow(int x) { return x - sym_source; }
static int (*resolve_pick(void))(int) { return sym_source ? pick_fast : pick_slow; }
int pick(int) __attribute__((ifunc("resolve_pick")));

/* A global label and a typed label in the middle of a function: neither is a function. */
__attribute__((noinline)) int labelled(int x)
{
    sym_sink = x;
    __asm__ volatile(".globl inner_notype_label\ninner_notype_label:");
    sym_sink = x + sym_source;
    __asm__ volatile(".globl inner_func_label\n.type inner_func_label, @function\ninner_func_label:");
    sym_sink = x - sym_source;
    return sym_sink;
}

/* `.set` to an offset inside another function. */
__attribute__((noinline)) int two_doors(int x)
{
    sym_sink = x * 2;
    sym_sink = x * 3;
    return x;
}
__asm__(".globl second_door\n.set second_door, two_doors + 4\n.type second_door, @function\n.size second_door, 8");
__asm__(".globl same_door\n.set same_door, two_doors");

int __attribute__((visibility("hidden"))) hidden_one(int x) { return sym_source * x; }

void _start(void)
{
    sym_sink = real_read(1) + alias_read(2) + weak_read(3) + pick(4) + labelled(5) + two_doors(6) + hidden_one(7);
    sym_sink = plain_function(8) + plain_notype(9) + plain_sized_zero(10) + plain_last(11);
    __builtin_trap();
}
