// libprice.so: the prices of letters and parcels are one more pair of functions that the linker folds.
#include "mail.hpp"

namespace {

[[gnu::noinline]] long cents_of_parcel(const weigh::mail &mail)
{
    return 2 * weigh::grams(mail) + 80;
}

[[gnu::noinline]] long cents_of_letter(const weigh::mail &mail)
{
    return 2 * weigh::grams(mail) + 80; // asks libweigh
}

} // namespace

long price::cents(const weigh::mail &mail)
{
    if (mail.is_letter)
        return cents_of_letter(mail) + 6; // priced here
    return cents_of_parcel(mail) + 4;
}
