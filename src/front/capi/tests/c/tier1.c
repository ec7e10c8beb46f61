/* Asks tier 1 what it must refuse, cut, or not find: tier1 FILE.fsym BUILD-ID. Valid C and C++. */
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

static unsigned char bytes[1 << 20];
static foldsym_file file, zeroed, copy;
static foldsym_frames frames;

static foldsym_query ask(uint64_t address)
{
    foldsym_query query;
    memset(&query, 0, sizeof query);
    query.size = sizeof query;
    query.address = address;
    return query;
}

static int32_t look_up(const foldsym_query *query, foldsym_answer *answer)
{
    memset(answer, 0, sizeof *answer);
    answer->size = sizeof *answer;
    return foldsym_lookup(&file, query, &frames, answer);
}

/* The first address at which as many functions are known. */
static uint64_t first_function(uint64_t base, uint32_t functions)
{
    foldsym_answer answer;
    uint64_t address;
    for (address = base; address < base + (1 << 22); address++) {
        foldsym_query query = ask(address);
        if (look_up(&query, &answer) == FOLDSYM_OK && answer.candidate_count >= functions)
            return address;
    }
    return 0;
}

static void check_open(size_t len)
{
    foldsym_damage damage;
    CHECK(foldsym_open(&file, "not one", 7, &damage) == FOLDSYM_E_DAMAGED);
    CHECK(damage.section == 0 && damage.what != FOLDSYM_DAMAGE_OTHER);
    CHECK(foldsym_open(&file, bytes, len - 1, &damage) == FOLDSYM_E_DAMAGED);
    CHECK(damage.what == FOLDSYM_DAMAGE_TRUNCATED && damage.offset == len - 1);
    CHECK(foldsym_open(NULL, bytes, len, NULL) == FOLDSYM_E_ARGUMENT);
    CHECK(foldsym_open(&file, NULL, len, NULL) == FOLDSYM_E_ARGUMENT);
    CHECK(foldsym_open(&file, NULL, 0, NULL) == FOLDSYM_E_DAMAGED);
    CHECK(foldsym_open(&file, bytes, len, NULL) == FOLDSYM_OK);
}

static void check_versions(uint64_t address)
{
    struct {
        foldsym_query query;
        uint64_t newer;
    } longer;
    struct {
        foldsym_answer answer;
        uint64_t newer;
    } more;
    foldsym_answer answer;
    foldsym_query query = ask(address);
    CHECK(look_up(&query, &answer) == FOLDSYM_OK);
    query.size = sizeof query - 8;
    CHECK(look_up(&query, &answer) == FOLDSYM_E_SIZE);
    query.size = 1 << 20;
    CHECK(look_up(&query, &answer) == FOLDSYM_E_SIZE);
    query = ask(address);
    query.reserved[3] = 1;
    CHECK(look_up(&query, &answer) == FOLDSYM_E_RESERVED);
    /* A caller with a newer header: zeros are fine, what we do not know is not. */
    memset(&longer, 0, sizeof longer);
    longer.query = ask(address);
    longer.query.size = sizeof longer;
    CHECK(look_up(&longer.query, &answer) == FOLDSYM_OK);
    longer.newer = 1;
    CHECK(look_up(&longer.query, &answer) == FOLDSYM_E_RESERVED);
    query = ask(address);
    memset(&more, 0xff, sizeof more);
    more.answer.size = sizeof more;
    CHECK(foldsym_lookup(&file, &query, &frames, &more.answer) == FOLDSYM_OK && more.newer == 0);
    CHECK(more.answer.size == sizeof more && more.answer.frame_count > 0);
    more.answer.size = 8;
    CHECK(foldsym_lookup(&file, &query, &frames, &more.answer) == FOLDSYM_E_SIZE);
}

static void check_arguments(uint64_t address)
{
    foldsym_answer answer;
    foldsym_frame frame;
    foldsym_resolved unresolved;
    foldsym_query query = ask(address);
    answer.size = sizeof answer;
    CHECK(foldsym_lookup(&zeroed, &query, &frames, &answer) == FOLDSYM_E_ARGUMENT);
    CHECK(foldsym_lookup(NULL, &query, &frames, &answer) == FOLDSYM_E_ARGUMENT);
    CHECK(foldsym_lookup(&file, NULL, &frames, &answer) == FOLDSYM_E_ARGUMENT);
    CHECK(foldsym_lookup(&file, &query, NULL, &answer) == FOLDSYM_E_ARGUMENT);
    CHECK(foldsym_lookup(&file, &query, &frames, NULL) == FOLDSYM_E_ARGUMENT);
    query.kind = 9;
    CHECK(look_up(&query, &answer) == FOLDSYM_E_ARGUMENT);
    query = ask(address);
    memset(&unresolved, 0, sizeof unresolved);
    query.resolved = &unresolved;
    CHECK(look_up(&query, &answer) == FOLDSYM_E_ARGUMENT);
    query = ask(1);
    CHECK(look_up(&query, &answer) == FOLDSYM_OUTSIDE_CODE && answer.certainty == FOLDSYM_UNKNOWN);
    query = ask(address);
    query.kind = FOLDSYM_FOREIGN;
    CHECK(look_up(&query, &answer) == FOLDSYM_NO_FUNCTION);
    /* Frames of the lookup before are gone. */
    memset(&frame, 0, sizeof frame);
    frame.size = sizeof frame;
    CHECK(foldsym_frame_at(&file, &frames, 0, &frame) == FOLDSYM_END);
    query = ask(address);
    query.candidate = 1000000;
    CHECK(look_up(&query, &answer) == FOLDSYM_END);
    /* A load bias, and an address below it. */
    query = ask(address + 0x5000);
    query.load_bias = 0x5000;
    CHECK(look_up(&query, &answer) == FOLDSYM_OK && answer.function_start == address + 0x5000);
    query.load_bias = address + 0x5001;
    CHECK(look_up(&query, &answer) == FOLDSYM_OUTSIDE_CODE);
    /* A program that stands below where it was linked to. */
    query.address = address - 0x10;
    query.load_bias = 0 - (uint64_t)0x10;
    CHECK(look_up(&query, &answer) == FOLDSYM_OK && answer.function_start == address - 0x10);
    query = ask(address + 1);
    query.kind = FOLDSYM_RETURN;
    CHECK(look_up(&query, &answer) == FOLDSYM_OK);
}

static void check_names(uint64_t address)
{
    char whole[1024], cut[8];
    size_t len, i;
    foldsym_frame frame;
    foldsym_answer answer;
    foldsym_query query = ask(address);
    CHECK(look_up(&query, &answer) == FOLDSYM_OK);
    memset(&frame, 0, sizeof frame);
    frame.size = sizeof frame;
    CHECK(foldsym_frame_at(&file, &frames, answer.frame_count - 1, &frame) == FOLDSYM_OK);
    CHECK(frame.flags == FOLDSYM_OUTERMOST && frame.name != FOLDSYM_NONE);
    CHECK(foldsym_frame_at(&file, &frames, answer.frame_count, &frame) == FOLDSYM_END);
    len = foldsym_write_name(&file, frame.name, whole, sizeof whole);
    CHECK(len > 0 && len < sizeof whole && strlen(whole) == len);
    for (i = 0; i <= sizeof cut; i++) {
        memset(cut, 'x', sizeof cut);
        CHECK(foldsym_write_name(&file, frame.name, cut, i) == len);
        if (i > 0) {
            CHECK(strlen(cut) == (len < i - 1 ? len : i - 1) && !strncmp(cut, whole, strlen(cut)));
        }
        CHECK(i == sizeof cut || cut[i] == 'x');
    }
    CHECK(foldsym_write_name(&file, frame.name, NULL, 0) == len);
    CHECK(foldsym_write_name(&file, 0x7fffffff, cut, sizeof cut) == FOLDSYM_BAD && cut[0] == 0);
    CHECK(foldsym_write_name(&file, FOLDSYM_NONE, cut, sizeof cut) == 0 && cut[0] == 0);
    CHECK(foldsym_write_path(&file, 0x7fffffff, cut, sizeof cut) == FOLDSYM_BAD);
    CHECK(foldsym_write_name(&zeroed, frame.name, cut, sizeof cut) == FOLDSYM_BAD);
    CHECK(strcmp(foldsym_status_text(FOLDSYM_OK), foldsym_status_text(FOLDSYM_END)) != 0);
    CHECK(foldsym_status_text(12345) != NULL);
}

static void check_stacks(uint64_t address)
{
    foldsym_stack_entry entries[3];
    struct {
        foldsym_resolved resolved;
        uint64_t newer[2];
    } slots[3];
    foldsym_stack stack;
    memset(entries, 0, sizeof entries);
    memset(&stack, 0, sizeof stack);
    memset(slots, 0xff, sizeof slots);
    entries[0].address = address;
    entries[1].kind = FOLDSYM_FOREIGN;
    entries[2].address = 1;
    entries[2].kind = FOLDSYM_RETURN;
    stack.size = sizeof stack;
    CHECK(foldsym_resolve_stack(&file, &stack) == FOLDSYM_E_SIZE);
    stack.resolved_size = sizeof slots[0];
    CHECK(foldsym_resolve_stack(&file, &stack) == FOLDSYM_OK);
    stack.count = 3;
    CHECK(foldsym_resolve_stack(&file, &stack) == FOLDSYM_E_ARGUMENT);
    stack.entries = entries;
    CHECK(foldsym_resolve_stack(&file, &stack) == FOLDSYM_E_ARGUMENT);
    stack.resolved = &slots[0].resolved;
    CHECK(foldsym_resolve_stack(&file, &stack) == FOLDSYM_OK);
    CHECK(slots[0].resolved.certainty != FOLDSYM_UNKNOWN && slots[0].newer[1] == 0);
    CHECK(slots[1].resolved.certainty == FOLDSYM_UNKNOWN && slots[2].resolved.certainty == FOLDSYM_UNKNOWN);
    CHECK(slots[2].resolved.group == FOLDSYM_NONE);
    stack.count = SIZE_MAX / 4;
    CHECK(foldsym_resolve_stack(&file, &stack) == FOLDSYM_E_ARGUMENT);
    stack.count = 3;
    entries[1].reserved = 7;
    CHECK(foldsym_resolve_stack(&file, &stack) == FOLDSYM_E_RESERVED);
    entries[1].reserved = 0;
    entries[1].kind = 77;
    CHECK(foldsym_resolve_stack(&file, &stack) == FOLDSYM_E_ARGUMENT);
    CHECK(foldsym_resolve_stack(&zeroed, &stack) == FOLDSYM_E_ARGUMENT);
}

/* What was said of one frame is not taken for another; where nothing is known, all are candidates. */
static void check_resolved(uint64_t address, uint64_t folded)
{
    foldsym_stack_entry entries[3];
    foldsym_resolved resolved[3];
    foldsym_stack stack;
    foldsym_answer answer;
    foldsym_query query = ask(folded);
    memset(entries, 0, sizeof entries);
    memset(&stack, 0, sizeof stack);
    entries[0].address = folded;
    entries[1].kind = FOLDSYM_FOREIGN;
    entries[2].address = address;
    stack.size = sizeof stack;
    stack.entries = entries;
    stack.resolved = resolved;
    stack.resolved_size = sizeof *resolved;
    stack.count = 3;
    CHECK(foldsym_resolve_stack(&file, &stack) == FOLDSYM_OK);
    CHECK(resolved[0].certainty == FOLDSYM_IS_AMBIGUOUS && resolved[0].candidate_count > 1);
    CHECK(resolved[1].certainty == FOLDSYM_UNKNOWN && resolved[2].certainty == FOLDSYM_IS_UNIQUE);
    query.resolved = &resolved[0];
    CHECK(look_up(&query, &answer) == FOLDSYM_OK && answer.candidate_count == resolved[0].candidate_count);
    query.candidate = resolved[0].candidate_count;
    CHECK(look_up(&query, &answer) == FOLDSYM_END);
    query.candidate = 0;
    query.resolved = &resolved[1];
    CHECK(look_up(&query, &answer) == FOLDSYM_OK && answer.certainty == FOLDSYM_IS_AMBIGUOUS);
    CHECK(answer.candidate_count == resolved[0].candidate_count);
    query.resolved = &resolved[2];
    CHECK(look_up(&query, &answer) == FOLDSYM_E_ARGUMENT);
}

/* The build id in hexadecimal is that of the program. */
static void check_build_id(const foldsym_info *info, const char *expected)
{
    char digits[3];
    size_t i;
    CHECK(strlen(expected) == 2 * info->build_id_len && info->build_id_len > 0);
    for (i = 0; i < info->build_id_len; i++) {
        sprintf(digits, "%02x", (unsigned)info->build_id[i]);
        CHECK(strncmp(digits, expected + 2 * i, 2) == 0);
    }
}

int main(int argc, char **argv)
{
    FILE *f = fopen(argc > 1 ? argv[1] : "", "rb");
    size_t len;
    uint64_t address, folded;
    foldsym_info info;
    CHECK(f);
    len = fread(bytes, 1, sizeof bytes, f);
    fclose(f);
    check_open(len);
    memset(&info, 0, sizeof info);
    info.size = sizeof info;
    CHECK(foldsym_file_info(&file, &info) == FOLDSYM_OK);
    CHECK(info.machine == 62 && info.address_size == 8 && info.max_group > 1);
    CHECK(info.flags == 0 && info.reserved == 0);
    CHECK((info.build_id == NULL) == (info.build_id_len == 0));
    check_build_id(&info, argc > 2 ? argv[2] : "");
    CHECK(foldsym_file_info(&zeroed, &info) == FOLDSYM_E_ARGUMENT);
    address = first_function(info.image_base, 1);
    folded = first_function(info.image_base, 2);
    CHECK(address != 0 && folded > address);
    check_versions(address);
    check_arguments(address);
    check_names(address);
    check_stacks(address);
    check_resolved(address, folded);
    /* A copy of an opened file is one. */
    copy = file;
    memset(&file, 0, sizeof file);
    file = copy;
    check_names(address);
    printf("tier 1 holds\n");
    return 0;
}
