// A sparse matrix in compressed sparse columns, times a vector.

#define RIGHT x
#define RESULT y
#define WIDTH 1
#include "csc.cuh"
