// Runs a grid on one operating-system thread. Threads of a block run one after another in a plain loop; a thread that
// waits keeps its stack, and the loop goes on with the next thread on a fresh one.
#include <sys/mman.h>
#if !defined(__x86_64__) || defined(CPUSIM_PORTABLE)
#include <ucontext.h>
#endif

#include "runtime.h"

cpusim::State cpusim_state;

namespace cpusim {

namespace {

// --- context switch ---------------------------------------------------------------------------------------------------

#if defined(__x86_64__) && !defined(CPUSIM_PORTABLE)
extern "C" void cpusim_switch(void** save, void* next);
asm(R"(
.text
.hidden cpusim_switch
.globl cpusim_switch
.type cpusim_switch,@function
cpusim_switch:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
.size cpusim_switch,.-cpusim_switch
)");

void* new_context(unsigned char* top, void (*entry)()) {
    void** sp = reinterpret_cast<void**>(reinterpret_cast<uintptr_t>(top) & ~uintptr_t(15));
    *--sp = nullptr;  // the entry function never returns; keeps its stack aligned as after a call
    *--sp = reinterpret_cast<void*>(entry);
    for (int i = 0; i < 6; ++i) *--sp = nullptr;
    return sp;
}
#else
// Any other machine: ucontext, slower but the same. A new context lives at the top of its stack.
void cpusim_switch(void** save, void* next) {
    ucontext_t mine;
    *save = &mine;
    swapcontext(&mine, static_cast<ucontext_t*>(next));
}
void* new_context(unsigned char* top, void (*entry)()) {
    size_t room = (sizeof(ucontext_t) + 63) / 64 * 64;
    ucontext_t* context = reinterpret_cast<ucontext_t*>(top - room);
    getcontext(context);
    context->uc_stack.ss_sp = top - stack_bytes;
    context->uc_stack.ss_size = stack_bytes - room;
    context->uc_link = nullptr;
    makecontext(context, entry, 0);
    return context;
}
#endif

// --- stacks -----------------------------------------------------------------------------------------------------------

std::vector<unsigned char*> free_stacks;  // tops
constexpr size_t stack_chunk = 1056;      // enough for the largest block

void add_stacks() {
    size_t each = stack_bytes + 4096, total = each * stack_chunk;
    void* memory = mmap(nullptr, total, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) abort_launch(cudaErrorMemoryAllocation, "no memory for the stacks of the device threads");
    unsigned char* base = static_cast<unsigned char*>(memory);
    if (!stacks_begin || uintptr_t(base) < stacks_begin) stacks_begin = uintptr_t(base);
    if (uintptr_t(base) + total > stacks_end) stacks_end = uintptr_t(base) + total;
    static size_t chunks = 0;
    bool guard = ++chunks <= 8;  // guards cost mappings, and a process has 65,530 of them
    for (size_t i = stack_chunk; i-- > 0;) {
        if (guard) mprotect(base + i * each, 4096, PROT_NONE);
        free_stacks.push_back(base + (i + 1) * each);
    }
}

// --- blocks and threads -----------------------------------------------------------------------------------------------

struct Thread {
    void* sp = nullptr;
    uint3 index{};
    uint64_t result = 0;
};

struct Collective {
    WarpOp op;
    unsigned warp, mask, arrived;
    int line;
    uint64_t value[32];
    int source[32];
};

struct Block {
    BlockState state;
    std::vector<Thread> threads;
    std::vector<unsigned> ready;  // a queue
    size_t ready_head = 0;
    std::vector<unsigned> yielded;  // may go on, but only when nobody else can
    std::vector<unsigned> at_barrier;
    int barrier_line = 0;
    BlockOp barrier_op = BlockOp::sync;
    int barrier_sum = 0, barrier_count = 0;
    unsigned at_grid = 0;
    std::vector<unsigned> grid_waiters;
    std::vector<Collective> collectives;
    std::vector<unsigned char> shared;  // saved while another block of a cooperative launch runs
    bool started = false, finished = false;
};

std::vector<Block> blocks;
size_t block_now = 0;
bool cooperative_now = false;
void* main_context = nullptr;
void (*loop_now)(void*) = nullptr;
void* closure_now = nullptr;
unsigned shared_used = 0;  // dynamic + static bytes placed so far in this launch
unsigned launch_serial = 0;

Block& block() { return blocks[block_now]; }

void fiber_entry();

void* start_fiber() {
    if (free_stacks.empty()) add_stacks();
    unsigned char* top = free_stacks.back();
    free_stacks.pop_back();
    return new_context(top, &fiber_entry);
}

uint64_t linear_block(const uint3& b) {
    return b.x + uint64_t(cpusim_state.grid_dim.x) * (b.y + uint64_t(cpusim_state.grid_dim.y) * b.z);
}

void begin_block(Block& b, uint64_t linear) {
    State& s = cpusim_state;
    unsigned count = s.block_dim.x * s.block_dim.y * s.block_dim.z;
    b.state.block = uint3{unsigned(linear % s.grid_dim.x), unsigned(linear / s.grid_dim.x % s.grid_dim.y),
                          unsigned(linear / s.grid_dim.x / s.grid_dim.y)};
    b.state.next_index = uint3{0, 0, 0};
    b.state.next = 0;
    b.state.count = b.state.live = count;
    for (unsigned w = 0; w < max_threads / 32; ++w) {
        unsigned lanes = count > w * 32 ? count - w * 32 : 0;
        b.state.exited[w] = lanes >= 32 ? 0u : ~((1u << lanes) - 1u);
    }
    if (b.threads.size() != count) b.threads.assign(count, Thread{});
    b.ready.clear();
    b.ready_head = 0;
    b.yielded.clear();
    b.at_barrier.clear();
    b.grid_waiters.clear();
    b.barrier_sum = b.barrier_count = 0;
    b.collectives.clear();
    b.started = b.finished = false;
}

// Make this block the running one: its state and its shared memory.
void enter_block(size_t index) {
    block_now = index;
    Block& b = block();
    cpusim_state.now = b.state;
    if (!b.started) {
        b.started = true;
        memset(shared_arena, 0xFF, shared_used);
    } else if (!b.shared.empty()) {
        memcpy(shared_arena, b.shared.data(), b.shared.size());
    }
    trace_enter_block(linear_block(b.state.block));
}

void leave_block() {
    Block& b = block();
    b.state = cpusim_state.now;
    if (cooperative_now && !b.finished) b.shared.assign(shared_arena, shared_arena + shared_used);
}

void make_ready(Block& b, unsigned thread) { b.ready.push_back(thread); }

// --- releases ---------------------------------------------------------------------------------------------------------

void release_barrier(Block& b) {
    int result = 0;
    switch (b.barrier_op) {
        case BlockOp::sync: break;
        case BlockOp::count: result = b.barrier_sum; break;
        case BlockOp::all: result = b.barrier_sum == b.barrier_count; break;
        case BlockOp::any: result = b.barrier_sum != 0; break;
    }
    for (unsigned t : b.at_barrier) {
        b.threads[t].result = uint64_t(unsigned(result));
        make_ready(b, t);
    }
    b.at_barrier.clear();
    b.barrier_sum = b.barrier_count = 0;
    ++current_launch()->barriers;
    trace_barrier();
}

// The order of release is the order of thread numbers, whatever the order of arrival.
void complete(Block& b, Collective& c) {
    unsigned lanes = c.arrived;
    uint64_t all = 0;
    bool first = true;
    for (unsigned m = lanes; m; m &= m - 1) {
        unsigned l = unsigned(__builtin_ctz(m));
        uint64_t v = c.value[l];
        switch (c.op) {
            case WarpOp::ballot:
            case WarpOp::any:
            case WarpOp::all: all |= uint64_t(v != 0) << l; break;
            case WarpOp::add: all = uint32_t(all + v); break;
            case WarpOp::bit_and: all = first ? v : all & v; break;
            case WarpOp::bit_or: all |= v; break;
            case WarpOp::bit_xor: all ^= v; break;
            case WarpOp::min_s: all = first || int32_t(v) < int32_t(all) ? v : all; break;
            case WarpOp::max_s: all = first || int32_t(v) > int32_t(all) ? v : all; break;
            case WarpOp::min_u: all = first || uint32_t(v) < uint32_t(all) ? v : all; break;
            case WarpOp::max_u: all = first || uint32_t(v) > uint32_t(all) ? v : all; break;
            default: break;
        }
        first = false;
    }
    for (unsigned m = lanes; m; m &= m - 1) {
        unsigned l = unsigned(__builtin_ctz(m));
        uint64_t result = all;
        switch (c.op) {
            case WarpOp::shuffle: {
                int from = c.source[l];
                if (from < 0) {
                    result = c.value[l];
                } else if (lanes >> from & 1u) {
                    result = c.value[from];
                } else {
                    result = ~uint64_t(0);  // the value of a lane that does not take part is undefined
                    report("shuffle_inactive_lane", "a shuffle reads a lane that does not take part in it: the value is undefined", c.line);
                }
                break;
            }
            case WarpOp::any: result = all != 0; break;
            case WarpOp::all: result = uint32_t(all) == lanes; break;
            case WarpOp::active: result = lanes; break;
            case WarpOp::match_any:
                result = 0;
                for (unsigned n = lanes; n; n &= n - 1) {
                    unsigned k = unsigned(__builtin_ctz(n));
                    if (c.value[k] == c.value[l]) result |= uint64_t(1) << k;
                }
                break;
            case WarpOp::match_all:
                result = lanes;
                for (unsigned n = lanes; n; n &= n - 1)
                    if (c.value[__builtin_ctz(n)] != c.value[l]) result = 0;
                break;
            default: break;
        }
        unsigned t = c.warp * 32 + l;
        b.threads[t].result = result;
        make_ready(b, t);
    }
    ++current_launch()->warp_ops;
    trace_warp_sync(c.warp, lanes);
}

bool is_complete(const Block&, const Collective& c) { return (c.mask & ~(c.arrived | cpusim_state.now.exited[c.warp])) == 0; }

// Nothing in this block can run: complete what waits only for lanes that have left, else release what is undefined.
bool unblock(Block& b) {
    for (size_t i = 0; i < b.collectives.size(); ++i) {
        if (is_complete(b, b.collectives[i])) {
            Collective c = b.collectives[i];
            b.collectives.erase(b.collectives.begin() + long(i));
            complete(b, c);
            return true;
        }
    }
    for (size_t i = 0; i < b.collectives.size(); ++i) {  // __activemask in divergent code: whoever is here
        if (b.collectives[i].op == WarpOp::active) {
            Collective c = b.collectives[i];
            b.collectives.erase(b.collectives.begin() + long(i));
            complete(b, c);
            return true;
        }
    }
    if (!b.collectives.empty()) {
        Collective c = b.collectives.front();
        b.collectives.erase(b.collectives.begin());
        char text[200];
        snprintf(text, sizeof text, "a warp operation with mask 0x%08x waits for lanes that never come (0x%08x are here)", c.mask, c.arrived);
        report("warp_mask", text, c.line);
        complete(b, c);
        return true;
    }
    if (!b.at_barrier.empty()) {
        report("divergent_barrier", "some threads of the block wait at this barrier while the others wait elsewhere and never come", b.barrier_line);
        release_barrier(b);
        return true;
    }
    return false;
}

// --- the choice of what runs next -------------------------------------------------------------------------------------

void resume_thread(unsigned t) {
    cpusim_state.current = t;
    cpusim_state.thread = block().threads[t].index;
}

bool picked_new = false;  // the last choice is a fresh stack

// Returns the stack pointer to go on with; null means that the launch is over.
void* pick_next() {
    picked_new = false;
    for (;;) {
        Block& b = block();
        BlockState& now = cpusim_state.now;
        if (b.ready_head < b.ready.size()) {
            unsigned t = b.ready[b.ready_head++];
            if (b.ready_head == b.ready.size()) b.ready.clear(), b.ready_head = 0;
            resume_thread(t);
            return b.threads[t].sp;
        }
        if (now.next < now.count) {
            picked_new = true;
            return start_fiber();
        }
        if (!b.yielded.empty()) {
            for (unsigned t : b.yielded) make_ready(b, t);
            b.yielded.clear();
            continue;
        }
        if (now.live > 0) {
            if (b.at_barrier.size() == now.live) {
                release_barrier(b);
                continue;
            }
            if (b.grid_waiters.size() < now.live) {
                if (unblock(b)) continue;
            }
        } else {
            b.finished = true;
        }
        if (!cooperative_now) return nullptr;
        // A cooperative launch: the next block that has not finished and does not wait for the grid.
        leave_block();
        size_t n = blocks.size(), waiting = 0, next = n;
        for (size_t i = 1; i <= n && next == n; ++i) {
            size_t k = (block_now + i) % n;
            if (blocks[k].finished) continue;
            if (blocks[k].started && blocks[k].grid_waiters.size() == blocks[k].state.live) ++waiting;
            else next = k;
        }
        if (next < n) {
            enter_block(next);
            continue;
        }
        if (waiting == 0) return nullptr;
        ++current_launch()->grid_barriers;
        for (Block& each : blocks) {
            for (unsigned t : each.grid_waiters) make_ready(each, t);
            each.grid_waiters.clear();
        }
        trace_grid_barrier();
        for (size_t i = 0; i < n; ++i) {
            if (!blocks[i].finished) {
                enter_block(i);
                break;
            }
        }
    }
}

// The thread that runs now has to wait (it is listed somewhere); returns its result when it is resumed.
uint64_t wait_here() {
    size_t home = block_now;
    unsigned t = cpusim_state.current;
    Thread& me = block().threads[t];
    me.index = cpusim_state.thread;
    me.sp = &me;  // until it is switched away from: a thread that picks itself just goes on
    ++current_launch()->switches;
    void* next = pick_next();
    bool resumed_at_once = !picked_new && next != nullptr && block_now == home && cpusim_state.current == t;
    if (!resumed_at_once) cpusim_switch(&me.sp, next ? next : main_context);
    return me.result;
}

void fiber_entry() {
    uintptr_t mark = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
    loop_now(closure_now);
    // No thread is left to start in this block: give the stack back and go on elsewhere. Nothing above this frame is
    // needed again, so the stack may be reused at once.
    free_stacks.push_back(reinterpret_cast<unsigned char*>((mark + 4095) & ~uintptr_t(4095)));
    void* next = pick_next();
    void* unused;
    cpusim_switch(&unused, next ? next : main_context);
    __builtin_unreachable();
}

}  // namespace

uintptr_t stacks_begin = 0, stacks_end = 0, launch_frame = 0;

// --- faults -----------------------------------------------------------------------------------------------------------

std::string where() {
    const State& s = cpusim_state;
    const LaunchRecord* record = current_launch();
    if (!record || s.launch == 0) return "host code";
    char text[400];
    snprintf(text, sizeof text, "kernel %s (launched at line %d), block (%u,%u,%u), thread (%u,%u,%u)", record->kernel.c_str(), record->line,
             s.now.block.x, s.now.block.y, s.now.block.z, s.thread.x, s.thread.y, s.thread.z);
    return text;
}

namespace {
cudaError_t launch_result = cudaSuccess;
}

size_t shared_bytes_used() { return shared_used; }
size_t shared_static_bytes() { return shared_used - ((size_t(cpusim_state.dynamic_bytes) + 127) & ~size_t(127)); }

void abort_launch(cudaError_t error, const std::string& text) {
    set_error(error, text, true);
    launch_result = error;
    if (cpusim_state.launch == 0 || main_context == nullptr) {
        fprintf(stderr, "cpu device: %s\n", text.c_str());
        _Exit(134);
    }
    // The stacks in use are lost; a process whose context is broken launches nothing more.
    void* unused;
    cpusim_switch(&unused, main_context);
    __builtin_unreachable();
}

}  // namespace cpusim

using namespace cpusim;

extern "C" {

int cpusim_launch(const LaunchConfig* config, void (*loop)(void*), void* closure) {
    State& s = cpusim_state;
    const dim3 &g = config->grid, &b = config->block;
    uint64_t threads = uint64_t(b.x) * b.y * b.z, grid = uint64_t(g.x) * g.y * g.z;
    char text[300];
    cudaError_t pending = cudaPeekAtLastError();
    if (pending == cudaErrorIllegalAddress || pending == cudaErrorAssert || pending == cudaErrorLaunchFailure) {
        ++counters.skipped_launches;
        return pending;
    }
    if (s.launch != 0) abort_launch(cudaErrorNotSupported, "a kernel launches a kernel: the cpu device has no dynamic parallelism");
    if (grid == 0 || threads == 0) {
        snprintf(text, sizeof text, "kernel %s, line %d: empty grid (%u,%u,%u) or block (%u,%u,%u)", config->kernel, config->line, g.x, g.y, g.z, b.x, b.y, b.z);
        return set_error(cudaErrorInvalidConfiguration, text);
    }
    if (threads > max_threads || b.x > 1024 || b.y > 1024 || b.z > 64) {
        snprintf(text, sizeof text, "kernel %s, line %d: block (%u,%u,%u) has more than 1024 threads, or more than 64 in z", config->kernel, config->line, b.x, b.y, b.z);
        return set_error(cudaErrorInvalidConfiguration, text);
    }
    if (g.x > 2147483647u || g.y > 65535 || g.z > 65535) {
        snprintf(text, sizeof text, "kernel %s, line %d: grid (%u,%u,%u) is above (2147483647,65535,65535)", config->kernel, config->line, g.x, g.y, g.z);
        return set_error(cudaErrorInvalidConfiguration, text);
    }
    size_t allowed = dynamic_limit(config->function);
    if (config->dynamic_bytes > allowed) {
        snprintf(text, sizeof text, "kernel %s, line %d: %zu bytes of dynamic shared memory, %zu are allowed%s", config->kernel, config->line, config->dynamic_bytes, allowed,
                 allowed < shared_limit ? " (cudaFuncSetAttribute raises the limit to 232448)" : "");
        return set_error(cudaErrorInvalidValue, text);
    }
    if (config->cooperative) {
        int multiprocessors = 0;
        cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0);
        int resident = cpusim_blocks_per_multiprocessor(int(threads), config->dynamic_bytes);
        if (grid > uint64_t(multiprocessors) * uint64_t(resident > 0 ? resident : 0)) {
            snprintf(text, sizeof text, "kernel %s, line %d: a cooperative grid of %llu blocks, %d fit at once", config->kernel, config->line, (unsigned long long)grid, multiprocessors * resident);
            return set_error(cudaErrorCooperativeLaunchTooLarge, text);
        }
    }

    LaunchRecord record{};
    record.kernel = config->kernel;
    record.line = config->line;
    record.grid = g;
    record.block = b;
    record.dynamic_bytes = config->dynamic_bytes;
    record.cooperative = config->cooperative;
    record.threads = threads * grid;
    record.blocks = grid;
    counters.launches.push_back(std::move(record));

    device_memory_visible(true);
    s.launch = ++launch_serial;
    s.grid_dim = g;
    s.block_dim = b;
    s.shared = shared_arena;
    s.dynamic_bytes = unsigned(config->dynamic_bytes);
    shared_used = unsigned((config->dynamic_bytes + 127) & ~size_t(127));
    memset(shared_arena, 0xFF, shared_used);
    loop_now = loop;
    closure_now = closure;
    launch_frame = uintptr_t(closure);
    cooperative_now = config->cooperative;
    launch_result = cudaSuccess;
    trace_launch_begin(uintptr_t(loop));
    if (cooperative_now) {
        blocks.assign(size_t(grid), Block{});
        for (uint64_t i = 0; i < grid; ++i) begin_block(blocks[size_t(i)], i);
        current_launch()->ran_blocks = grid;
        enter_block(0);
        void* next = pick_next();
        if (next) cpusim_switch(&main_context, next);
        blocks.resize(1);
        block_now = 0;
    } else {
        if (blocks.empty()) blocks.resize(1);
        for (uint64_t i = 0; i < grid && launch_result == cudaSuccess; ++i) {
            if (trace_skips(i)) continue;
            ++current_launch()->ran_blocks;
            begin_block(blocks[0], i);
            enter_block(0);
            void* next = pick_next();
            if (next) cpusim_switch(&main_context, next);
            trace_finish_block(i);
            if (launch_result == cudaSuccess && s.now.live > 0)
                launch_result = set_error(cudaErrorUnknown, where() + ": the cpu device lost " + std::to_string(s.now.live) + " threads of a block: a fault of its own", true);
        }
    }
    trace_launch_end();
    LaunchRecord* done = current_launch();
    done->static_bytes = shared_static_bytes();
    s.launch = 0;
    device_memory_visible(false);
    return launch_result;
}

void cpusim_place(Slot* slot) {
    unsigned align = slot->align < 16 ? 16 : slot->align;
    unsigned offset = (shared_used + align - 1) / align * align;
    if (offset + slot->bytes > shared_limit) {
        char text[200];
        snprintf(text, sizeof text, "shared memory: `%s` (line %d) brings the block to %u bytes, 232448 are the most", slot->name, slot->line, offset + slot->bytes);
        abort_launch(cudaErrorLaunchOutOfResources, text);
    }
    slot->offset = offset;
    slot->launch = cpusim_state.launch;
    shared_used = offset + slot->bytes;
    memset(shared_arena + offset, 0xFF, slot->bytes);
}

int cpusim_block_barrier(BlockOp op, int value, int line) {
    if (cpusim_state.launch == 0) return 0;
    Block& b = block();
    if (cpusim_state.now.live == 1) {
        ++current_launch()->barriers;
        trace_barrier();
        return op != BlockOp::sync && value != 0;
    }
    if (b.at_barrier.empty()) {
        b.barrier_line = line;
        b.barrier_op = op;
    } else if (b.barrier_line != line) {
        report("divergent_barrier", "threads of one block meet at two different barriers", b.barrier_line, line);
    }
    b.barrier_sum += value != 0;
    ++b.barrier_count;
    b.at_barrier.push_back(cpusim_state.current);
    return int(wait_here());
}

void cpusim_grid_barrier(int line) {
    if (!cooperative_now) {
        char text[300];
        snprintf(text, sizeof text, "%s: grid.sync() at line %d needs cudaLaunchCooperativeKernel", where().c_str(), line);
        abort_launch(cudaErrorLaunchFailure, text);
    }
    block().grid_waiters.push_back(cpusim_state.current);
    wait_here();
}

uint64_t cpusim_warp(WarpOp op, unsigned mask, uint64_t value, int source, int line) {
    Block& b = block();
    unsigned t = cpusim_state.current, warp = t >> 5, lane = t & 31;
    if (!(mask >> lane & 1u)) {
        char text[200];
        snprintf(text, sizeof text, "lane %u calls a warp operation with a mask that leaves it out (0x%08x)", lane, mask);
        report("warp_mask", text, line);
        mask |= 1u << lane;
    }
    Collective* found = nullptr;
    for (Collective& c : b.collectives) {
        if (c.warp == warp && c.mask == mask && c.op == op && !(c.arrived >> lane & 1u)) {
            found = &c;
            break;
        }
    }
    if (!found) {
        b.collectives.push_back(Collective{});
        found = &b.collectives.back();
        found->op = op;
        found->warp = warp;
        found->mask = mask;
        found->line = line;
    }
    found->value[lane] = value;
    found->source[lane] = source;
    found->arrived |= 1u << lane;
    if (is_complete(b, *found)) {
        Collective c = *found;
        b.collectives.erase(b.collectives.begin() + (found - b.collectives.data()));
        complete(b, c);
    }
    return wait_here();
}

unsigned cpusim_live_lanes() { return ~cpusim_state.now.exited[cpusim_state.current >> 5]; }

void cpusim_yield() {
    if (cpusim_state.launch == 0) return;
    block().yielded.push_back(cpusim_state.current);
    wait_here();
}

void cpusim_trap(const char* what) { abort_launch(cudaErrorLaunchFailure, std::string(what) + " in " + where()); }

}
