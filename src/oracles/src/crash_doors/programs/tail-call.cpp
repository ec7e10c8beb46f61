//# build: clang++ -O2 -fPIE -pie -Wl,--icf=all
//# stack: weigh_letter post_letter main
//# folded: weigh_letter
// A folded function whose caller left no frame: it ends with the call.
#include "letters.h"

KIND(parcel)
KIND(letter)

NOINLINE long hand_over(const Mail *mail)
{
    return weigh_letter(mail);
}

NOINLINE long post_letter(const Mail *mail)
{
    long weight = hand_over(mail);
    return weight + 7;
}

NOINLINE long post_parcel(const Mail *mail)
{
    long weight = weigh_parcel(mail);
    return weight + 9;
}

int main(int argc, char **)
{
    Mail mail = { nullptr, argc };
    long weight = argc > 5 ? post_parcel(&mail) : post_letter(&mail);
    return (int)weight + 1;
}
