/* Functions that nobody folds, and another name of one. */
static int table[4];

__attribute__((noinline)) static int local(int a)
{
    return table[a & 3] + a;
}

__attribute__((noinline)) int global(int a)
{
    return local(a) * 7;
}

extern int also_global(int) __attribute__((alias("global")));

int run(int a)
{
    return global(a) + also_global(a) + local(a + 1);
}
