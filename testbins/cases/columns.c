//# about: two functions with one code whose line tables differ in columns alone, linked with --emit-relocs
//# let: CC = $CLANG --target=x86_64-linux-gnu -O2 -g -ffunction-sections $MAP -c columns.c -o $T/a.o
//# variant: relocs.set: $CC && mkdir $OUT && $LLD -e start --icf=all --emit-relocs $T/a.o -o $OUT/program

volatile long sink;
long other(long);
#define TWICE(name) __attribute__((noinline)) long name(long value) { sink = value; return other(value) * 3 + sink; }
TWICE(first) TWICE(second)
long (*volatile calls[])(long) = { first, second };
long start(long k) { return first(k) + second(k) + 1; }
long other(long v) { return v + 4; }
