static volatile unsigned long sum;

static inline __attribute__((always_inline)) void add(unsigned long count) {
    for (unsigned long i = 0; i < count; i++) sum += i * i;
}

__attribute__((noinline)) void work(unsigned long count) {
    add(count);
    sum++;
}

int main() {
    for (int i = 0; i < 300; i++) work(1000000);
    return 0;
}
