// What the two libraries of the example give to the program: libweigh weighs mail, libprice says what it costs.
#pragma once

namespace weigh {
struct mail {
    bool is_letter;
    const volatile long *sides;
};
[[gnu::visibility("default")]] long grams(const mail &mail);
} // namespace weigh

namespace price {
[[gnu::visibility("default")]] long cents(const weigh::mail &mail);
} // namespace price
