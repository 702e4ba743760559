// Layer normalizations.

#define GROUPS Groups{out, in, weight, bias, eps, rows, N, N, 1, false}
#define GROUP_COUNT rows
#define CENTRED true
#include "norms.cuh"
#include "variance.cuh"

MISTAKE(one_weight_per_row) {
    return by_threads<Right, true>(Groups{out, in, weight, bias, eps, rows < N ? rows : N, N, N, 1, true}, stream);
}
MISTAKE(rows_and_columns_exchanged) {
    return by_threads<Right, true>(Groups{out, in, weight, bias, eps, N, rows, 1, N, true}, stream);
}
