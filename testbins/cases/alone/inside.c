/* A local function between two global ones. */
volatile long sink;

static __attribute__((noinline)) long local(long x)
{
    return x * sink + 7;
}

long before(long x)
{
    return local(x) * 3;
}

long after(long x)
{
    return x + sink;
}
