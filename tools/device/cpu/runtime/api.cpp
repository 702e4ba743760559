// The rest of the runtime API: errors, the device's properties, streams and events.
#include <dlfcn.h>
#include <time.h>
#include <signal.h>
#include <unistd.h>

#include "runtime.h"

struct cpusim_stream { unsigned flags; };
struct cpusim_event { bool recorded; double time_ms; };

namespace cpusim {

namespace {

cudaError_t last_error = cudaSuccess;
bool last_is_sticky = false;
std::string last_detail;

struct ErrorName { cudaError_t error; const char *name, *text; };
const ErrorName error_names[] = {
    {cudaSuccess, "cudaSuccess", "no error"},
    {cudaErrorInvalidValue, "cudaErrorInvalidValue", "invalid argument"},
    {cudaErrorMemoryAllocation, "cudaErrorMemoryAllocation", "out of memory"},
    {cudaErrorInitializationError, "cudaErrorInitializationError", "initialization error"},
    {cudaErrorInvalidConfiguration, "cudaErrorInvalidConfiguration", "invalid configuration argument"},
    {cudaErrorInvalidPitchValue, "cudaErrorInvalidPitchValue", "invalid pitch argument"},
    {cudaErrorInvalidSymbol, "cudaErrorInvalidSymbol", "invalid device symbol"},
    {cudaErrorInvalidDevicePointer, "cudaErrorInvalidDevicePointer", "invalid device pointer"},
    {cudaErrorInvalidMemcpyDirection, "cudaErrorInvalidMemcpyDirection", "invalid copy direction for memcpy"},
    {cudaErrorInvalidDeviceFunction, "cudaErrorInvalidDeviceFunction", "invalid device function"},
    {cudaErrorNoDevice, "cudaErrorNoDevice", "no CUDA-capable device is detected"},
    {cudaErrorInvalidDevice, "cudaErrorInvalidDevice", "invalid device ordinal"},
    {cudaErrorInvalidResourceHandle, "cudaErrorInvalidResourceHandle", "invalid resource handle"},
    {cudaErrorNotReady, "cudaErrorNotReady", "device not ready"},
    {cudaErrorIllegalAddress, "cudaErrorIllegalAddress", "an illegal memory access was encountered"},
    {cudaErrorLaunchOutOfResources, "cudaErrorLaunchOutOfResources", "too many resources requested for launch"},
    {cudaErrorLaunchTimeout, "cudaErrorLaunchTimeout", "the launch timed out and was terminated"},
    {cudaErrorAssert, "cudaErrorAssert", "device-side assert triggered"},
    {cudaErrorMisalignedAddress, "cudaErrorMisalignedAddress", "misaligned address"},
    {cudaErrorLaunchFailure, "cudaErrorLaunchFailure", "unspecified launch failure"},
    {cudaErrorCooperativeLaunchTooLarge, "cudaErrorCooperativeLaunchTooLarge", "too many blocks in cooperative launch"},
    {cudaErrorNotPermitted, "cudaErrorNotPermitted", "operation not permitted"},
    {cudaErrorNotSupported, "cudaErrorNotSupported", "operation not supported"},
    {cudaErrorUnknown, "cudaErrorUnknown", "unknown error"},
};

std::map<const void*, int> dynamic_limits;
int largest_dynamic_limit = int(shared_limit_default);

// The GPU that this device stands for: "name;major.minor;multiprocessors;L2 bytes;shared per block;threads per SM;blocks per SM;
// clock kHz;L1 and shared memory of an SM".
struct Gpu {
    char name[128] = "NVIDIA H200";
    int major = 9, minor = 0, multiprocessors = 132, threads = 2048, blocks = 32, clock_khz = 1980000;
    long l2 = 62914560, shared = 232448, l1 = 262144;
    Gpu() {
        const char* text = getenv("CPUSIM_GPU");
        if (text) sscanf(text, "%127[^;];%d.%d;%d;%ld;%ld;%d;%d;%d;%ld", name, &major, &minor, &multiprocessors, &l2, &shared, &threads, &blocks, &clock_khz, &l1);
    }
};
const Gpu& gpu() {
    static Gpu the;
    return the;
}

double now_ms() {
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return double(t.tv_sec) * 1e3 + double(t.tv_nsec) * 1e-6;
}

// A fault in device code ends the launch with an error, as on a GPU; one in host code ends the process, as it should.
void on_fault(int number, siginfo_t* info, void* context) {
    uintptr_t address = number == SIGSEGV || number == SIGBUS ? uintptr_t(info->si_addr) : 0;
    uintptr_t pc = 0;
    bool writes = false;
#if defined(__x86_64__)
    ucontext_t* machine = static_cast<ucontext_t*>(context);
    pc = uintptr_t(machine->uc_mcontext.gregs[REG_RIP]);
    writes = machine->uc_mcontext.gregs[REG_ERR] & 2;
#else
    (void)context;
#endif
    Dl_info from{};
    char place[64] = "";
    if (pc && dladdr(reinterpret_cast<void*>(pc), &from)) snprintf(place, sizeof place, " [pc 0x%zx]", size_t(pc - uintptr_t(from.dli_fbase)));
    std::string what;
    cudaError_t error = cudaErrorIllegalAddress;
    if (number == SIGFPE) what = "integer division by zero", error = cudaErrorLaunchFailure;
    else if (number == SIGABRT) what = "assertion failed", error = cudaErrorAssert;
    else if (number == SIGILL) what = "trap", error = cudaErrorLaunchFailure;
    else what = std::string(writes ? "write to " : "read of ") + describe_address(address, 1);
    if (cpusim_state.launch != 0) {
        sigset_t set;
        sigemptyset(&set);
        sigaddset(&set, number);
        sigprocmask(SIG_UNBLOCK, &set, nullptr);
        abort_launch(error, where() + ": " + what + place);
    }
    std::string text = "cpu device: host code: " + what + place + "\n";
    ssize_t ignored = ::write(2, text.c_str(), text.size());
    (void)ignored;
    signal(number, SIG_DFL);
    raise(number);
}

__attribute__((constructor)) void catch_faults() {
    static unsigned char alternate[65536];
    stack_t stack{};
    stack.ss_sp = alternate;
    stack.ss_size = sizeof alternate;
    sigaltstack(&stack, nullptr);
    struct sigaction action{};
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigemptyset(&action.sa_mask);
    for (int number : {SIGSEGV, SIGBUS, SIGFPE, SIGABRT, SIGILL}) sigaction(number, &action, nullptr);
}

}  // namespace

cudaError_t set_error(cudaError_t error, const std::string& detail, bool sticky) {
    if (last_is_sticky) return error;
    last_error = error;
    last_detail = detail;
    last_is_sticky = sticky;
    return error;
}

size_t dynamic_limit(const void* function) {
    if (function == nullptr) return size_t(largest_dynamic_limit);
    auto it = dynamic_limits.find(function);
    return it == dynamic_limits.end() ? shared_limit_default : size_t(it->second);
}

}  // namespace cpusim

using namespace cpusim;

extern "C" {

cudaError_t cudaGetLastError() {
    cudaError_t error = last_error;
    if (!last_is_sticky) last_error = cudaSuccess;
    return error;
}
cudaError_t cudaPeekAtLastError() { return last_error; }
const char* cudaGetErrorName(cudaError_t error) {
    for (const ErrorName& e : error_names)
        if (e.error == error) return e.name;
    return "unrecognized error code";
}
const char* cudaGetErrorString(cudaError_t error) {
    static std::string text;
    for (const ErrorName& e : error_names) {
        if (e.error != error) continue;
        if (last_detail.empty() || error == cudaSuccess) return e.text;
        text = std::string(e.text) + ": " + last_detail;
        return text.c_str();
    }
    return "unrecognized error code";
}

cudaError_t cudaDeviceSynchronize() {
    counters.synchronizations += from_candidate(uintptr_t(__builtin_return_address(0)));
    return last_is_sticky ? last_error : cudaSuccess;
}
cudaError_t cudaDeviceReset() {
    last_error = cudaSuccess;
    last_is_sticky = false;
    last_detail.clear();
    return cudaSuccess;
}
cudaError_t cudaGetDeviceCount(int* count) { *count = 1; return cudaSuccess; }
cudaError_t cudaGetDevice(int* device) { *device = 0; return cudaSuccess; }
cudaError_t cudaSetDevice(int device) { return device == 0 ? cudaSuccess : set_error(cudaErrorInvalidDevice); }
cudaError_t cudaSetDeviceFlags(unsigned) { return cudaSuccess; }
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* p, int device) {
    if (device != 0) return set_error(cudaErrorInvalidDevice);
    memset(p, 0, sizeof *p);
    snprintf(p->name, sizeof p->name, "%s", gpu().name);
    p->totalGlobalMem = size_t(140) << 30;
    p->sharedMemPerBlock = shared_limit_default;
    p->sharedMemPerBlockOptin = size_t(gpu().shared);
    p->sharedMemPerMultiprocessor = size_t(gpu().shared) + 1024;
    p->reservedSharedMemPerBlock = 1024;
    p->regsPerBlock = p->regsPerMultiprocessor = 65536;
    p->warpSize = 32;
    p->maxThreadsPerBlock = 1024;
    p->maxThreadsDim[0] = p->maxThreadsDim[1] = 1024;
    p->maxThreadsDim[2] = 64;
    p->maxGridSize[0] = 2147483647;
    p->maxGridSize[1] = p->maxGridSize[2] = 65535;
    p->totalConstMem = 65536;
    p->major = gpu().major;
    p->minor = gpu().minor;
    p->multiProcessorCount = gpu().multiprocessors;
    p->maxThreadsPerMultiProcessor = gpu().threads;
    p->maxBlocksPerMultiProcessor = gpu().blocks;
    p->l2CacheSize = int(gpu().l2);
    p->persistingL2CacheMaxSize = int(gpu().l2 / 2);
    p->memoryBusWidth = 6144;
    p->concurrentKernels = p->unifiedAddressing = p->cooperativeLaunch = p->managedMemory = p->canMapHostMemory = 1;
    return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
    if (device != 0) return set_error(cudaErrorInvalidDevice);
    switch (attribute) {
        case cudaDevAttrMaxThreadsPerBlock:
        case cudaDevAttrMaxBlockDimX:
        case cudaDevAttrMaxBlockDimY: *value = 1024; break;
        case cudaDevAttrMaxBlockDimZ: *value = 64; break;
        case cudaDevAttrMaxGridDimX: *value = 2147483647; break;
        case cudaDevAttrMaxGridDimY:
        case cudaDevAttrMaxGridDimZ: *value = 65535; break;
        case cudaDevAttrMaxSharedMemoryPerBlock: *value = int(shared_limit_default); break;
        case cudaDevAttrTotalConstantMemory: *value = 65536; break;
        case cudaDevAttrWarpSize: *value = 32; break;
        case cudaDevAttrMaxRegistersPerBlock:
        case cudaDevAttrMaxRegistersPerMultiprocessor: *value = 65536; break;
        case cudaDevAttrClockRate: *value = gpu().clock_khz; break;
        case cudaDevAttrMultiProcessorCount: *value = gpu().multiprocessors; break;
        case cudaDevAttrConcurrentKernels:
        case cudaDevAttrUnifiedAddressing:
        case cudaDevAttrManagedMemory:
        case cudaDevAttrCooperativeLaunch: *value = 1; break;
        case cudaDevAttrMemoryClockRate: *value = 3201000; break;
        case cudaDevAttrGlobalMemoryBusWidth: *value = 6144; break;
        case cudaDevAttrL2CacheSize: *value = int(gpu().l2); break;
        case cudaDevAttrMaxPersistingL2CacheSize: *value = int(gpu().l2 / 2); break;
        case cudaDevAttrMaxThreadsPerMultiProcessor: *value = gpu().threads; break;
        case cudaDevAttrComputeCapabilityMajor: *value = gpu().major; break;
        case cudaDevAttrComputeCapabilityMinor: *value = gpu().minor; break;
        case cudaDevAttrMaxSharedMemoryPerMultiprocessor: *value = int(gpu().shared) + 1024; break;
        case cudaDevAttrMaxSharedMemoryPerBlockOptin: *value = int(gpu().shared); break;
        case cudaDevAttrMaxBlocksPerMultiprocessor: *value = gpu().blocks; break;
        default: return set_error(cudaErrorInvalidValue, "cudaDeviceGetAttribute: an attribute that the cpu device does not know");
    }
    return cudaSuccess;
}
cudaError_t cudaDeviceGetLimit(size_t* value, cudaLimit) { *value = stack_bytes; return cudaSuccess; }
cudaError_t cudaDeviceSetLimit(cudaLimit, size_t) { return cudaSuccess; }
cudaError_t cudaDeviceSetCacheConfig(cudaFuncCache) { return cudaSuccess; }
cudaError_t cudaDeviceSetSharedMemConfig(cudaSharedMemConfig) { return cudaSuccess; }
cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) { *least = 0; *greatest = -5; return cudaSuccess; }
cudaError_t cudaCtxResetPersistingL2Cache() { return cudaSuccess; }
cudaError_t cudaDriverGetVersion(int* version) { *version = CUDART_VERSION; return cudaSuccess; }
cudaError_t cudaRuntimeGetVersion(int* version) { *version = CUDART_VERSION; return cudaSuccess; }

cudaError_t cudaStreamCreate(cudaStream_t* s) { *s = new cpusim_stream{0}; return cudaSuccess; }
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* s, unsigned flags) { *s = new cpusim_stream{flags}; return cudaSuccess; }
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* s, unsigned flags, int) { *s = new cpusim_stream{flags}; return cudaSuccess; }
cudaError_t cudaStreamDestroy(cudaStream_t s) {
    if (uintptr_t(s) > 2) delete s;
    return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t) {
    counters.synchronizations += from_candidate(uintptr_t(__builtin_return_address(0)));
    return last_is_sticky ? last_error : cudaSuccess;
}
cudaError_t cudaStreamQuery(cudaStream_t) { return last_is_sticky ? last_error : cudaSuccess; }
cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned) { return cudaSuccess; }
cudaError_t cudaEventCreate(cudaEvent_t* e) { *e = new cpusim_event{false, 0.0}; return cudaSuccess; }
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* e, unsigned) { return cudaEventCreate(e); }
cudaError_t cudaEventDestroy(cudaEvent_t e) { delete e; return cudaSuccess; }
cudaError_t cudaEventRecord(cudaEvent_t e, cudaStream_t) {
    e->recorded = true;
    e->time_ms = now_ms();
    return cudaSuccess;
}
cudaError_t cudaEventSynchronize(cudaEvent_t) { return cudaSuccess; }
cudaError_t cudaEventQuery(cudaEvent_t) { return cudaSuccess; }
cudaError_t cudaEventElapsedTime(float* time_ms, cudaEvent_t start, cudaEvent_t end) {
    if (!start->recorded || !end->recorded) return set_error(cudaErrorInvalidResourceHandle, "cudaEventElapsedTime: an event was never recorded");
    *time_ms = float(end->time_ms - start->time_ms);
    return cudaSuccess;
}
cudaError_t cudaProfilerStart() { return cudaSuccess; }
cudaError_t cudaProfilerStop() { return cudaSuccess; }

cudaError_t cpusim_function_attribute(const void* function, cudaFuncAttribute attribute, int value) {
    if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize) return cudaSuccess;
    if (value < 0 || value > gpu().shared) return set_error(cudaErrorInvalidValue, "cudaFuncSetAttribute: " + std::to_string(value) + " bytes of dynamic shared memory, " + std::to_string(gpu().shared) + " are the most");
    dynamic_limits[function] = value < int(shared_limit_default) ? int(shared_limit_default) : value;
    if (value > largest_dynamic_limit) largest_dynamic_limit = value;
    return cudaSuccess;
}
cudaError_t cpusim_function_attributes(cudaFuncAttributes* a, const void* function) {
    memset(a, 0, sizeof *a);
    a->maxThreadsPerBlock = 1024;
    a->numRegs = 32;
    a->ptxVersion = a->binaryVersion = gpu().major * 10 + gpu().minor;
    a->maxDynamicSharedSizeBytes = int(dynamic_limit(function));
    return cudaSuccess;
}
int cpusim_blocks_per_multiprocessor(int threads, size_t dynamic_bytes) {
    if (threads <= 0 || threads > 1024) return -1;
    int blocks = gpu().threads / ((threads + 31) / 32 * 32);
    if (blocks > gpu().blocks) blocks = gpu().blocks;
    long shared = gpu().shared + 1024, each = long(dynamic_bytes) + 1024;
    if (each * blocks > shared) blocks = int(shared / each);
    return blocks;
}

}

size_t cpusim::l1_bytes_per_block(uint64_t blocks, size_t threads, size_t shared_bytes) {
    long fit = std::max(1, cpusim_blocks_per_multiprocessor(int(threads), shared_bytes));
    long resident = std::min(fit, long((blocks + unsigned(gpu().multiprocessors) - 1) / unsigned(gpu().multiprocessors)));
    return size_t(std::max(4096l, gpu().l1 / resident - long(shared_bytes) - 1024));
}
