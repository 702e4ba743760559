// Atomics: one operating-system thread runs all device threads, so plain code is atomic; the runtime counts each.
// None is instrumented: in a trace build the runtime sees the atomic itself.
#pragma once

#include "warp.h"

#define CPUSIM_ATOMIC(NAME, NEW) \
    template <class T> \
    CPUSIM_UNTRACED __attribute__((noinline)) T NAME(T* address, std::common_type_t<T> value, CPUSIM_LINE) { \
        cpusim_atomic(address, (int)sizeof(T), !std::is_integral_v<T>, line); \
        T old = *address; \
        *address = (NEW); \
        return old; \
    } \
    template <class T> \
    CPUSIM_UNTRACED inline T NAME(volatile T* address, std::common_type_t<T> value, CPUSIM_LINE) { return NAME(const_cast<T*>(address), value, line); } \
    template <class T> \
    CPUSIM_UNTRACED inline T NAME##_block(T* address, std::common_type_t<T> value, CPUSIM_LINE) { return NAME(address, value, line); } \
    template <class T> \
    CPUSIM_UNTRACED inline T NAME##_system(T* address, std::common_type_t<T> value, CPUSIM_LINE) { return NAME(address, value, line); }

CPUSIM_ATOMIC(atomicAdd, T(old + value))
CPUSIM_ATOMIC(atomicSub, T(old - value))
CPUSIM_ATOMIC(atomicExch, value)
CPUSIM_ATOMIC(atomicMin, value < old ? value : old)
CPUSIM_ATOMIC(atomicMax, old < value ? value : old)
CPUSIM_ATOMIC(atomicAnd, T(old & value))
CPUSIM_ATOMIC(atomicOr, T(old | value))
CPUSIM_ATOMIC(atomicXor, T(old ^ value))
CPUSIM_ATOMIC(atomicInc, old >= value ? T(0) : T(old + 1))
CPUSIM_ATOMIC(atomicDec, old == 0 || old > value ? value : T(old - 1))

template <class T>
CPUSIM_UNTRACED __attribute__((noinline)) T atomicCAS(T* address, std::common_type_t<T> compare, std::common_type_t<T> value, CPUSIM_LINE) {
    cpusim_atomic(address, (int)sizeof(T), !std::is_integral_v<T>, line);
    T old = *address;
    if (__builtin_memcmp(&old, &compare, sizeof(T)) == 0) *address = value;
    else cpusim_yield();
    return old;
}
template <class T>
CPUSIM_UNTRACED inline T atomicCAS(volatile T* address, std::common_type_t<T> compare, std::common_type_t<T> value, CPUSIM_LINE) {
    return atomicCAS(const_cast<T*>(address), compare, value, line);
}
template <class T>
CPUSIM_UNTRACED inline T atomicCAS_block(T* address, std::common_type_t<T> compare, std::common_type_t<T> value, CPUSIM_LINE) {
    return atomicCAS(address, compare, value, line);
}

#define CPUSIM_ATOMIC_VECTOR(V, N) \
    CPUSIM_UNTRACED inline V atomicAdd(V* address, V value, CPUSIM_LINE) { \
        V old = *address; \
        float* lanes = reinterpret_cast<float*>(address); \
        const float* add = reinterpret_cast<const float*>(&value); \
        for (int i = 0; i < N; ++i) atomicAdd(lanes + i, add[i], line); \
        return old; \
    }
CPUSIM_ATOMIC_VECTOR(float2, 2)
CPUSIM_ATOMIC_VECTOR(float4, 4)
