/* The other function of that code. */
#include "pair.h"

BODY(other)
