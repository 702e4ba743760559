// A stand-in for the CUDA runtime in host memory: just what the host program needs, for tests of the protocol.
#pragma once
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum cudaError_t { cudaSuccess = 0, cudaErrorInvalidValue = 1, cudaErrorMemoryAllocation = 2, cudaErrorIllegalAddress = 700 };
typedef void* cudaStream_t;
enum cudaMemcpyKind { cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost, cudaMemcpyDeviceToDevice };

inline int& fake_sticky() { static int code = 0; return code; }
inline cudaError_t fake_state() {
  if (getenv("FAKE_STICKY")) return cudaErrorIllegalAddress;
  return static_cast<cudaError_t>(fake_sticky());
}
inline cudaError_t cudaMalloc(void** p, size_t n) {
  if (n > (size_t{1} << 40)) return cudaErrorMemoryAllocation;
  *p = aligned_alloc(256, (n + 255) / 256 * 256);
  return *p ? cudaSuccess : cudaErrorMemoryAllocation;
}
inline cudaError_t cudaFree(void* p) { free(p); return cudaSuccess; }
inline cudaError_t cudaHostAlloc(void** p, size_t n, unsigned) { return cudaMalloc(p, n); }
inline cudaError_t cudaMemcpy(void* to, const void* from, size_t n, cudaMemcpyKind) { memcpy(to, from, n); return cudaSuccess; }
inline cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t n, cudaMemcpyKind k, cudaStream_t) { return cudaMemcpy(to, from, n, k); }
inline cudaError_t cudaMemsetAsync(void* p, int byte, size_t n, cudaStream_t) { memset(p, byte, n); return cudaSuccess; }
inline cudaError_t cudaDeviceSynchronize() {
  if (const char* us = getenv("FAKE_BEYOND_US")) usleep(atoi(us));
  return cudaSuccess;
}
inline cudaError_t cudaStreamSynchronize(cudaStream_t) { return fake_state(); }
enum { cudaStreamNonBlocking = 1 };
inline cudaError_t cudaStreamCreateWithFlags(cudaStream_t* s, unsigned) { *s = nullptr; return cudaSuccess; }
inline cudaError_t cudaSetDevice(int) { return getenv("FAKE_NO_GPU") ? cudaErrorInvalidValue : cudaSuccess; }
inline cudaError_t cudaGetLastError() { return cudaSuccess; }
inline cudaError_t cudaMemGetInfo(size_t* f, size_t* t) {
  const char* free_bytes = getenv("FAKE_FREE_BYTES");
  *t = size_t{1} << 30;
  *f = free_bytes ? strtoull(free_bytes, nullptr, 10) : *t;
  static size_t asked = 0;  // another process takes some memory all the time
  if (const char* drift = getenv("FAKE_FREE_DRIFT")) *f -= ++asked * strtoull(drift, nullptr, 10);
  return cudaSuccess;
}
inline const char* cudaGetErrorName(cudaError_t) { return "cudaErrorFake"; }
inline const char* cudaGetErrorString(cudaError_t e) { return e == cudaErrorIllegalAddress ? "an illegal memory access was encountered" : "invalid argument"; }
