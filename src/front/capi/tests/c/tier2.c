/* Tier 2 as a program uses it: tier2 FILE.fsym ADDRESS... prints the frames of each. Valid C and C++. */
#include "foldsym.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition)                                                   \
    do {                                                                   \
        if (!(condition)) {                                                \
            printf("line %d: %s\n", __LINE__, #condition);                 \
            exit(1);                                                       \
        }                                                                  \
    } while (0)

int main(int argc, char **argv)
{
    foldsym_map *map = NULL;
    foldsym_damage damage;
    foldsym_addresses wanted;
    foldsym_symbols *symbols = NULL;
    uint64_t addresses[256];
    size_t i, f;
    CHECK(foldsym_map_open("no such file", &map, NULL) == FOLDSYM_E_IO && !map);
    CHECK(foldsym_map_open(".", &map, NULL) == FOLDSYM_E_IO && !map);
    CHECK(foldsym_map_open(argv[0], &map, &damage) == FOLDSYM_E_DAMAGED && !map);
    CHECK(damage.what == FOLDSYM_DAMAGE_MAGIC && damage.section == 0);
    CHECK(foldsym_map_open(NULL, &map, NULL) == FOLDSYM_E_ARGUMENT);
    CHECK(foldsym_map_open(argv[1], NULL, NULL) == FOLDSYM_E_ARGUMENT);
    CHECK(foldsym_map_open(argv[1], &map, &damage) == FOLDSYM_OK && map);
    memset(&wanted, 0, sizeof wanted);
    wanted.size = sizeof wanted;
    for (; wanted.count + 2 < (size_t)argc && wanted.count < 256; wanted.count++)
        addresses[wanted.count] = strtoull(argv[wanted.count + 2], NULL, 16) + 0x1000;
    wanted.addresses = addresses;
    wanted.load_bias = 0x1000;
    CHECK(foldsym_symbolize(NULL, &wanted, &symbols) == FOLDSYM_E_ARGUMENT && !symbols);
    wanted.kind = 7;
    CHECK(foldsym_symbolize(foldsym_map_file(map), &wanted, &symbols) == FOLDSYM_E_ARGUMENT && !symbols);
    wanted.kind = FOLDSYM_EXACT;
    CHECK(foldsym_symbolize(foldsym_map_file(map), &wanted, &symbols) == FOLDSYM_OK);
    CHECK(symbols->count == wanted.count);
    /* The texts do not need the file. */
    foldsym_map_close(map);
    for (i = 0; i < symbols->count; i++) {
        const foldsym_symbol *symbol = &symbols->symbols[i];
        CHECK(symbol->address == addresses[i]);
        printf("%d %u %u %u", (int)symbol->status, (unsigned)symbol->certainty, (unsigned)symbol->reason,
               (unsigned)symbol->candidate_count);
        for (f = 0; f < symbol->frame_count; f++)
            printf(" %s@%s:%u", symbol->frames[f].name, symbol->frames[f].file, (unsigned)symbol->frames[f].line);
        printf("\n");
    }
    foldsym_symbols_free(symbols);
    foldsym_symbols_free(NULL);
    foldsym_map_close(NULL);
    CHECK(foldsym_map_file(NULL) == NULL);
    return 0;
}
