// What the program and its plugins call of each other.
#define NOINLINE __attribute__((noinline))
#define EXPORTED __attribute__((visibility("default")))

struct Host {
    long (*round)(long);
    long (*square)(long);
    long (*ask)(const Host &, long);
};
extern "C" long run(const Host &, long);
