#pragma once

#include <cfloat>

#include "acme/check.h"

namespace acme {

#ifndef ACME_ROWS_PER_BLOCK
#define ACME_ROWS_PER_BLOCK 128
#endif

inline int ceil_div(int a, int b) { return (a + b - 1) / b; }

__device__ __forceinline__ float square(float x) { return x * x; }

struct Shape {
    int rows, cols;
};

}  // namespace acme
