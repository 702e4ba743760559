// A sparse matrix in a list of entries, times a vector.

#define RIGHT x
#define RESULT y
#define WIDTH 1
#include "coo.cuh"
