/* A local function with the code of `own`, which others know by its address alone. */
#include "pair.h"

static BODY(hidden)

int (*const callback)(long) = hidden;
