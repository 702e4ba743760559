#ifndef ACME_CHECK_H
#define ACME_CHECK_H

#include <cstdio>
#include <cstdlib>

#include <cuda_runtime.h>

namespace acme {

inline void check(cudaError_t status, const char* file, int line) {
    if (status != cudaSuccess) {
        std::fprintf(stderr, "%s:%d: %s\n", file, line, cudaGetErrorString(status));
        std::abort();
    }
}

}  // namespace acme

#define ACME_CHECK(call) ::acme::check((call), __FILE__, __LINE__)

#endif  // ACME_CHECK_H
