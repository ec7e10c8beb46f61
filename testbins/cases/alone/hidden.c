/* A local function with the code of one of another object. */
#include "pair.h"

extern int other(long);
#ifdef GLOBAL
BODY(own)
#else
static BODY(own)
#endif

int run(int a)
{
    return own(a) + other(a) * 2;
}
