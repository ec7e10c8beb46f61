/* Calls two functions of another object by their names. */
extern int first(long);
extern int second(long);

__attribute__((noinline)) int call_first(long a)
{
    return first(a) + 1;
}

__attribute__((noinline)) int call_second(long a)
{
    return second(a) * 2;
}

int run(int a)
{
    return call_first(a) + call_second(a);
}
