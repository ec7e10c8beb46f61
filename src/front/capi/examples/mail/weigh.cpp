// libweigh.so: letters and parcels are weighed by the same code, which the linker folds.
#include "mail.hpp"

namespace {

[[gnu::noinline]] long grams_of_parcel(const volatile long *sides)
{
    return sides[0] * sides[1] + 9;
}

[[gnu::noinline]] long grams_of_letter(const volatile long *sides)
{
    return sides[0] * sides[1] + 9; // crashes here
}

} // namespace

long weigh::grams(const mail &mail)
{
    if (mail.is_letter)
        return 3 * grams_of_letter(mail.sides) + 2; // weighed here
    return 5 * grams_of_parcel(mail.sides) + 1;
}
