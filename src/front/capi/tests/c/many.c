/*
 * Asks about one address many times: many FILE.fsym ADDRESS COUNT FLAGS, the address in hexadecimal. Prints the status of a
 * list of addresses, and of a stack.
 */
#include "foldsym_modules.h"

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    foldsym_map *map;
    foldsym_addresses wanted;
    foldsym_stack_request request;
    foldsym_symbols *symbols;
    foldsym_modules table;
    foldsym_module module;
    uint64_t *addresses;
    foldsym_stack_entry *entries;
    size_t i;
    int status;
    if (argc != 5 || foldsym_map_open(argv[1], &map, NULL) != FOLDSYM_OK)
        return 1;
    memset(&wanted, 0, sizeof wanted);
    memset(&request, 0, sizeof request);
    memset(&module, 0, sizeof module);
    wanted.size = sizeof wanted;
    request.size = sizeof request;
    wanted.count = request.count = strtoul(argv[3], NULL, 10);
    wanted.flags = request.flags = (uint32_t)strtoul(argv[4], NULL, 10);
    addresses = (uint64_t *)malloc(wanted.count * sizeof *addresses);
    entries = (foldsym_stack_entry *)calloc(wanted.count, sizeof *entries);
    if (!addresses || !entries)
        return 1;
    for (i = 0; i < wanted.count; i++)
        addresses[i] = entries[i].address = strtoull(argv[2], NULL, 16);
    wanted.addresses = addresses;
    request.entries = entries;
    status = foldsym_symbolize(foldsym_map_file(map), &wanted, &symbols);
    printf("%d%s\n", status, (symbols == NULL) == (status != FOLDSYM_OK) ? "" : " and a pointer");
    foldsym_symbols_free(symbols);
    foldsym_modules_init(&table, &module, 1);
    module.end = UINT64_MAX;
    module.file = foldsym_map_file(map);
    if (foldsym_modules_add(&table, &module, NULL, 0, FOLDSYM_UNCHECKED_BUILD) != FOLDSYM_OK)
        return 1;
    status = foldsym_symbolize_stack(&table, &request, &symbols);
    printf("%d%s\n", status, (symbols == NULL) == (status != FOLDSYM_OK) ? "" : " and a pointer");
    foldsym_symbols_free(symbols);
    foldsym_map_close(map);
    free(addresses);
    free(entries);
    return 0;
}
