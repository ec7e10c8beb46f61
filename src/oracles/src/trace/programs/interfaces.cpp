// Interfaces with six implementations that are equal in code, factories, visitors, and services that call each other.
#include <memory>
#include <vector>

#define NOINLINE __attribute__((noinline))
volatile long sink;

struct Request { long id; };
struct Service {
    virtual ~Service() { sink++; }
    virtual long open(const Request &request) = 0;
    virtual long send(const Request &request, long bytes) = 0;
    virtual long close() { sink += 3; return sink % 11; }
    long bytes = 0;
};
template <class Own> struct Counted : Service {
    static long made;
    NOINLINE static std::unique_ptr<Service> make(long bytes) { auto own = std::make_unique<Own>(); own->bytes = bytes; return own; }
    NOINLINE long check(long limit) const { return bytes > limit ? limit : bytes; }
};
template <class Own> long Counted<Own>::made = 0;
#define SERVICE(Name)                                                                                        \
    struct Name : Counted<Name> {                                                                            \
        NOINLINE long open(const Request &request) override { sink += request.id; return prepare(request) + check(9); } \
        NOINLINE long send(const Request &request, long count) override { bytes += count; return retry(request, count) + 1; } \
        NOINLINE long prepare(const Request &request) { sink += 2; return request.id * 3 + sink % 5; }       \
        NOINLINE long retry(const Request &request, long count) { sink += count; return prepare(request) - count; } \
    };
SERVICE(Mail)
SERVICE(Chat)
SERVICE(Video)
SERVICE(Print)
SERVICE(Fax)
SERVICE(Wire)

NOINLINE long serve(Service &service, const Request &request) {
    return service.open(request) + service.send(request, 4) + service.close();
}
template <class T> NOINLINE long direct(const Request &request) {
    T service;
    long sum = service.T::open(request) + service.T::send(request, 2);
    return sum + service.check(3);
}
int main() {
    std::vector<std::unique_ptr<Service>> all;
    all.push_back(Print::make(1));
    all.push_back(Fax::make(2));
    all.push_back(Mail::make(3));
    all.push_back(Wire::make(4));
    all.push_back(Chat::make(5));
    all.push_back(Video::make(6));
    long sum = 0;
    for (long round = 0; round < 3; round++) {
        for (auto &service : all) sum += serve(*service, Request{round});
        sum += direct<Video>(Request{round}) + direct<Wire>(Request{1}) + direct<Mail>(Request{2});
        sum += direct<Chat>(Request{3}) + direct<Fax>(Request{round}) + direct<Print>(Request{4});
    }
    return sum == 0;
}
