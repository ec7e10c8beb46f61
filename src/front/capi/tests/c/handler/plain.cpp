// A function that calls back, with a frame that is not in the folded library.
#include "mail.hpp"

__attribute__((always_inline)) static inline long twice(long (*function)(const volatile long *), const volatile long *mail)
{
    return 2 * function(mail) + 1;
}

long carry(long (*function)(const volatile long *), const volatile long *mail)
{
    volatile long room[32];
    room[0] = twice(function, mail);
    return room[0] + 1;
}
