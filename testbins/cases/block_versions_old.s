## about: versions of the basic-block address map that llvm-readobj 22 refuses: the first type of section, versions 0 and 1; block_versions_old.map is worked out by hand
## variant: set: mkdir -p $OUT; $CLANG --target=x86_64-linux-gnu -c block_versions_old.s -o $T/a.o; $LLD -e first $T/a.o -o $OUT/program; cp block_versions_old.map $OUT/map

        .macro code name, size
        .globl \name
        .type \name, @function
        .p2align 4
\name:
        .skip \size, 0x90
        .size \name, \size
        .endm

        .text
        code first, 48
        code zero, 32
        code one, 40

# Before versions: address, blocks, then offset from the function's start, size and flags of each.
        .section .llvm_bb_addr_map.v0, "o", @0x6fff4c08, .text
        .quad first
        .byte 3, 0x0, 0x10, 0x8, 0x14, 0xc, 0x4, 0x20, 0x10, 0x1

# Version 0: the same behind a version and a byte of features.
        .section .llvm_bb_addr_map, "o", @0x6fff4c0a, .text
        .byte 0, 0
        .quad zero
        .byte 2, 0x0, 0x8, 0x8, 0x9, 0x17, 0x3
# Version 1: offsets from the end of the block before.
        .byte 1, 0
        .quad one
        .byte 3, 0x0, 0x8, 0x8, 0x0, 0x6, 0x8, 0x2, 0x18, 0x11
        .section .note.GNU-stack, "", @progbits
