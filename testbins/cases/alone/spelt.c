/* Functions whose symbols are renamed as compilers of other languages name them. `run` has the symbol that its DIE has. */
static int table[4];

__attribute__((noinline)) int current(int a)
{
    return table[a & 3] + a;
}

__attribute__((noinline)) int test(int a)
{
    return current(a) * 7;
}

__attribute__((noinline)) int whole(int a)
{
    return test(a) - 5;
}

__attribute__((noinline)) int other(int a)
{
    return whole(a) ^ 9;
}

/* Initializes thread-local variables. */
__attribute__((noinline)) int __tls_init(int a)
{
    return table[a & 1] * 3 + other(a);
}

int run(int a)
{
    return __tls_init(a) + other(a) + whole(a + 1) + test(a + 2) + current(a + 3);
}
