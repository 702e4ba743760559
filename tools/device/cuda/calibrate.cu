// What this GPU really does at best: bandwidth, arithmetic rates, the cost of a launch. One JSON object on stdout.
#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <vector>

#define CHECK(call)                                                                        \
  do {                                                                                     \
    cudaError_t code = (call);                                                             \
    if (code != cudaSuccess) {                                                             \
      printf("{\"error\": \"%s: %s\"}\n", #call, cudaGetErrorString(code));                \
      exit(1);                                                                             \
    }                                                                                      \
  } while (0)

__global__ void copy(const float4* in, float4* out, size_t count) {
  size_t stride = size_t{gridDim.x} * blockDim.x;
  for (size_t i = size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += stride) out[i] = in[i];
}

// 16 independent chains per thread hide the latency of the multiply-add.
__global__ void fma_fp32(float* out, float x, float y, int rounds) {
  float a[16];
#pragma unroll
  for (int j = 0; j < 16; ++j) a[j] = threadIdx.x + j;
  for (int i = 0; i < rounds; ++i)
#pragma unroll
    for (int j = 0; j < 16; ++j) a[j] = fmaf(a[j], x, y);
  float sum = 0;
#pragma unroll
  for (int j = 0; j < 16; ++j) sum += a[j];
  if (sum == 1.2345e-30f) *out = sum;
}

__global__ void fma_fp64(double* out, double x, double y, int rounds) {
  double a[8];
#pragma unroll
  for (int j = 0; j < 8; ++j) a[j] = threadIdx.x + j;
  for (int i = 0; i < rounds; ++i)
#pragma unroll
    for (int j = 0; j < 8; ++j) a[j] = fma(a[j], x, y);
  double sum = 0;
#pragma unroll
  for (int j = 0; j < 8; ++j) sum += a[j];
  if (sum == 1.2345e-300) *out = sum;
}

__global__ void fma_bf16(__nv_bfloat162* out, float x, float y, int rounds) {
  __nv_bfloat162 a[16], xs = __float2bfloat162_rn(x), ys = __float2bfloat162_rn(y);
#pragma unroll
  for (int j = 0; j < 16; ++j) a[j] = __float2bfloat162_rn(threadIdx.x + j);
  for (int i = 0; i < rounds; ++i)
#pragma unroll
    for (int j = 0; j < 16; ++j) a[j] = __hfma2(a[j], xs, ys);
  float sum = 0;
#pragma unroll
  for (int j = 0; j < 16; ++j) sum += __low2float(a[j]) + __high2float(a[j]);
  if (sum == 1.2345e-30f) *out = a[0];
}

#ifdef HOPPER
// One warpgroup per multiply: 64 x 256 x 16 in bf16, 64 x 256 x 8 in TF32, both operands in shared memory.
__device__ unsigned long long descriptor(const void* shared) {
  unsigned long long address = __cvta_generic_to_shared(shared);
  return ((address & 0x3FFFF) >> 4) | (1ull << 16) | (64ull << 32) | (1ull << 62);  // 128-byte swizzle
}

#define F8(n) "+f"(c[n]), "+f"(c[n + 1]), "+f"(c[n + 2]), "+f"(c[n + 3]), "+f"(c[n + 4]), "+f"(c[n + 5]), "+f"(c[n + 6]), "+f"(c[n + 7])
#define F64(n) F8(n), F8(n + 8), F8(n + 16), F8(n + 24), F8(n + 32), F8(n + 40), F8(n + 48), F8(n + 56)
#define REGISTERS                                                                                                     \
  "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,"  \
  "%30,%31,%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,%48,%49,%50,%51,%52,%53,%54,%55,%56,%57," \
  "%58,%59,%60,%61,%62,%63,%64,%65,%66,%67,%68,%69,%70,%71,%72,%73,%74,%75,%76,%77,%78,%79,%80,%81,%82,%83,%84,%85," \
  "%86,%87,%88,%89,%90,%91,%92,%93,%94,%95,%96,%97,%98,%99,%100,%101,%102,%103,%104,%105,%106,%107,%108,%109,%110,"  \
  "%111,%112,%113,%114,%115,%116,%117,%118,%119,%120,%121,%122,%123,%124,%125,%126,%127}"

template <bool TF32>
__global__ void __launch_bounds__(256, 1) tensor(float* out, unsigned seed, int rounds) {
  extern __shared__ __align__(1024) unsigned char raw[];
  unsigned* words = reinterpret_cast<unsigned*>((reinterpret_cast<size_t>(raw) + 1023) & ~size_t{1023});
  unsigned state = seed + threadIdx.x * 2654435761u + blockIdx.x;
  for (int i = threadIdx.x; i < 48 * 1024 / 4; i += blockDim.x) {
    state = state * 1664525u + 1013904223u;
    // Random values near one in size: zeros would draw less power and run at a higher clock.
    unsigned bits = TF32 ? (0x3f000000u | (state & 0x80ffffffu)) : (0x3f003f00u | (state & 0x80ff80ffu));
    words[i] = bits;
  }
  __syncthreads();
  asm volatile("fence.proxy.async;" ::: "memory");
  float c[128];
#pragma unroll
  for (int j = 0; j < 128; ++j) c[j] = 0;
  unsigned long long a = descriptor(words), b = descriptor(words + 2048);
  for (int i = 0; i < rounds; ++i) {
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      if (TF32)
        asm volatile("wgmma.mma_async.sync.aligned.m64n256k8.f32.tf32.tf32 " REGISTERS ", %128, %129, 1, 1, 1;"
                     : F64(0), F64(64) : "l"(a + k * 2), "l"(b + k * 2));
      else
        asm volatile("wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 " REGISTERS ", %128, %129, 1, 1, 1, 0, 0;"
                     : F64(0), F64(64) : "l"(a + k * 2), "l"(b + k * 2));
    }
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
  }
  float sum = 0;
#pragma unroll
  for (int j = 0; j < 128; ++j) sum += c[j];
  if (sum == 1.2345e-30f) *out = sum;
}
constexpr int kTensorThreads = 256, kTensorShared = 52 * 1024;
constexpr double kTensorOps[] = {2.0 * 64 * 256 * 16 * 4 * 2, 2.0 * 64 * 256 * 8 * 4 * 2};  // per block and round
#else
// mma.sync, the way of GPUs before Hopper: 8 independent products per warp.
template <bool TF32>
__global__ void tensor(float* out, unsigned seed, int rounds) {
  unsigned a[4], b[2];
  unsigned state = seed + threadIdx.x * 2654435761u;
  for (unsigned* word : {a, a + 1, a + 2, a + 3, b, b + 1}) {
    state = state * 1664525u + 1013904223u;
    *word = TF32 ? (0x3f000000u | (state & 0x80ffffffu)) : (0x3f003f00u | (state & 0x80ff80ffu));
  }
  float c[8][4] = {};
  for (int i = 0; i < rounds; ++i)
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      if (TF32)
        asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                     : "+f"(c[j][0]), "+f"(c[j][1]), "+f"(c[j][2]), "+f"(c[j][3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
      else
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                     : "+f"(c[j][0]), "+f"(c[j][1]), "+f"(c[j][2]), "+f"(c[j][3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    }
  float sum = 0;
#pragma unroll
  for (int j = 0; j < 8; ++j) sum += c[j][0] + c[j][1] + c[j][2] + c[j][3];
  if (sum == 1.2345e-30f) *out = sum;
}
constexpr int kTensorThreads = 256, kTensorShared = 0;
constexpr double kTensorOps[] = {2.0 * 16 * 8 * 16 * 8 * 8, 2.0 * 16 * 8 * 8 * 8 * 8};  // 8 warps, 8 products
#endif

// Median of 15 runs after three; microseconds.
double time_us(const std::function<void()>& launch) {
  cudaEvent_t start, stop;
  CHECK(cudaEventCreate(&start));
  CHECK(cudaEventCreate(&stop));
  std::vector<float> times;
  for (int i = 0; i < 18; ++i) {
    CHECK(cudaEventRecord(start));
    launch();
    CHECK(cudaGetLastError());
    CHECK(cudaEventRecord(stop));
    CHECK(cudaEventSynchronize(stop));
    float milliseconds;
    CHECK(cudaEventElapsedTime(&milliseconds, start, stop));
    if (i >= 3) times.push_back(milliseconds * 1e3f);
  }
  std::nth_element(times.begin(), times.begin() + 7, times.end());
  return times[7];
}

int main() {
  cudaDeviceProp p;
  CHECK(cudaGetDeviceProperties(&p, 0));
  float* out;
  CHECK(cudaMalloc(&out, 64));
  const int blocks = p.multiProcessorCount * 4;

  size_t bytes = size_t{1} << 30, free_bytes, total;
  CHECK(cudaMemGetInfo(&free_bytes, &total));
  while (bytes * 3 > free_bytes) bytes /= 2;
  float4 *from, *to;
  CHECK(cudaMalloc(&from, bytes));
  CHECK(cudaMalloc(&to, bytes));
  CHECK(cudaMemset(from, 0x5A, bytes));
  double best = 1e30;
  for (int per_sm : {4, 8, 16, 32})
    best = std::min(best, time_us([&] { copy<<<p.multiProcessorCount * per_sm, 256>>>(from, to, bytes / sizeof(float4)); }));
  best = std::min(best, time_us([&] { CHECK(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice)); }));
  double bandwidth = 2.0 * bytes / best / 1e3;

  const int rounds = 4096;
  double fp32 = time_us([&] { fma_fp32<<<blocks, 512>>>(out, 0.999f, 0.001f, rounds); });
  double fp64 = time_us([&] { fma_fp64<<<blocks, 512>>>(reinterpret_cast<double*>(out), 0.999, 0.001, rounds / 8); });
  double bf16 = time_us([&] { fma_bf16<<<blocks, 512>>>(reinterpret_cast<__nv_bfloat162*>(out), 0.999f, 0.001f, rounds); });
  double threads = double(blocks) * 512;

  double tensor_us[2];
  CHECK(cudaFuncSetAttribute(tensor<false>, cudaFuncAttributeMaxDynamicSharedMemorySize, kTensorShared));
  CHECK(cudaFuncSetAttribute(tensor<true>, cudaFuncAttributeMaxDynamicSharedMemorySize, kTensorShared));
  const int tensor_blocks = p.multiProcessorCount * (kTensorShared ? 1 : 4), tensor_rounds = 8192;
  tensor_us[0] = time_us([&] { tensor<false><<<tensor_blocks, kTensorThreads, kTensorShared>>>(out, 1u, tensor_rounds); });
  tensor_us[1] = time_us([&] { tensor<true><<<tensor_blocks, kTensorThreads, kTensorShared>>>(out, 1u, tensor_rounds); });
  auto tensor_tflops = [&](int i) { return kTensorOps[i] * tensor_blocks * tensor_rounds / tensor_us[i] / 1e6; };

  printf("{\"gpu\": \"%s\", \"dram_gbps\": %.1f, \"fp32_tflops\": %.2f, \"fp64_tflops\": %.2f, \"bf16_tflops\": %.2f, "
         "\"bf16_tensor_tflops\": %.1f, \"tf32_tensor_tflops\": %.1f}\n",
         p.name, bandwidth, threads * 16 * rounds * 2 / fp32 / 1e6, threads * 8 * (rounds / 8) * 2 / fp64 / 1e6,
         threads * 16 * rounds * 4 / bf16 / 1e6, tensor_tflops(0), tensor_tflops(1));
  return 0;
}
