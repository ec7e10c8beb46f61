// Virtual methods of unrelated classes that are equal in code: overridden, covariant, through a second base and a virtual one.
#include <memory>
#include <vector>

#define NOINLINE __attribute__((noinline))
volatile long sink;

struct Shape {
    long a = 1, b = 2;
    virtual ~Shape() { sink += a; }
    virtual long area(long x) const = 0;
    virtual long edge(long x) const { return x + 1; }
    virtual Shape *copy() const = 0;
};
struct Square : Shape {
    NOINLINE long area(long x) const override { sink++; return a * x + b; }
    NOINLINE long edge(long x) const override { sink += 2; return a * 4 + x; }
    NOINLINE Square *copy() const override { return new Square(*this); }
};
struct Circle : Shape {
    NOINLINE long area(long x) const override { sink++; return a * x + b; }
    NOINLINE long edge(long x) const override { sink += 2; return a * 4 + x; }
    NOINLINE Circle *copy() const override { return new Circle(*this); }
};
struct Account {
    long a = 3, b = 4;
    virtual ~Account() { sink += a; }
    virtual long balance(long x) const { sink++; return a * x + b; }
    virtual long fees(long x) const { sink += 2; return a * 4 + x; }
};
struct Saving : Account {
    NOINLINE long fees(long x) const override { sink += 3; return a * 5 + x; }
};
struct Named {
    long id = 9;
    virtual ~Named() {}
    virtual long name(long x) const { sink += 4; return id + x; }
    virtual long label(long x) const { sink += 4; return id + x; }
    virtual Named *twin() const { return new Named(*this); }
};
// What `twin` gives is not where its `Named` is: callers through `Named` get there by a thunk that moves the result too.
struct Tile : Square, Named {
    NOINLINE long name(long x) const override { sink += 5; return id * x; }
    NOINLINE long label(long x) const override { sink += 5; return id * x; }
    NOINLINE Tile *copy() const override { return new Tile(*this); }
    NOINLINE Tile *twin() const override { sink += 8; return new Tile(*this); }
};
struct Plate : Circle, Named {
    NOINLINE long name(long x) const override { sink += 5; return id * x; }
    NOINLINE Plate *twin() const override { sink += 8; return new Plate(*this); }
};
struct Root {
    long r = 5;
    virtual ~Root() {}
    virtual long root(long x) { sink += 6; return r + x; }
};
struct Left : virtual Root {
    NOINLINE long root(long x) override { sink += 7; return r * x; }
};
struct Right : virtual Root {
    NOINLINE long root(long x) override { sink += 7; return r * x; }
};

NOINLINE long shapes(const std::vector<std::unique_ptr<Shape>> &all, long x) {
    long sum = 0;
    for (const auto &shape : all) sum += shape->area(x) + shape->edge(x);
    return sum;
}
NOINLINE long accounts(const std::vector<std::unique_ptr<Account>> &all, long x) {
    long sum = 0;
    for (const auto &account : all) sum += account->balance(x) + account->fees(x);
    return sum;
}
NOINLINE long names(const Named &named, long x) { return named.name(x) + named.label(x); }
NOINLINE long twins(const Named &named, long x) { return std::unique_ptr<Named>(named.twin())->name(x); }
NOINLINE long roots(Root &root, long x) { return root.root(x); }

int main() {
    std::vector<std::unique_ptr<Shape>> all;
    all.emplace_back(new Square), all.emplace_back(new Circle), all.emplace_back(new Tile);
    for (int at = 0; at < 3; at++) all.emplace_back(all[at]->copy());
    std::vector<std::unique_ptr<Account>> money;
    money.emplace_back(new Account), money.emplace_back(new Saving);
    Left left;
    Right right;
    Tile tile;
    Plate plate;
    long sum = 0;
    for (long x = 0; x < 3; x++)
        sum += shapes(all, x) + accounts(money, x) + names(tile, x) + names(Named(), x) + roots(left, x) + roots(right, x);
    sum += twins(tile, 1) + twins(plate, 2) + twins(Named(), 3) + names(plate, 4);
    Square square;
    sum += square.area(3) + square.Square::edge(4);
    return sum == 0;
}
