// Threads that allocate, load libraries, throw and catch signals, until a crash at a moment that nobody chose: a timer's signal for one
// of the threads, whatever function it is in. SIGALRM has a handler that reads address 0, others are crashes themselves.
//
// load [MICROSECONDS SIGNAL THREAD]...
#include "foldsym_crash.h"

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <string>
#include <sys/syscall.h>
#include <unistd.h>
#include <vector>

namespace {
const volatile long *volatile nothing;
pthread_barrier_t start;
int threads[6];
std::atomic<int> busy;
int sink;

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

void begin(size_t number)
{
    foldsym_crash_thread();
    threads[number] = static_cast<int>(syscall(SYS_gettid));
    // All threads know each other, and begin at once: one that began early would take time of those that are being started.
    pthread_barrier_wait(&start);
}

// After the first turn of a thread's loop.
void went_round(bool &is_first)
{
    busy += is_first;
    is_first = false;
}

void *allocate(void *)
{
    begin(1);
    bool is_first = true;
    std::vector<std::string> kept;
    for (unsigned turn = 0;; turn++) {
        kept.emplace_back(turn * 7919 % 4096, 'x');
        if (kept.size() > 64)
            kept.clear();
        went_round(is_first);
    }
}

void *load(void *)
{
    begin(2);
    for (bool is_first = true;;) {
        void *library = dlopen("libm.so.6", RTLD_NOW);
        void *other = dlopen("libresolv.so.2", RTLD_NOW);
        foldsym_crash_refresh();
        if (other)
            dlclose(other);
        if (library)
            dlclose(library);
        foldsym_crash_refresh();
        went_round(is_first);
    }
}

void *signals(void *)
{
    begin(3);
    for (bool is_first = true;;) {
        raise(SIGUSR1);
        went_round(is_first);
    }
}

void *unwind(void *)
{
    begin(4);
    for (bool is_first = true;;) {
        try {
            throw std::string("caught");
        } catch (const std::string &) {
        }
        went_round(is_first);
    }
}

void *print(void *)
{
    begin(5);
    for (bool is_first = true;;) {
        foldsym_print_stack(sink);
        went_round(is_first);
    }
}

void crash_later(long micros, int signal, int thread)
{
    sigevent event = {};
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = signal;
    event._sigev_un._tid = thread;
    timer_t timer;
    itimerspec when = {};
    when.it_value.tv_nsec = micros * 1000;
    if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0 || timer_settime(timer, 0, &when, nullptr) != 0)
        _exit(3);
}
} // namespace

int main(int count, char **words)
{
    sink = open("/dev/null", O_WRONLY);
    if (foldsym_install_crash_handler(nullptr) != FOLDSYM_CRASH_OK)
        return 2;
    signal(SIGUSR1, on_user_signal);
    signal(SIGALRM, on_alarm);
    // Those that are to crash, and their neighbours: more would only take processor time of these.
    void *(*const functions[6])(void *) = { nullptr, allocate, load, signals, unwind, print };
    bool runs[7] = { true };
    for (int at = 3; at < count; at += 3)
        runs[std::atoi(words[at])] = runs[std::atoi(words[at]) + 1] = true;
    const int others = static_cast<int>(std::count(runs + 1, runs + 6, true));
    pthread_barrier_init(&start, nullptr, static_cast<unsigned>(others) + 1);
    for (int number = 1; number < 6; number++) {
        pthread_t thread;
        if (runs[number] && pthread_create(&thread, nullptr, functions[number], nullptr) != 0)
            return 3;
    }
    begin(0);
    while (busy < others)
        usleep(100);
    for (int at = 1; at + 2 < count; at += 3)
        crash_later(std::atol(words[at]), std::atoi(words[at + 1]), threads[std::atoi(words[at + 2])]);
    for (;;) {
        void *memory = std::calloc(3, 1000);
        std::free(memory);
    }
}
