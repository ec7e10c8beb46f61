// Instances of the standard library's templates for types of one layout, virtual and covariant methods, exceptions, lambdas.
#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#define NOINLINE __attribute__((noinline))
volatile long sink;

struct Celsius { long v; bool operator<(const Celsius &o) const { return v < o.v; } };
struct Metres { long v; bool operator<(const Metres &o) const { return v < o.v; } };
enum class Color : long {};

template <class T> NOINLINE T clampTo(T v, T lo, T hi) { return v < lo ? lo : hi < v ? hi : v; }
template <class T> NOINLINE long fill(std::vector<T> &all, long n) {
    for (long i = 0; i < n; i++) all.push_back(T{(i * 7919) % 61});
    std::sort(all.begin(), all.end());
    return (long)all.size();
}

struct Shape {
    virtual ~Shape() {}
    virtual long area() const = 0;
    virtual Shape *clone() const = 0;
};
struct Square : Shape {
    long side = 3;
    NOINLINE long area() const override { sink++; return side * side; }
    NOINLINE Square *clone() const override { return new Square(*this); }
};
struct Tile : Shape {
    long side = 3;
    NOINLINE long area() const override { sink++; return side * side; }
    NOINLINE Tile *clone() const override { return new Tile(*this); }
};

NOINLINE long may_throw(long k) { if (k % 3 == 0) throw std::runtime_error("k"); return k; }
NOINLINE long may_fail(long k) { if (k % 3 == 0) throw std::runtime_error("k"); return k; }
NOINLINE long guarded(long k) { try { return may_throw(k) + may_fail(k); } catch (const std::exception &e) { return -1; } }

int main() {
    std::vector<Celsius> c;
    std::vector<Metres> m;
    std::map<std::string, Celsius> cs;
    std::map<std::string, Metres> ms;
    long s = fill(c, 20) + fill(m, 20);
    for (auto &x : c) s += clampTo(x, Celsius{3}, Celsius{9}).v;
    for (auto &x : m) s += clampTo(x, Metres{3}, Metres{9}).v;
    for (long i = 0; i < 6; i++) {
        cs[std::to_string(i)] = Celsius{i};
        ms[std::to_string(i)] = Metres{i};
        s += guarded(i) + (long)clampTo(Color{i}, Color{1}, Color{4}) + clampTo(i, 1l, 4l);
    }
    std::vector<std::unique_ptr<Shape>> shapes;
    shapes.emplace_back(new Square);
    shapes.emplace_back(new Tile);
    for (int i = 0; i < 2; i++) shapes.emplace_back(shapes[i]->clone());
    for (auto &shape : shapes) s += shape->area();
    std::vector<std::function<long(long)>> calls{[&](long k) { return k + s; }, [&](long k) { return k + s; }};
    for (auto &call : calls) s += call(2);
    return s == 0;
}
