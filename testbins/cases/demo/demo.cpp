//# about: the program of the first command in README.md: a calculator in four units that prints its own stack when it divides by zero
//# let: FLAGS = -std=c++17 -O2 $MAP -I. -nostdlib -static -fno-exceptions -fno-rtti -fno-omit-frame-pointer -fno-stack-protector -fno-optimize-sibling-calls -mno-sse -fno-asynchronous-unwind-tables -Wl,--build-id
//# let: UNITS = demo/demo.cpp demo/lexer.cpp demo/parser.cpp demo/machine.cpp
//# variant: elf: $CLANGXX $FLAGS -gdwarf-5 -fuse-ld=lld $UNITS -o $OUT
//# variant: stack: $CLANGXX $FLAGS -gdwarf-5 -fuse-ld=lld $UNITS -o $T/demo && ($T/demo > $OUT || test $? -eq 134)
//# variant: gcc: $GXX $FLAGS -gdwarf-5 $UNITS -o $OUT
#include "demo.h"

extern "C" {
void __cxa_pure_virtual() { demo::crash(); }
// The compilers may call these for the arrays of Stack and Program.
void *memset(void *to, int byte, size_t n)
{
    volatile char *p = static_cast<char *>(to);
    while (n--)
        *p++ = static_cast<char>(byte);
    return to;
}
void *memcpy(void *to, const void *from, size_t n)
{
    volatile char *p = static_cast<char *>(to);
    for (const char *q = static_cast<const char *>(from); n--;)
        *p++ = *q++;
    return to;
}
}

namespace demo {

static long system_call(long number, long a, long b, long c)
{
    long result;
    __asm__ volatile("syscall" : "=a"(result) : "0"(number), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
    return result;
}

void print(const char *text, size_t length) { system_call(1, 1, reinterpret_cast<long>(text), static_cast<long>(length)); }

void leave(int code)
{
    system_call(60, code, 0, 0);
    __builtin_unreachable();
}

static void print_address(unsigned long address)
{
    char text[19] = "0x";
    for (int i = 0; i < 16; i++)
        text[2 + i] = "0123456789abcdef"[address >> (60 - 4 * i) & 15];
    text[18] = ' ';
    print(text, sizeof text);
}

[[gnu::noinline]] void crash()
{
    struct Frame {
        Frame *next;
        unsigned long return_address;
    };
    unsigned long here;
    __asm__ volatile("leaq 0(%%rip), %0" : "=r"(here));
    print_address(here);
    // _start begins with a frame pointer of 0.
    for (auto *frame = static_cast<Frame *>(__builtin_frame_address(0)); frame && frame->next; frame = frame->next)
        print_address(frame->return_address);
    print("\n", 1);
    leave(134);
}

static long evaluate(const char *text)
{
    Program program;
    Parser(text, program).expression();
    return program.run();
}

} // namespace demo

// Kept apart from _start, whose own frame is not one of a call.
extern "C" [[gnu::noinline, noreturn]] void demo_main()
{
    static const char *const lines[] = { "1 + 2 * 3", "(8 - 2) / 3", "7 / (2 * 3 - 6)" };
    long sum = 0;
    for (const char *line : lines)
        sum += demo::evaluate(line);
    demo::leave(static_cast<int>(sum));
}

__asm__(".globl _start\n.type _start, @function\n_start:\n\txorl %ebp, %ebp\n\tcall demo_main\n\tud2\n.size _start, . - _start");
