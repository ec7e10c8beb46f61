/* Shared by two units: the same static inline is emitted, and inlined, in both. */
struct shape { int kind, w, h; };

extern volatile int units_sink;

static inline int area(const struct shape *s)
{
    units_sink = s->kind;
    return s->w * s->h;
}

int first(const struct shape *s);
int second(const struct shape *s);
