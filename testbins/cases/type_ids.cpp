//# about: the types of functions in .llvm.callgraph, which foldsym makes of DIEs again
//# let: FLAGS = --target=x86_64-linux-gnu -O1 -gdwarf-5 -gz=zlib -fno-exceptions -fno-rtti -fno-asynchronous-unwind-tables $MAP -ffunction-sections -fexperimental-call-graph-section
//# variant: clang.set: mkdir $OUT; $CLANGXX_23 -std=c++20 $FLAGS -DTAGGED -c type_ids.cpp -o $OUT/tagged.o; $CLANGXX_23 -x c -std=c17 $FLAGS -c type_ids.cpp -o $OUT/c.o; $CLANGXX_23 -std=c++20 $FLAGS -gsimple-template-names -gdwarf-4 -c type_ids.cpp -o $OUT/simple.o
#define KEPT __attribute__((noinline, used))

typedef struct {
    int z;
} Named;
struct S {
    int a;
};
typedef int line_of[4][7];
typedef const volatile line_of *lines;

#ifdef __cplusplus
namespace std {
template <class C> struct char_traits {};
template <class T> struct allocator {};
template <class C, class T = char_traits<C>, class A = allocator<C>> struct basic_string {};
template <class C, class T = char_traits<C>> struct basic_ostream {};
template <class T, class A = allocator<T>> struct vector {
    struct iterator {
        T *at;
    };
};
template <class... T> struct tuple {};
inline namespace __v1 {
template <class T> struct inlined {};
}
using string = basic_string<char>;
} // namespace std
namespace far {
struct T {
    int b;
};
template <class A, int N> struct V {
    A x;
    struct Inner {
        A y;
    };
    int method(V *, Inner) const volatile;
};
template <class A, int N> int V<A, N>::method(V *, Inner) const volatile { return N; }
template <auto N, bool B = false, char C = 'x', unsigned long long U = ~0ull> struct W {};
enum class E : short { a, b };
namespace further {
enum F { x };
union U {
    int a;
};
} // namespace further
} // namespace far
namespace {
struct Local {
    int q;
};
} // namespace
struct [[gnu::abi_tag("two")]] Tagged {
    int a;
};

KEPT int numbers(bool, char, signed char, unsigned char, short, unsigned short, int, unsigned, long, unsigned long, long long,
                 unsigned long long, __int128, unsigned __int128, float, double, long double) {
    return 1;
}
KEPT wchar_t letters(char8_t, char16_t, char32_t, decltype(nullptr)) { return 0; }
KEPT S again(S, S *, S **, const S *, const S *const *, S &, S &&, const volatile S *const) { return {}; }
KEPT int deep(far::T *, far::V<int, 3>, far::V<far::T, -7> *, far::V<S, 0>::Inner, far::V<S, 0>::Inner *) { return 1; }
KEPT far::E scoped(far::E, far::further::F *, far::further::U, far::further::F) { return far::E::a; }
KEPT int strings(std::string &, const std::string *, std::basic_string<wchar_t>, std::allocator<char>, std::basic_ostream<char> &,
                 std::basic_ostream<wchar_t> &, std::char_traits<char>) {
    return 1;
}
KEPT std::vector<std::string> vectors(std::vector<int>::iterator, std::vector<std::vector<S *>> &, std::inlined<S>, std::inlined<int> *) {
    return {};
}
KEPT int packs(std::tuple<>, std::tuple<int, S, S *>, std::tuple<std::tuple<S>> *) { return 1; }
KEPT int values(far::W<-5>, far::W<far::E::b, true, 'q', 77> *, far::W<true> &) { return 1; }
KEPT void arrays(int (&)[5], const char (&)[3], int (*)[2][3], S (*)[], lines, const line_of &) {}
KEPT int data_member(int S::*, const S far::T::*) { return 1; }
KEPT const int returns_const(Named *, Named) { return 1; }
KEPT int more(const char *, ...) { return 1; }
typedef int four __attribute__((vector_size(16)));
KEPT four vectors_of_numbers(four, four *, float __attribute__((vector_size(32)))) { return four{}; }
KEPT _Complex float complex(_Complex double, _Float16) { return 1; }
// Substitutions past the first 37 have two digits.
template <int N> struct Many {};
KEPT int many(Many<0>, Many<1>, Many<2>, Many<3>, Many<4>, Many<5>, Many<6>, Many<7>, Many<8>, Many<9>, Many<10>, Many<11>, Many<12>,
              Many<13>, Many<14>, Many<15>, Many<16>, Many<17>, Many<18>, Many<19>, Many<20>, Many<21>, Many<22>, Many<23>, Many<24>,
              Many<25>, Many<26>, Many<27>, Many<28>, Many<29>, Many<30>, Many<31>, Many<32>, Many<33>, Many<34>, Many<35>, Many<36>,
              Many<37>, Many<38>, Many<36>, Many<38>, Many<0>) {
    return 1;
}
template <class... A> KEPT int expanded(A...) { return 1; }
template <class A> KEPT A deduced(A, A *, const A &) { return {}; }
KEPT auto trailing(S *) -> decltype(1L) { return 1; }
struct Methods {
    int constant(int) const;
    int changing(int) volatile;
    int on_lvalue(S &) &;
    int on_rvalue(Methods) const &&;
    int quiet(far::T) noexcept;
    static int of_class(Methods *);
    virtual long virtual_one(long);
    Methods(int, S *);
    ~Methods();
};
KEPT int Methods::constant(int) const { return 1; }
KEPT int Methods::changing(int) volatile { return 1; }
KEPT int Methods::on_lvalue(S &) & { return 1; }
KEPT int Methods::on_rvalue(Methods) const && { return 1; }
KEPT int Methods::quiet(far::T) noexcept { return 1; }
KEPT int Methods::of_class(Methods *) { return 1; }
KEPT long Methods::virtual_one(long) { return 1; }
KEPT Methods::Methods(int, S *) {}
KEPT Methods::~Methods() {}
struct First {
    virtual int one(S *);
};
struct Second {
    virtual int two(S *);
};
// A thunk has no parameters in DWARF: `_ZThn8_N4Both3twoEP1S`.
struct Both : First, Second {
    int two(S *) override;
};
KEPT int First::one(S *) { return 1; }
KEPT int Second::two(S *) { return 2; }
KEPT int Both::two(S *) { return 3; }
#ifdef TAGGED
KEPT int tagged(Tagged *) { return 1; }
#endif
// DWARF does not show these types.
KEPT int unshown_callback(int (*)(S) noexcept) { return 1; }
KEPT int unshown_local(Local *) { return 1; }
template <template <class> class X> struct Template {};
KEPT int unshown_template(Template<std::inlined> *) { return 1; }

void *kept[] = {(void *)numbers, (void *)letters, (void *)again, (void *)deep, (void *)scoped, (void *)strings, (void *)vectors,
                (void *)packs, (void *)values, (void *)arrays, (void *)data_member, (void *)returns_const, (void *)more,
                (void *)vectors_of_numbers, (void *)complex, (void *)many, (void *)expanded<>, (void *)expanded<S, S *, int>,
                (void *)deduced<far::T>, (void *)trailing, (void *)Methods::of_class, (void *)unshown_callback, (void *)unshown_local,
                (void *)unshown_template};
int (far::V<S, 4>::*kept_method)(far::V<S, 4> *, far::V<S, 4>::Inner) const volatile = &far::V<S, 4>::method;
#else
union Q {
    int a;
};
enum E { first };
KEPT int unprototyped() { return 1; }
KEPT int empty(void) { return 1; }
KEPT int pointers(struct S *a, Named *b, enum E c, union Q d, int *restrict e, char **const f, lines g) { return 1; }
KEPT void callbacks(int (*a)(), int (*b)(void), int (**c)(struct S *), void (*d)(int (*)(struct S *), ...)) {}
KEPT _Bool complex(_Complex double a, _Complex float b, int (*c)[4], const char d[3]) { return 1; }
KEPT void (*returns_function(int a))(struct S *) { return 0; }
KEPT long more(__builtin_va_list a, __int128 b, long double c, ...) { return 1; }
KEPT int unshown_atomic(_Atomic(int) *a) { return 1; }
KEPT int unshown_promoted(a, b) int a; short b; { return a; }
void *kept[] = {unprototyped, empty, pointers, callbacks, complex, returns_function, more, unshown_atomic, unshown_promoted};
#endif
