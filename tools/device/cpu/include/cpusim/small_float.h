// Operators and intrinsics of a 16-bit float, included once per type with these macros set:
// S scalar, S2 pair, RAW(bits) → S, FROM(float) → bits, TO(bits) → float.
// Every operation is computed in float and rounded once, to nearest even.

struct __attribute__((aligned(2))) S {
    unsigned short __x;
    S() = default;
    S(float v) : __x(FROM(v)) {}
    S(double v) : __x(FROM(cpusim::odd(v))) {}
    S(int v) : __x(FROM(cpusim::odd((double)v))) {}
    S(unsigned v) : __x(FROM(cpusim::odd((double)v))) {}
    S(long v) : __x(FROM(cpusim::odd((double)v))) {}
    S(unsigned long v) : __x(FROM(cpusim::odd((double)v))) {}
    S(long long v) : __x(FROM(cpusim::odd((double)v))) {}
    S(unsigned long long v) : __x(FROM(cpusim::odd((double)v))) {}
    S(short v) : __x(FROM((float)v)) {}
    S(unsigned short v) : __x(FROM((float)v)) {}
    operator float() const { return TO(__x); }
    S& operator=(float v) { __x = FROM(v); return *this; }
    S& operator=(double v) { __x = FROM(cpusim::odd(v)); return *this; }
    S& operator=(int v) { __x = FROM(cpusim::odd((double)v)); return *this; }
};
struct __attribute__((aligned(4))) S2 {
    S x, y;
    S2() = default;
    S2(S a, S b) : x(a), y(b) {}
};

CPUSIM_INLINE S RAW(unsigned short bits) { S s; s.__x = bits; return s; }
CPUSIM_INLINE S operator+(S a, S b) { return S(TO(a.__x) + TO(b.__x)); }
CPUSIM_INLINE S operator-(S a, S b) { return S(TO(a.__x) - TO(b.__x)); }
CPUSIM_INLINE S operator*(S a, S b) { return S(TO(a.__x) * TO(b.__x)); }
CPUSIM_INLINE S operator/(S a, S b) { return S(TO(a.__x) / TO(b.__x)); }
CPUSIM_INLINE S operator-(S a) { return RAW(a.__x ^ 0x8000); }
CPUSIM_INLINE S operator+(S a) { return a; }
CPUSIM_INLINE S& operator+=(S& a, S b) { return a = a + b; }
CPUSIM_INLINE S& operator-=(S& a, S b) { return a = a - b; }
CPUSIM_INLINE S& operator*=(S& a, S b) { return a = a * b; }
CPUSIM_INLINE S& operator/=(S& a, S b) { return a = a / b; }
CPUSIM_INLINE S& operator++(S& a) { return a = a + S(1.0f); }
CPUSIM_INLINE bool operator==(S a, S b) { return TO(a.__x) == TO(b.__x); }
CPUSIM_INLINE bool operator!=(S a, S b) { return TO(a.__x) != TO(b.__x); }
CPUSIM_INLINE bool operator<(S a, S b) { return TO(a.__x) < TO(b.__x); }
CPUSIM_INLINE bool operator>(S a, S b) { return TO(a.__x) > TO(b.__x); }
CPUSIM_INLINE bool operator<=(S a, S b) { return TO(a.__x) <= TO(b.__x); }
CPUSIM_INLINE bool operator>=(S a, S b) { return TO(a.__x) >= TO(b.__x); }
CPUSIM_INLINE S2 operator+(S2 a, S2 b) { return S2(a.x + b.x, a.y + b.y); }
CPUSIM_INLINE S2 operator-(S2 a, S2 b) { return S2(a.x - b.x, a.y - b.y); }
CPUSIM_INLINE S2 operator*(S2 a, S2 b) { return S2(a.x * b.x, a.y * b.y); }
CPUSIM_INLINE S2 operator/(S2 a, S2 b) { return S2(a.x / b.x, a.y / b.y); }
CPUSIM_INLINE S2 operator-(S2 a) { return S2(-a.x, -a.y); }
CPUSIM_INLINE S2& operator+=(S2& a, S2 b) { return a = a + b; }
CPUSIM_INLINE S2& operator-=(S2& a, S2 b) { return a = a - b; }
CPUSIM_INLINE S2& operator*=(S2& a, S2 b) { return a = a * b; }

CPUSIM_INLINE S __hadd(S a, S b) { return a + b; }
CPUSIM_INLINE S __hsub(S a, S b) { return a - b; }
CPUSIM_INLINE S __hmul(S a, S b) { return a * b; }
CPUSIM_INLINE S __hdiv(S a, S b) { return a / b; }
CPUSIM_INLINE S __hadd_rn(S a, S b) { return a + b; }
CPUSIM_INLINE S __hsub_rn(S a, S b) { return a - b; }
CPUSIM_INLINE S __hmul_rn(S a, S b) { return a * b; }
CPUSIM_INLINE S __hfma(S a, S b, S c) { return S((double)TO(a.__x) * TO(b.__x) + TO(c.__x)); }
CPUSIM_INLINE S __hfma_relu(S a, S b, S c) { S r = __hfma(a, b, c); return TO(r.__x) > 0.0f ? r : S(0.0f); }
CPUSIM_INLINE S __hneg(S a) { return -a; }
CPUSIM_INLINE S __habs(S a) { return RAW(a.__x & 0x7fff); }
CPUSIM_INLINE S __hmax(S a, S b) { return S(::fmaxf(TO(a.__x), TO(b.__x))); }
CPUSIM_INLINE S __hmin(S a, S b) { return S(::fminf(TO(a.__x), TO(b.__x))); }
CPUSIM_INLINE S __hmax_nan(S a, S b) { return a != a ? a : (b != b ? b : __hmax(a, b)); }
CPUSIM_INLINE S __hmin_nan(S a, S b) { return a != a ? a : (b != b ? b : __hmin(a, b)); }
CPUSIM_INLINE bool __heq(S a, S b) { return a == b; }
CPUSIM_INLINE bool __hne(S a, S b) { return a != b; }
CPUSIM_INLINE bool __hlt(S a, S b) { return a < b; }
CPUSIM_INLINE bool __hle(S a, S b) { return a <= b; }
CPUSIM_INLINE bool __hgt(S a, S b) { return a > b; }
CPUSIM_INLINE bool __hge(S a, S b) { return a >= b; }
CPUSIM_INLINE bool __hisnan(S a) { return a != a; }
CPUSIM_INLINE int __hisinf(S a) { float f = TO(a.__x); return __builtin_isinf(f) ? (f < 0 ? -1 : 1) : 0; }
#define CPUSIM_UNARY(NAME, EXPRESSION) \
    CPUSIM_INLINE S h##NAME(S a) { float x = TO(a.__x); return S(EXPRESSION); } \
    CPUSIM_INLINE S2 h2##NAME(S2 a) { return S2(h##NAME(a.x), h##NAME(a.y)); }
CPUSIM_UNARY(exp, ::expf(x))
CPUSIM_UNARY(exp2, ::exp2f(x))
CPUSIM_UNARY(exp10, ::powf(10.0f, x))
CPUSIM_UNARY(log, ::logf(x))
CPUSIM_UNARY(log2, ::log2f(x))
CPUSIM_UNARY(log10, ::log10f(x))
CPUSIM_UNARY(sqrt, ::sqrtf(x))
CPUSIM_UNARY(rsqrt, 1.0f / ::sqrtf(x))
CPUSIM_UNARY(rcp, 1.0f / x)
CPUSIM_UNARY(sin, ::sinf(x))
CPUSIM_UNARY(cos, ::cosf(x))
CPUSIM_UNARY(tanh, ::tanhf(x))
CPUSIM_UNARY(floor, ::floorf(x))
CPUSIM_UNARY(ceil, ::ceilf(x))
CPUSIM_UNARY(trunc, ::truncf(x))
CPUSIM_UNARY(rint, ::rintf(x))
#undef CPUSIM_UNARY

#define CPUSIM_PAIR(NAME) CPUSIM_INLINE S2 NAME##2(S2 a, S2 b) { return S2(NAME(a.x, b.x), NAME(a.y, b.y)); }
CPUSIM_PAIR(__hadd)
CPUSIM_PAIR(__hsub)
CPUSIM_PAIR(__hmul)
CPUSIM_PAIR(__hmax)
CPUSIM_PAIR(__hmin)
#undef CPUSIM_PAIR
CPUSIM_INLINE S2 __h2div(S2 a, S2 b) { return a / b; }
CPUSIM_INLINE S2 __hadd2_rn(S2 a, S2 b) { return a + b; }
CPUSIM_INLINE S2 __hmul2_rn(S2 a, S2 b) { return a * b; }
CPUSIM_INLINE S2 __hfma2(S2 a, S2 b, S2 c) { return S2(__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)); }
CPUSIM_INLINE S2 __hfma2_relu(S2 a, S2 b, S2 c) { return S2(__hfma_relu(a.x, b.x, c.x), __hfma_relu(a.y, b.y, c.y)); }
CPUSIM_INLINE S2 __hneg2(S2 a) { return -a; }
CPUSIM_INLINE S2 __habs2(S2 a) { return S2(__habs(a.x), __habs(a.y)); }
#define CPUSIM_COMPARE(NAME) \
    CPUSIM_INLINE S2 __h##NAME##2(S2 a, S2 b) { return S2(S(__h##NAME(a.x, b.x) ? 1.0f : 0.0f), S(__h##NAME(a.y, b.y) ? 1.0f : 0.0f)); } \
    CPUSIM_INLINE bool __hb##NAME##2(S2 a, S2 b) { return __h##NAME(a.x, b.x) && __h##NAME(a.y, b.y); }
CPUSIM_COMPARE(eq)
CPUSIM_COMPARE(ne)
CPUSIM_COMPARE(lt)
CPUSIM_COMPARE(le)
CPUSIM_COMPARE(gt)
CPUSIM_COMPARE(ge)
#undef CPUSIM_COMPARE

CPUSIM_INLINE float __low2float(S2 a) { return TO(a.x.__x); }
CPUSIM_INLINE float __high2float(S2 a) { return TO(a.y.__x); }
CPUSIM_UNTRACED inline S2 atomicAdd(S2* address, S2 value, CPUSIM_LINE) {
    cpusim_atomic(address, 4, true, line);
    S2 old = *address;
    *address = old + value;
    return old;
}
