// Tills of this file's types, and of the shared ones.
#include "shops.h"

namespace {
struct Tulip { long value; };
struct Localc { long value; };
}
struct Rose { long value; };

NOINLINE static long price(long x) { sink += 2; return x * rate + 1; }
long shop_c(long x) {
    Till<Note> notes;
    Till<Rose> own;
    Till<Coin> coins;
    Till<Tulip> hidden;
    Till<Localc> local;
    long sum = sell(hidden, price(x)) + sell(coins, x) + sell(own, price(2)) + sell(notes, x + 1);
    local.take(x);
    own.take(3);
    coins.take(price(4));
    return sum + audit(own, own) + audit(coins, coins) + local.change(2) + hidden.total() + notes.total() + audit(hidden, hidden);
}
