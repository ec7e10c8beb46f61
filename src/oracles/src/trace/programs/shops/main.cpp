// Calls the three shops, and has the tills that no shop has.
#include "shops.h"

volatile long sink;
long rate = 3;
struct Cheque { long value; };

int main() {
    long sum = 0;
    Till<Cheque> cheques;
    Till<Coin> coins;
    for (long day = 0; day < 4; day++) {
        sum += shop_c(day) + shop_a(day) + shop_b(day) + sell(cheques, day) + sell(coins, day);
    }
    return sum + audit(cheques, cheques) == 0;
}
