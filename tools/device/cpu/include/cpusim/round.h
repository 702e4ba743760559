// Rounding to 16-bit floats, to nearest even.
#pragma once

#include "math.h"

namespace cpusim {

// double → float, to odd: a second rounding to at most 11 bits then gives what one rounding would.
inline float odd(double v) {
    float f = (float)v;
    if ((double)f == v || v != v || __builtin_isinf(f)) return f;
    uint32_t u = bits<uint32_t>(f);
    double a = ::fabs(v), b = ::fabs((double)f);
    if (b > a) --u;
    return bits<float>(u | 1u);
}

inline unsigned short to_bf16(float v) {
    uint32_t u = bits<uint32_t>(v);
    if (v != v) return 0x7fff;
    return (unsigned short)((u + 0x7fffu + ((u >> 16) & 1u)) >> 16);
}
inline float from_bf16(unsigned short b) { return bits<float>((uint32_t)b << 16); }

inline unsigned short to_half(float v) {
    uint32_t u = bits<uint32_t>(v), sign = u >> 16 & 0x8000u, m = u & 0x7fffffffu;
    if (m > 0x7f800000u) return 0x7fff;
    if (m >= 0x477ff000u) return (unsigned short)(sign | 0x7c00u);  // rounds to 65536 or more
    if (m < 0x38800000u) {                                          // subnormal: let the float adder round
        float r = bits<float>(m) + 0.5f;
        return (unsigned short)(sign | (bits<uint32_t>(r) - 0x3f000000u));
    }
    m += 0xfffu + (m >> 13 & 1u);
    return (unsigned short)(sign | ((m - 0x38000000u) >> 13));
}
inline float from_half(unsigned short h) {
    uint32_t sign = (uint32_t)(h & 0x8000u) << 16, e = h >> 10 & 31u, m = h & 0x3ffu;
    if (e == 31) return bits<float>(sign | 0x7f800000u | m << 13);
    if (e == 0) return (sign ? -1.0f : 1.0f) * (float)m * 5.9604644775390625e-8f;
    return bits<float>(sign | (e + 112) << 23 | m << 13);
}

}  // namespace cpusim
