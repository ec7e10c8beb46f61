/* Two functions with one code, in a unit that has lines and no entries. */
#include "pair.h"

BODY(half_long)

BODY(half_size)

int run(int a)
{
    return half_long(a) + half_size(a) * 2;
}
