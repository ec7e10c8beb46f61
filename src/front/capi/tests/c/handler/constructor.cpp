// A library whose constructor crashes, two calls deep.
namespace {
volatile int *volatile nothing;

__attribute__((noinline)) int read_nothing()
{
    volatile char room[40];
    room[0] = 1;
    return *nothing + room[0];
}

__attribute__((constructor)) void start_up()
{
    volatile int result = read_nothing();
    (void)result;
}
} // namespace
