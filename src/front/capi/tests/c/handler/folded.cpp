// Two functions with the same code, each called by one with the same code.
#include "mail.hpp"

namespace {
__attribute__((noinline)) long grams_of_parcel(const volatile long *mail)
{
    return mail[0] + mail[1];
}

__attribute__((noinline)) long grams_of_letter(const volatile long *mail)
{
    return mail[0] + mail[1];
}
} // namespace

long parcels::weigh(const volatile long *mail)
{
    return 3 * grams_of_parcel(mail) + 1;
}

long letters::weigh(const volatile long *mail)
{
    return 3 * grams_of_letter(mail) + 1;
}

// Alone with its code: its call tells which of the two runs.
long letters::post(const volatile long *mail)
{
    return 5 * letters::weigh(mail) + 2;
}
