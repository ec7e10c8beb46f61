// The demo's parser: recursive descent, two levels.
#include "demo.h"

namespace demo {

void Program::emit(Kind kind, long value)
{
    if (count == sizeof ops / sizeof *ops)
        crash();
    ops[count++] = { kind, value };
}

void Parser::factor()
{
    if (token.kind == Kind::number) {
        program.emit(Kind::number, token.value);
        advance();
    } else if (token.kind == Kind::open) {
        advance();
        expression();
        advance();
    } else {
        crash();
    }
}

void Parser::term()
{
    factor();
    while (token.kind == Kind::times || token.kind == Kind::divide) {
        Kind kind = token.kind;
        advance();
        factor();
        program.emit(kind);
    }
}

void Parser::expression()
{
    term();
    while (token.kind == Kind::plus || token.kind == Kind::minus) {
        Kind kind = token.kind;
        advance();
        term();
        program.emit(kind);
    }
}

} // namespace demo
