// Crashes in a child, under the handler of one peer: program WAY. The parent prints the nanoseconds from the crash to the end of the child,
// the calls of the allocator meanwhile (`count.c`), and the status of the child.
#include "install.h"
#include "mail.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <malloc.h>
#include <pthread.h>
#include <stdexcept>
#include <string>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

extern "C" __attribute__((weak)) void count_allocations(volatile unsigned long *count);

namespace {
struct Shared {
    timespec crashed;
    volatile unsigned long allocations;
};
Shared *shared;

void mark()
{
    clock_gettime(CLOCK_MONOTONIC, &shared->crashed);
    if (count_allocations)
        count_allocations(&shared->allocations);
}
} // namespace

__attribute__((noinline)) static int deeper(int depth)
{
    volatile char room[256];
    room[0] = static_cast<char>(depth);
    return deeper(depth + 1) + room[0];
}

static void *in_thread(void *)
{
    mark();
    return reinterpret_cast<void *>(post_letter(nullptr) + 1);
}

static void *wait_for_ever(void *)
{
    for (;;)
        pause();
}

// The allocator finds its memory overwritten, and aborts with its lock held.
__attribute__((noinline)) static void spoil_heap()
{
    char *volatile room = static_cast<char *>(std::malloc(70000));
    std::memset(room + malloc_usable_size(room), 0xff, 8);
    mark();
    room = static_cast<char *>(std::malloc(1 << 16));
}

__attribute__((noinline)) static void lose_parcel()
{
    mark();
    throw std::runtime_error("no such parcel");
}

__attribute__((noinline)) static void give_up()
{
    mark();
    std::abort();
}

static int crash(const std::string &way)
{
    pthread_t thread;
    if (way == "thread") {
        pthread_create(&thread, nullptr, in_thread, nullptr);
        pthread_join(thread, nullptr);
    }
    if (way == "overflow") {
        mark();
        return deeper(0);
    }
    if (way == "abort")
        give_up();
    if (way == "terminate")
        lose_parcel();
    if (way == "heap") {
        pthread_create(&thread, nullptr, wait_for_ever, nullptr);
        spoil_heap();
    }
    mark();
    return static_cast<int>(post_letter(nullptr)) + 1;
}

int main(int count, char **words)
{
    const std::string way = count > 1 ? words[1] : "letter";
    const long mail[2] = { count, 2 };
    if (way == "none")
        return static_cast<int>(post_parcel(mail));
    shared = static_cast<Shared *>(mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    const pid_t child = fork();
    if (child == 0) {
        alarm(20);
        install(words[0]);
        return crash(way);
    }
    int status = 0;
    waitpid(child, &status, 0);
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    std::printf("%ld %lu %d\n", (now.tv_sec - shared->crashed.tv_sec) * 1000000000 + now.tv_nsec - shared->crashed.tv_nsec,
        shared->allocations, WIFSIGNALED(status) ? WTERMSIG(status) : -1);
    return 0;
}
