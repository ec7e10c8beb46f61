/* Signals that do not end the process, and a crash after them. */
#define _GNU_SOURCE
#include "foldsym_crash.h"
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static volatile int sent;
static char *page;
static pthread_t printer;

static void note(int signal)
{
    (void)signal;
}

static void *crash(void *way)
{
    if (strcmp(way, "mapped") == 0)
        abort();
    *(volatile int *)8 = 1;
    return NULL;
}

/* Lets a fault succeed when its instruction runs again, once the report of it has begun. The pipe has room for one write, so the report is
   not at its end then. */
static void *map_page(void *pipe)
{
    static char report[1 << 16];
    size_t length = 0;
    while (!strstr(report, "*** end of the crash report")) {
        ssize_t got = read(*(int *)pipe, report + length, sizeof report - 1 - length);
        if (got <= 0)
            break;
        length += (size_t)got;
        mprotect(page, 4096, PROT_READ | PROT_WRITE);
    }
    return NULL;
}

/* Fewer than the reports that a process may have. */
static void *send_faults(void *unused)
{
    for (int i = 0; i < 14; i++) {
        pthread_kill(printer, i % 2 ? SIGSEGV : SIGBUS);
        usleep(1 + (unsigned)getpid() % 97);
    }
    sent = 1;
    return unused;
}

int main(int argc, char **argv)
{
    const char *way = argc > 1 ? argv[1] : "";
    int more[] = { SIGWINCH };
    int ends[2];
    pthread_t thread;
    foldsym_crash_options options;
    memset(&options, 0, sizeof options);
    options.size = sizeof options;
    options.seconds = 2;
    options.signals = more;
    options.signal_count = 1;
    alarm(60);
    if (strcmp(way, "mapped") == 0) {
        if (pipe2(ends, O_DIRECT) != 0 || fcntl(ends[1], F_SETPIPE_SZ, 4096) < 0)
            return 1;
        options.fd = ends[1];
    }
    if (strcmp(way, "sent") == 0) {
        struct sigaction action;
        memset(&action, 0, sizeof action);
        action.sa_handler = note;
        sigaction(SIGSEGV, &action, NULL);
        sigaction(SIGBUS, &action, NULL);
        options.fd = open("/dev/null", O_WRONLY);
    }
    if (foldsym_install_crash_handler(&options) < 0)
        return 1;
    if (strcmp(way, "ignored") == 0) {
        raise(SIGWINCH);
        raise(SIGWINCH);
    } else if (strcmp(way, "mapped") == 0) {
        page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        pthread_create(&thread, NULL, map_page, &ends[0]);
        page[0] = 1;
        pthread_join(thread, NULL);
        fprintf(stderr, "the page is there\n");
        dup2(2, ends[1]);
    } else if (strcmp(way, "sent") == 0) {
        printer = pthread_self();
        pthread_create(&thread, NULL, send_faults, NULL);
        while (!sent)
            foldsym_print_stack(options.fd);
        pthread_join(thread, NULL);
        fprintf(stderr, "still here\n");
        return 0;
    }
    pthread_create(&thread, NULL, crash, (void *)way);
    pthread_join(thread, NULL);
    return 1;
}
