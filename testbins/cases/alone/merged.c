/* Two local functions with one code, which gcc merges, and which nobody calls but by jumps. */
static int table[4];

__attribute__((noinline)) static int one(int a)
{
    return table[a & 3] * 3 + a;
}

__attribute__((noinline)) static int two(int a)
{
    return table[a & 3] * 3 + a;
}

__attribute__((noinline)) int call_one(int a)
{
    return one(a + 1);
}

__attribute__((noinline)) int call_two(int a)
{
    return two(a + 2);
}

int run(int a)
{
    table[1] = a;
    return call_one(a) + call_two(a);
}
