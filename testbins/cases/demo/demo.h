// The demo: a calculator that compiles expressions to a small stack machine. Shared declarations.
#pragma once
#include <stddef.h>

namespace demo {

/// A stack of up to N items; its push and pop are inlined everywhere.
template <typename T, size_t N> class Stack {
public:
    void push(T item)
    {
        if (count == N)
            overflow();
        items[count++] = item;
    }
    T pop()
    {
        if (count == 0)
            underflow();
        return items[--count];
    }
    bool empty() const { return count == 0; }

private:
    [[noreturn]] static void overflow();
    [[noreturn]] static void underflow();
    T items[N] {};
    size_t count = 0;
};

enum class Kind : unsigned char { number, plus, minus, times, divide, open, close, end };
struct Token {
    Kind kind;
    long value;
};

class Lexer {
public:
    explicit Lexer(const char *text) : at(text) {}
    Token next();

private:
    static bool digit(char c) { return c >= '0' && c <= '9'; }
    long number();
    const char *at;
};

struct Op {
    Kind kind;
    long value;
};

class Program {
public:
    void emit(Kind kind, long value = 0);
    long run() const;

private:
    friend class Parser;
    Op ops[64] {};
    size_t count = 0;
};

class Parser {
public:
    Parser(const char *text, Program &program) : lexer(text), program(program), token(lexer.next()) {}
    void expression();

private:
    void term();
    void factor();
    void advance() { token = lexer.next(); }
    Lexer lexer;
    Program &program;
    Token token;
};

/// What an operation does to two values.
struct Operation {
    virtual long apply(long a, long b) const = 0;
};
const Operation &operation(Kind kind);

void print(const char *text, size_t length);
/// Prints the address of its caller's caller and all return addresses outside of it, then leaves.
[[noreturn]] void crash();
[[noreturn]] void leave(int code);

template <typename T, size_t N> void Stack<T, N>::overflow() { crash(); }
template <typename T, size_t N> void Stack<T, N>::underflow() { crash(); }

} // namespace demo
