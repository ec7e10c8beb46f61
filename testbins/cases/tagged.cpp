//# about: folded virtual methods of a class that also has a method with an ABI tag, operators and templates
//# let: FLAGS = --target=x86_64-linux-gnu -std=c++17 -O1 -g -fno-pic -fno-rtti -fno-exceptions -fno-asynchronous-unwind-tables $MAP -ffunction-sections
//# let: LD = $LLD --build-id -e start --icf=all --compress-debug-sections=zlib
//# variant: clang.set: mkdir -p $OUT; $CLANGXX $FLAGS -c tagged.cpp -o $T/a.o; $LD $T/a.o -o $OUT/program
//# variant: simple.set: mkdir -p $OUT; $CLANGXX $FLAGS -gsimple-template-names -c tagged.cpp -o $T/a.o; $LD $T/a.o -o $OUT/program

struct Box {
    virtual int weigh(int value);
    virtual int price(int value);
    [[gnu::abi_tag("cxx11")]] virtual int name() const;
    [[gnu::abi_tag("cxx11")]] int label() const;
    bool operator==(int other) const;
    operator int() const;
    template <class Number> [[gnu::noinline]] Number get() const { return Number(part); }
    int part = 1;
};

struct part_note {
    virtual int one(int value);
    virtual int two(int value);
    int part();
    int words = 3;
};

#define BODY(field) { return value * 3 + field + 17; }
[[gnu::noinline]] int Box::weigh(int value) BODY(part)
[[gnu::noinline]] int Box::price(int value) BODY(part)
[[gnu::noinline]] int Box::name() const { return part + 4; }
[[gnu::noinline]] int Box::label() const { return part + 5; }
bool Box::operator==(int other) const { return part == other; }
Box::operator int() const { return part; }
[[gnu::noinline]] int part_note::one(int value) BODY(words)
[[gnu::noinline]] int part_note::two(int value) BODY(words)
int part_note::part() { return words; }

[[gnu::noinline]] int call_weigh(Box *box) { return box->weigh(5) + 1; }
[[gnu::noinline]] int call_price(Box *box) { return box->price(6) + 2; }
[[gnu::noinline]] int call_one(part_note *note) { return note->one(5) + 3; }
[[gnu::noinline]] int call_two(part_note *note) { return note->two(6) + 4; }

static Box box;
static part_note note;
extern "C" int start()
{
    int sum = call_weigh(&box) + call_price(&box) + call_one(&note) + call_two(&note) + note.part();
    return sum + box.name() + box.label() + box.get<int>() + box + (box == 3);
}
