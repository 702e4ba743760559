// Device mathematics on the host: CUDA's names over the C library's functions, in float where CUDA works in float.
#pragma once

#include <cmath>
#include <cstring>
#include <math.h>
#include <stdlib.h>

#include "state.h"

#define CPUSIM_INLINE static inline __attribute__((always_inline, unused))

// min and max for any two numbers; floating ones ignore NaN as on the device.
template <class A, class B, class = std::enable_if_t<std::is_arithmetic_v<A> && std::is_arithmetic_v<B>>>
constexpr std::common_type_t<A, B> min(A a, B b) {
    using C = std::common_type_t<A, B>;
    C x = C(a), y = C(b);
    if constexpr (std::is_floating_point_v<C>) return x != x ? y : (y < x ? y : x);
    else return y < x ? y : x;
}
template <class A, class B, class = std::enable_if_t<std::is_arithmetic_v<A> && std::is_arithmetic_v<B>>>
constexpr std::common_type_t<A, B> max(A a, B b) {
    using C = std::common_type_t<A, B>;
    C x = C(a), y = C(b);
    if constexpr (std::is_floating_point_v<C>) return x != x ? y : (x < y ? y : x);
    else return x < y ? y : x;
}

namespace cpusim {
template <class To, class From>
__attribute__((always_inline)) inline To bits(From from) {
    static_assert(sizeof(To) == sizeof(From), "bit casts keep the size");
    To to;
    __builtin_memcpy(&to, &from, sizeof(To));
    return to;
}
// Conversions saturate, and NaN becomes 0.
template <class To, class From>
inline To saturate(From v) {
    if (v != v) return To(0);
    constexpr From low = From(sizeof(To) == 4 ? (To(-1) < To(0) ? -2147483648.0 : 0.0) : (To(-1) < To(0) ? -9223372036854775808.0 : 0.0));
    constexpr From high = From(sizeof(To) == 4 ? (To(-1) < To(0) ? 2147483648.0 : 4294967296.0)
                                               : (To(-1) < To(0) ? 9223372036854775808.0 : 18446744073709551616.0));
    if (v <= low) return To(sizeof(To) == 4 ? (To(-1) < To(0) ? (To)0x80000000u : To(0)) : (To(-1) < To(0) ? (To)0x8000000000000000ull : To(0)));
    if (v >= high) return To(sizeof(To) == 4 ? (To(-1) < To(0) ? To(0x7fffffff) : To(0xffffffffu)) : (To(-1) < To(0) ? To(0x7fffffffffffffffll) : To(~0ull)));
    return To(v);
}
}  // namespace cpusim

// --- approximate single precision intrinsics, computed exactly here -------------------------------------------------
// The C library declares some of these names for itself.
#define __expf cpusim_expf
#define __exp10f cpusim_exp10f
#define __logf cpusim_logf
#define __log2f cpusim_log2f
#define __log10f cpusim_log10f
#define __tanhf cpusim_tanhf
#define __sinf cpusim_sinf
#define __cosf cpusim_cosf
#define __tanf cpusim_tanf
#define __powf cpusim_powf
#define __sincosf cpusim_sincosf
// A trace build calls them by names of their own, so that they are told from the exact ones that cost more on a GPU.
#if defined(CPUSIM_TRACE)
#define CPUSIM_FAST(NAME) cpusim_fast_##NAME
extern "C" float cpusim_fast_expf(float), cpusim_fast_logf(float), cpusim_fast_log2f(float), cpusim_fast_log10f(float), cpusim_fast_tanhf(float),
    cpusim_fast_sinf(float), cpusim_fast_cosf(float), cpusim_fast_tanf(float), cpusim_fast_powf(float, float), cpusim_fast_divf(float, float), cpusim_fast_rsqrtf(float);
#define CPUSIM_DIVIDE(X, Y) cpusim_fast_divf(X, Y)
#define CPUSIM_RSQRT(X) cpusim_fast_rsqrtf(X)
#else
#define CPUSIM_FAST(NAME) ::NAME
#define CPUSIM_DIVIDE(X, Y) ((X) / (Y))
#define CPUSIM_RSQRT(X) (1.0f / ::sqrtf(X))
#endif
CPUSIM_INLINE float cpusim_expf(float x) { return CPUSIM_FAST(expf)(x); }
CPUSIM_INLINE float cpusim_exp10f(float x) { return CPUSIM_FAST(powf)(10.0f, x); }
CPUSIM_INLINE float cpusim_logf(float x) { return CPUSIM_FAST(logf)(x); }
CPUSIM_INLINE float cpusim_log2f(float x) { return CPUSIM_FAST(log2f)(x); }
CPUSIM_INLINE float cpusim_log10f(float x) { return CPUSIM_FAST(log10f)(x); }
CPUSIM_INLINE float cpusim_sinf(float x) { return CPUSIM_FAST(sinf)(x); }
CPUSIM_INLINE float cpusim_cosf(float x) { return CPUSIM_FAST(cosf)(x); }
CPUSIM_INLINE float cpusim_tanf(float x) { return CPUSIM_FAST(tanf)(x); }
CPUSIM_INLINE float cpusim_powf(float x, float y) { return CPUSIM_FAST(powf)(x, y); }
CPUSIM_INLINE void cpusim_sincosf(float x, float* s, float* c) { *s = CPUSIM_FAST(sinf)(x); *c = CPUSIM_FAST(cosf)(x); }
CPUSIM_INLINE float cpusim_tanhf(float x) { return CPUSIM_FAST(tanhf)(x); }
CPUSIM_INLINE float __fdividef(float x, float y) { return CPUSIM_DIVIDE(x, y); }
CPUSIM_INLINE float fdividef(float x, float y) { return CPUSIM_DIVIDE(x, y); }
CPUSIM_INLINE float __saturatef(float x) { return x != x ? 0.0f : (x < 0.0f ? 0.0f : (x > 1.0f ? 1.0f : x)); }
CPUSIM_INLINE float rsqrtf(float x) { return CPUSIM_RSQRT(x); }
CPUSIM_INLINE double rsqrt(double x) { return 1.0 / ::sqrt(x); }
CPUSIM_INLINE float rsqrt(float x) { return CPUSIM_RSQRT(x); }
CPUSIM_INLINE float rcbrtf(float x) { return 1.0f / ::cbrtf(x); }
CPUSIM_INLINE float sinpif(float x) { return (float)::sin(M_PI * ::fmod((double)x, 2.0)); }
CPUSIM_INLINE float cospif(float x) { return (float)::cos(M_PI * ::fmod((double)x, 2.0)); }
CPUSIM_INLINE double sinpi(double x) { return ::sin(M_PI * ::fmod(x, 2.0)); }
CPUSIM_INLINE double cospi(double x) { return ::cos(M_PI * ::fmod(x, 2.0)); }
CPUSIM_INLINE void sincospif(float x, float* s, float* c) { *s = sinpif(x); *c = cospif(x); }
CPUSIM_INLINE void sincospi(double x, double* s, double* c) { *s = sinpi(x); *c = cospi(x); }
CPUSIM_INLINE float normcdff(float x) { return 0.5f * ::erfcf(-x * 0.70710678f); }
CPUSIM_INLINE double normcdf(double x) { return 0.5 * ::erfc(-x * 0.70710678118654752440); }
CPUSIM_INLINE float erfcxf(float x) { return (float)(::exp((double)x * x) * ::erfc((double)x)); }
#if !defined(_GNU_SOURCE)
CPUSIM_INLINE float exp10f(float x) { return ::powf(10.0f, x); }
CPUSIM_INLINE void sincosf(float x, float* s, float* c) { *s = ::sinf(x); *c = ::cosf(x); }
CPUSIM_INLINE void sincos(double x, double* s, double* c) { *s = ::sin(x); *c = ::cos(x); }
#endif
CPUSIM_INLINE float norm3df(float a, float b, float c) { return ::sqrtf(a * a + b * b + c * c); }
CPUSIM_INLINE float rhypotf(float a, float b) { return 1.0f / ::hypotf(a, b); }

// --- arithmetic with a stated rounding: nearest is exact here; the directed ones are off by one ulp at most --------
#define CPUSIM_ROUNDED(SUFFIX) \
    CPUSIM_INLINE float __fadd_##SUFFIX(float a, float b) { volatile float r = a + b; return r; } \
    CPUSIM_INLINE float __fsub_##SUFFIX(float a, float b) { volatile float r = a - b; return r; } \
    CPUSIM_INLINE float __fmul_##SUFFIX(float a, float b) { volatile float r = a * b; return r; } \
    CPUSIM_INLINE float __fdiv_##SUFFIX(float a, float b) { return a / b; } \
    CPUSIM_INLINE float __fmaf_##SUFFIX(float a, float b, float c) { return __builtin_fmaf(a, b, c); } \
    CPUSIM_INLINE float __frcp_##SUFFIX(float a) { return 1.0f / a; } \
    CPUSIM_INLINE float __fsqrt_##SUFFIX(float a) { return ::sqrtf(a); } \
    CPUSIM_INLINE double __dadd_##SUFFIX(double a, double b) { volatile double r = a + b; return r; } \
    CPUSIM_INLINE double __dsub_##SUFFIX(double a, double b) { volatile double r = a - b; return r; } \
    CPUSIM_INLINE double __dmul_##SUFFIX(double a, double b) { volatile double r = a * b; return r; } \
    CPUSIM_INLINE double __ddiv_##SUFFIX(double a, double b) { return a / b; } \
    CPUSIM_INLINE double __fma_##SUFFIX(double a, double b, double c) { return __builtin_fma(a, b, c); } \
    CPUSIM_INLINE double __dsqrt_##SUFFIX(double a) { return ::sqrt(a); } \
    CPUSIM_INLINE double __drcp_##SUFFIX(double a) { return 1.0 / a; }
CPUSIM_ROUNDED(rn)
CPUSIM_ROUNDED(rz)
CPUSIM_ROUNDED(ru)
CPUSIM_ROUNDED(rd)
CPUSIM_INLINE float __frsqrt_rn(float a) { return CPUSIM_RSQRT(a); }

// --- conversions ----------------------------------------------------------------------------------------------------
#define CPUSIM_CONVERT(SUFFIX, ROUND) \
    CPUSIM_INLINE int __float2int_##SUFFIX(float a) { return cpusim::saturate<int>(ROUND((double)a)); } \
    CPUSIM_INLINE unsigned __float2uint_##SUFFIX(float a) { return cpusim::saturate<unsigned>(ROUND((double)a)); } \
    CPUSIM_INLINE long long __float2ll_##SUFFIX(float a) { return cpusim::saturate<long long>(ROUND((double)a)); } \
    CPUSIM_INLINE unsigned long long __float2ull_##SUFFIX(float a) { return cpusim::saturate<unsigned long long>(ROUND((double)a)); } \
    CPUSIM_INLINE int __double2int_##SUFFIX(double a) { return cpusim::saturate<int>(ROUND(a)); } \
    CPUSIM_INLINE unsigned __double2uint_##SUFFIX(double a) { return cpusim::saturate<unsigned>(ROUND(a)); } \
    CPUSIM_INLINE long long __double2ll_##SUFFIX(double a) { return cpusim::saturate<long long>(ROUND(a)); } \
    CPUSIM_INLINE float __int2float_##SUFFIX(int a) { return (float)a; } \
    CPUSIM_INLINE float __uint2float_##SUFFIX(unsigned a) { return (float)a; } \
    CPUSIM_INLINE float __ll2float_##SUFFIX(long long a) { return (float)a; } \
    CPUSIM_INLINE float __ull2float_##SUFFIX(unsigned long long a) { return (float)a; } \
    CPUSIM_INLINE double __ll2double_##SUFFIX(long long a) { return (double)a; } \
    CPUSIM_INLINE float __double2float_##SUFFIX(double a) { return (float)a; }
CPUSIM_CONVERT(rn, ::nearbyint)
CPUSIM_CONVERT(rz, ::trunc)
CPUSIM_CONVERT(ru, ::ceil)
CPUSIM_CONVERT(rd, ::floor)
CPUSIM_INLINE double __int2double_rn(int a) { return (double)a; }
CPUSIM_INLINE double __uint2double_rn(unsigned a) { return (double)a; }
CPUSIM_INLINE int __float_as_int(float a) { return cpusim::bits<int>(a); }
CPUSIM_INLINE unsigned __float_as_uint(float a) { return cpusim::bits<unsigned>(a); }
CPUSIM_INLINE float __int_as_float(int a) { return cpusim::bits<float>(a); }
CPUSIM_INLINE float __uint_as_float(unsigned a) { return cpusim::bits<float>(a); }
CPUSIM_INLINE long long __double_as_longlong(double a) { return cpusim::bits<long long>(a); }
CPUSIM_INLINE double __longlong_as_double(long long a) { return cpusim::bits<double>(a); }
CPUSIM_INLINE int __double2hiint(double a) { return (int)(cpusim::bits<uint64_t>(a) >> 32); }
CPUSIM_INLINE int __double2loint(double a) { return (int)cpusim::bits<uint64_t>(a); }
CPUSIM_INLINE double __hiloint2double(int hi, int lo) { return cpusim::bits<double>(((uint64_t)(unsigned)hi << 32) | (unsigned)lo); }

// --- integers -------------------------------------------------------------------------------------------------------
CPUSIM_INLINE int __popc(unsigned a) { return __builtin_popcount(a); }
CPUSIM_INLINE int __popcll(unsigned long long a) { return __builtin_popcountll(a); }
CPUSIM_INLINE int __clz(int a) { return a ? __builtin_clz((unsigned)a) : 32; }
CPUSIM_INLINE int __clzll(long long a) { return a ? __builtin_clzll((unsigned long long)a) : 64; }
CPUSIM_INLINE int __ffs(int a) { return __builtin_ffs(a); }
CPUSIM_INLINE int __ffsll(long long a) { return __builtin_ffsll(a); }
CPUSIM_INLINE unsigned __brev(unsigned a) {
    a = (a >> 1 & 0x55555555u) | (a & 0x55555555u) << 1;
    a = (a >> 2 & 0x33333333u) | (a & 0x33333333u) << 2;
    a = (a >> 4 & 0x0f0f0f0fu) | (a & 0x0f0f0f0fu) << 4;
    return __builtin_bswap32(a);
}
CPUSIM_INLINE unsigned long long __brevll(unsigned long long a) {
    return (unsigned long long)__brev((unsigned)a) << 32 | __brev((unsigned)(a >> 32));
}
CPUSIM_INLINE unsigned __byte_perm(unsigned a, unsigned b, unsigned selector) {
    uint64_t both = (uint64_t)b << 32 | a;
    unsigned result = 0;
    for (int i = 0; i < 4; ++i) {
        unsigned s = selector >> (4 * i) & 0xf;
        unsigned byte = (unsigned)(both >> (8 * (s & 7))) & 0xff;
        if (s & 8) byte = byte & 0x80 ? 0xff : 0;
        result |= byte << (8 * i);
    }
    return result;
}
CPUSIM_INLINE unsigned __funnelshift_l(unsigned lo, unsigned hi, unsigned n) { return (unsigned)((((uint64_t)hi << 32 | lo) << (n & 31)) >> 32); }
CPUSIM_INLINE unsigned __funnelshift_r(unsigned lo, unsigned hi, unsigned n) { return (unsigned)(((uint64_t)hi << 32 | lo) >> (n & 31)); }
CPUSIM_INLINE unsigned __funnelshift_lc(unsigned lo, unsigned hi, unsigned n) { return n >= 32 ? lo : __funnelshift_l(lo, hi, n); }
CPUSIM_INLINE unsigned __funnelshift_rc(unsigned lo, unsigned hi, unsigned n) { return n >= 32 ? hi : __funnelshift_r(lo, hi, n); }
CPUSIM_INLINE int __mul24(int a, int b) { return (int)((unsigned)((a << 8) >> 8) * (unsigned)((b << 8) >> 8)); }
CPUSIM_INLINE unsigned __umul24(unsigned a, unsigned b) { return (a & 0xffffff) * (b & 0xffffff); }
CPUSIM_INLINE int __mulhi(int a, int b) { return (int)((long long)a * b >> 32); }
CPUSIM_INLINE unsigned __umulhi(unsigned a, unsigned b) { return (unsigned)((unsigned long long)a * b >> 32); }
CPUSIM_INLINE long long __mul64hi(long long a, long long b) { return (long long)((__int128)a * b >> 64); }
CPUSIM_INLINE unsigned long long __umul64hi(unsigned long long a, unsigned long long b) { return (unsigned long long)((unsigned __int128)a * b >> 64); }
CPUSIM_INLINE int __sad(int a, int b, unsigned c) { return (int)((a < b ? (unsigned)b - (unsigned)a : (unsigned)a - (unsigned)b) + c); }
CPUSIM_INLINE unsigned __usad(unsigned a, unsigned b, unsigned c) { return (a < b ? b - a : a - b) + c; }
CPUSIM_INLINE int __hadd(int a, int b) { return (int)(((long long)a + b) >> 1); }
CPUSIM_INLINE int __rhadd(int a, int b) { return (int)(((long long)a + b + 1) >> 1); }
CPUSIM_INLINE int __dp4a(int a, int b, int c) {
    for (int i = 0; i < 4; ++i) c += (int)(signed char)(a >> (8 * i)) * (int)(signed char)(b >> (8 * i));
    return c;
}
CPUSIM_INLINE unsigned __dp4a(unsigned a, unsigned b, unsigned c) {
    for (int i = 0; i < 4; ++i) c += (a >> (8 * i) & 0xff) * (b >> (8 * i) & 0xff);
    return c;
}
CPUSIM_INLINE unsigned umin(unsigned a, unsigned b) { return a < b ? a : b; }
CPUSIM_INLINE unsigned umax(unsigned a, unsigned b) { return a < b ? b : a; }
CPUSIM_INLINE long long llmin(long long a, long long b) { return a < b ? a : b; }
CPUSIM_INLINE long long llmax(long long a, long long b) { return a < b ? b : a; }
