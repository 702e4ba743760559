// A sparse matrix in compressed sparse rows, times a matrix.

#define RIGHT X
#define RESULT Y
#define WIDTH K
#include "csr.cuh"
