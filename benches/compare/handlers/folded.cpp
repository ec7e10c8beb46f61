// Two functions of the same code, of which the linker keeps one. Names are whole words, mangled or not.
#include "mail.h"

__attribute__((noinline)) static long weigh_parcel(const volatile long *mail)
{
    return mail[0] + 3 * mail[1];
}

__attribute__((noinline)) static long weigh_letter(const volatile long *mail)
{
    return mail[0] + 3 * mail[1];
}

__attribute__((always_inline)) static inline long stamp_letter(const volatile long *mail)
{
    return 2 * weigh_letter(mail) + 1;
}

long post_parcel(const volatile long *mail)
{
    return 5 * weigh_parcel(mail) + 1;
}

long post_letter(const volatile long *mail)
{
    return 7 * stamp_letter(mail) + 1;
}
