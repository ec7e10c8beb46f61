//# about: the table of virtual calls of the 2009 proposal, which no compiler writes (so call sites lose what clang says of it): two virtual functions of one class are folded, and the slot of the call tells which ran
//# let: CC = $CLANGXX --target=x86_64-linux-gnu -std=c++17 -O1 -gdwarf-5 -fno-rtti -fno-exceptions -fno-pic -fno-asynchronous-unwind-tables $MAP -ffunction-sections
//# let: SITES = s/\.ascii\t"\\204\\001"\(.*DW_AT_call_target_clobbered\)/.ascii\t"\\377\\177"\1/
//# let: LABELS = s/^\tcallq\t\*(%rax)$/&\n.Lslot0:/; s/^\tcallq\t\*8(%rax)$/&\n.Lslot1:/
//# variant: lld: $CC -S slot_table.cpp -o $T/a.s; sed '$SITES; $LABELS' $T/a.s > $T/b.s;
//#| printf '.section .debug_vcall,"",@progbits\n.long 29\n.byte 4,8\n.quad .Lslot0\n.byte 0\n.quad .Lslot1\n.byte 1\n.quad 16\n.byte 1\n' >> $T/b.s; $CLANG --target=x86_64-linux-gnu -c $T/b.s -o $T/b.o; $LLD --build-id -e start --icf=all $T/b.o -o $OUT
//# variant: passed: $CC -DPASSED -c slot_table.cpp -o $T/a.o; $LLD --build-id -e start --icf=all --compress-debug-sections=zlib $T/a.o -o $OUT
struct Shape {
    virtual int first();
    virtual int second();
    int x = 7;
};

int Shape::first() { return x + 1; }
int Shape::second() { return x + 1; }

#ifdef PASSED
// It ends in a method of another object, of another slot, and the frame is that one's.
struct Proxy : Shape {
    Shape *inner;
    int first() override;
};

int Proxy::first() { return inner->second(); }
static Proxy proxy;
#endif

[[gnu::noinline]] int call_first(Shape *shape) { return shape->first() + 2; }
[[gnu::noinline]] int call_second(Shape *shape) { return shape->second() + 3; }

static Shape shape;

extern "C" void start()
{
    call_first(&shape);
    call_second(&shape);
#ifdef PASSED
    proxy.inner = &shape;
    call_first(&proxy);
#endif
    for (;;)
        ;
}
