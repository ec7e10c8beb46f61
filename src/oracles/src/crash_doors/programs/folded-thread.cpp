//# build: clang++ -O2 -fPIE -pie -pthread -Wl,--icf=all
//# stack: weigh_letter price_letter work
//# folded: weigh_letter price_letter
// The second of three threads crashes in a folded function.
#include "letters.h"
#include <pthread.h>

KIND(parcel)
KIND(letter)

static pthread_barrier_t all_there;

static void *work(void *given)
{
    pthread_barrier_wait(&all_there);
    long cost = price_letter((const Mail *)given);
    return (void *)(cost + 1);
}

static void *wait_forever(void *given)
{
    pthread_barrier_wait(&all_there);
    pthread_barrier_wait(&all_there);
    return given;
}

int main(int argc, char **)
{
    Mail mail = { nullptr, argc };
    if (argc > 5)
        return (int)price_parcel(&mail);
    pthread_t threads[2];
    pthread_barrier_init(&all_there, nullptr, 3);
    pthread_create(&threads[0], nullptr, wait_forever, &mail);
    pthread_create(&threads[1], nullptr, work, &mail);
    pthread_barrier_wait(&all_there);
    pthread_join(threads[1], nullptr);
    return 1;
}
