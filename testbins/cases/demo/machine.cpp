// The demo's stack machine: operations are objects, dividing by zero crashes.
#include "demo.h"

namespace demo {
namespace {

struct Plus : Operation {
    long apply(long a, long b) const override { return a + b; }
};
struct Minus : Operation {
    long apply(long a, long b) const override { return a - b; }
};
struct Times : Operation {
    long apply(long a, long b) const override { return a * b; }
};

inline long checked(long divisor)
{
    if (divisor == 0)
        crash();
    return divisor;
}

struct Divide : Operation {
    long apply(long a, long b) const override { return a / checked(b); }
};

constexpr Plus plus;
constexpr Minus minus;
constexpr Times times;
constexpr Divide divide;

} // namespace

const Operation &operation(Kind kind)
{
    switch (kind) {
    case Kind::plus: return plus;
    case Kind::minus: return minus;
    case Kind::times: return times;
    case Kind::divide: return divide;
    default: crash();
    }
}

long Program::run() const
{
    Stack<long, 32> stack;
    auto binary = [&stack](const Operation &op) {
        long b = stack.pop(), a = stack.pop();
        stack.push(op.apply(a, b));
    };
    for (size_t i = 0; i < count; i++) {
        if (ops[i].kind == Kind::number)
            stack.push(ops[i].value);
        else
            binary(operation(ops[i].kind));
    }
    return stack.pop();
}

} // namespace demo
