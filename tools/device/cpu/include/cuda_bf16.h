// bfloat16: types, operators and the common intrinsics.
#pragma once

#include "cuda_runtime.h"
#include "cpusim/round.h"

#define S __nv_bfloat16
#define S2 __nv_bfloat162
#define RAW __ushort_as_bfloat16
#define FROM cpusim::to_bf16
#define TO cpusim::from_bf16
#include "cpusim/small_float.h"
#undef S
#undef S2
#undef RAW
#undef FROM
#undef TO

typedef __nv_bfloat16 nv_bfloat16;
typedef __nv_bfloat162 nv_bfloat162;
struct __nv_bfloat16_raw { unsigned short x; };
struct __nv_bfloat162_raw { unsigned short x, y; };

CPUSIM_INLINE unsigned short __bfloat16_as_ushort(__nv_bfloat16 a) { return a.__x; }
CPUSIM_INLINE short __bfloat16_as_short(__nv_bfloat16 a) { return (short)a.__x; }
CPUSIM_INLINE __nv_bfloat16 __short_as_bfloat16(short a) { return __ushort_as_bfloat16((unsigned short)a); }
CPUSIM_INLINE float __bfloat162float(__nv_bfloat16 a) { return cpusim::from_bf16(a.__x); }
CPUSIM_INLINE __nv_bfloat16 __float2bfloat16(float a) { return __nv_bfloat16(a); }
CPUSIM_INLINE __nv_bfloat16 __float2bfloat16_rn(float a) { return __nv_bfloat16(a); }
CPUSIM_INLINE __nv_bfloat16 __float2bfloat16_rz(float a) { return __ushort_as_bfloat16(a != a ? 0x7fff : (unsigned short)(__float_as_uint(a) >> 16)); }
CPUSIM_INLINE __nv_bfloat16 __double2bfloat16(double a) { return __nv_bfloat16(a); }
CPUSIM_INLINE __nv_bfloat16 __int2bfloat16_rn(int a) { return __nv_bfloat16(a); }
CPUSIM_INLINE __nv_bfloat16 __uint2bfloat16_rn(unsigned a) { return __nv_bfloat16(a); }
CPUSIM_INLINE __nv_bfloat16 __ll2bfloat16_rn(long long a) { return __nv_bfloat16(a); }
CPUSIM_INLINE int __bfloat162int_rn(__nv_bfloat16 a) { return __float2int_rn(__bfloat162float(a)); }
CPUSIM_INLINE int __bfloat162int_rz(__nv_bfloat16 a) { return __float2int_rz(__bfloat162float(a)); }
CPUSIM_INLINE __nv_bfloat162 __floats2bfloat162_rn(float a, float b) { return __nv_bfloat162(__nv_bfloat16(a), __nv_bfloat16(b)); }
CPUSIM_INLINE __nv_bfloat162 __float22bfloat162_rn(float2 a) { return __floats2bfloat162_rn(a.x, a.y); }
CPUSIM_INLINE __nv_bfloat162 __float2bfloat162_rn(float a) { return __floats2bfloat162_rn(a, a); }
CPUSIM_INLINE float2 __bfloat1622float2(__nv_bfloat162 a) { return make_float2(__bfloat162float(a.x), __bfloat162float(a.y)); }
CPUSIM_INLINE __nv_bfloat162 __bfloat162bfloat162(__nv_bfloat16 a) { return __nv_bfloat162(a, a); }
CPUSIM_INLINE __nv_bfloat162 __halves2bfloat162(__nv_bfloat16 a, __nv_bfloat16 b) { return __nv_bfloat162(a, b); }
CPUSIM_INLINE __nv_bfloat162 make_bfloat162(__nv_bfloat16 a, __nv_bfloat16 b) { return __nv_bfloat162(a, b); }
CPUSIM_INLINE __nv_bfloat16 __low2bfloat16(__nv_bfloat162 a) { return a.x; }
CPUSIM_INLINE __nv_bfloat16 __high2bfloat16(__nv_bfloat162 a) { return a.y; }
CPUSIM_INLINE __nv_bfloat162 __low2bfloat162(__nv_bfloat162 a) { return __nv_bfloat162(a.x, a.x); }
CPUSIM_INLINE __nv_bfloat162 __high2bfloat162(__nv_bfloat162 a) { return __nv_bfloat162(a.y, a.y); }
CPUSIM_INLINE __nv_bfloat162 __lowhigh2highlow(__nv_bfloat162 a) { return __nv_bfloat162(a.y, a.x); }
CPUSIM_INLINE __nv_bfloat162 __lows2bfloat162(__nv_bfloat162 a, __nv_bfloat162 b) { return __nv_bfloat162(a.x, b.x); }
CPUSIM_INLINE __nv_bfloat162 __highs2bfloat162(__nv_bfloat162 a, __nv_bfloat162 b) { return __nv_bfloat162(a.y, b.y); }
#define CUDART_INF_BF16 __ushort_as_bfloat16((unsigned short)0x7F80U)
#define CUDART_NAN_BF16 __ushort_as_bfloat16((unsigned short)0x7FFFU)
#define CUDART_ZERO_BF16 __ushort_as_bfloat16((unsigned short)0x0000U)
#define CUDART_ONE_BF16 __ushort_as_bfloat16((unsigned short)0x3F80U)
