// A library that calls the program back, and has folded functions of its own.
#include "letters.h"

namespace {
KIND(stamp)
KIND(seal)
}

NOINLINE long carry(long (*deliver)(const Mail *), const Mail *mail)
{
    long cost = deliver(mail);
    return cost + 1;
}

NOINLINE long carry_stamp(const Mail *mail)
{
    long cost = price_stamp(mail);
    return cost + 1;
}

NOINLINE long carry_seal(const Mail *mail)
{
    long cost = price_seal(mail);
    return cost + 2;
}
