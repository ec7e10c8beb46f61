# Code without any debug info, linked next to symbols.c.
        .text
        .globl plain_function
        .type plain_function, @function
plain_function:
        leal 1(%rdi), %eax
.Lhidden:
        nop
        ret
        .size plain_function, . - plain_function

        .p2align 4
        .globl plain_notype             # no type, no size: its end is the next symbol
plain_notype:
        leal 2(%rdi), %eax
        nop
        nop
        ret

        .p2align 4
        .globl plain_sized_zero         # a function by type, of size 0
        .type plain_sized_zero, @function
plain_sized_zero:
        leal 3(%rdi), %eax
        nop
plain_local_label:
        ret

        .p2align 4
        .globl plain_outer, plain_last  # a smaller symbol inside a larger one, same start and same end
        .type plain_outer, @function
        .type plain_last, @function
plain_outer:
        nop
        nop
plain_last:
        leal 4(%rdi), %eax
        ret
        .size plain_last, . - plain_last
        .size plain_outer, . - plain_outer
        .section .note.GNU-stack, "", @progbits
