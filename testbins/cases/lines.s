## about: assembly with line rows but no function DIEs; labels, a macro, an included file by .file/.loc, a second code section
## variant: clang-dwarf5: $CLANG -gdwarf-5 $MAP -c lines.s -o $T/a.o && $LLD --build-id $T/a.o -o $OUT
## variant: clang-dwarf4: $CLANG -gdwarf-4 $MAP -c lines.s -o $T/a.o && $LLD --build-id $T/a.o -o $OUT
## variant: gas-dwarf5: $GCC -gdwarf-5 $MAP -c lines.s -o $T/a.o && $BFD --build-id $T/a.o -o $OUT
## variant: gas-dwarf2: $GCC -Wa,-gdwarf-2 $MAP -c lines.s -o $T/a.o && $BFD --build-id $T/a.o -o $OUT
## variant: gas.o: $GCC -gdwarf-4 $MAP -c lines.s -o $OUT
        .macro twice op, reg
        \op \reg
        \op \reg
        .endm

        .text
        .globl _start
        .type _start, @function
_start:
        xorl %eax, %eax
        call entry_notype
        twice incl, %eax
        jmp  elsewhere
        .size _start, . - _start

        .globl entry_notype
entry_notype:
        pushq %rax
1:      decl %eax
        jnz 1b
.Lafter:
        popq %rax
        ret

        .section .text.other, "ax", @progbits
        .type elsewhere, @function
elsewhere:
        hlt
        ud2
        .size elsewhere, . - elsewhere
        .section .note.GNU-stack, "", @progbits
