## about: every LEB128 number is padded with zero bytes, as BOLT and assemblers may write it; DW_FORM_indirect gives the forms of names. gimli by itself cannot read it
## let: AS = $CLANG --target=x86_64-linux-gnu -c padded.s -o $T/a.o
## variant: lld.set: $AS && mkdir $OUT && $LLD -e first $T/a.o -o $OUT/program

        .text
        .globl  first
        .type   first, @function
first:  movl    $7, %eax
.Lsecond_row:
        nop
        ret
.Lend:
        .size   first, . - first

# A number of at most 127 in four bytes; a code of forms in eight.
        .macro pad number
        .byte   0x80 | \number, 0x80, 0x80, 0
        .endm
        .macro long number
        .byte   0x80 | \number, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0
        .endm
# More bytes than 64 bits need.
        .macro longest number
        .byte   0x80 | \number, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0
        .endm
        .macro attribute name, form
        pad     \name
        long    \form
        .endm

        .section .debug_abbrev, "", @progbits
.Labbrev:
        longest 1
        pad     0x11                    # DW_TAG_compile_unit
        .byte   1
        attribute 0x03, 0x16            # DW_AT_name, DW_FORM_indirect
        attribute 0x10, 0x17            # DW_AT_stmt_list, DW_FORM_sec_offset
        attribute 0x11, 0x01            # DW_AT_low_pc, DW_FORM_addr
        attribute 0x12, 0x07            # DW_AT_high_pc, DW_FORM_data8
        attribute 0, 0
        pad     2
        pad     0x2e                    # DW_TAG_subprogram
        .byte   0
        attribute 0x03, 0x16
        attribute 0x3a, 0x0f            # DW_AT_decl_file, DW_FORM_udata
        attribute 0x3b, 0x16            # DW_AT_decl_line
        attribute 0x11, 0x01
        attribute 0x12, 0x16
        attribute 0, 0
        pad     0

        .section .debug_info, "", @progbits
        .long   .Linfo_end - .Linfo
.Linfo: .short  5
        .byte   1, 8
        .long   .Labbrev
        longest 1
        pad     0x08                    # DW_FORM_string
        .asciz  "/src/padded.c"
        .long   .Lline
        .quad   first
        .quad   .Lend - first
        pad     2
        pad     0x08
        .asciz  "first"
        long    1
        pad     0x0f                    # DW_FORM_udata
        longest 40
        .quad   first
        long    0x07
        .quad   .Lend - first
        pad     0
.Linfo_end:

        .section .debug_line, "", @progbits
.Lline: .long   .Lline_end - .Lheader
.Lheader:
        .short  5
        .byte   8, 0
        .long   .Lprogram - .Ltables
.Ltables:
        .byte   1, 1, 1, -5, 14, 13
        .byte   0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1
        .byte   1
        attribute 1, 0x08               # DW_LNCT_path, DW_FORM_string
        pad     1
        .asciz  "/src"
        .byte   2
        attribute 1, 0x08
        attribute 2, 0x0f               # DW_LNCT_directory_index, DW_FORM_udata
        pad     2
        .asciz  "padded.c"
        long    0
        .asciz  "padded.c"
        long    0
.Lprogram:
        .byte   0
        pad     9
        .byte   2                       # DW_LNE_set_address
        .quad   first
        .byte   3                       # DW_LNS_advance_line, by 41 in a number that needs one byte
        .byte   0x80 | 41, 0x80, 0x80, 0
        .byte   5                       # DW_LNS_set_column
        longest 9
        .byte   1                       # DW_LNS_copy
        .byte   2                       # DW_LNS_advance_pc
        pad     (.Lsecond_row - first)
        .byte   3                       # back by 2
        .byte   0xfe, 0xff, 0xff, 0x7f
        .byte   1
        .byte   2
        pad     (.Lend - .Lsecond_row)
        .byte   0
        long    1
        .byte   1                       # DW_LNE_end_sequence
.Lline_end:
