//# build: clang++ -O2 -fno-pie -no-pie
//# stack: share split_evenly Office::divide main
// A division by zero in a function that is inlined twice.
#include "letters.h"

static inline __attribute__((always_inline)) int share(int weight, int count)
{
    return weight / count;
}

static inline __attribute__((always_inline)) int split_evenly(const Mail *mail)
{
    return share(mail->count * 7, mail->count) + 1;
}

struct Office {
    int counter;
    NOINLINE int divide(const Mail *mail)
    {
        counter += split_evenly(mail);
        return counter;
    }
};

int main(int argc, char **)
{
    Mail mail = { nullptr, argc - 1 };
    Office office = { argc };
    int shares = office.divide(&mail);
    return shares + 1;
}
