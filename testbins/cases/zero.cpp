//# about: a method without a linkage name in its DIE at address 0, in an object file and in a program linked at 0
//# let: ABSTRACT = -O2 -g -mllvm -dwarf-linkage-names=Abstract -fno-asynchronous-unwind-tables $MAP -c zero.cpp
//# variant: elf: $CLANGXX --target=x86_64-linux-gnu $ABSTRACT -o $T/zero.o && $LLD -e main --image-base=0 -Ttext=0 -N $T/zero.o -o $OUT
//# variant: macho.o: $CLANGXX --target=arm64-apple-macos13 $ABSTRACT -o $OUT

struct W {
    int v;
    int get() const { return v + 1; }
    __attribute__((noinline)) int up(int k) const;
    int down(int k) const;
};

int W::up(int k) const { return get() * k; }
int W::down(int k) const { return get() - up(k); }

int main() {
    W w{3};
    return w.up(2) + w.down(4);
}
