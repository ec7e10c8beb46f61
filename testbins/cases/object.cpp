//# about: methods of several classes with one code, stopped inside; the program prints who runs, its stack, registers, and the bytes of the object
//# let: ALL = -std=c++20 -O2 -gdwarf-5 -fno-exceptions -fno-rtti -ffreestanding -fno-stack-protector -ffunction-sections -fno-omit-frame-pointer -fno-asynchronous-unwind-tables -fno-pic $MAP
//# let: CLANG_ALL = $CLANGXX --target=x86_64-linux-gnu $ALL -mllvm -emit-func-debug-line-table-offsets
//# let: GCC_ALL = $GXX $ALL -fno-ipa-icf -fcf-protection=none
//# let: LINK = $LLD --icf=all -z norelro -e start --compress-sections=.debug_*=zstd:19 $T/a.o $T/b.o -o $OUT/program; $OUT/program > $OUT/stops
//# variant: clang.set: mkdir -p $OUT; $CLANG_ALL -c object.cpp -o $T/a.o; $CLANG_ALL -g1 -DSECOND -c object.cpp -o $T/b.o; $LINK
//# variant: gcc.set: mkdir -p $OUT; $GCC_ALL -c object.cpp -o $T/a.o; $GCC_ALL -g1 -DSECOND -c object.cpp -o $T/b.o; $LINK

// A stop is an int3: its signal shows the registers as they are inside the method, whatever the compiler did with them. Who
// runs is what the caller says, before it calls. A line: linkage name, name of the stop, the stack as `foldsym stack` reads it.

using u64 = unsigned long;

#define NOINLINE __attribute__((noinline))
// Where a method returns to: gcc gives those that call nobody no frame.
#define CALLER returns_to = __builtin_return_address(0)
#define STOP asm volatile("int3" ::: "memory")
// For the compiler no more than what makes `value` of `value`.
#define STOP_BLIND(value) asm("int3" : "+r"(value) : "m"(returns_to))

extern int last;
extern void *returns_to;
extern const char *volatile truth;
extern const char *volatile stop;
extern const void *volatile object;

struct Base {
  virtual int turn(int by) = 0;
  virtual void reset(int by) = 0;
  virtual int number() = 0;
  int state = 1;
};

NOINLINE inline int leaf(int by) {
  asm volatile("" ::: "memory", "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11");
  return by * 3;
}

// `turn` has two stops: where the object is in the register that it came in, and where it was moved, since it is used behind
// a call.
#define METHODS(n)                          \
  int number() override { return n; }       \
  void reset(int by) override;              \
  NOINLINE int turn(int by) override {      \
    CALLER;                                 \
    STOP;                                   \
    state += leaf(by);                      \
    STOP;                                   \
    state ^= by;                            \
    return state;                           \
  }

struct Left : Base { METHODS(1) };
struct Right : Base { METHODS(2) };

#ifdef SECOND

// Calls of this unit are not described.
NOINLINE int stale_unknown(int by) {
  Right right;
  right.reset(by);
  return by + 1;
}

#else

NOINLINE int stale_unknown(int by);

int last;
void *returns_to;
const char *volatile truth;
const char *volatile stop;
const void *volatile object;

struct Third : Base { METHODS(3) };

// It does not read the object: a caller that knows that need not write the pointer to the virtual functions.
#define RESET(of)                           \
  NOINLINE void of::reset(int by) {         \
    CALLER;                                 \
    STOP_BLIND(by);                         \
    last = by;                              \
    state = by;                             \
  }
RESET(Left)
RESET(Right)
RESET(Third)

// Runs the methods of Left on an object of its own.
struct Below : Left {
  int number() override { return 4; }
};
struct Other {
  virtual int other() { return 5; }
};
// Runs the methods of Right on a part of its object.
struct Deep : Other, Right {
  int number() override { return 5; }
};
// Has the methods of two.
struct Both : Left, Right {};

// Not virtual, and the same code as that of `Virtual`, on an object that begins with one of a virtual class.
struct Plain {
  Third inner;
  NOINLINE int step(int by) {
    CALLER;
    STOP;
    inner.state += by;
    return inner.state;
  }
};
struct Virtual {
  virtual NOINLINE int step(int by) {
    CALLER;
    STOP;
    state += by;
    return state;
  }
  int state = 1;
};

// The same code again: the first hands its result out through its caller's memory, whose address comes first.
struct Result {
  u64 first, second, third;
};
struct Maker {
  virtual NOINLINE Result make(u64 by) {
    CALLER;
    STOP;
    Result result;
    result.second = by;
    return result;
  }
};
struct Setter {
  virtual NOINLINE Setter *make(Maker *, u64 by) {
    CALLER;
    STOP;
    number = by;
    return this;
  }
  u64 number = 0;
};

namespace {

long call(long number, long a, long b, long c, long d) {
  long result;
  register long r10 asm("r10") = d;
  asm volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10) : "rcx", "r11", "memory");
  return result;
}

char line[2048];
u64 used;

void put(const char *text) {
  while (*text) line[used++] = *text++;
}

void put_hex(u64 value, int digits) {
  for (int at = digits - 1; at >= 0; at--) line[used++] = "0123456789abcdef"[value >> (4 * at) & 15];
}

void put_number(const char *before, u64 value) {
  int digits = 1;
  while (digits < 16 && value >> (4 * digits)) digits++;
  put(before);
  put("\"0x");
  put_hex(value, digits);
  put("\"");
}

// The kernel's x86-64 signal frame: uc_flags, uc_link, uc_stack (3 words), then the registers.
struct Context {
  u64 head[5];
  u64 r8, r9, r10, r11, r12, r13, r14, r15, rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip;
};

void stopped(int, void *, Context *context) {
  used = 0;
  put(truth);
  put(" ");
  put(stop);
  // The instruction that is executed next is the one behind the int3.
  put_number(" {\"pcs\": [", context->rip);
  put_number(", ", reinterpret_cast<u64>(returns_to));
  const u64 *frame = reinterpret_cast<const u64 *>(context->rbp);
  if (frame[1] == reinterpret_cast<u64>(returns_to)) frame = reinterpret_cast<const u64 *>(frame[0]);
  put_number(", ", frame[1]);
  put_number("], \"regs\": {\"rbx\": ", context->rbx);
  put_number(", \"rsi\": ", context->rsi);
  put_number(", \"rdi\": ", context->rdi);
  put_number(", \"rbp\": ", context->rbp);
  put_number(", \"rsp\": ", context->rsp);
  put_number(", \"r12\": ", context->r12);
  put_number(", \"r14\": ", context->r14);
  // An object that nobody may know of is in the register of the first argument.
  const u64 *bytes = static_cast<const u64 *>(const_cast<const void *>(object));
  if (!bytes) bytes = reinterpret_cast<const u64 *>(context->rdi);
  put_number("}, \"mem\": [{\"addr\": ", reinterpret_cast<u64>(bytes));
  put(", \"hex\": \"");
  for (int at = 0; at < 16; at++) put_hex(reinterpret_cast<const volatile unsigned char *>(bytes)[at], 2);
  put("\"}]}\n");
  call(1, 1, reinterpret_cast<long>(line), static_cast<long>(used), 0);
}

struct Action {
  void (*handler)(int, void *, Context *);
  u64 flags;
  void (*restorer)();
  u64 mask;
};

__attribute__((naked)) void restore() { asm volatile("mov $15, %eax\n syscall"); }

volatile int sink;

// The compiler does not know who comes out.
template <class T>
T *hidden(T *on) {
  asm volatile("" : "+r"(on) : : "memory");
  return on;
}

NOINLINE int turn(Base *base, int by) { return base->turn(by) + 1; }
NOINLINE int reset(Base *base, int by) {
  base->reset(by);
  return by + 1;
}
NOINLINE int step(Virtual *on, int by) { return on->step(by) + 1; }
NOINLINE int plain(Plain *on, int by) { return on->step(by) + 1; }
NOINLINE u64 make(Maker *on, u64 by) { return on->make(by).second + 1; }
NOINLINE u64 set(Setter *on, Maker *maker, u64 by) { return on->make(maker, by)->number + 1; }

// What it leaves behind on the stack looks like an object to whom is called next from the same place.
NOINLINE int leaves(int by) {
  Left left;
  return reset(hidden<Base>(&left), by) + 1;
}
NOINLINE int stale(int by) {
  Right right;
  right.reset(by);
  return by + 1;
}

NOINLINE void on(const char *who, const char *what, const void *which) {
  truth = who;
  stop = what;
  object = which;
}

NOINLINE void turns(const char *who, const char *what, Base *base, int by) {
  on(who, what, base);
  sink = turn(hidden(base), by);
}

}  // namespace

extern "C" void run() {
  Action action = {stopped, 0x04000004, restore, 0};
  call(13, 5, reinterpret_cast<long>(&action), 0, 8);
  Left left;
  Right right;
  Third third;
  Below below;
  Deep deep;
  Both both;
  Plain around;
  Virtual only;
  Maker maker;
  Setter setter;
  turns("_ZN4Left4turnEi", "own", &left, 1);
  turns("_ZN5Right4turnEi", "own", &right, 2);
  turns("_ZN5Third4turnEi", "own", &third, 3);
  turns("_ZN4Left4turnEi", "inherited", &below, 4);
  turns("_ZN5Right4turnEi", "part", &deep, 5);
  turns("_ZN4Left4turnEi", "both", static_cast<Left *>(&both), 6);
  turns("_ZN5Right4turnEi", "both", static_cast<Right *>(&both), 7);
  on("_ZN7Virtual4stepEi", "mixed", &only);
  sink = step(hidden(&only), 8);
  on("_ZN5Plain4stepEi", "mixed", &around);
  sink = plain(hidden(&around), 9);
  on("_ZN5Maker4makeEm", "elsewhere", &maker);
  sink = static_cast<int>(make(hidden(&maker), 10));
  // What the other one would take for its object is the argument of this one.
  on("_ZN6Setter4makeEP5Makerm", "elsewhere", &maker);
  sink = static_cast<int>(set(hidden(&setter), hidden(&maker), 11));
  on("_ZN4Left5resetEi", "own", nullptr);
  sink = leaves(12);
  on("_ZN5Right5resetEi", "stale", nullptr);
  sink = stale(13);
  on("_ZN4Left5resetEi", "own", nullptr);
  sink = leaves(14);
  on("_ZN5Right5resetEi", "unknown", nullptr);
  sink = stale_unknown(15);
  call(60, 0, 0, 0, 0);
}

// The system chooses another place for the stack each time.
alignas(16) char stack[1 << 16];

extern "C" __attribute__((naked)) void start() { asm volatile("xor %ebp, %ebp\n mov $stack + (1 << 16), %rsp\n call run"); }

#endif
