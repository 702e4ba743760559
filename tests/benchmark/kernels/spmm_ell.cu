// A sparse matrix in rows padded to one length, times a matrix.

#define RIGHT X
#define RESULT Y
#define WIDTH K
#include "ell.cuh"
