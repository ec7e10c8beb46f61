/* Counts calls of the allocator, for LD_PRELOAD: malloc, calloc, realloc and aligned memory. */
#include <stddef.h>

void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);

static unsigned long unseen;
static volatile unsigned long *count = &unseen;

void count_allocations(volatile unsigned long *into)
{
    count = into;
}

void *malloc(size_t size)
{
    ++*count;
    return __libc_malloc(size);
}

void *calloc(size_t number, size_t size)
{
    ++*count;
    return __libc_calloc(number, size);
}

void *realloc(void *memory, size_t size)
{
    ++*count;
    return __libc_realloc(memory, size);
}

void *memalign(size_t align, size_t size)
{
    ++*count;
    return __libc_memalign(align, size);
}

void *aligned_alloc(size_t align, size_t size)
{
    ++*count;
    return __libc_memalign(align, size);
}
