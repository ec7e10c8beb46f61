//# build: clang++ -O2 -fno-pie -no-pie -Wl,--icf=all
//# library: carrier.cpp
//# stack: weigh_seal price_seal carry_seal main
//# folded: weigh_seal price_seal
// A program at a fixed address whose library crashes in a folded function of its own.
#include "letters.h"

long carry_stamp(const Mail *mail);
long carry_seal(const Mail *mail);

int main(int argc, char **)
{
    Mail mail = { nullptr, argc };
    long cost = argc > 5 ? carry_stamp(&mail) : carry_seal(&mail);
    return (int)cost + 1;
}
