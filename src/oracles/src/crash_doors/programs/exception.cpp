//# build: clang++ -O2 -fPIE -pie -Wl,--icf=all
//# stack: refuse_letter check_letter main
//# folded: refuse_letter check_letter
// Nobody catches what a folded function throws.
#include "letters.h"
#include <stdexcept>

#define REFUSING(K)                                                                                                    \
    NOINLINE long refuse_##K(long weight)                                                                              \
    {                                                                                                                  \
        if (weight > 0)                                                                                                \
            throw weight;                                                                                              \
        return weight;                                                                                                 \
    }                                                                                                                  \
    NOINLINE long check_##K(long weight)                                                                               \
    {                                                                                                                  \
        long refused = refuse_##K(weight);                                                                             \
        return refused + 1;                                                                                            \
    }
REFUSING(parcel)
REFUSING(letter)

int main(int argc, char **)
{
    long refused = argc > 5 ? check_parcel(argc) : check_letter(argc);
    return (int)refused + 1;
}
