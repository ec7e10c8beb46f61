// Overloads of one code. clang moves the unlikely call behind the other, so their symbols stand in another order than their entries.
struct Car { int wheels; };
struct Bus { int seats; };

#define NOINLINE __attribute__((noinline))
volatile int sink;

inline int step(int by) { sink += by; return sink * 3; }

NOINLINE int ride(Car *);
NOINLINE int ride(Bus *);

Car car;
Bus bus;

NOINLINE int choose(int by) {
  if (__builtin_expect(by > 5, 0)) return ride(&car) * 2;
  return ride(&bus) * 3;
}

NOINLINE int ride(Car *car) { return step(car->wheels) + 1; }

NOINLINE int ride(Bus *bus) { return step(bus->seats) + 1; }

extern "C" int run(int seed) { sink = seed; return choose(seed) + step(2); }
