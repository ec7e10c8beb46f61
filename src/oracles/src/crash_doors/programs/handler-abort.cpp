//# build: clang++ -O2 -fPIE -pie -Wl,--icf=all
//# stack: give_up take_signal __restore_rt weigh_letter price_letter main
//# folded: weigh_letter price_letter
// A handler that catches the crash of a folded function, and aborts.
#include "letters.h"
#include <signal.h>
#include <stdlib.h>

KIND(parcel)
KIND(letter)

NOINLINE static void give_up()
{
    abort();
}

static void take_signal(int)
{
    give_up();
}

int main(int argc, char **)
{
    signal(SIGSEGV, take_signal);
    Mail mail = { nullptr, argc };
    long cost = argc > 5 ? price_parcel(&mail) : price_letter(&mail);
    return (int)cost + 1;
}
