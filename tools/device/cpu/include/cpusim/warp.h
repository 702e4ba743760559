// Barriers, warp collectives and fences. Each knows the source line that it is called from.
#pragma once

#include "math.h"
#include "vector.h"

#define CPUSIM_LINE int line = __builtin_LINE()

CPUSIM_INLINE void __syncthreads(CPUSIM_LINE) { cpusim_block_barrier(cpusim::BlockOp::sync, 0, line); }
CPUSIM_INLINE int __syncthreads_count(int predicate, CPUSIM_LINE) { return cpusim_block_barrier(cpusim::BlockOp::count, predicate, line); }
CPUSIM_INLINE int __syncthreads_and(int predicate, CPUSIM_LINE) { return cpusim_block_barrier(cpusim::BlockOp::all, predicate, line); }
CPUSIM_INLINE int __syncthreads_or(int predicate, CPUSIM_LINE) { return cpusim_block_barrier(cpusim::BlockOp::any, predicate, line); }
CPUSIM_INLINE void __syncwarp(unsigned mask = 0xffffffffu, CPUSIM_LINE) { cpusim_warp(cpusim::WarpOp::sync, mask, 0, 0, line); }
CPUSIM_INLINE void __threadfence() {}
CPUSIM_INLINE void __threadfence_block() {}
CPUSIM_INLINE void __threadfence_system() {}
CPUSIM_INLINE void __nanosleep(unsigned) { cpusim_yield(); }
CPUSIM_INLINE void __trap() { cpusim_trap("__trap()"); }
CPUSIM_INLINE void __brkpt() {}
CPUSIM_INLINE unsigned __activemask(CPUSIM_LINE) { return (unsigned)cpusim_warp(cpusim::WarpOp::active, cpusim_live_lanes(), 0, 0, line); }
CPUSIM_INLINE unsigned __ballot_sync(unsigned mask, int predicate, CPUSIM_LINE) { return (unsigned)cpusim_warp(cpusim::WarpOp::ballot, mask, predicate != 0, 0, line); }
CPUSIM_INLINE int __any_sync(unsigned mask, int predicate, CPUSIM_LINE) { return (int)cpusim_warp(cpusim::WarpOp::any, mask, predicate != 0, 0, line); }
CPUSIM_INLINE int __all_sync(unsigned mask, int predicate, CPUSIM_LINE) { return (int)cpusim_warp(cpusim::WarpOp::all, mask, predicate != 0, 0, line); }

namespace cpusim {
template <class T>
__attribute__((always_inline)) inline uint64_t widen(T value) {
    static_assert(sizeof(T) <= 8, "warp operations move at most 8 bytes per lane");
    uint64_t wide = 0;
    __builtin_memcpy(&wide, &value, sizeof(T));
    return wide;
}
template <class T>
__attribute__((always_inline)) inline T narrow(uint64_t wide) {
    T value;
    __builtin_memcpy(&value, &wide, sizeof(T));
    return value;
}
CPUSIM_INLINE int lane() { return (int)(cpusim_state.current & 31); }
}  // namespace cpusim

// A lane whose source lies outside its segment keeps its own value (source −1).
template <class T>
__attribute__((always_inline)) inline T __shfl_sync(unsigned mask, T value, int source, int width = 32, CPUSIM_LINE) {
    int base = cpusim::lane() & ~(width - 1);
    return cpusim::narrow<T>(cpusim_warp(cpusim::WarpOp::shuffle, mask, cpusim::widen(value), base | (source & (width - 1)), line));
}
template <class T>
__attribute__((always_inline)) inline T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32, CPUSIM_LINE) {
    int lane = cpusim::lane(), from = lane - (int)delta;
    return cpusim::narrow<T>(cpusim_warp(cpusim::WarpOp::shuffle, mask, cpusim::widen(value), from < (lane & ~(width - 1)) ? -1 : from, line));
}
template <class T>
__attribute__((always_inline)) inline T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32, CPUSIM_LINE) {
    int lane = cpusim::lane();
    long long from = (long long)lane + delta;
    return cpusim::narrow<T>(cpusim_warp(cpusim::WarpOp::shuffle, mask, cpusim::widen(value), from >= (lane & ~(width - 1)) + width ? -1 : (int)from, line));
}
template <class T>
__attribute__((always_inline)) inline T __shfl_xor_sync(unsigned mask, T value, int lane_mask, int width = 32, CPUSIM_LINE) {
    int lane = cpusim::lane(), from = lane ^ lane_mask;
    return cpusim::narrow<T>(cpusim_warp(cpusim::WarpOp::shuffle, mask, cpusim::widen(value), from >= (lane & ~(width - 1)) + width ? -1 : from, line));
}
template <class T>
inline unsigned __match_any_sync(unsigned mask, T value, CPUSIM_LINE) { return (unsigned)cpusim_warp(cpusim::WarpOp::match_any, mask, cpusim::widen(value), 0, line); }
template <class T>
inline unsigned __match_all_sync(unsigned mask, T value, int* predicate, CPUSIM_LINE) {
    unsigned result = (unsigned)cpusim_warp(cpusim::WarpOp::match_all, mask, cpusim::widen(value), 0, line);
    *predicate = result != 0;
    return result;
}
#define CPUSIM_REDUCE(NAME, T, OP) CPUSIM_INLINE T __reduce_##NAME##_sync(unsigned mask, T value, CPUSIM_LINE) { return (T)cpusim_warp(cpusim::WarpOp::OP, mask, (uint64_t)(unsigned)value, 0, line); }
CPUSIM_REDUCE(add, int, add)
CPUSIM_REDUCE(add, unsigned, add)
CPUSIM_REDUCE(min, int, min_s)
CPUSIM_REDUCE(min, unsigned, min_u)
CPUSIM_REDUCE(max, int, max_s)
CPUSIM_REDUCE(max, unsigned, max_u)
CPUSIM_REDUCE(and, unsigned, bit_and)
CPUSIM_REDUCE(or, unsigned, bit_or)
CPUSIM_REDUCE(xor, unsigned, bit_xor)

// --- loads and stores with cache hints: plain ones here -------------------------------------------------------------
#define CPUSIM_LOAD(NAME) template <class T> __attribute__((always_inline)) inline T NAME(const T* p) { return *p; }
CPUSIM_LOAD(__ldg)
CPUSIM_LOAD(__ldca)
CPUSIM_LOAD(__ldcg)
CPUSIM_LOAD(__ldcs)
CPUSIM_LOAD(__ldcv)
CPUSIM_LOAD(__ldlu)
#define CPUSIM_STORE(NAME) template <class T> __attribute__((always_inline)) inline void NAME(T* p, std::common_type_t<T> v) { *p = v; }
CPUSIM_STORE(__stcg)
CPUSIM_STORE(__stcs)
CPUSIM_STORE(__stwb)
CPUSIM_STORE(__stwt)

CPUSIM_INLINE size_t __cvta_generic_to_shared(const void* p) { return (size_t)((const unsigned char*)p - cpusim_state.shared); }
CPUSIM_INLINE size_t __cvta_generic_to_global(const void* p) { return (size_t)p; }
// Clocks have no meaning here; they only move forward.
CPUSIM_INLINE long long clock64() { static long long ticks = 0; return ++ticks; }
CPUSIM_INLINE unsigned long long __globaltimer() { return (unsigned long long)clock64(); }
