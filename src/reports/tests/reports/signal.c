/* Gets SIGSEGV four calls deep and ends in the handler. The argument says where the handler's stack is: 0, on that of the calls; 1, in the heap;
   2, on the stack of another thread, above that of the calls. */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

enum { SIZE = 65536 };
static volatile int *target;

static void handler(int signal) {
    (void)signal;
    abort();
}

__attribute__((noinline)) int inner(int x) {
    *target = x;
    return x + 1;
}

__attribute__((noinline)) int middle(int x) {
    return inner(x + 1) + 1;
}

__attribute__((noinline)) int outer(int x) {
    return middle(x + 1) + 1;
}

__attribute__((noinline)) void *run(void *stack) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = handler;
    if (stack) {
        stack_t alternate;
        memset(&alternate, 0, sizeof alternate);
        alternate.ss_sp = stack;
        alternate.ss_size = SIZE;
        sigaltstack(&alternate, 0);
        action.sa_flags = SA_ONSTACK;
    }
    sigaction(SIGSEGV, &action, 0);
    return (void *)(long)outer(1);
}

int main(int count, char **words) {
    char above[SIZE];
    pthread_t thread;
    switch (count > 1 ? words[1][0] : '0') {
    case '1':
        return run(malloc(SIZE)) != 0;
    case '2':
        pthread_create(&thread, 0, run, above);
        pthread_join(thread, 0);
        return 1;
    default:
        return run(0) != 0;
    }
}
