// Class templates of six pointer types: their methods are equal in code. Called from templates that are folded themselves, and directly.
#include <cstdio>
#include <vector>

#define NOINLINE __attribute__((noinline))
volatile long sink;

struct Car { long wheels; };
struct Bus { long seats; };
struct Van { long load; };
struct Tram { long cars; };
struct Boat { long sails; };
struct Bike { long gears; };

template <class T> struct Queue {
    std::vector<T *> items;
    NOINLINE void add(T *item) { if (items.size() < 1000) items.push_back(item); }
    NOINLINE T *take() { T *last = items.empty() ? nullptr : items.back(); if (last) items.pop_back(); return last; }
    NOINLINE long count() const { sink++; return (long)items.size() + sink % 3; }
};
template <class T> struct Ring {
    T *slots[8] = {};
    unsigned at = 0;
    NOINLINE void put(T *item) { slots[at++ % 8] = item; sink += at; }
    NOINLINE T *get(unsigned back) const { sink += back; return slots[(at - back) % 8]; }
    NOINLINE long sum() const { long all = 0; for (T *item : slots) all += item ? 1 : 0; return all + sink % 5; }
};
template <class T> NOINLINE long fill(Queue<T> &queue, T *first, long count) {
    for (long i = 0; i < count; i++) queue.add(first + i);
    return queue.count();
}
template <class T> NOINLINE long turn(Ring<T> &ring, Queue<T> &queue) {
    while (T *item = queue.take()) ring.put(item);
    return ring.sum() + (ring.get(1) ? 1 : 0);
}
template <class T> NOINLINE long visit(Queue<T> &queue, long (*each)(T *)) {
    long sum = 0;
    for (T *item : queue.items) sum += each(item);
    return sum;
}
template <class T> NOINLINE long weigh(T *item) { sink += 2; return item ? sink % 7 : 0; }

Car some_cars[4];
Bus some_buses[4];
Van some_vans[4];
Tram some_trams[4];
Boat some_boats[4];
Bike some_bikes[4];
Queue<Car> cars; Queue<Bus> buses; Queue<Van> vans; Queue<Tram> trams; Queue<Boat> boats; Queue<Bike> bikes;
Ring<Car> car_ring; Ring<Bus> bus_ring; Ring<Van> van_ring; Ring<Tram> tram_ring; Ring<Boat> boat_ring; Ring<Bike> bike_ring;

NOINLINE long morning(long seed) {
    long sum = fill(vans, some_vans, 3) + fill(trams, some_trams, 2) + visit(vans, weigh<Van>);
    bikes.add(some_bikes);
    boats.add(some_boats + 1);
    sum += bikes.count() + boats.count() + visit(trams, weigh<Tram>);
    return sum + seed;
}
NOINLINE long noon(long seed) {
    long sum = turn(van_ring, vans) + turn(tram_ring, trams);
    sum += fill(cars, some_cars, 4) + fill(bikes, some_bikes, 4) + visit(cars, weigh<Car>);
    car_ring.put(some_cars);
    boat_ring.put(some_boats);
    bike_ring.put(some_bikes + seed % 2);
    return sum + car_ring.sum() + boat_ring.sum() + visit(bikes, weigh<Bike>) + visit(boats, weigh<Boat>);
}
NOINLINE long evening(long seed) {
    long sum = fill(buses, some_buses, 2) + turn(bus_ring, buses) + turn(boat_ring, boats);
    sum += turn(bike_ring, bikes) + turn(car_ring, cars) + visit(buses, weigh<Bus>);
    return sum + bus_ring.sum() + buses.count() + cars.count() + (bus_ring.get(1) != nullptr) + (bike_ring.get(2) != nullptr) + seed;
}
int main(int count, char **) {
    long sum = 0;
    for (long day = 0; day < 3; day++) sum += morning(day) + noon(day + count) + evening(day);
    std::printf("%ld\n", sum);
    return 0;
}
