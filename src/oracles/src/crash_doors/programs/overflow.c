//# build: gcc -O1 -fno-omit-frame-pointer -fPIE -pie
//# perf: fp
//# stack: descend start main
// Recursion without an end. Each frame has 256 kilobytes, so that all of the stack is few frames.
static volatile char last;

static int __attribute__((noinline)) descend(int depth)
{
    volatile char here[1 << 18];
    here[depth & 0xff] = (char)depth;
    int below = descend(depth + 1);
    last = here[below & 0xff];
    return below + last;
}

static int __attribute__((noinline)) start(int depth)
{
    int below = descend(depth);
    return below + 1;
}

int main(int argc, char **argv)
{
    (void)argv;
    return start(argc) + 2;
}
