// A program with two shared libraries whose crash handler prints the stack, folded functions resolved. Build everything with
// line sequences of its functions, fold, convert, run:
//
//   flags="-std=c++17 -O2 -gdwarf-5 -mllvm -emit-func-debug-line-table-offsets -ffunction-sections -fPIC -fvisibility=hidden
//          -fuse-ld=lld -Wl,--icf=all -Wl,-z,now -Wl,--build-id"
//   clang++ $flags -shared weigh.cpp -o libweigh.so
//   clang++ $flags -shared price.cpp libweigh.so -o libprice.so
//   clang++ $flags $(pkg-config --cflags foldsym-embedded) crash.cpp libprice.so libweigh.so -Wl,-rpath,'$ORIGIN' \
//       $(pkg-config --libs foldsym-embedded) -o crash
//   for module in crash libweigh.so libprice.so; do foldsym convert --demangled $module -o $module.fsym; done
//   ./crash
//
// `--demangled` stores readable names: no demangler runs in a handler. The handler walks the stack with the compiler's
// unwinder, which finds frames without frame pointers. It was called once before, so that it is loaded and its calls are bound;
// since glibc 2.35 it takes no lock to find the tables. crash.c walks frame pointers, which is stricter.
#include "foldsym.hpp"
#include "foldsym_process.h"
#include "mail.hpp"

#include <csignal>
#include <cstdio>
#include <cstring>
#include <ucontext.h>
#include <unwind.h>

namespace {

constexpr std::size_t most_frames = 128, most_files = 8;

foldsym::modules<256> table;
foldsym::lookup found;
foldsym_file files[most_files];
foldsym_stack_entry entries[most_frames];
foldsym_resolved resolved[most_frames];
char text[1024];
alignas(16) char alternate[1 << 16];

// ---- In the handler: no allocation, no lock, no stdio. ----

void put(const char *what)
{
    for (std::size_t left = std::strlen(what); left > 0;) {
        const ssize_t done = write(STDOUT_FILENO, what, left);
        if (done <= 0)
            return;
        what += done;
        left -= std::size_t(done);
    }
}

void put(std::uint64_t number, unsigned base)
{
    char digits[24], *at = digits + sizeof digits;
    *--at = 0;
    do
        *--at = "0123456789abcdef"[number % base];
    while (number /= base);
    put(at);
}

const char *last_part(const char *path)
{
    const char *slash = std::strrchr(path, '/');
    return slash ? slash + 1 : path;
}

struct walk {
    std::uint64_t crashed; // frames further in are the handler's own
    std::size_t count;
};

_Unwind_Reason_Code step(_Unwind_Context *context, void *argument)
{
    auto &walked = *static_cast<walk *>(argument);
    int exact = 0; // the address is one that a signal came at, not one that a call returns to
    const std::uint64_t address = _Unwind_GetIPInfo(context, &exact);
    if (walked.count == 0 && address != walked.crashed)
        return _URC_NO_REASON;
    if (address == 0 || walked.count == most_frames)
        return _URC_END_OF_STACK;
    entries[walked.count++] = { address, exact ? FOLDSYM_EXACT : FOLDSYM_RETURN, 0 };
    return _URC_NO_REASON;
}

std::uint64_t pc_of(const void *context)
{
    const auto &machine = static_cast<const ucontext_t *>(context)->uc_mcontext;
#if defined(__x86_64__)
    return std::uint64_t(machine.gregs[REG_RIP]);
#elif defined(__aarch64__)
    return machine.pc;
#else
#error "say where this machine keeps its program counter"
#endif
}

void print(std::size_t number)
{
    static const char *const certainties[] = { "", "", " [exact]", " [likely]", " [narrowed]", " [ambiguous]" };
    const foldsym_stack_entry &entry = entries[number];
    const foldsym_module *module = table.find(entry.address, entry.kind);
    const std::int32_t status = module ? found(*module, entry, &resolved[number]) : FOLDSYM_NO_MODULE;
    const char *name = module && module->name ? last_part(module->name) : "?";
    if (status != FOLDSYM_OK) {
        put("#");
        put(number, 10);
        put(" ");
        put(name);
        put("+0x");
        put(entry.address - (module ? module->load_bias : 0), 16);
        put(" (");
        put(foldsym::text(status));
        put(")\n");
        return;
    }
    for (const foldsym_frame &frame : found) {
        put("#");
        put(number, 10);
        put(" ");
        put(name);
        put(" ");
        found.name(frame, text, sizeof text);
        put(text);
        if (frame.line != 0) {
            put(" ");
            found.path(frame, text, sizeof text);
            put(last_part(text));
            put(":");
            put(frame.line, 10);
        }
        if (frame.flags & FOLDSYM_OUTERMOST && found.answer().certainty <= FOLDSYM_IS_AMBIGUOUS)
            put(certainties[found.answer().certainty]);
        put("\n");
    }
}

void handler(int, siginfo_t *, void *context)
{
    walk walked = { pc_of(context), 0 };
    _Unwind_Backtrace(step, &walked);
    if (walked.count == 0) // the unwinder does not get there, as after a call of a null pointer
        entries[walked.count++] = { walked.crashed, FOLDSYM_EXACT, 0 };
    if (const std::int32_t status = table.resolve(entries, resolved, walked.count); status != FOLDSYM_OK)
        put(foldsym::text(status));
    for (std::size_t number = 0; number < walked.count; number++)
        print(number);
    _exit(42);
}

// ---- At the start. ----

void find_symbols()
{
    foldsym_process process = {};
    process.table = table.table();
    process.files = files;
    process.file_capacity = most_files;
    if (foldsym_process_add(&process) != FOLDSYM_OK)
        std::fprintf(stderr, "not all modules had room\n");
    for (const foldsym_module &module : table)
        if (module.status < 0)
            std::fprintf(stderr, "%s: %s\n", last_part(module.name), foldsym::text(module.status));
}

bool install()
{
    walk nothing = { 0, 0 };
    _Unwind_Backtrace(step, &nothing);
    stack_t stack = {};
    stack.ss_sp = alternate;
    stack.ss_size = sizeof alternate;
    struct sigaction action = {};
    action.sa_sigaction = handler;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESETHAND;
    sigemptyset(&action.sa_mask);
    return sigaltstack(&stack, nullptr) == 0 && sigaction(SIGSEGV, &action, nullptr) == 0;
}

} // namespace

int main()
{
    find_symbols();
    if (!install())
        return 1;
    static const volatile long sides[2] = { 3, 4 };
    const long parcel = price::cents({ false, sides });
    const weigh::mail lost = { true, parcel > 0 ? nullptr : sides };
    const long letter = price::cents(lost); // from main
    return int(parcel + letter);
}
