// Products of square matrices.

#define ROWS M
#define COLUMNS M
#define INNER M
#include "matrix_product.cuh"

MISTAKE(factors_exchanged) { return tiled(B, A, C, M, M, M, M, true, stream); }
