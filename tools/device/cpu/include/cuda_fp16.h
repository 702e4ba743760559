// half: types, operators and the common intrinsics.
#pragma once

#include "cuda_runtime.h"
#include "cpusim/round.h"

#define S __half
#define S2 __half2
#define RAW __ushort_as_half
#define FROM cpusim::to_half
#define TO cpusim::from_half
#include "cpusim/small_float.h"
#undef S
#undef S2
#undef RAW
#undef FROM
#undef TO

typedef __half half;
typedef __half2 half2;
typedef __half nv_half;
typedef __half2 nv_half2;
struct __half_raw { unsigned short x; };

CPUSIM_INLINE unsigned short __half_as_ushort(__half a) { return a.__x; }
CPUSIM_INLINE short __half_as_short(__half a) { return (short)a.__x; }
CPUSIM_INLINE __half __short_as_half(short a) { return __ushort_as_half((unsigned short)a); }
CPUSIM_INLINE float __half2float(__half a) { return cpusim::from_half(a.__x); }
CPUSIM_INLINE __half __float2half(float a) { return __half(a); }
CPUSIM_INLINE __half __float2half_rn(float a) { return __half(a); }
CPUSIM_INLINE __half __double2half(double a) { return __half(a); }
CPUSIM_INLINE __half __int2half_rn(int a) { return __half(a); }
CPUSIM_INLINE __half __uint2half_rn(unsigned a) { return __half(a); }
CPUSIM_INLINE __half __short2half_rn(short a) { return __half(a); }
CPUSIM_INLINE int __half2int_rn(__half a) { return __float2int_rn(__half2float(a)); }
CPUSIM_INLINE int __half2int_rz(__half a) { return __float2int_rz(__half2float(a)); }
CPUSIM_INLINE unsigned __half2uint_rn(__half a) { return __float2uint_rn(__half2float(a)); }
CPUSIM_INLINE __half2 __floats2half2_rn(float a, float b) { return __half2(__half(a), __half(b)); }
CPUSIM_INLINE __half2 __float22half2_rn(float2 a) { return __floats2half2_rn(a.x, a.y); }
CPUSIM_INLINE __half2 __float2half2_rn(float a) { return __floats2half2_rn(a, a); }
CPUSIM_INLINE float2 __half22float2(__half2 a) { return make_float2(__half2float(a.x), __half2float(a.y)); }
CPUSIM_INLINE __half2 __half2half2(__half a) { return __half2(a, a); }
CPUSIM_INLINE __half2 __halves2half2(__half a, __half b) { return __half2(a, b); }
CPUSIM_INLINE __half2 make_half2(__half a, __half b) { return __half2(a, b); }
CPUSIM_INLINE __half __low2half(__half2 a) { return a.x; }
CPUSIM_INLINE __half __high2half(__half2 a) { return a.y; }
CPUSIM_INLINE __half2 __low2half2(__half2 a) { return __half2(a.x, a.x); }
CPUSIM_INLINE __half2 __high2half2(__half2 a) { return __half2(a.y, a.y); }
CPUSIM_INLINE __half2 __lowhigh2highlow(__half2 a) { return __half2(a.y, a.x); }
CPUSIM_INLINE __half2 __lows2half2(__half2 a, __half2 b) { return __half2(a.x, b.x); }
CPUSIM_INLINE __half2 __highs2half2(__half2 a, __half2 b) { return __half2(a.y, b.y); }
#define CUDART_INF_FP16 __ushort_as_half((unsigned short)0x7C00U)
#define CUDART_NAN_FP16 __ushort_as_half((unsigned short)0x7FFFU)
#define CUDART_ZERO_FP16 __ushort_as_half((unsigned short)0x0000U)
#define CUDART_ONE_FP16 __ushort_as_half((unsigned short)0x3C00U)
