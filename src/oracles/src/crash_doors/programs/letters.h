// Two kinds of mail whose functions have the same code, so that lld keeps one copy of each pair. A null `weight` or `count` crashes.
#pragma once
#define NOINLINE __attribute__((noinline))

struct Mail {
    volatile long *weight;
    volatile int count;
};

#define KIND(K)                                                                                                        \
    NOINLINE long weigh_##K(const Mail *mail)                                                                          \
    {                                                                                                                  \
        *mail->weight += 3;                                                                                            \
        return *mail->weight;                                                                                          \
    }                                                                                                                  \
    NOINLINE long price_##K(const Mail *mail)                                                                          \
    {                                                                                                                  \
        long weight = weigh_##K(mail);                                                                                 \
        return 2 * weight + mail->count;                                                                               \
    }
