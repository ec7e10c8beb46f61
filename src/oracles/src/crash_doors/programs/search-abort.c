//# build: gcc -O0 -fno-pie -no-pie
//# stack: refuse compare_mail ... keep_mail main
// Unoptimised code aborts in a function that the C library calls back.
#include <search.h>
#include <stdlib.h>

static void *root;

static void refuse(int weight)
{
    if (weight != 0)
        abort();
}

static int compare_mail(const void *left, const void *right)
{
    int order = *(const int *)left - *(const int *)right;
    refuse(order);
    return order;
}

static int keep_mail(const int *weight)
{
    return tsearch(weight, &root, compare_mail) != NULL;
}

int main(void)
{
    static const int weights[] = { 5, 3 };
    return keep_mail(&weights[0]) + keep_mail(&weights[1]);
}
