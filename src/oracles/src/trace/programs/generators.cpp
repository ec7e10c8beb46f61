// Coroutines of equal bodies: their starts, resumptions and ends are functions that are folded.
#include <coroutine>
#include <utility>

#define NOINLINE __attribute__((noinline))
volatile long sink;

struct Numbers {
    struct promise_type {
        long value = 0;
        Numbers get_return_object() { return Numbers{std::coroutine_handle<promise_type>::from_promise(*this)}; }
        std::suspend_always initial_suspend() noexcept { return {}; }
        std::suspend_always final_suspend() noexcept { return {}; }
        std::suspend_always yield_value(long next) { value = next; return {}; }
        void return_void() {}
        void unhandled_exception() {}
    };
    std::coroutine_handle<promise_type> handle;
    explicit Numbers(std::coroutine_handle<promise_type> handle) : handle(handle) {}
    Numbers(Numbers &&other) : handle(std::exchange(other.handle, nullptr)) {}
    ~Numbers() { if (handle) handle.destroy(); }
    NOINLINE long next() { handle.resume(); return handle.promise().value; }
};

NOINLINE long weigh_even(long x) { sink++; return x * 2 + sink % 2; }
NOINLINE long weigh_odd(long x) { sink++; return x * 2 + sink % 2; }
NOINLINE Numbers evens(long from) { for (long x = from; x < 9; x += 2) co_yield weigh_even(x); }
NOINLINE Numbers odds(long from) { for (long x = from; x < 9; x += 2) co_yield weigh_odd(x); }
NOINLINE Numbers plain(long from) { for (long x = from; x < 9; x += 2) co_yield weigh_odd(x); }

int main() {
    Numbers all[] = {evens(0), odds(1), plain(1)};
    long sum = 0;
    for (int round = 0; round < 3; round++)
        for (Numbers &numbers : all) sum += numbers.next();
    return sum == 0;
}
