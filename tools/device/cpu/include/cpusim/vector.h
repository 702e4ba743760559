// Vector types with CUDA's sizes and alignments, and their make_ functions.
#pragma once

#include "state.h"

#define CPUSIM_VECTOR1(T, N, A) \
    struct __attribute__((aligned(A))) N##1 { T x; }; \
    static inline constexpr N##1 make_##N##1(T x) { return N##1{x}; }
#define CPUSIM_VECTOR2(T, N, A) \
    struct __attribute__((aligned(A))) N##2 { T x, y; }; \
    static inline constexpr N##2 make_##N##2(T x, T y) { return N##2{x, y}; }
#define CPUSIM_VECTOR3(T, N, A) \
    struct __attribute__((aligned(A))) N##3 { T x, y, z; }; \
    static inline constexpr N##3 make_##N##3(T x, T y, T z) { return N##3{x, y, z}; }
#define CPUSIM_VECTOR4(T, N, A) \
    struct __attribute__((aligned(A))) N##4 { T x, y, z, w; }; \
    static inline constexpr N##4 make_##N##4(T x, T y, T z, T w) { return N##4{x, y, z, w}; }
#define CPUSIM_VECTORS(T, N) \
    CPUSIM_VECTOR1(T, N, sizeof(T)) \
    CPUSIM_VECTOR2(T, N, 2 * sizeof(T)) \
    CPUSIM_VECTOR3(T, N, sizeof(T)) \
    CPUSIM_VECTOR4(T, N, (4 * sizeof(T) < 16 ? 4 * sizeof(T) : 16))

CPUSIM_VECTORS(signed char, char)
CPUSIM_VECTORS(unsigned char, uchar)
CPUSIM_VECTORS(short, short)
CPUSIM_VECTORS(unsigned short, ushort)
CPUSIM_VECTORS(int, int)
CPUSIM_VECTOR1(unsigned, uint, 4)
CPUSIM_VECTOR2(unsigned, uint, 8)
CPUSIM_VECTOR4(unsigned, uint, 16)
static inline constexpr uint3 make_uint3(unsigned x, unsigned y, unsigned z) { return uint3{x, y, z}; }
CPUSIM_VECTORS(long, long)
CPUSIM_VECTORS(unsigned long, ulong)
CPUSIM_VECTORS(long long, longlong)
CPUSIM_VECTORS(unsigned long long, ulonglong)
CPUSIM_VECTORS(float, float)
CPUSIM_VECTORS(double, double)
