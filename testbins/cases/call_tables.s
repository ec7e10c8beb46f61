## about: the call table of the 2009 proposal, which no compiler writes: folded functions are told apart by it, in two units, of which the second counts from the section's start
## let: AS = $CLANG --target=x86_64-linux-gnu -ffile-compilation-dir=/src -c call_tables.s -o $T/a.o
## let: LINK = $LLD -e start --icf=all $T/a.o -o $OUT
## variant: lld: $AS && $LINK
## variant: gold: $AS && $GOLD -e start --icf=all $T/a.o -o $OUT
## variant: damaged: $AS -Wa,--defsym,DAMAGED=1 && $LINK
## variant: a.o: $CLANG --target=x86_64-linux-gnu -ffile-compilation-dir=/src -c call_tables.s -o $OUT

        .file   1 "/src/call_tables.s"

# Twins with one code, and one more function to tell them from.
        .macro twin name, line
        .section .text.\name, "ax", @progbits
        .globl  \name
        .type   \name, @function
\name:  .loc    1 \line
        movl    $7, %eax
        ret
.Lend_\name:
        .size   \name, . - \name
        .endm

        twin first, 100
        twin second, 200
        twin third, 300

# Callers with one code: what they call is told by who they are.
        .macro caller name, callee, line, after
        .section .text.\name, "ax", @progbits
        .globl  \name
        .type   \name, @function
\name:  .loc    1 \line
        call    \callee
.Lback_\name:
        .loc    1 \after
        ret
.Lend_\name:
        .size   \name, . - \name
        .endm

        caller left, first, 400, 401
        caller right, second, 500, 501

        .section .text.start, "ax", @progbits
        .globl  start
        .type   start, @function
start:  .loc    1 600
        call    first
.Lback1:
        .loc    1 601
        call    second
.Lback2:
        .loc    1 602
        call    third
.Lback3:
        .loc    1 603
        call    left
.Lback4:
        .loc    1 604
        call    right
.Lback5:
        jmp     stop
.Lend_start:
        .size   start, . - start

        .section .text.stop, "ax", @progbits
        .type   stop, @function
stop:   hlt
.Lend_stop:
        .size   stop, . - stop

        .section .debug_abbrev, "", @progbits
        .macro  numbers list:vararg
        .irp    number, \list
        .uleb128 \number
        .endr
        .endm
# 1: a unit with name, stmt_list, ranges
        numbers 1, 0x11, 1, 0x03, 0x08, 0x10, 0x17, 0x55, 0x17, 0, 0
# 2: a function with name, external, decl_file, decl_line, low_pc, high_pc
        numbers 2, 0x2e, 0, 0x03, 0x08, 0x3f, 0x19, 0x3a, 0x0b, 0x3b, 0x05, 0x11, 0x01, 0x12, 0x06, 0, 0
# 4, 5: a unit and a function without lines
        numbers 4, 0x11, 1, 0x03, 0x08, 0x55, 0x17, 0, 0
        numbers 5, 0x2e, 0, 0x03, 0x08, 0x3f, 0x19, 0x11, 0x01, 0x12, 0x06, 0, 0
# 3: a declaration of one: name, external, declaration
        numbers 3, 0x2e, 0, 0x03, 0x08, 0x3f, 0x19, 0x3c, 0x19, 0, 0
        .byte   0

        .macro  unit number, kind
.Lunit\number:
        .long   .Lunit_end\number - .Lunit_begin\number
.Lunit_begin\number:
        .short  4
        .long   .debug_abbrev
        .byte   8
        .uleb128 \kind
        .asciz  "/src/call_tables.s"
        .if     \kind == 1
        .long   .debug_line
        .endif
        .long   .Lranges\number
        .endm

        .macro  function name, line
.Ldie_\name:
        .uleb128 2
        .asciz  "\name"
        .byte   1
        .short  \line
        .quad   \name
        .long   .Lend_\name - \name
        .endm

        .section .debug_info, "", @progbits
.Linfo:
        unit    1, 1
        function first, 100
        function second, 200
        function left, 400
        function right, 500
        function third, 300
        function start, 600
        .byte   0
.Lunit_end1:
        unit    2, 4
        .uleb128 5
        .asciz  "stop"
        .quad   stop
        .long   .Lend_stop - stop
.Lfirst_elsewhere:
        .uleb128 3
        .asciz  "first"
.Lthird_elsewhere:
        .uleb128 3
        .asciz  "third"
.Lsecond_elsewhere:
        .uleb128 3
        .asciz  "second"
.Lleft_elsewhere:
        .uleb128 3
        .asciz  "left"
.Lright_elsewhere:
        .uleb128 3
        .asciz  "right"
        .byte   0
.Lunit_end2:

        .section .debug_ranges, "", @progbits
        .macro  range name
        .quad   \name, .Lend_\name
        .endm
.Lranges1:
        range   first
        range   second
        range   left
        range   right
        range   third
        range   start
        .quad   0, 0
.Lranges2:
        range   stop
        .quad   0, 0

        .section .debug_dcall, "", @progbits
        .macro  listed back, callee, base
        .quad   \back
        .uleb128 \callee - \base
        .endm
        .ifdef  DAMAGED
# A part of a version that nobody knows, one of no unit, one of other addresses, one that is cut off inside a call.
        .long   14
        .byte   5
        .long   .Lunit1
        .byte   8
        .quad   .Lback1
        .long   15
        .byte   4
        .long   .Lunit1 + 1
        .byte   8
        .quad   .Lback1
        .byte   1
        .long   10
        .byte   4
        .long   .Lunit1
        .byte   3
        .long   .Lback1
        .long   16
        .byte   4
        .long   .Lunit1
        .byte   8
        .quad   .Lback1
        .byte   0x80, 0x80
        .endif
        .long   .Lcalls_end1 - .Lcalls_begin1
.Lcalls_begin1:
        .byte   4
        .long   .Lunit1
        .byte   8
        listed  .Lback_left, .Ldie_first, .Lunit1
        listed  .Lback_right, .Ldie_second, .Lunit1
.Lcalls_end1:
        .long   0xffffffff
        .quad   .Lcalls_end2 - .Lcalls_begin2
.Lcalls_begin2:
        .byte   4
        .quad   .Lunit2
        .byte   8
        .ifdef  DAMAGED
# The middle of an entry, what is behind the unit, and an address without code.
        listed  .Lback1, .Lfirst_elsewhere + 1, .Linfo
        .quad   .Lback2
        .uleb128 0x7fffffff
        .quad   0x10
        .uleb128 .Lfirst_elsewhere - .Linfo
        .else
        listed  .Lback1, .Lfirst_elsewhere, .Linfo
        listed  .Lback2, .Lsecond_elsewhere, .Linfo
        .endif
        listed  .Lback3, .Lthird_elsewhere, .Linfo
        listed  .Lback4, .Lleft_elsewhere, .Linfo
        listed  .Lback5, .Lright_elsewhere, .Linfo
.Lcalls_end2:
        .ifdef  DAMAGED
# A length that lies.
        .long   0x7fffffff
        .byte   4
        .endif
        .section .note.GNU-stack, "", @progbits
