// Threads that allocate, load libraries, write and catch signals, until a crash at a moment that nobody chose: a timer whose handler
// reads address 0 in whatever thread and function it interrupts, or a signal from outside.
#include "foldsym_crash.h"

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <pthread.h>
#include <string>
#include <sys/time.h>
#include <unistd.h>
#include <vector>

namespace {
const volatile long *volatile nothing;
std::atomic<int> running;

void on_alarm(int)
{
    // In the midst of the allocator, the loader, or another handler.
    (void)*nothing;
}

void on_user_signal(int)
{
    char text[64];
    (void)!write(-1, text, static_cast<size_t>(std::snprintf(text, sizeof text, "%d", getpid())));
}

void *allocate(void *)
{
    foldsym_crash_thread();
    running++;
    std::vector<std::string> kept;
    for (unsigned turn = 0;; turn++) {
        kept.emplace_back(turn * 7919 % 4096, 'x');
        if (kept.size() > 64)
            kept.clear();
    }
}

void *load(void *)
{
    foldsym_crash_thread();
    running++;
    for (;;) {
        void *library = dlopen("libm.so.6", RTLD_NOW);
        void *other = dlopen("libresolv.so.2", RTLD_NOW);
        foldsym_crash_refresh();
        if (other)
            dlclose(other);
        if (library)
            dlclose(library);
        foldsym_crash_refresh();
    }
}

void *signals(void *)
{
    foldsym_crash_thread();
    running++;
    for (;;)
        raise(SIGUSR1);
}

void *unwind(void *)
{
    foldsym_crash_thread();
    running++;
    for (;;) {
        try {
            throw std::string("caught");
        } catch (const std::string &) {
        }
    }
}
} // namespace

int main(int count, char **words)
{
    if (count < 2 || foldsym_install_crash_handler(nullptr) != FOLDSYM_CRASH_OK)
        return 2;
    signal(SIGUSR1, on_user_signal);
    signal(SIGALRM, on_alarm);
    for (void *(*function)(void *) : { allocate, allocate, load, signals, unwind }) {
        pthread_t thread;
        pthread_create(&thread, nullptr, function, nullptr);
    }
    while (running < 5) {
    }
    const long micros = std::atol(words[1]);
    if (micros > 0) {
        itimerval timer = {};
        timer.it_value.tv_usec = micros;
        setitimer(ITIMER_REAL, &timer, nullptr);
    }
    std::puts("ready");
    std::fflush(stdout);
    for (;;) {
        void *memory = std::calloc(3, 1000);
        std::free(memory);
    }
}
