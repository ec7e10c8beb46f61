/* A local function that has the same name and the same code in each unit. */
__attribute__((noinline)) static int helper(int a)
{
    return a * 5 + 1;
}

int ENTRY(int a)
{
    return helper(a) - NUMBER;
}
