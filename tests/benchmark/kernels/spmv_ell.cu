// A sparse matrix in rows padded to one length, times a vector.

#define RIGHT x
#define RESULT y
#define WIDTH 1
#include "ell.cuh"
