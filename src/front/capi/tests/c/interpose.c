/* Stands before the allocator of the C library: while allocation is forbidden, it ends the program. */
#include <stdlib.h>

extern volatile int malloc_forbidden;

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *at, size_t size);
void __libc_free(void *at);

static void check(void)
{
    if (malloc_forbidden)
        abort();
}

void *malloc(size_t size)
{
    check();
    return __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    check();
    return __libc_calloc(count, size);
}

void *realloc(void *at, size_t size)
{
    check();
    return __libc_realloc(at, size);
}

void free(void *at)
{
    check();
    __libc_free(at);
}
