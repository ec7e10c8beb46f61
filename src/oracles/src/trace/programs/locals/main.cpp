// Calls the three files in turn.
#include "locals.h"

volatile long sink;

int main() {
    long sum = 0;
    for (long x = 1; x < 4; x++) sum += entry_a(x) + entry_b(x) + entry_c(x);
    return sum == 0;
}
