// Batch normalizations: the groups are columns.

#define GROUPS Groups{out, in, gamma, beta, eps, C, N, 1, C, true}
#define GROUP_COUNT C
#define CENTRED true
#include "norms.cuh"
#include "variance.cuh"

struct At1024Most : Right { static __device__ int summed(int n) { return min(n, 1024); } };
struct PowerOfTwo : Right {
    static __device__ int summed(int n) {
        int most = 1;
        while (2 * most <= n) most *= 2;
        return most;
    }
};
MISTAKE(rows_instead_of_columns) {
    return by_threads<Right, true>(Groups{out, in, gamma, beta, eps, N, C, C, 1, false}, stream);
}
MISTAKE(only_1024_rows_summed) { return by_threads<At1024Most, true>(GROUPS, stream); }
MISTAKE(only_a_power_of_two_summed) { return by_threads<PowerOfTwo, true>(GROUPS, stream); }
