// In place of fold/runtime.cpp: these programs do not run here, and print nothing.
#include "fold/runtime.h"

const Step *volatile now;
const void *volatile now_vptr;
volatile int sink;

extern "C" NOINLINE int probe(const Step *s)
{
    now = s;
    return sink;
}

extern "C" NOINLINE void leave()
{
    for (;;)
        sink = sink + 1;
}

int main()
{
    return probe(nullptr);
}
