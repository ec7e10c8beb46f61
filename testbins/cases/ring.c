//# about: three hundred functions with one code, each of which calls the next: a group of hundreds, and a stack of 64 frames that are all folded and all return to one address
//# variant: clang-lld.set: mkdir -p $OUT; $CLANG -O2 -gdwarf-5 -mllvm -emit-func-debug-line-table-offsets -ffunction-sections -fno-pie -no-pie $MAP -fuse-ld=lld --ld-path=$LLD -Wl,--icf=all,--compress-sections=.debug_*=zstd:19 ring.c -o $OUT/program; $OUT/program > $OUT/stacks
// The form of `stacks` is that of src/testkit/src/stacks.rs. The program knows who is on its stack by counting.
#include <stdint.h>
#include <stdio.h>

enum { FUNCTIONS = 300, FRAMES = 64 };

static uintptr_t returns[FRAMES];

/* The deepest frame: prints the stack of `first`, which called the others. */
__attribute__((noinline)) static int print(int first)
{
    printf("stack 0x0 - 0x%jx", (uintmax_t)(uintptr_t)__builtin_return_address(0) - 1);
    for (int i = FRAMES - 1; i >= 0; i--)
        printf(" 0x%jx", (uintmax_t)returns[i]);
    printf(" | main@ring.c:0/root!");
    for (int i = 0; i < FRAMES; i++)
        printf(" f%03d@ring.c:0/direct!", (first + i) % FUNCTIONS);
    printf("\n");
    return 0;
}

#define F(name, next)                                                                                        \
    int f##next(int, int);                                                                                   \
    __attribute__((noinline)) int f##name(int at, int first)                                                 \
    {                                                                                                        \
        returns[at] = (uintptr_t)__builtin_return_address(0);                                                \
        if (at == FRAMES - 1)                                                                                \
            return print(first) + 1;                                                                         \
        return f##next(at + 1, first) + 1;                                                                   \
    }
#define TEN(ten, after)                                                                                      \
    F(ten##0, ten##1) F(ten##1, ten##2) F(ten##2, ten##3) F(ten##3, ten##4) F(ten##4, ten##5)                \
    F(ten##5, ten##6) F(ten##6, ten##7) F(ten##7, ten##8) F(ten##8, ten##9) F(ten##9, after)

TEN(00, 010) TEN(01, 020) TEN(02, 030) TEN(03, 040) TEN(04, 050) TEN(05, 060) TEN(06, 070) TEN(07, 080)
TEN(08, 090) TEN(09, 100) TEN(10, 110) TEN(11, 120) TEN(12, 130) TEN(13, 140) TEN(14, 150) TEN(15, 160)
TEN(16, 170) TEN(17, 180) TEN(18, 190) TEN(19, 200) TEN(20, 210) TEN(21, 220) TEN(22, 230) TEN(23, 240)
TEN(24, 250) TEN(25, 260) TEN(26, 270) TEN(27, 280) TEN(28, 290) TEN(29, 000)

int main(void)
{
    int deep = f000(0, 0);
    deep += f117(0, 117);
    deep += f290(0, 290);
    return deep == 3 * FRAMES ? 0 : 1;
}
