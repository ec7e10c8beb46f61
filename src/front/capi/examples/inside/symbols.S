/*
 * Room for the symbols of a program inside of it, in memory that the loader maps: ROOM bytes at foldsym_section, and, where
 * SYMBOLS names a .fsym file, that file. foldsym_section_len is how many bytes that has. The length is data, so that the code
 * which reads it is the same with symbols and without.
 */
    .section .rodata.foldsym, "a", %progbits
    .balign 8
    .globl foldsym_section, foldsym_section_len
    .hidden foldsym_section, foldsym_section_len
foldsym_section_len:
    .quad foldsym_section_end - foldsym_section
foldsym_section:
#ifdef SYMBOLS
    .incbin SYMBOLS
#endif
foldsym_section_end:
    .org foldsym_section + ROOM

    .section .note.GNU-stack, "", %progbits
