//# build: clang++ -O2 -fPIE -pie
//# stack: note_signal take_signal __restore_rt ... collect main
// A signal handler crashes while a system call of the C library is under way.
#include "letters.h"
#include <signal.h>

static volatile long *volatile noted;

NOINLINE static void note_signal(long number)
{
    *noted += number;
}

static void take_signal(int number)
{
    note_signal(number);
    noted = nullptr;
}

NOINLINE static int collect(int number)
{
    int failed = raise(number);
    return failed + 1;
}

int main()
{
    signal(SIGUSR1, take_signal);
    int failed = collect(SIGUSR1);
    return failed + 2;
}
