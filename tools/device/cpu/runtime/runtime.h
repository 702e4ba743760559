// Inside the runtime library: blocks and their threads, memory, counters, and the tracer's hooks.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "cuda_runtime.h"

namespace cpusim {

// --- what the counters hold -----------------------------------------------------------------------------------------

// One undefined or forbidden thing seen while running; equal ones are counted together.
struct Finding {
    std::string kind, kernel, text;
    int line, line2;
    uintptr_t pc, pc2;  // where a line is not known yet: addresses in the candidate
    uint64_t count;
};

// What the tracer saw of one source position in one launch (sampled blocks only).
struct Site {
    uintptr_t pc;
    int line, bytes;
    bool write, atomic;
    uint64_t requests[3], sectors[3], lines[3], lanes[3], accesses[3];  // global, shared, local
    uint64_t wavefronts;                                                // passes through the banks; of atomics: on one address
    uint64_t missed_sectors, missed_requests;                           // loads: not in the block's share of the L1
    uint64_t line_missed_requests;                                      // nor any other sector of their line
    uint64_t request_bytes;                                             // global: bytes that lanes asked for
};

// How often a basic block of the candidate's code was executed (sampled blocks only).
struct CodeCount {
    uintptr_t pc;
    uint64_t warps, threads;
};

struct LaunchRecord {
    std::string kernel;
    int line;
    dim3 grid, block;
    size_t dynamic_bytes, static_bytes;
    bool cooperative, traced;
    uint64_t threads, barriers, grid_barriers, warp_ops, switches;
    uint64_t atomics, shared_atomics, atomic_addresses, same_address_atomics, same_slice_atomics, float_atomics, shared_same_address;
    uint64_t blocks, ran_blocks, sampled_blocks;
    uint64_t idle_threads, redundant_threads, repeated_stores, stores, unique_read_bytes, unique_write_bytes, local_bytes, truncated;
    uint64_t cold_read_bytes, cold_write_bytes, busiest_loads, load_groups, store_groups;
    std::vector<Site> sites;
    std::vector<CodeCount> code;
};

struct Counters {
    std::vector<LaunchRecord> launches;
    std::vector<Finding> findings;
    uint64_t allocations = 0, copies = 0, synchronizations = 0, skipped_launches = 0;
};

extern Counters counters;
LaunchRecord* current_launch();
void report(const char* kind, const std::string& text, int line, int line2 = 0, uintptr_t pc = 0, uintptr_t pc2 = 0);

// --- memory -----------------------------------------------------------------------------------------------------------

enum class Kind { device, host, managed };

struct Allocation {
    uintptr_t begin, end;   // what the program asked for
    uintptr_t map, map_end;  // with the guard pages
    Kind kind;
};

const Allocation* find_allocation(uintptr_t address);   // inside [begin, end), else null
const Allocation* near_allocation(uintptr_t address);   // inside its guard pages too
bool declared_array(uintptr_t address, uintptr_t* begin, uintptr_t* end);
std::string describe_address(uintptr_t address, int bytes);
void device_memory_visible(bool visible);

extern unsigned char* shared_arena;
constexpr size_t shared_arena_bytes = 256 * 1024;
constexpr unsigned shared_limit_default = 48 * 1024, shared_limit = 227 * 1024;

// --- errors -----------------------------------------------------------------------------------------------------------

// Keeps the error for cudaGetLastError, with a text for cudaGetErrorString; a sticky one stays for good.
cudaError_t set_error(cudaError_t error, const std::string& detail = "", bool sticky = false);
[[noreturn]] void abort_launch(cudaError_t error, const std::string& text);
std::string where();  // kernel, block and thread that run now
size_t dynamic_limit(const void* function);
size_t shared_bytes_used();    // of the running block, dynamic and static
size_t shared_static_bytes();  // of the running launch, as far as its variables have been met
size_t l1_bytes_per_block(uint64_t blocks, size_t threads, size_t shared_bytes);  // what shared memory leaves to each

// --- fibers -----------------------------------------------------------------------------------------------------------

extern uintptr_t stacks_begin, stacks_end;
extern uintptr_t launch_frame;  // an address in the frame of the host function that launched the running kernel
constexpr size_t stack_bytes = 128 * 1024;

// --- tracer -----------------------------------------------------------------------------------------------------------

void trace_call_begin();  // caches are cold from here on
bool from_candidate(uintptr_t pc);  // a trace build's code; always true where there is none
void trace_launch_begin(uintptr_t code);  // an address in the candidate
void trace_launch_end();
bool trace_skips(uint64_t linear_block);  // of a dear launch only what is traced runs: results don't matter
void trace_enter_block(uint64_t linear_block);
void trace_finish_block(uint64_t linear_block);
void trace_barrier();
void trace_grid_barrier();
void trace_warp_sync(unsigned warp, unsigned mask);
void trace_atomic(uintptr_t address, int bytes, int line);

}  // namespace cpusim
