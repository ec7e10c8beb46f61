/* Calls a function, and one by its address. It has no local function. */
#include "pair.h"

extern int (*const callback)(long);

BODY(own)

int run(int a)
{
    return own(a) + callback(a) * 2;
}

__attribute__((naked)) void _start(void)
{
    __asm__("mov $3, %edi\n\tcall run\n\tmov %eax, %edi\n\tmov $60, %eax\n\tsyscall");
}
