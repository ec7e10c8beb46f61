// Opens two plugins, which call each other through it; what they throw is caught here. Prints where each was mapped.
#include "plugins.h"

#include <cstdio>
#include <dlfcn.h>
#include <exception>
#include <string>
#include <unistd.h>

volatile long sink;

NOINLINE static long round_up(long x) { sink++; return x * 2 + sink % 3; }
NOINLINE static long round_down(long x) { sink++; return x * 2 + sink % 3; }
NOINLINE static long square_of(long x) { sink += 2; return round_up(x) + 1; }
NOINLINE static long square_in(long x) { sink += 2; return round_up(x) + 1; }

static long (*plugins[2])(const Host &, long);
NOINLINE static long ask(const Host &, long x);
static const Host hosts[] = {{round_up, square_of, ask}, {round_down, square_in, ask}};

NOINLINE static long guarded(long x) {
    try { return plugins[0](hosts[0], x); } catch (const std::exception &) { return -1; }
}
NOINLINE static long watched(long x) {
    try { return plugins[1](hosts[1], x); } catch (const std::exception &) { return -1; }
}
static long ask(const Host &, long x) { sink += 3; return watched(x) + 1; }

int main() {
    char path[4096] = {0};
    if (readlink("/proc/self/exe", path, sizeof path - 1) < 0) return 2;
    const char *names[] = {".first.so", ".second.so"};
    for (int at = 0; at < 2; at++) {
        void *opened = dlopen((std::string(path) + names[at]).c_str(), RTLD_NOW);
        void *found = opened ? dlsym(opened, "run") : nullptr;
        Dl_info info;
        if (!found || !dladdr(found, &info)) return 3;
        plugins[at] = (long (*)(const Host &, long))found;
        std::printf("%zx\n", (size_t)info.dli_fbase);
    }
    long sum = 0;
    for (long x = 0; x < 5; x++) sum += guarded(x) + watched(x + 1);
    return sum == 0;
}
