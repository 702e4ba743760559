// A sparse matrix in a list of entries, times a matrix.

#define RIGHT X
#define RESULT Y
#define WIDTH K
#include "coo.cuh"
