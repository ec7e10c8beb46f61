/* Names that are no functions of their own, in a program in which others are folded. */
__attribute__((noinline)) int shown(int x) { return x * 3 + 1; }
extern __typeof(shown) internal_shown __attribute__((alias("shown"), visibility("hidden")));

__attribute__((noinline)) int strong(int x) { return x * 5 + 2; }
extern __typeof(strong) strong_alias __attribute__((alias("strong")));

__attribute__((noinline)) static int local(int x) __asm__("local_symbol");
__attribute__((noinline)) static int local(int x) { return x * 9 + 4; }

/* These two are folded. */
__attribute__((noinline)) int one(int x) { return x * 7 + 3; }
__attribute__((noinline)) int two(int x) { return x * 7 + 3; }

int run(int x) { return shown(internal_shown(x)) + strong(strong_alias(x)) + local(x) + one(x) - two(x + 1); }
