/* One body, as often as wanted: each use stands on a line of its own. */
#define BODY(name)                                                                                           \
    __attribute__((noinline)) int name(long a)                                                               \
    {                                                                                                        \
        long x = a * 3 + 7;                                                                                  \
        return (int)(x ^ (x >> 5));                                                                          \
    }
