// A program for 64-bit ARM that crashes in functions that a linker folds. It has no C library, so that its core is small.
#define OUTLINE __attribute__((noinline))

volatile int *target = nullptr;
volatile int depth = 0;

OUTLINE int write_to_target(int value) {
  *target = value;
  return value + depth;
}

// Each of these has the code of the others, and is called by one function alone.
#define SAME(name)                                                             \
  OUTLINE int name(int value) { return write_to_target(value + 1) + 1; }
SAME(save_player)
SAME(save_world)
SAME(save_settings)

static inline __attribute__((always_inline)) int twice(int value) {
  return save_world(value * 2) * 2;
}

OUTLINE int store(int value) { return twice(value) + 5; }
OUTLINE int other(int value) { return save_player(value) + save_settings(value) + 6; }
OUTLINE int level(int value) { return value > 100 ? other(value) : store(value + 3) + 7; }

extern "C" int run(int value) { return level(value) + 9; }

asm(".globl _start\n.type _start, %function\n_start:\n.cfi_startproc\n.cfi_undefined x30\nmov w0, #1\nbl run\nmov x8, #94\nsvc #0\n.cfi_endproc\n.size _start, .-_start");
