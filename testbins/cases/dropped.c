//# about: functions without a symbol and without a DIE: mold 3.0 drops the symbols of functions that it folds
//# let: CC = $CLANG --target=x86_64-linux-gnu -O2 -fno-pic -ffunction-sections -fno-asynchronous-unwind-tables $MAP
//# let: LD = $MOLD_3 -e start --icf=all
//# variant: mold.set: mkdir $OUT; for level in g0 g1 g; do $CC -$level -DFIRST -c dropped.c -o $T/a.$level.o; $CC -$level -c dropped.c -o $T/b.$level.o; done;
//#| $LD $T/a.g1.o $T/b.g1.o -o $OUT/lines; $LD $T/a.g0.o $T/b.g.o -o $OUT/undescribed_first; $LD $T/a.g1.o $T/b.g.o -o $OUT/lines_first
// `weigh_letter` is folded into `weigh_parcel`.

#ifdef FIRST
int price(const volatile int *mail);
__attribute__((noinline)) int weigh_parcel(const volatile int *mail) {
    return *mail + 7;
}
int start(const volatile int *mail) { return weigh_parcel(mail) + price(mail); }
#else
__attribute__((noinline)) int weigh_letter(const volatile int *mail) {
    return *mail + 7;
}
int price(const volatile int *mail) { return weigh_letter(mail) * 3; }
#endif
