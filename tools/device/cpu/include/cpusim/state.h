// What a kernel compiled for the host shares with the runtime library: where it is in the grid, and the calls it makes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#if defined(__clang__)
#define CPUSIM_UNTRACED __attribute__((no_sanitize("thread", "coverage")))
#else
#define CPUSIM_UNTRACED __attribute__((no_sanitize_thread, no_sanitize_coverage))
#endif

struct uint3 {
    unsigned x, y, z;
};

struct dim3 {
    unsigned x, y, z;
    constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
    constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
    constexpr operator uint3() const { return uint3{x, y, z}; }
};

struct cpusim_stream;
struct cpusim_event;
typedef cpusim_stream* cudaStream_t;
typedef cpusim_event* cudaEvent_t;

namespace cpusim {

constexpr unsigned max_threads = 1024;

// The part of the state that belongs to one block; a cooperative launch keeps one copy per block.
struct BlockState {
    uint3 block;            // blockIdx
    uint3 next_index;       // threadIdx of the next thread to start
    unsigned next;          // its linear number
    unsigned count;         // threads in the block
    unsigned live;          // started or not, but not finished
    unsigned exited[max_threads / 32];  // per warp: lanes that have returned, and lanes that do not exist
};

struct State {
    uint3 thread;           // threadIdx
    unsigned current;       // its linear number in the block
    BlockState now;
    dim3 block_dim, grid_dim;
    unsigned launch;        // serial number of the launch in progress, 0 on the host
    unsigned char* shared;  // the block's shared memory
    unsigned dynamic_bytes;
};

// A `__shared__` variable: its place in the block's shared memory is chosen at its first use in a launch.
struct Slot {
    unsigned bytes, align;
    const char* name;
    int line;
    unsigned launch, offset;
};

struct LaunchConfig {
    const char* kernel;
    int line;
    dim3 grid, block;
    size_t dynamic_bytes;
    cudaStream_t stream;
    const void* function;  // address of the kernel where it is known
    bool cooperative;
};

enum class WarpOp : int { sync, shuffle, ballot, any, all, match_any, match_all, add, min_s, min_u, max_s, max_u, bit_and, bit_or, bit_xor, active };
enum class BlockOp : int { sync, count, all, any };

}  // namespace cpusim

extern "C" {
extern cpusim::State cpusim_state;

// Runs every block of the grid; `loop` runs threads of the current block until none is left to start.
int cpusim_launch(const cpusim::LaunchConfig* config, void (*loop)(void*), void* closure);
void cpusim_check_pointer(const void* pointer, int position, int line);
void cpusim_place(cpusim::Slot* slot);
int cpusim_block_barrier(cpusim::BlockOp op, int value, int line);
void cpusim_grid_barrier(int line);
// Waits until the lanes of `mask` are here; returns this lane's result.
uint64_t cpusim_warp(cpusim::WarpOp op, unsigned mask, uint64_t value, int source, int line);
void cpusim_atomic(const void* address, int bytes, bool floating, int line);
void cpusim_yield();
[[noreturn]] void cpusim_trap(const char* what);
unsigned cpusim_live_lanes();
}

namespace cpusim {

__attribute__((always_inline)) CPUSIM_UNTRACED inline bool begin_thread() {
    State& s = cpusim_state;
    BlockState& b = s.now;
    if (b.next == b.count) return false;
    s.current = b.next++;
    s.thread = b.next_index;
    if (++b.next_index.x == s.block_dim.x) {
        b.next_index.x = 0;
        if (++b.next_index.y == s.block_dim.y) {
            b.next_index.y = 0;
            ++b.next_index.z;
        }
    }
    return true;
}

__attribute__((always_inline)) CPUSIM_UNTRACED inline void end_thread() {
    State& s = cpusim_state;
    --s.now.live;
    s.now.exited[s.current >> 5] |= 1u << (s.current & 31);
}

// Not instrumented in a trace build, so that the kernel stays a function of its own there.
template <class F>
CPUSIM_UNTRACED void thread_loop(void* closure) {
    F& body = *static_cast<F*>(closure);
    while (begin_thread()) {
#ifdef CPUSIM_TRACE
        asm volatile("" ::: "memory");
#endif
        body();
#ifdef CPUSIM_TRACE
        asm volatile("" ::: "memory");
#endif
        end_thread();
    }
}

template <class T>
inline void check_argument(const T& argument, int position, int line) {
    if constexpr (std::is_pointer_v<T>) {
        if constexpr (!std::is_function_v<std::remove_pointer_t<T>>) cpusim_check_pointer((const void*)argument, position, line);
    }
}

struct Launcher : LaunchConfig {
    template <class F, class... A>
    int operator()(F f, A&&... arguments) const {
        int position = 0;
        (check_argument<std::decay_t<A>>(arguments, position++, line), ...);
        (void)position;
        auto body = [&] { f(arguments...); };
        return cpusim_launch(this, &thread_loop<decltype(body)>, &body);
    }
};

inline Launcher configure(const char* kernel, int line, const void* function, dim3 grid, dim3 block, size_t dynamic_bytes = 0,
                          cudaStream_t stream = nullptr) {
    return Launcher{{kernel, line, grid, block, dynamic_bytes, stream, function, false}};
}

// Stands for a literal 0 or NULL in a launch: any number, or a null pointer.
struct Zero {
    template <class T, class = std::enable_if_t<std::is_arithmetic_v<T>>>
    constexpr operator T() const { return T(0); }
    template <class T>
    constexpr operator T*() const { return nullptr; }
};

template <class... P>
const void* address_of(void (*f)(P...)) { return (const void*)f; }

__attribute__((always_inline)) CPUSIM_UNTRACED inline void* shared_at(Slot& slot) {
    if (slot.launch != cpusim_state.launch) cpusim_place(&slot);
    return cpusim_state.shared + slot.offset;
}

__attribute__((always_inline)) CPUSIM_UNTRACED inline void* dynamic_shared() { return cpusim_state.shared; }

}  // namespace cpusim

#define CPUSIM_TEXT_(...) #__VA_ARGS__
#define CPUSIM_TEXT(...) CPUSIM_TEXT_(__VA_ARGS__)

static const uint3& threadIdx = cpusim_state.thread;
static const uint3& blockIdx = cpusim_state.now.block;
static const dim3& blockDim = cpusim_state.block_dim;
static const dim3& gridDim = cpusim_state.grid_dim;
static constexpr int warpSize = 32;
