## about: lanes of a wave that part: an if with an else, a loop, and a loop inside an if whose mask is in memory
## let: CC = $CLANG --target=amdgcn-amd-amdhsa -mcpu=gfx90a -c lanes.s
## variant: user: $CC -o $T/a.o; $LLD -shared --discard-all $T/a.o -o $OUT
## variant: first: $CC -Wa,--defsym,FIRST=1 -o $T/a.o; $LLD -shared --discard-all $T/a.o -o $OUT
//
// The construction is that of the proposal's example (DW_AT_LLVM_lane_pc): each region in which lanes part is a DWARF
// procedure that calls its parent's, puts the place at which lanes masked off by it go on, and takes it for the lanes
// of the mask that was saved when the region was entered; $active puts the wave's pc over all of that for the lanes that
// execute. FIRST: the same in the codes of 2020. Lines are those of lanes.cl, which nobody needs to have.
//
// What each lane's place is, worked out by hand (labels as below, PC the wave's, E its mask; 64 lanes):
//   branch, not between then and end: lanes of E at PC, others inactive
//   branch, then up to else: E at PC; lanes of s[34:35] without E at else; others inactive
//   branch, else up to end: E at PC; lanes of s[34:35] without E at end; others inactive
//   loop, body up to after: E at PC; lanes of s[36:37] without E at after; others inactive
//   nest, inner up to inner_end: E at PC; lanes of s[36:37] without E at inner_end; of those left, lanes of the mask in
//     memory (address in s32, wave's private memory) at other; others inactive
//   nest, the rest of its then up to other: E at PC; lanes of the mask in memory without E at other; others inactive
//   odd: its expression has an operation that nobody knows
//   spilled: as branch, with a DW_AT_LLVM_active_lane of s[34:35] (FIRST only: LLVM has no code for it now)

        .ifdef FIRST
        .macro op_undefined
        .byte 0xe7
        .endm
        .macro op_extend
        .byte 0xeb, 64, 64
        .endm
        .macro op_select
        .byte 0xec, 64, 64
        .endm
        .macro op_piece_end
        .byte 0xea
        .endm
        .macro op_form_aspace_address
        .byte 0xe1
        .endm
        .set AT_lanes, 0x3e0a
        .set AT_lane_pc, 0x3e0b
        .else
        .macro op_undefined
        .byte 0xe9, 8
        .endm
        .macro op_extend
        .byte 0xe9, 11, 64, 64
        .endm
        .macro op_select
        .byte 0xe9, 12, 64, 64
        .endm
        .macro op_piece_end
        .byte 0xe9, 10
        .endm
        .macro op_form_aspace_address
        .byte 0xe9, 2
        .endm
        .set AT_lanes, 0x3e11
        .set AT_lane_pc, 0x3e12
        .endif

        .text
        .file 0 "/src" "lanes.cl"
        .macro function name
        .globl \name
        .type \name, @function
        .p2align 2
\name:
        .endm

        function branch
        .loc 0 3 1
        s_nop 0
        s_mov_b64 s[34:35], exec
        .loc 0 4 7
        s_and_b64 exec, exec, vcc
branch_then:
        .loc 0 11 3
        s_nop 1
        s_nop 1
branch_flip:
        .loc 0 5 3
        s_xor_b64 exec, exec, s[34:35]
branch_else:
        .loc 0 7 5
        s_nop 2
        s_nop 2
branch_end:
        .loc 0 8 1
        s_mov_b64 exec, s[34:35]
        s_setpc_b64 s[30:31]
branch_close:
        .size branch, branch_close-branch

        function loop
        .loc 0 20 1
        s_nop 0
        s_mov_b64 s[36:37], exec
loop_body:
        .loc 0 22 5
        s_nop 1
        .loc 0 21 3
        s_andn2_b64 exec, exec, vcc
        s_cbranch_execnz loop_body
loop_after:
        .loc 0 24 1
        s_mov_b64 exec, s[36:37]
        s_setpc_b64 s[30:31]
loop_close:
        .size loop, loop_close-loop

        function nest
        .loc 0 30 1
        s_nop 0
        s_and_b64 exec, exec, vcc
nest_then:
        .loc 0 32 5
        s_mov_b64 s[36:37], exec
nest_inner:
        .loc 0 33 7
        s_nop 1
        s_andn2_b64 exec, exec, vcc
        s_cbranch_execnz nest_inner
nest_inner_end:
        .loc 0 34 5
        s_mov_b64 exec, s[36:37]
        s_nop 2
nest_other:
        .loc 0 36 1
        s_nop 3
        s_setpc_b64 s[30:31]
nest_close:
        .size nest, nest_close-nest

        function odd
        .loc 0 40 1
        s_nop 0
        s_setpc_b64 s[30:31]
odd_close:
        .size odd, odd_close-odd

        function spilled
        .loc 0 50 1
        s_nop 0
        s_setpc_b64 s[30:31]
spilled_close:
        .size spilled, spilled_close-spilled
text_end:

        .macro attribute code, form
        .uleb128 \code
        .uleb128 \form
        .endm
        .macro abbreviation number, tag, children
        .uleb128 \number
        .uleb128 \tag
        .byte \children
        .endm
        .macro end_abbreviation
        .byte 0, 0
        .endm

        .section .debug_abbrev,"",@progbits
abbrev:
        abbreviation 1, 0x11, 1         // DW_TAG_compile_unit
        attribute 0x03, 0x08            // DW_AT_name, string
        attribute 0x10, 0x17            // DW_AT_stmt_list, sec_offset
        attribute 0x11, 0x01            // DW_AT_low_pc, addr
        attribute 0x12, 0x06            // DW_AT_high_pc, data4
        .ifdef FIRST
        attribute 0x3e09, 0x08          // DW_AT_LLVM_augmentation, string
        .endif
        end_abbreviation
        abbreviation 2, 0x2e, 1         // DW_TAG_subprogram with lanes and a list
        attribute 0x03, 0x08
        attribute 0x3b, 0x0b            // DW_AT_decl_line, data1
        attribute 0x11, 0x01
        attribute 0x12, 0x06
        attribute AT_lanes, 0x0b
        attribute AT_lane_pc, 0x17
        end_abbreviation
        abbreviation 3, 0x36, 0         // DW_TAG_dwarf_procedure
        attribute 0x02, 0x18            // DW_AT_location, exprloc
        end_abbreviation
        abbreviation 4, 0x24, 0         // DW_TAG_base_type
        attribute 0x03, 0x08
        attribute 0x3e, 0x0b            // DW_AT_encoding
        attribute 0x0b, 0x0b            // DW_AT_byte_size
        end_abbreviation
        abbreviation 5, 0x34, 0         // DW_TAG_variable with a list
        attribute 0x34, 0x19            // DW_AT_artificial, flag_present
        attribute 0x02, 0x17
        end_abbreviation
        abbreviation 6, 0x2e, 0         // DW_TAG_subprogram that is inlined
        attribute 0x03, 0x08
        attribute 0x3b, 0x0b
        attribute 0x20, 0x0b            // DW_AT_inline
        end_abbreviation
        abbreviation 7, 0x1d, 0         // DW_TAG_inlined_subroutine
        attribute 0x31, 0x13            // DW_AT_abstract_origin, ref4
        attribute 0x11, 0x01
        attribute 0x12, 0x06
        attribute 0x59, 0x0b            // DW_AT_call_line
        attribute 0x58, 0x0b            // DW_AT_call_file
        end_abbreviation
        abbreviation 8, 0x2e, 0         // DW_TAG_subprogram with lanes and an expression
        attribute 0x03, 0x08
        attribute 0x3b, 0x0b
        attribute 0x11, 0x01
        attribute 0x12, 0x06
        attribute AT_lanes, 0x0b
        attribute AT_lane_pc, 0x18
        .ifdef FIRST
        attribute 0x3e08, 0x18          // DW_AT_LLVM_active_lane, exprloc
        .endif
        end_abbreviation
        .byte 0

        .section .debug_info,"",@progbits
info:
        .long info_end-info_start
info_start:
        .short 5
        .byte 1, 8
        .long abbrev
        .uleb128 1
        .asciz "lanes.cl"
        .long line_table
        .quad branch
        .long text_end-branch
        .ifdef FIRST
        .asciz "[amdgpu:v0.0]"
        .endif

uint64: .uleb128 4
        .asciz "ulong"
        .byte 7, 8

        .macro procedure name
        .uleb128 3
        .uleb128 \name\()_end-\name\()_begin
\name\()_begin:
        .endm
        .macro call target              // DW_OP_call_ref
        .byte 0x9a
        .long \target
        .endm
        .macro region parent, resume, mask
        call \parent
        .byte 0x03                      // DW_OP_addr
        .quad \resume
        .byte 0x9f                      // DW_OP_stack_value
        op_extend
        .byte 0x99                      // DW_OP_call4
        .long \mask-info
        .byte 0xa6, 8                   // DW_OP_deref_type
        .uleb128 uint64-info
        op_select
        .endm

root:   procedure root
        op_undefined
        op_extend
root_end:

active: procedure active
        .byte 0x90, 16                  // DW_OP_regx PC
        op_extend
        .byte 0xa5, 17                  // DW_OP_regval_type EXEC
        .uleb128 uint64-info
        op_select
active_end:

inlined:
        .uleb128 6
        .asciz "both"
        .byte 10, 1

        .macro subprogram name, line
        .uleb128 2
        .asciz "\name"
        .byte \line
        .quad \name
        .long \name\()_close-\name
        .byte 64
        .long \name\()_list
        .endm

        subprogram branch, 3
branch_mask:
        .uleb128 5
        .long branch_mask_list
to_else: procedure to_else
        region root, branch_else, branch_mask
to_else_end:
to_end: procedure to_end
        region root, branch_end, branch_mask
to_end_end:
        .uleb128 7
        .long inlined-info
        .quad branch_then
        .long branch_flip-branch_then
        .byte 5, 0
        .byte 0

        subprogram loop, 20
loop_mask:
        .uleb128 5
        .long loop_mask_list
to_after: procedure to_after
        region root, loop_after, loop_mask
to_after_end:
        .byte 0

        subprogram nest, 30
nest_mask:
        .uleb128 5
        .long nest_mask_list
inner_mask:
        .uleb128 5
        .long loop_mask_list
to_other: procedure to_other
        region root, nest_other, nest_mask
to_other_end:
to_inner_end: procedure to_inner_end
        region to_other, nest_inner_end, inner_mask
to_inner_end_end:
        .byte 0

        .uleb128 8
        .asciz "odd"
        .byte 40
        .quad odd
        .long odd_close-odd
        .byte 64
        .byte 3
        .ifdef FIRST
        .byte 0x30, 0xf8, 0xff          // no such operation
        .byte 0
        .else
        .byte 0xe9, 13, 0               // a number that LLVM 22 does not have
        .endif

        .uleb128 8
        .asciz "spilled"
        .byte 50
        .quad spilled
        .long spilled_close-spilled
        .byte 64
        .uleb128 spilled_expression_end-spilled_expression
spilled_expression:
        call root
        call active
spilled_expression_end:
        .ifdef FIRST
        .uleb128 spilled_active_end-spilled_active
spilled_active:
        .byte 0x90, 66, 0x93, 4, 0x90, 67, 0x93, 4
spilled_active_end:
        .endif
        .byte 0
info_end:

        .section .debug_loclists,"",@progbits
        .long lists_end-lists_start
lists_start:
        .short 5
        .byte 8, 0
        .long 0
        .macro range from, to, name     // DW_LLE_start_end
        .byte 7
        .quad \from
        .quad \to
        .uleb128 \name\()_x_end-\name\()_x
\name\()_x:
        .endm
        .macro otherwise name           // DW_LLE_default_location
        .byte 5
        .uleb128 \name\()_x_end-\name\()_x
\name\()_x:
        call root
        call active
\name\()_x_end:
        .byte 0
        .endm
        .macro mask low, high
        .byte 0x90, \low, 0x93, 4, 0x90, \high, 0x93, 4
        op_piece_end
        .endm

branch_list:
        range branch_then, branch_else, then
        call to_else
        call active
then_x_end:
        range branch_else, branch_end, else
        call to_end
        call active
else_x_end:
        otherwise branch_rest

loop_list:
        range loop_body, loop_after, body
        call to_after
        call active
body_x_end:
        otherwise loop_rest

nest_list:
        range nest_inner, nest_inner_end, inner
        call to_inner_end
        call active
inner_x_end:
        range nest_then, nest_other, outer
        call to_other
        call active
outer_x_end:
        otherwise nest_rest

branch_mask_list:
        range branch_then, branch_end, branch_saved
        mask 66, 67
branch_saved_x_end:
        .byte 0

loop_mask_list:
        range loop_body, loop_after, loop_saved
        mask 68, 69
loop_saved_x_end:
        range nest_inner, nest_inner_end, nest_saved
        mask 68, 69
nest_saved_x_end:
        .byte 0

nest_mask_list:
        range nest_then, nest_other, nest_spilled
        .byte 0x92, 64, 0, 0x36         // DW_OP_bregx s32+0, DW_OP_lit6: the wave's private memory
        op_form_aspace_address
nest_spilled_x_end:
        .byte 0
lists_end:

        .section .debug_line,"",@progbits
line_table:
