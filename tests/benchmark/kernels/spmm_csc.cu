// A sparse matrix in compressed sparse columns, times a matrix.

#define RIGHT X
#define RESULT Y
#define WIDTH K
#include "csc.cuh"
