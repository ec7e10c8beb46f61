// The demo's lexer.
#include "demo.h"

namespace demo {

long Lexer::number()
{
    long value = 0;
    while (digit(*at))
        value = value * 10 + (*at++ - '0');
    return value;
}

Token Lexer::next()
{
    while (*at == ' ')
        at++;
    if (digit(*at))
        return { Kind::number, number() };
    switch (*at ? *at++ : 0) {
    case '+': return { Kind::plus, 0 };
    case '-': return { Kind::minus, 0 };
    case '*': return { Kind::times, 0 };
    case '/': return { Kind::divide, 0 };
    case '(': return { Kind::open, 0 };
    case ')': return { Kind::close, 0 };
    default: return { Kind::end, 0 };
    }
}

} // namespace demo
