//# build: clang++ -O2 -fPIE -pie -Wl,--icf=all
//# library: carrier.cpp
//# stack: weigh_letter price_letter deliver_letter carry main
//# folded: weigh_letter price_letter
// A folded function that the program calls when its library calls it back.
#include "letters.h"

KIND(parcel)
KIND(letter)

long carry(long (*deliver)(const Mail *), const Mail *mail);

NOINLINE long deliver_parcel(const Mail *mail)
{
    return price_parcel(mail) + 5;
}

NOINLINE long deliver_letter(const Mail *mail)
{
    return price_letter(mail) + 7;
}

int main(int argc, char **)
{
    Mail mail = { nullptr, argc };
    long cost = carry(argc > 5 ? deliver_parcel : deliver_letter, &mail);
    return (int)cost;
}
