// RMS normalizations.

#define GROUPS Groups{out, in, weight, bias, eps, rows, N, N, 1, false}
#define GROUP_COUNT rows
#define CENTRED false
#include "norms.cuh"

MISTAKE(rows_and_columns_exchanged) {
    return by_threads<Right, false>(Groups{out, in, weight, bias, eps, N, rows, 1, N, true}, stream);
}
MISTAKE(eps_forgotten) {
    return by_threads<Right, false>(Groups{out, in, weight, bias, 0.0f, rows, N, N, 1, false}, stream);
}
