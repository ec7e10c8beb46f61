//# about: calls through pointers, with the types that clang 23 records in .llvm.callgraph
//# let: CC = $CLANGXX_23 -x c -std=c17 --target=x86_64-linux-gnu -O2 -gdwarf-5 -fno-pic -fno-asynchronous-unwind-tables $MAP -ffunction-sections -fexperimental-call-graph-section
//# variant: clang.set: mkdir $OUT; $CC -DFIRST -c call_types.c -o $T/a.o; $CC -DSECOND -c call_types.c -o $T/b.o; $LLD -e start --icf=all --compress-debug-sections=zlib $T/a.o $T/b.o -o $OUT/lld;
//#| $MOLD_3 -e start --icf=all --compress-debug-sections=zlib $T/a.o $T/b.o -o $OUT/mold; $GOLD -e start --icf=all --compress-debug-sections=zlib $T/a.o $T/b.o -o $OUT/gold; $CC -fno-experimental-call-graph-section -DSECOND -c call_types.c -o $T/c.o; $LLD -e start --icf=all --compress-debug-sections=zlib $T/a.o $T/c.o -o $OUT/part;
//#| $LLD -e start --icf=all $T/a.o $T/b.o -o $T/d; $LLVM_OBJCOPY --dump-section .llvm.callgraph=$T/graph $T/d; sed 's/\xa1\x50\xb8\x3e\x0c\xfe\x3c\xb2/\xa1\x50\xb8\x3e\x0c\xfe\x3c\xb3/g' $T/graph > $T/other; $LLVM_OBJCOPY --update-section .llvm.callgraph=$T/other $T/d $OUT/unproven
// The functions that weigh are folded into one, and so are those that ask. In `unproven` the type of one function, `int (int)`, is another.

struct Parcel {
    int grams;
};
struct Letter {
    int grams;
};
struct Stamp {
    int grams;
};
typedef int of_parcel(struct Parcel *), of_letter(struct Letter *), of_stamp(struct Stamp *);
#define KEPT __attribute__((noinline))

#ifdef FIRST
extern of_parcel *volatile parcels;
extern of_letter *volatile letters;

KEPT int weigh_parcel(struct Parcel *of) { return of->grams; }
KEPT int weigh_letter(struct Letter *of) { return of->grams; }
KEPT int ask_parcel(of_parcel *which, struct Parcel *of) { return which(of) * 5; }
KEPT int ask_letter(of_letter *which, struct Letter *of) { return which(of) * 5; }
of_parcel *volatile parcels = weigh_parcel;
of_letter *volatile letters = weigh_letter;

KEPT int by_parcel(struct Parcel *of) { return parcels(of) + 1; }
KEPT int by_letter(struct Letter *of) { return letters(of) + 2; }
KEPT int by_both(struct Parcel *of, struct Letter *to) { return parcels(of) * letters(to) + 3; }
// Calls `weigh_parcel` as if it took a letter.
KEPT int by_cast(struct Letter *of) { return ((of_letter *)(void *)parcels)(of) + 4; }
// Its only indirect call is of no type that a folded function has.
KEPT int by_number(int (*of)(int), int number) { return of(number) + 6; }
KEPT int twice(int number) { return 2 * number; }

int rest(void);
int start(struct Parcel *parcel, struct Letter *letter) {
    return by_parcel(parcel) + by_letter(letter) + by_both(parcel, letter) + by_cast(letter) +
           ask_parcel(parcels, parcel) + ask_letter(letters, letter) + by_number(twice, 3) + rest();
}
#endif

#ifdef SECOND
extern of_stamp *volatile stamps;
KEPT int weigh_stamp(struct Stamp *of) { return of->grams; }
of_stamp *volatile stamps = weigh_stamp;
// A caller by a tail call leaves no frame: what it calls runs in place of it.
typedef int of_address(long);
KEPT int pass_stamp(long of) { return weigh_stamp((struct Stamp *)of); }
of_address *volatile passing = pass_stamp;
KEPT int by_stamp(struct Stamp *of) { return stamps(of) + 5; }
int rest(void) { return by_stamp(0) + passing(0); }
#endif
