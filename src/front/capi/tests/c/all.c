/* Uses all of tier 1: what this program holds after --gc-sections is what tier 1 costs. */
#include "foldsym.h"

static foldsym_file file;
static foldsym_frames frames;
static foldsym_stack stack;
static foldsym_query query;
static foldsym_answer answer;
static foldsym_frame frame;
static foldsym_info info;
static foldsym_damage damage;
static char text[256];

int main(int argc, char **argv)
{
    const char *last = argv[argc - 1];
    int status = foldsym_open(&file, argv[0], (size_t)(last - argv[0]), &damage);
    status |= foldsym_file_info(&file, &info);
    status |= foldsym_resolve_stack(&file, &stack);
    status |= foldsym_lookup(&file, &query, &frames, &answer);
    status |= foldsym_frame_at(&file, &frames, 0, &frame);
    status |= foldsym_write_name(&file, frame.name, text, sizeof text) == FOLDSYM_BAD;
    status |= foldsym_write_path(&file, frame.file, text, sizeof text) == FOLDSYM_BAD;
    return foldsym_status_text(status)[0] == 'd' ? 0 : 1;
}
