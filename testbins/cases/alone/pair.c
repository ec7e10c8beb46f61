/* Two functions with one code. */
#include "pair.h"

BODY(first)

BODY(second)
