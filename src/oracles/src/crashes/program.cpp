// Crashes in one of many functions of the same code, called back by RocksDB: `program NUMBER [dump]`.
//
// The number chooses the kind of mail (of 8, whose functions lld folds), how deep the crash is, whether RocksDB puts or gets when it calls
// back, and whether the call of the kind's function is written as such (3 of 4) or goes through a table. With `dump` the handler writes what a
// writer of minidumps wants, then the functions that truly ran, and waits.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <rocksdb/c.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))

struct Mail {
    volatile long *price, *weight, *first;
};

#define KIND(K)                                                                                                        \
    NOINLINE long touch_##K(const Mail *mail) { return *mail->first + 1; }                                             \
    NOINLINE long weigh_##K(const Mail *mail)                                                                          \
    {                                                                                                                  \
        long weight = *mail->weight;                                                                                   \
        return weight + 2 * touch_##K(mail);                                                                           \
    }                                                                                                                  \
    NOINLINE long price_##K(const Mail *mail)                                                                          \
    {                                                                                                                  \
        long price = *mail->price;                                                                                     \
        return price + 3 * weigh_##K(mail);                                                                            \
    }
KIND(0) KIND(1) KIND(2) KIND(3) KIND(4) KIND(5) KIND(6) KIND(7)

static long (*const volatile table[])(const Mail *) = { price_0, price_1, price_2, price_3,
                                                        price_4, price_5, price_6, price_7 };
static int number, is_armed, writes;
static volatile long sink;

NOINLINE long dispatch(const Mail *mail)
{
    if (number % 4 == 3)
        return table[number / 4 % 8](mail) + 1;
    switch (number / 4 % 8) {
    case 0: return price_0(mail) + 1;
    case 1: return price_1(mail) + 2;
    case 2: return price_2(mail) + 3;
    case 3: return price_3(mail) + 4;
    case 4: return price_4(mail) + 5;
    case 5: return price_5(mail) + 6;
    case 6: return price_6(mail) + 7;
    default: return price_7(mail) + 8;
    }
}

static int depth() { return number / 32 % 3; }

static int compare_keys(void *, const char *a, size_t a_len, const char *b, size_t b_len)
{
    if (is_armed) {
        static long value = 1;
        Mail mail = { depth() == 0 ? nullptr : &value, depth() == 1 ? nullptr : &value, depth() == 2 ? nullptr : &value };
        sink = dispatch(&mail);
    }
    int order = memcmp(a, b, a_len < b_len ? a_len : b_len);
    return order != 0 ? order : a_len < b_len ? -1 : a_len > b_len;
}

static void put(const void *bytes, size_t len)
{
    if (write(1, bytes, len) != (ssize_t)len)
        _exit(3);
}

static void handler(int, siginfo_t *info, void *context)
{
    if (!writes)
        _exit(42);
    long thread = syscall(SYS_gettid);
    put(&thread, sizeof thread);
    put(info, 128);
    put(((ucontext_t *)context)->uc_mcontext.gregs, 23 * 8);
    static const char *const functions[] = { "touch", "weigh", "price" };
    char text[64];
    for (int i = 2 - depth(); i < 3; i++)
        put(text, (size_t)snprintf(text, sizeof text, "%s_%d\n", functions[i], number / 4 % 8));
    put("dispatch\ncompare_keys\n\n", 23);
    char byte;
    if (read(0, &byte, 1) < 0)
        _exit(3);
    _exit(42);
}

int main(int argc, char **argv)
{
    if (argc < 2)
        return 2;
    number = atoi(argv[1]);
    writes = argc > 2;
    char *error = nullptr;
    rocksdb_options_t *options = rocksdb_options_create();
    rocksdb_options_set_env(options, rocksdb_create_mem_env());
    rocksdb_options_set_create_if_missing(options, 1);
    rocksdb_options_set_comparator(options, rocksdb_comparator_create(
        nullptr, [](void *) {}, compare_keys, [](void *) { return "keys"; }));
    rocksdb_t *db = rocksdb_open(options, "/mail", &error);
    if (!db) {
        fprintf(stderr, "%s\n", error);
        return 2;
    }
    rocksdb_writeoptions_t *write_options = rocksdb_writeoptions_create();
    for (const char *key : { "a", "b", "c", "d" })
        rocksdb_put(db, write_options, key, 1, "x", 1, &error);
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = handler;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGSEGV, &action, nullptr);
    is_armed = 1;
    size_t len = 0;
    if (number / 96 % 2)
        rocksdb_get(db, rocksdb_readoptions_create(), "c", 1, &len, &error);
    else
        rocksdb_put(db, write_options, "bb", 2, "x", 1, &error);
    return 1;
}
