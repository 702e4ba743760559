// Device memory: every buffer between guard pages and ending at the last one, filled with 0xFF, out of the host's reach.
#include <sys/mman.h>

#include <algorithm>

#include "runtime.h"

namespace cpusim {

namespace {

std::vector<Allocation> allocations;  // sorted by begin
std::vector<std::pair<uintptr_t, uintptr_t>> arrays;  // declared ones, sorted
bool visible_now = false;
size_t device_bytes = 0;
constexpr size_t page = 4096, guard = size_t(8) << 20;  // address space only

bool by_begin(const Allocation& a, uintptr_t address) { return a.map_end <= address; }

cudaError_t allocate(void** pointer, size_t bytes, Kind kind) {
    if (pointer == nullptr) return set_error(cudaErrorInvalidValue);
    if (bytes == 0) {
        *pointer = nullptr;
        return cudaSuccess;
    }
    size_t room = (bytes + 255) / 256 * 256, body = (room + page - 1) / page * page;
    if (bytes > (size_t(1) << 46)) return set_error(cudaErrorMemoryAllocation, "cudaMalloc: more memory than any GPU has");
    void* map = mmap(nullptr, body + 2 * guard, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (map == MAP_FAILED) {
        *pointer = nullptr;
        return set_error(cudaErrorMemoryAllocation, "cudaMalloc: out of memory");
    }
    Allocation a;
    a.map = uintptr_t(map);
    a.map_end = a.map + body + 2 * guard;
    a.begin = a.map + guard + body - room;
    a.end = a.begin + bytes;
    a.kind = kind;
    if (mprotect(reinterpret_cast<void*>(a.map + guard), body, PROT_READ | PROT_WRITE) != 0) {
        munmap(map, body + 2 * guard);
        *pointer = nullptr;
        return set_error(cudaErrorMemoryAllocation, "cudaMalloc: out of memory");
    }
    memset(reinterpret_cast<void*>(a.map + guard), 0xFF, body);
    if (kind == Kind::device && !visible_now) mprotect(reinterpret_cast<void*>(a.map + guard), body, PROT_NONE);
    allocations.insert(std::lower_bound(allocations.begin(), allocations.end(), a.begin, by_begin), a);
    device_bytes += body;
    *pointer = reinterpret_cast<void*>(a.begin);
    return cudaSuccess;
}

cudaError_t release(void* pointer, bool host) {
    if (pointer == nullptr) return cudaSuccess;
    uintptr_t address = uintptr_t(pointer);
    auto it = std::lower_bound(allocations.begin(), allocations.end(), address, by_begin);
    if (it == allocations.end() || it->begin != address || host != (it->kind == Kind::host))
        return set_error(cudaErrorInvalidValue, "cudaFree: not the start of an allocation");
    device_bytes -= it->map_end - it->map - 2 * guard;
    arrays.erase(std::remove_if(arrays.begin(), arrays.end(), [&](auto& r) { return r.first >= it->begin && r.first < it->end; }), arrays.end());
    munmap(reinterpret_cast<void*>(it->map), it->map_end - it->map);
    allocations.erase(it);
    return cudaSuccess;
}

// Opens device memory to the runtime's own copies for a while.
struct Visible {
    bool before = visible_now;
    Visible() { device_memory_visible(true); }
    ~Visible() { device_memory_visible(before); }
};

std::string hex(uintptr_t address) {
    char text[32];
    snprintf(text, sizeof text, "0x%zx", size_t(address));
    return text;
}

cudaError_t check_range(const void* pointer, size_t bytes, bool device, const char* name) {
    const Allocation* a = near_allocation(uintptr_t(pointer));
    if (a == nullptr) {
        // Constant memory and __device__ arrays live in the candidate's own data: the range can't be told from the host's.
        return cudaSuccess;
    }
    if (uintptr_t(pointer) < a->begin || uintptr_t(pointer) + bytes > a->end)
        return set_error(cudaErrorInvalidValue, std::string(name) + ": " + describe_address(uintptr_t(pointer), int(bytes)));
    if (!device && a->kind == Kind::device) return set_error(cudaErrorInvalidValue, std::string(name) + ": a device pointer where the kind says host");
    return cudaSuccess;
}

}  // namespace

unsigned char* shared_arena = nullptr;

__attribute__((constructor)) static void make_arena() {
    void* map = mmap(nullptr, shared_arena_bytes + 2 * guard, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (map == MAP_FAILED) abort();
    shared_arena = static_cast<unsigned char*>(map) + guard;
    mprotect(shared_arena, shared_arena_bytes, PROT_READ | PROT_WRITE);
    cpusim_state.shared = shared_arena;
}

const Allocation* near_allocation(uintptr_t address) {
    auto it = std::lower_bound(allocations.begin(), allocations.end(), address, by_begin);
    return it != allocations.end() && it->map <= address ? &*it : nullptr;
}

const Allocation* find_allocation(uintptr_t address) {
    const Allocation* a = near_allocation(address);
    return a && a->begin <= address && address < a->end ? a : nullptr;
}

bool declared_array(uintptr_t address, uintptr_t* begin, uintptr_t* end) {
    auto it = std::upper_bound(arrays.begin(), arrays.end(), address, [](uintptr_t v, const auto& r) { return v < r.first; });
    if (it == arrays.begin()) return false;
    --it;
    if (address >= it->second) return false;
    *begin = it->first;
    *end = it->second;
    return true;
}

std::string describe_address(uintptr_t address, int bytes) {
    char text[300];
    const Allocation* a = near_allocation(address);
    if (address >= uintptr_t(shared_arena) - guard && address < uintptr_t(shared_arena) + shared_arena_bytes + guard) {
        snprintf(text, sizeof text, "shared memory at byte %lld", (long long)(address - uintptr_t(shared_arena)));
        return text;
    }
    if (stacks_begin <= address && address < stacks_end) return "a thread's stack is full: local arrays of more than 128 KB";
    if (address < 65536) return "a null pointer" + (address ? " + " + std::to_string(address) + " bytes" : std::string());
    if (a == nullptr) return "address " + hex(address) + ", which is no device memory";
    size_t size = a->end - a->begin;
    if (address >= a->end || address + size_t(bytes) > a->end)
        snprintf(text, sizeof text, "%zu bytes past the end of a buffer of %zu bytes", size_t(address - a->end), size);
    else if (address < a->begin)
        snprintf(text, sizeof text, "%zu bytes before the start of a buffer of %zu bytes", size_t(a->begin - address), size);
    else
        snprintf(text, sizeof text, "inside a device buffer of %zu bytes, from host code", size);
    return text;
}

void device_memory_visible(bool visible) {
    if (visible == visible_now) return;
    visible_now = visible;
    for (const Allocation& a : allocations)
        if (a.kind == Kind::device) mprotect(reinterpret_cast<void*>(a.map + guard), a.map_end - a.map - 2 * guard, visible ? PROT_READ | PROT_WRITE : PROT_NONE);
}

namespace {

cudaError_t copy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
    if (bytes == 0) return cudaSuccess;
    cudaError_t error = check_range(to, bytes, kind != cudaMemcpyDeviceToHost && kind != cudaMemcpyHostToHost, "cudaMemcpy, destination");
    if (error == cudaSuccess) error = check_range(from, bytes, kind != cudaMemcpyHostToDevice && kind != cudaMemcpyHostToHost, "cudaMemcpy, source");
    if (error != cudaSuccess) return error;
    Visible open;
    memmove(to, from, bytes);
    return cudaSuccess;
}

cudaError_t fill(void* p, int value, size_t bytes) {
    if (bytes == 0) return cudaSuccess;
    cudaError_t error = check_range(p, bytes, true, "cudaMemset");
    if (error != cudaSuccess) return error;
    Visible open;
    memset(p, value, bytes);
    return cudaSuccess;
}

cudaError_t copy_rows(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height, cudaMemcpyKind kind) {
    cudaError_t error = cudaSuccess;
    for (size_t row = 0; row < height && error == cudaSuccess; ++row)
        error = copy(static_cast<char*>(to) + row * to_pitch, static_cast<const char*>(from) + row * from_pitch, width, kind);
    return error;
}

cudaError_t fill_rows(void* p, size_t pitch, int value, size_t width, size_t height) {
    cudaError_t error = cudaSuccess;
    for (size_t row = 0; row < height && error == cudaSuccess; ++row) error = fill(static_cast<char*>(p) + row * pitch, value, width);
    return error;
}

}  // namespace
}  // namespace cpusim

using namespace cpusim;

// Counts a call if the candidate made it (and not the program around it).
#define CPUSIM_COUNT(WHAT) (counters.WHAT += from_candidate(uintptr_t(__builtin_return_address(0))))

extern "C" {

cudaError_t cudaMalloc(void** p, size_t bytes) { CPUSIM_COUNT(allocations); return allocate(p, bytes, Kind::device); }
cudaError_t cudaMallocAsync(void** p, size_t bytes, cudaStream_t) { return allocate(p, bytes, Kind::device); }
cudaError_t cudaMallocManaged(void** p, size_t bytes, unsigned) { CPUSIM_COUNT(allocations); return allocate(p, bytes, Kind::managed); }
cudaError_t cudaMallocHost(void** p, size_t bytes, unsigned) { CPUSIM_COUNT(allocations); return allocate(p, bytes, Kind::host); }
cudaError_t cudaHostAlloc(void** p, size_t bytes, unsigned) { CPUSIM_COUNT(allocations); return allocate(p, bytes, Kind::host); }
cudaError_t cudaFree(void* p) { return release(p, false); }
cudaError_t cudaFreeAsync(void* p, cudaStream_t) { return release(p, false); }
cudaError_t cudaFreeHost(void* p) { return release(p, true); }
cudaError_t cudaHostRegister(void*, size_t, unsigned) { return cudaSuccess; }
cudaError_t cudaHostUnregister(void*) { return cudaSuccess; }
cudaError_t cudaHostGetDevicePointer(void** device, void* host, unsigned) { *device = host; return cudaSuccess; }
cudaError_t cudaMallocPitch(void** p, size_t* pitch, size_t width, size_t height) {
    CPUSIM_COUNT(allocations);
    *pitch = (width + 511) / 512 * 512;
    return allocate(p, *pitch * height, Kind::device);
}
cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) { CPUSIM_COUNT(copies); return copy(to, from, bytes, kind); }
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t) { CPUSIM_COUNT(copies); return copy(to, from, bytes, kind); }
cudaError_t cudaMemcpy2D(void* to, size_t tp, const void* from, size_t fp, size_t w, size_t h, cudaMemcpyKind kind) { CPUSIM_COUNT(copies); return copy_rows(to, tp, from, fp, w, h, kind); }
cudaError_t cudaMemcpy2DAsync(void* to, size_t tp, const void* from, size_t fp, size_t w, size_t h, cudaMemcpyKind kind, cudaStream_t) { CPUSIM_COUNT(copies); return copy_rows(to, tp, from, fp, w, h, kind); }
cudaError_t cudaMemset(void* p, int value, size_t bytes) { CPUSIM_COUNT(copies); return fill(p, value, bytes); }
cudaError_t cudaMemsetAsync(void* p, int value, size_t bytes, cudaStream_t) { CPUSIM_COUNT(copies); return fill(p, value, bytes); }
cudaError_t cudaMemset2D(void* p, size_t pitch, int value, size_t w, size_t h) { CPUSIM_COUNT(copies); return fill_rows(p, pitch, value, w, h); }
cudaError_t cudaMemset2DAsync(void* p, size_t pitch, int value, size_t w, size_t h, cudaStream_t) { CPUSIM_COUNT(copies); return fill_rows(p, pitch, value, w, h); }
cudaError_t cudaMemGetInfo(size_t* free_bytes, size_t* total_bytes) {
    *total_bytes = size_t(140) << 30;
    *free_bytes = *total_bytes - device_bytes;
    return cudaSuccess;
}
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* p) {
    const Allocation* a = find_allocation(uintptr_t(p));
    memset(attributes, 0, sizeof *attributes);
    if (a) {
        attributes->type = a->kind == Kind::device ? cudaMemoryTypeDevice : a->kind == Kind::managed ? cudaMemoryTypeManaged : cudaMemoryTypeHost;
        attributes->devicePointer = const_cast<void*>(p);
        if (a->kind != Kind::device) attributes->hostPointer = const_cast<void*>(p);
    }
    return cudaSuccess;
}

void cpusim_declare_array(const void* pointer, size_t bytes) {
    std::pair<uintptr_t, uintptr_t> range{uintptr_t(pointer), uintptr_t(pointer) + bytes};
    auto it = std::lower_bound(arrays.begin(), arrays.end(), range);
    if (it != arrays.end() && it->first == range.first) it->second = range.second;
    else arrays.insert(it, range);
}

void cpusim_check_pointer(const void* pointer, int position, int line) {
    uintptr_t address = uintptr_t(pointer);
    if (address < 65536 || near_allocation(address)) return;
    // Not in a buffer of ours: the stack and the heap of the host are no device memory; __device__ arrays are.
    static uintptr_t heap_probe = 0;
    if (heap_probe == 0) {
        void* probe = malloc(16);
        heap_probe = uintptr_t(probe);
        free(probe);
    }
    uintptr_t here = uintptr_t(__builtin_frame_address(0));
    bool on_stack = address > here && address - here < (uintptr_t(8) << 20);
    bool on_heap = (address > heap_probe ? address - heap_probe : heap_probe - address) < (uintptr_t(1) << 26);
    if (on_stack || on_heap)
        report("host_pointer", "argument " + std::to_string(position + 1) + " of a launch points to the host's memory", line);
}

}
