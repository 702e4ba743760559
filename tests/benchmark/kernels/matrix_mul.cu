// Products of rectangular matrices.

#define ROWS M
#define COLUMNS N
#define INNER K
#include "matrix_product.cuh"
