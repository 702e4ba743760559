// A whole program in one file: y = a·x + y on a million elements, with a check at the end.
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cuda_runtime.h>

#define CHECK(call)                                                                                 \
    do {                                                                                            \
        cudaError_t status = (call);                                                                \
        if (status != cudaSuccess) {                                                                \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status));    \
            std::exit(EXIT_FAILURE);                                                                \
        }                                                                                           \
    } while (0)

// Each thread walks a contiguous piece, so that neighbours read far apart.
__global__ void saxpy(const float* x, float* y, float a, int count, int piece) {
    int first = (blockIdx.x * blockDim.x + threadIdx.x) * piece;
    for (int i = first; i < first + piece; ++i) {
        if (i < count) y[i] = a * x[i] + y[i];
    }
}

int main(int argc, char** argv) {
    int n = argc > 1 ? std::atoi(argv[1]) : 1 << 20;
    float a = 2.0f;
    std::vector<float> x(n, 1.0f), y(n, 3.0f);

    float *device_x, *device_y;
    CHECK(cudaMalloc(&device_x, n * sizeof(float)));
    CHECK(cudaMalloc(&device_y, n * sizeof(float)));
    CHECK(cudaMemcpy(device_x, x.data(), n * sizeof(float), cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(device_y, y.data(), n * sizeof(float), cudaMemcpyHostToDevice));

    int piece = 32;
    int threads = 256;
    int blocks = (n + threads * piece - 1) / (threads * piece);
    saxpy<<<blocks, threads>>>(device_x, device_y, a, n, piece);
    CHECK(cudaGetLastError());

    CHECK(cudaMemcpy(y.data(), device_y, n * sizeof(float), cudaMemcpyDeviceToHost));
    int wrong = 0;
    for (float value : y) wrong += value != 5.0f;
    std::printf("%d of %d wrong\n", wrong, n);
    CHECK(cudaFree(device_x));
    CHECK(cudaFree(device_y));
    return wrong ? EXIT_FAILURE : EXIT_SUCCESS;
}
