/*
 * foldsym_unwind.h: walks frames by the section UNWIND of a .fsym (`foldsym convert --unwind`), for crash handlers of
 * programs without frame pointers. Link libfoldsym_unwind.a; it needs nothing else of foldsym.
 *
 * Async-signal-safe: no allocation, no lock, no syscall; memory is read by the caller's function alone. The code of the
 * library is at most 24 KiB. Any bytes may be opened: a damaged file gives FOLDSYM_UNWIND_E_DAMAGED or a walk that ends.
 * x86-64 and AArch64. Registers have DWARF's numbers: 7 is rsp and 16 is rip; 31 is sp and 32 is pc.
 *
 * A frame is looked up in the module that has its address. The caller bounds the number of steps.
 */
#ifndef FOLDSYM_UNWIND_H
#define FOLDSYM_UNWIND_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FOLDSYM_UNWIND_OK 0
#define FOLDSYM_UNWIND_NO_ENTRY 2     /* no row covers the address, or the file has no section UNWIND */
#define FOLDSYM_UNWIND_OUTERMOST 3    /* there is no caller */
#define FOLDSYM_UNWIND_LOST 6         /* a register or memory that the row needs is not there */
#define FOLDSYM_UNWIND_STUCK 7        /* the caller's frame would not be further out */
#define FOLDSYM_UNWIND_E_ARGUMENT (-1)
#define FOLDSYM_UNWIND_E_DAMAGED (-4)

/* An opened section. It refers to the bytes, which stay where they are as long as it is used. Any number of threads may
   use one. */
typedef struct foldsym_unwind {
    uint64_t tag;
    uint32_t machine; /* ELF's number */
    uint32_t reserved;
    uint64_t opaque[64];
} foldsym_unwind;

/* A frame. Set all of it to zero at first, then `size` to its sizeof, `exact` to 1, and the registers that are known. */
typedef struct foldsym_walk {
    size_t size;
    uint32_t exact; /* the program counter is of the instruction that runs, not a return address */
    uint32_t reserved;
    uint64_t known; /* a bit for each register that is known: 1 << number */
    uint64_t registers[33];
} foldsym_walk;

/* Reads `len` (1 to 8) bytes at an address of the crashed code; 0 where they are not there. */
typedef int (*foldsym_read)(void *context, uint64_t address, void *bytes, size_t len);

/* Opens the section of the .fsym that has these bytes, all of them. */
int foldsym_unwind_open(const void *data, size_t len, foldsym_unwind *out);

/* Makes `walk` its caller's frame. Its module is loaded `load_bias` bytes above its link-time addresses (dlpi_addr). At
   anything but FOLDSYM_UNWIND_OK the frame is as before. */
int foldsym_unwind_step(const foldsym_unwind *unwind, uint64_t load_bias, foldsym_walk *walk, foldsym_read read,
                        void *context);

#ifdef __cplusplus
}
#endif

#endif
