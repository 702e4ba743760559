// Ask the GPU what it is, and whether it really runs a kernel. One JSON object on stdout.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstring>

__global__ void answer(int* out) { *out = 42; }

int main() {
  auto fail = [](const char* what, cudaError_t code) {
    printf("{\"error\": \"%s: %s\"}\n", what, cudaGetErrorString(code));
    return 1;
  };
  int count = 0, driver = 0, runtime = 0, clock_khz = 0;
  if (cudaError_t code = cudaGetDeviceCount(&count)) return fail("no GPU answers", code);
  cudaDeviceProp p;
  if (cudaError_t code = cudaGetDeviceProperties(&p, 0)) return fail("no properties", code);
  cudaDriverGetVersion(&driver);
  cudaRuntimeGetVersion(&runtime);
  cudaDeviceGetAttribute(&clock_khz, cudaDevAttrClockRate, 0);
  int *out = nullptr, got = 0;
  if (cudaError_t code = cudaMalloc(&out, sizeof(int))) return fail("no memory", code);
  answer<<<1, 1>>>(out);
  if (cudaError_t code = cudaGetLastError()) return fail("a launch failed", code);
  if (cudaError_t code = cudaMemcpy(&got, out, sizeof(int), cudaMemcpyDeviceToHost)) return fail("a launch failed", code);
  if (got != 42) return fail("a launch did nothing", cudaErrorUnknown);
  printf("{\"gpu\": \"%s\", \"arch\": \"sm_%d%d\", \"multiprocessors\": %d, \"gpus\": %d, \"driver_cuda\": \"%d.%d\", "
         "\"runtime\": \"%d.%d\", \"clock_mhz\": %d, \"memory_bytes\": %zu, \"l2_bytes\": %d, \"uuid\": \"",
         p.name, p.major, p.minor, p.multiProcessorCount, count, driver / 1000, driver % 1000 / 10, runtime / 1000,
         runtime % 1000 / 10, clock_khz / 1000, p.totalGlobalMem, p.l2CacheSize);
  auto print_uuid = [](const cudaDeviceProp& of) {
    for (unsigned char byte : of.uuid.bytes) printf("%02x", byte);
  };
  print_uuid(p);
  printf("\", \"alike\": [");
  for (int device = 0, alike = 0; device < count; ++device) {
    cudaDeviceProp other;
    if (cudaError_t code = cudaGetDeviceProperties(&other, device)) return fail("no properties", code);
    if (strcmp(p.name, other.name)) continue;
    printf(alike++ ? ", \"" : "\"");
    print_uuid(other);
    printf("\"");
  }
  printf("]}\n");
  return 0;
}
