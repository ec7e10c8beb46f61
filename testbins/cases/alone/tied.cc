// Class templates of one code. At -g1 their entries have plain names (`add`), or none if nothing is inlined into them: the order of
// symbols alone shows which is which.
struct Car { int wheels; };
struct Bus { int seats; };
struct Van { int load; };
struct Tram { int cars; };

#define NOINLINE __attribute__((noinline))
volatile int sink;

inline int step(int by) { sink += by; return sink * 3; }

template <class T> struct Queue {
  T *items[4];
  int count;
  NOINLINE void add(T *item) { items[step(count) & 3] = item; count++; }
  NOINLINE T *take() { return items[--count & 3]; }
};
template <class T> NOINLINE int fill(Queue<T> *queue, T *item) {
  queue->add(item);
  return queue->take() == item;
}

Queue<Car> cars;
Queue<Bus> buses;
Queue<Van> vans;
Queue<Tram> trams;
Car car;
Bus bus;
Van van;
Tram tram;

NOINLINE int morning() { vans.add(&van); return fill(&trams, &tram) + (cars.take() == &car); }
NOINLINE int evening() { cars.add(&car); return fill(&buses, &bus) + (vans.take() == &van) + fill(&cars, &car); }

extern "C" int run(int seed) { sink = seed; return morning() * 2 + evening(); }
