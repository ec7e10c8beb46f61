/* Two functions that the compiler merges: it leaves a jump in the place of one. And a function that another one only calls. */
static volatile long sink;

__attribute__((noinline)) long first(long x)
{
    for (long i = 0; i < x; i++)
        sink += i;
    return x + 1;
}

__attribute__((noinline)) long second(long x)
{
    for (long i = 0; i < x; i++)
        sink += i;
    return x + 1;
}

__attribute__((noinline)) long target(long x)
{
    for (long i = 0; i < x; i++)
        sink ^= i;
    return x + 2;
}

__attribute__((noinline)) long forward(long x)
{
    return target(x);
}

/* Code with lines and two names is no jump of a merged function either. */
extern long also_forward(long) __attribute__((alias("forward")));

int run(int a)
{
    return first(a) + second(a) * 2 + forward(a) + also_forward(a) + target(a + 1);
}
