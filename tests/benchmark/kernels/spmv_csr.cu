// A sparse matrix in compressed sparse rows, times a vector.

#define RIGHT x
#define RESULT y
#define WIDTH 1
#include "csr.cuh"
