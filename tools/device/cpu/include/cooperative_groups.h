// Cooperative groups: thread blocks, tiles, coalesced groups, the grid; reduce, scans and copies.
#pragma once

#include "cuda_runtime.h"

namespace cooperative_groups {

namespace detail {
inline unsigned rank_in_block() { return cpusim_state.current; }
// Lanes of the mask below this one.
inline unsigned rank_in(unsigned mask) { return (unsigned)__builtin_popcount(mask & ((1u << (cpusim_state.current & 31)) - 1u)); }
// The lane of the n-th member of the mask.
inline int member(unsigned mask, unsigned n) {
    while (n--) mask &= mask - 1;
    return mask ? __builtin_ctz(mask) : 0;
}
}  // namespace detail

class thread_block {
public:
    static void sync(CPUSIM_LINE) { __syncthreads(line); }
    static void barrier_wait(CPUSIM_LINE) { __syncthreads(line); }
    static unsigned thread_rank() { return detail::rank_in_block(); }
    static unsigned num_threads() { return cpusim_state.now.count; }
    static unsigned size() { return cpusim_state.now.count; }
    static dim3 group_index() { return dim3(blockIdx); }
    static dim3 thread_index() { return dim3(threadIdx); }
    static dim3 group_dim() { return blockDim; }
    static dim3 dim_threads() { return blockDim; }
};
inline thread_block this_thread_block() { return {}; }

class grid_group {
public:
    static void sync(CPUSIM_LINE) { cpusim_grid_barrier(line); }
    static bool is_valid() { return true; }
    static unsigned long long block_rank() { return blockIdx.x + (unsigned long long)gridDim.x * (blockIdx.y + (unsigned long long)gridDim.y * blockIdx.z); }
    static unsigned long long num_blocks() { return (unsigned long long)gridDim.x * gridDim.y * gridDim.z; }
    static unsigned long long thread_rank() { return block_rank() * cpusim_state.now.count + cpusim_state.current; }
    static unsigned long long num_threads() { return num_blocks() * cpusim_state.now.count; }
    static unsigned long long size() { return num_threads(); }
    static dim3 group_dim() { return gridDim; }
    static dim3 dim_blocks() { return gridDim; }
    static dim3 block_index() { return dim3(blockIdx); }
};
inline grid_group this_grid() { return {}; }

// A set of lanes of one warp.
class coalesced_group {
public:
    explicit coalesced_group(unsigned mask, unsigned meta_rank = 0, unsigned meta_size = 1) : mask_(mask), meta_rank_(meta_rank), meta_size_(meta_size) {}
    unsigned mask() const { return mask_; }
    unsigned thread_rank() const { return detail::rank_in(mask_); }
    unsigned num_threads() const { return (unsigned)__builtin_popcount(mask_); }
    unsigned size() const { return num_threads(); }
    unsigned meta_group_rank() const { return meta_rank_; }
    unsigned meta_group_size() const { return meta_size_; }
    void sync(CPUSIM_LINE) const { __syncwarp(mask_, line); }
    template <class T> T shfl(T v, int from, CPUSIM_LINE) const { return lane_shuffle(v, detail::member(mask_, (unsigned)from), line); }
    template <class T> T shfl_down(T v, unsigned d, CPUSIM_LINE) const { unsigned r = thread_rank() + d; return lane_shuffle(v, r < num_threads() ? detail::member(mask_, r) : -1, line); }
    template <class T> T shfl_up(T v, unsigned d, CPUSIM_LINE) const { unsigned r = thread_rank(); return lane_shuffle(v, r >= d ? detail::member(mask_, r - d) : -1, line); }
    template <class T> T shfl_xor(T v, unsigned m, CPUSIM_LINE) const { unsigned r = thread_rank() ^ m; return lane_shuffle(v, r < num_threads() ? detail::member(mask_, r) : -1, line); }
    int any(int p, CPUSIM_LINE) const { return __any_sync(mask_, p, line); }
    int all(int p, CPUSIM_LINE) const { return __all_sync(mask_, p, line); }
    unsigned ballot(int p, CPUSIM_LINE) const { return pack(__ballot_sync(mask_, p, line)); }
    template <class T> unsigned match_any(T v, CPUSIM_LINE) const { return pack(__match_any_sync(mask_, v, line)); }
    template <class T> unsigned match_all(T v, int& p, CPUSIM_LINE) const { return pack(__match_all_sync(mask_, v, &p, line)); }

protected:
    template <class T> T lane_shuffle(T v, int lane, int line) const { return cpusim::narrow<T>(cpusim_warp(cpusim::WarpOp::shuffle, mask_, cpusim::widen(v), lane, line)); }
    unsigned pack(unsigned lanes) const {
        unsigned packed = 0, rank = 0;
        for (unsigned m = mask_; m; m &= m - 1, ++rank) packed |= (lanes >> __builtin_ctz(m) & 1u) << rank;
        return packed;
    }
    unsigned mask_, meta_rank_, meta_size_;
};

inline coalesced_group coalesced_threads(CPUSIM_LINE) { return coalesced_group(__activemask(line)); }

namespace detail {
inline unsigned tile_mask(unsigned size) {
    unsigned lane = cpusim_state.current & 31;
    return size >= 32 ? 0xffffffffu : ((1u << size) - 1u) << (lane & ~(size - 1u));
}
}  // namespace detail

// A tile is a warp's lanes, or a power-of-two part of them.
template <unsigned N, class Parent = thread_block>
class thread_block_tile : public coalesced_group {
    static_assert(N <= 32 && (N & (N - 1)) == 0, "tiles above 32 threads are not supported by the cpu device");

public:
    thread_block_tile() : coalesced_group(detail::tile_mask(N), cpusim_state.current / N, (cpusim_state.now.count + N - 1) / N) {}
    template <class P> thread_block_tile(const thread_block_tile<N, P>&) : thread_block_tile() {}
    static constexpr unsigned num_threads() { return N; }
    static constexpr unsigned size() { return N; }
    static unsigned thread_rank() { return cpusim_state.current & (N - 1); }
    template <class T> T shfl(T v, int from, CPUSIM_LINE) const { return __shfl_sync(mask_, v, from, N, line); }
    template <class T> T shfl_down(T v, unsigned d, CPUSIM_LINE) const { return __shfl_down_sync(mask_, v, d, N, line); }
    template <class T> T shfl_up(T v, unsigned d, CPUSIM_LINE) const { return __shfl_up_sync(mask_, v, d, N, line); }
    template <class T> T shfl_xor(T v, unsigned m, CPUSIM_LINE) const { return __shfl_xor_sync(mask_, v, (int)m, N, line); }
};

template <unsigned N, class Group>
inline thread_block_tile<N, Group> tiled_partition(const Group&) { return {}; }
template <class Group>
inline coalesced_group tiled_partition(const Group&, unsigned size) { return coalesced_group(detail::tile_mask(size), cpusim_state.current / size, (cpusim_state.now.count + size - 1) / size); }
template <class Group>
inline coalesced_group binary_partition(const Group& g, bool predicate, CPUSIM_LINE) {
    unsigned yes = __ballot_sync(g.mask(), predicate, line);
    return coalesced_group(predicate ? yes : g.mask() & ~yes);
}
template <class Group> inline void sync(const Group& g, CPUSIM_LINE) { g.sync(line); }
template <class Group> inline unsigned thread_rank(const Group& g) { return (unsigned)g.thread_rank(); }
template <class Group> inline unsigned group_size(const Group& g) { return (unsigned)g.size(); }
template <class Group, class F> inline void invoke_one(const Group& g, F&& f) { if (g.thread_rank() == 0) f(); }

template <class T = void> struct plus { template <class U> U operator()(U a, U b) const { return U(a + b); } };
template <class T = void> struct less { template <class U> U operator()(U a, U b) const { return b < a ? b : a; } };
template <class T = void> struct greater { template <class U> U operator()(U a, U b) const { return a < b ? b : a; } };
template <class T = void> struct bit_and { template <class U> U operator()(U a, U b) const { return U(a & b); } };
template <class T = void> struct bit_or { template <class U> U operator()(U a, U b) const { return U(a | b); } };
template <class T = void> struct bit_xor { template <class U> U operator()(U a, U b) const { return U(a ^ b); } };

// Every lane gets the total over the group, in a fixed order: a tree where the size is a power of two.
template <class Group, class T, class Op>
inline T reduce(const Group& g, T value, Op op, CPUSIM_LINE) {
    unsigned size = (unsigned)g.size();
    if ((size & (size - 1)) == 0) {
        for (unsigned d = size / 2; d > 0; d /= 2) value = op(value, g.shfl_xor(value, d, line));
        return value;
    }
    T total = g.shfl(value, 0, line);
    for (unsigned i = 1; i < size; ++i) total = op(total, g.shfl(value, (int)i, line));
    return total;
}
template <class Group, class T, class Op = plus<T>>
inline T inclusive_scan(const Group& g, T value, Op op = {}, CPUSIM_LINE) {
    unsigned rank = (unsigned)g.thread_rank();
    for (unsigned d = 1; d < (unsigned)g.size(); d *= 2) {
        T other = g.shfl_up(value, d, line);
        if (rank >= d) value = op(other, value);
    }
    return value;
}
template <class Group, class T, class Op = plus<T>>
inline T exclusive_scan(const Group& g, T value, Op op = {}, CPUSIM_LINE) {
    T sum = inclusive_scan(g, value, op, line);
    T before = g.shfl_up(sum, 1, line);
    return g.thread_rank() == 0 ? T{} : before;
}

// Copies are done at once; `wait` is the barrier that they promise.
template <class Group, class T>
inline void memcpy_async(const Group& g, T* to, const T* from, size_t bytes) {
    const char* source = (const char*)from;
    char* target = (char*)to;
    for (size_t i = (size_t)g.thread_rank() * 4; i < bytes; i += (size_t)g.size() * 4)
        for (size_t j = i; j < i + 4 && j < bytes; ++j) target[j] = source[j];
}
template <class Group, class T>
inline void memcpy_async(const Group& g, T* to, size_t to_count, const T* from, size_t from_count) {
    memcpy_async(g, to, from, sizeof(T) * (to_count < from_count ? to_count : from_count));
}
template <class Group> inline void wait(const Group& g, CPUSIM_LINE) { g.sync(line); }
template <unsigned, class Group> inline void wait_prior(const Group& g, CPUSIM_LINE) { g.sync(line); }

}  // namespace cooperative_groups
