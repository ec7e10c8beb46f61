// Answers stacks over several modules through foldsym.hpp: wrapper NAME:FILE:START:END:BIAS... < STACKS, numbers in
// hexadecimal, FILE empty for a module without symbols. A line of input is a stack: its addresses, innermost first, `=` before
// one that is exact, `?` for a frame of another module; last, behind a `v`, what the object of the innermost function holds.
// Prints what tier 2 answers, a line a frame, after checking that tier 1 answers the same.
#include "foldsym.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#define CHECK(condition)                                                  \
    do {                                                                  \
        if (!(condition)) {                                               \
            std::printf("line %d: %s\n", __LINE__, #condition);           \
            std::exit(1);                                                 \
        }                                                                 \
    } while (0)

static foldsym::modules<8> table;
static foldsym::lookup found;

static void print(const foldsym::view<foldsym_text_frame> frames)
{
    for (const foldsym_text_frame &frame : frames)
        std::printf(" | %s@%s@%s:%u:%u@%s:%u%s", frame.name, frame.linkage_name, frame.file, unsigned(frame.line),
                    unsigned(frame.column), frame.start_file, unsigned(frame.start_line),
                    frame.flags & FOLDSYM_OUTERMOST ? "" : " inlined");
}

static void print(const foldsym::view<const char *> aliases)
{
    for (const char *alias : aliases)
        std::printf(" = %s", alias);
}

static void print(const foldsym_symbol &symbol)
{
    static const char *const certainties[] = { "-", "unique", "exact", "likely", "narrowed", "ambiguous" };
    static const char *const evidences[] = { "-",         "direct_call",  "relocation", "merged_caller",
                                             "tail_call", "virtual_slot", "vtable",     "call_type" };
    static const char *const reasons[] = { "-",       "stripped",           "plain_names", "unclaimed_lines", "merged_without_trace",
                                           "no_code", "undescribed_object", "cap_reached" };
    std::printf("%llx %s %d", static_cast<unsigned long long>(symbol.address), symbol.module ? symbol.module : "?",
                symbol.status == FOLDSYM_OUTSIDE_CODE ? FOLDSYM_NO_FUNCTION : int(symbol.status));
    std::printf(" %s %s %s %u %llx %u", certainties[symbol.certainty], evidences[symbol.evidence], reasons[symbol.reason],
                unsigned(symbol.candidate_count), static_cast<unsigned long long>(symbol.function_start),
                unsigned(symbol.flags & FOLDSYM_PARTIAL));
    print(foldsym::frames(symbol));
    print(foldsym::aliases(symbol));
    for (const foldsym_candidate &candidate : foldsym::candidates(symbol)) {
        std::printf(" ~ %s", candidate.how);
        print(foldsym::frames(candidate));
        print(foldsym::aliases(candidate));
    }
    std::printf("\n");
}

// Whether tier 1 has these frames for what it just looked up.
static bool same_frames(const foldsym::view<foldsym_text_frame> frames)
{
    std::size_t at = 0;
    for (const foldsym_frame &frame : found) {
        char name[4096], path[4096];
        CHECK(found.name(frame, name, sizeof name) < sizeof name && found.path(frame, path, sizeof path) < sizeof path);
        if (at == frames.size() || std::strcmp(name, frames[at].linkage_name) || frame.line != frames[at].line ||
            std::strcmp(path, frames[at].file) || frame.flags != frames[at].flags)
            return false;
        at++;
    }
    return at == frames.size();
}

static bool is_candidate(const foldsym_module &module, const foldsym_stack_entry &entry, const foldsym_resolved &resolved,
                         std::uint32_t index, const foldsym::view<foldsym_text_frame> frames)
{
    return found(module, entry, &resolved, index) == FOLDSYM_OK && same_frames(frames);
}

// That tier 1 finds what tier 2 found, frame by frame, of every candidate.
static void compare(const foldsym_symbol &symbol, const foldsym_stack_entry &entry, const foldsym_resolved &resolved)
{
    const foldsym_module *module = table.find(entry.address, entry.kind);
    if (!module || !module->file) {
        CHECK(symbol.status == (module ? module->status : FOLDSYM_NO_MODULE) && symbol.frame_count == 0);
        CHECK(symbol.module_index == (module ? std::uint32_t(module - table.begin()) : FOLDSYM_NONE));
        CHECK(!module || found(*module, entry, &resolved) == module->status);
        return;
    }
    // What a word of a table of virtual functions makes likely, or the type of a call, or the name of a call into another module, is known to tier 2 alone: it puts
    // that first.
    const bool by_more = symbol.certainty == FOLDSYM_IS_LIKELY &&
                         (symbol.evidence == FOLDSYM_BY_VIRTUAL_SLOT || symbol.evidence == FOLDSYM_BY_CALL_TYPE ||
                          symbol.evidence == FOLDSYM_BY_RELOCATION);
    for (std::uint32_t index = 0; index == 0 || index < symbol.listed_count; index++) {
        const auto frames = symbol.listed_count ? foldsym::frames(symbol.candidates[index]) : foldsym::frames(symbol);
        // The order of the others is kept, but for those that such words lead to, and for the likeliest.
        std::uint32_t other = symbol.listed_count > 1 ? 0 : index;
        while (other < symbol.listed_count && !is_candidate(*module, entry, resolved, other, frames))
            other++;
        CHECK(symbol.listed_count == 0 || other < symbol.listed_count);
        const std::int32_t status = found(*module, entry, &resolved, other);
        CHECK(status == symbol.status);
        if (status != FOLDSYM_OK)
            return;
        const foldsym_answer &answer = found.answer();
        if (by_more)
            CHECK(answer.certainty == FOLDSYM_IS_AMBIGUOUS && answer.evidence == FOLDSYM_BY_NOTHING);
        else
            CHECK(answer.certainty == symbol.certainty && answer.evidence == symbol.evidence && answer.reason == symbol.reason);
        CHECK(answer.candidate_count == symbol.candidate_count);
        CHECK(answer.flags & FOLDSYM_PADDING || answer.function_start == symbol.function_start);
        CHECK(same_frames(frames));
    }
    // The first candidate is the answer.
    if (symbol.listed_count)
        CHECK(symbol.candidates[0].frame_count == symbol.frame_count &&
              symbol.candidates[0].frames[0].linkage_name == symbol.frames[0].linkage_name);
}

static void ask(const std::string &line)
{
    std::istringstream words(line);
    std::string word;
    std::uint64_t vptr = 0;
    std::vector<foldsym_stack_entry> entries;
    while (words >> word) {
        if (word[0] == 'v') {
            vptr = std::strtoull(word.c_str() + 1, nullptr, 16);
            continue;
        }
        foldsym_stack_entry entry = {};
        entry.kind = word[0] == '?' ? FOLDSYM_FOREIGN : word[0] == '=' ? FOLDSYM_EXACT : FOLDSYM_RETURN;
        entry.address = std::strtoull(word.c_str() + (entry.kind != FOLDSYM_RETURN), nullptr, 16);
        entries.push_back(entry);
    }
    const foldsym::view<foldsym_stack_entry> stack(entries.data(), entries.size());
    std::vector<foldsym_resolved> resolved(entries.size());
    CHECK(table.resolve(entries.data(), resolved.data(), entries.size(), vptr) == FOLDSYM_OK);
    foldsym::symbols symbols, plain;
    CHECK(symbols.symbolize(table.table(), stack, FOLDSYM_DEMANGLE | FOLDSYM_CANDIDATES | FOLDSYM_ALIASES, vptr) == FOLDSYM_OK);
    CHECK(plain.symbolize(table.table(), stack, 0, vptr) == FOLDSYM_OK);
    CHECK(symbols.size() == entries.size() && plain.size() == entries.size());
    for (std::size_t i = 0; i < symbols.size(); i++) {
        print(symbols[i]);
        compare(symbols[i], entries[i], resolved[i]);
        CHECK(plain[i].listed_count == 0 && plain[i].alias_count == 0 && plain[i].frame_count == symbols[i].frame_count);
        for (const foldsym_text_frame &frame : foldsym::frames(plain[i]))
            CHECK(frame.name == frame.linkage_name);
    }
    // Owners are moved, not copied.
    foldsym::symbols moved(std::move(plain));
    CHECK(moved.size() == entries.size() && plain.size() == 0 && plain.begin() == plain.end());
    plain = std::move(moved);
    CHECK(plain.size() == entries.size());
    std::printf("--\n");
}

static void errors()
{
    foldsym::map map;
    foldsym::symbols symbols;
    const foldsym::view<foldsym_stack_entry> nothing(nullptr, 0);
    CHECK(map.open("no such file") == FOLDSYM_E_IO && !map && !map.file());
    CHECK(symbols.symbolize(nullptr, foldsym::view<std::uint64_t>(nullptr, 0)) == FOLDSYM_E_ARGUMENT);
    CHECK(symbols.symbolize(table.table(), nothing, 8) == FOLDSYM_E_RESERVED && symbols.size() == 0);
    CHECK(symbols.symbolize(table.table(), nothing) == FOLDSYM_OK && symbols.size() == 0);
    foldsym_stack_entry entry = {};
    entry.kind = 3;
    CHECK(symbols.symbolize(table.table(), { &entry, 1 }) == FOLDSYM_E_ARGUMENT);
    entry = {};
    entry.reserved = 1;
    CHECK(symbols.symbolize(table.table(), { &entry, 1 }) == FOLDSYM_E_RESERVED);
    foldsym_modules broken = *table.table();
    broken.module_size = 8;
    CHECK(symbols.symbolize(&broken, nothing) == FOLDSYM_E_SIZE);
    broken = *table.table();
    broken.count = broken.capacity + 1;
    CHECK(symbols.symbolize(&broken, nothing) == FOLDSYM_E_ARGUMENT);
    broken = *table.table();
    broken.reserved[2] = 1;
    CHECK(symbols.symbolize(&broken, nothing) == FOLDSYM_E_RESERVED);
    char name[64];
    CHECK(foldsym_demangle("_ZN3geo6crashyEiPKc", name, sizeof name) == std::strlen("geo::crashy(int, char const*)"));
    CHECK(!std::strcmp(name, "geo::crashy(int, char const*)"));
    CHECK(foldsym_demangle("_ZN3geo6crashyEiPKc", name, 4) == 29 && !std::strcmp(name, "geo"));
    CHECK(foldsym_demangle("memcpy", name, sizeof name) == FOLDSYM_BAD && !name[0]);
    CHECK(foldsym_demangle(nullptr, nullptr, 0) == FOLDSYM_BAD);
#ifdef FOLDSYM_HAS_EXCEPTIONS
    bool thrown = false;
    try {
        foldsym::map::open_or_throw("no such file");
    } catch (const foldsym::error &error) {
        thrown = error.status() == FOLDSYM_E_IO && !std::strcmp(error.what(), foldsym::text(FOLDSYM_E_IO));
    }
    CHECK(thrown);
    CHECK(foldsym::symbols::of_or_throw(table.table(), nothing).size() == 0);
#endif
}

int main(int argc, char **argv)
{
    static foldsym::map maps[8];
    std::vector<std::string> names(static_cast<std::size_t>(argc)), paths(names.size());
    for (int i = 1; i < argc; i++) {
        std::istringstream words(argv[i]);
        std::string path, start, end, bias;
        std::getline(std::getline(std::getline(words, names[i], ':'), path, ':'), start, ':');
        std::getline(std::getline(words, end, ':'), bias, ':');
        foldsym_module module = {};
        foldsym_info info = {};
        info.size = sizeof info;
        if (!path.empty()) {
            // A file that is there twice is opened once.
            int first = 1;
            for (paths[i] = path; paths[first] != path;)
                first++;
            CHECK(first != i || maps[i].open(path.c_str()) == FOLDSYM_OK);
            module.file = maps[first].file();
            CHECK(foldsym_file_info(module.file, &info) == FOLDSYM_OK);
        }
        module.start = std::strtoull(start.c_str(), nullptr, 16);
        module.end = std::strtoull(end.c_str(), nullptr, 16);
        module.load_bias = std::strtoull(bias.c_str(), nullptr, 16);
        module.name = names[i].c_str();
        const std::int32_t status = table.add(module, info.build_id, info.build_id_len);
        CHECK(status == (path.empty() ? FOLDSYM_NO_SYMBOLS : FOLDSYM_OK));
    }
    CHECK(table.end() - table.begin() == argc - 1);
    errors();
    std::string line;
    while (std::getline(std::cin, line))
        ask(line);
    return 0;
}
