/*
 * One thread adds modules while others look them up, as a handler would: for a checker of threads. Prints how many were found.
 */
#include "foldsym_modules.h"

#include <pthread.h>
#include <stdio.h>

enum { MOST = 4096, READERS = 3 };

static foldsym_module room[MOST];
static foldsym_modules table;

static void *reader(void *argument)
{
    uint64_t next = 0;
    (void)argument;
    /* Each module is there once the one before it is, whole. */
    while (next < MOST) {
        const foldsym_module *module = foldsym_module_find(&table, 16 * next + 7, FOLDSYM_EXACT);
        if (!module)
            continue;
        if (module != &room[next] || module->start != 16 * next || module->load_bias != next ||
            module->status != FOLDSYM_NO_SYMBOLS)
            return NULL;
        next++;
    }
    return &table;
}

int main(void)
{
    pthread_t readers[READERS];
    int i, found = 0;
    uint64_t next;
    foldsym_modules_init(&table, room, MOST);
    for (i = 0; i < READERS; i++)
        if (pthread_create(&readers[i], NULL, reader, NULL))
            return 1;
    for (next = 0; next < MOST; next++) {
        foldsym_module module;
        memset(&module, 0, sizeof module);
        module.start = 16 * next;
        module.end = 16 * next + 16;
        module.load_bias = next;
        if (foldsym_modules_add(&table, &module, NULL, 0, 0) != FOLDSYM_NO_SYMBOLS)
            return 1;
    }
    for (i = 0; i < READERS; i++) {
        void *result = NULL;
        pthread_join(readers[i], &result);
        found += result == &table;
    }
    printf("%d readers found %d modules\n", found, (int)table.count);
    return 0;
}
