// What the files of this program call of each other.
#define NOINLINE __attribute__((noinline))
extern volatile long sink;
long entry_a(long), entry_b(long), entry_c(long);
long tail_a(long), tail_b(long), tail_c(long);
