// Five-point stencils: honest ways to write the sum, and what goes wrong in them.

WORKSPACE_BYTES() { return 0; }

struct Around { float up, down, left, right; };

struct Plain {
    static __device__ float of(float u, Around a, float r) {
        return u + r * (a.up + a.down + a.left + a.right - 4.0f * u);
    }
};
struct Differences {
    static __device__ float of(float u, Around a, float r) {
        return u + r * ((a.up - u) + (a.down - u) + (a.left - u) + (a.right - u));
    }
};
struct Weights {
    static __device__ float of(float u, Around a, float r) {
        return fmaf(1.0f - 4.0f * r, u, r * ((a.left + a.right) + (a.up + a.down)));
    }
};
struct Double {
    static __device__ float of(float u, Around a, float r) {
        return (float)(u + (double)r * ((double)a.up + a.down + a.left + a.right - 4.0 * u));
    }
};

// Point per thread; of the border `Border` says what becomes.
struct Copied { static __device__ bool skips(int i, int j, int nx, int ny) { return false; } };

template <class F, class Border>
__global__ void point_per_thread(T* u_new, const T* u_old, float r, int nx, int ny) {
    const long long k = thread_index(), i = k / ny, j = k % ny;
    if (i >= nx || Border::skips(i, j, nx, ny)) return;
    const float u = get(u_old[k]);
    if (i == 0 || i == nx - 1 || j == 0 || j == ny - 1) {
        put(u_new + k, u);
        return;
    }
    const Around around = {get(u_old[k - ny]), get(u_old[k + ny]), get(u_old[k - 1]), get(u_old[k + 1])};
    put(u_new + k, F::of(u, around, r));
}
template <class F, class Border>
static cudaError_t run(T* u_new, const T* u_old, float r, int nx, int ny, cudaStream_t stream) {
    point_per_thread<F, Border><<<blocks_for((long long)nx * ny, 128), 128, 0, stream>>>(u_new, u_old, r, nx, ny);
    return cudaGetLastError();
}

// --- honest ----------------------------------------------------------------------------------------------------------

HONEST(plain) { return run<Plain, Copied>(u_new, u_old, r, nx, ny, stream); }
HONEST(differences) { return run<Differences, Copied>(u_new, u_old, r, nx, ny, stream); }
HONEST(weights) { return run<Weights, Copied>(u_new, u_old, r, nx, ny, stream); }
HONEST(in_double) { return run<Double, Copied>(u_new, u_old, r, nx, ny, stream); }

// Tiles of 16 x 16 with a halo in shared memory; without `HALO` its right side counts as 0.
template <bool HALO>
__global__ void tiles(T* u_new, const T* u_old, float r, int nx, int ny) {
    __shared__ float s[18][18];
    for (int at = threadIdx.x; at < 18 * 18; at += 128) {
        const int i = (int)blockIdx.y * 16 + at / 18 - 1, j = (int)blockIdx.x * 16 + at % 18 - 1;
        const bool there = i >= 0 && i < nx && j >= 0 && j < ny && (HALO || at % 18 < 17);
        s[at / 18][at % 18] = there ? get(u_old[(long long)i * ny + j]) : 0.0f;
    }
    __syncthreads();
    for (int at = threadIdx.x; at < 256; at += 128) {
        const int y = at / 16 + 1, x = at % 16 + 1, i = blockIdx.y * 16 + y - 1, j = blockIdx.x * 16 + x - 1;
        if (i >= nx || j >= ny) continue;
        const bool border = i == 0 || i == nx - 1 || j == 0 || j == ny - 1;
        const Around around = {s[y - 1][x], s[y + 1][x], s[y][x - 1], s[y][x + 1]};
        put(u_new + (long long)i * ny + j, border ? s[y][x] : Plain::of(s[y][x], around, r));
    }
}
HONEST(tiled) {
    tiles<true><<<dim3(blocks_for(ny, 16), blocks_for(nx, 16)), 128, 0, stream>>>(u_new, u_old, r, nx, ny);
    return cudaGetLastError();
}

// --- mistakes --------------------------------------------------------------------------------------------------------

MISTAKE(halo_lost_at_the_right) {
    tiles<false><<<dim3(blocks_for(ny, 16), blocks_for(nx, 16)), 128, 0, stream>>>(u_new, u_old, r, nx, ny);
    return cudaGetLastError();
}

struct FixedQuarter { static __device__ float of(float u, Around a, float r) { return Plain::of(u, a, 0.25f); } };
struct TwiceR { static __device__ float of(float u, Around a, float r) { return Plain::of(u, a, 2.0f * r); } };
struct ThreeNeighbours {
    static __device__ float of(float u, Around a, float r) { return Plain::of(u, {a.up, a.down, a.left, u}, r); }
};
struct WrongCentre {
    static __device__ float of(float u, Around a, float r) {
        return u + r * (a.up + a.down + a.left + a.right - 3.0f * u);
    }
};
struct UpTwice {
    static __device__ float of(float u, Around a, float r) { return Plain::of(u, {a.up, a.up, a.left, a.right}, r); }
};
struct SumInBf16 {
    static __device__ float of(float u, Around a, float r) {
        return u + r * in_bf16(in_bf16(in_bf16(a.up + a.down) + a.left) + a.right - 4.0f * u);
    }
};
MISTAKE(r_fixed_at_a_quarter) { return run<FixedQuarter, Copied>(u_new, u_old, r, nx, ny, stream); }
MISTAKE(r_twice) { return run<TwiceR, Copied>(u_new, u_old, r, nx, ny, stream); }
MISTAKE(one_neighbour_missing) { return run<ThreeNeighbours, Copied>(u_new, u_old, r, nx, ny, stream); }
MISTAKE(centre_three_times) { return run<WrongCentre, Copied>(u_new, u_old, r, nx, ny, stream); }
MISTAKE(upper_neighbour_twice) { return run<UpTwice, Copied>(u_new, u_old, r, nx, ny, stream); }
MISTAKE(accumulated_in_bf16) { return run<SumInBf16, Copied>(u_new, u_old, r, nx, ny, stream); }

struct LastColumnLost { static __device__ bool skips(int i, int j, int nx, int ny) { return j == ny - 1; } };
struct BorderLost {
    static __device__ bool skips(int i, int j, int nx, int ny) {
        return i == 0 || i == nx - 1 || j == 0 || j == ny - 1;
    }
};
MISTAKE(last_column_not_written) { return run<Plain, LastColumnLost>(u_new, u_old, r, nx, ny, stream); }
MISTAKE(border_not_written) { return run<Plain, BorderLost>(u_new, u_old, r, nx, ny, stream); }

__global__ void everywhere(T* u_new, const T* u_old, float r, int nx, int ny) {
    const long long k = thread_index(), i = k / ny, j = k % ny;
    if (i >= nx) return;
    const long long up = (i + nx - 1) % nx, down = (i + 1) % nx, left = (j + ny - 1) % ny, right = (j + 1) % ny;
    const Around around = {get(u_old[up * ny + j]), get(u_old[down * ny + j]), get(u_old[i * ny + left]),
                           get(u_old[i * ny + right])};
    put(u_new + k, Plain::of(get(u_old[k]), around, r));
}
MISTAKE(periodic_border) {
    everywhere<<<blocks_for((long long)nx * ny, 128), 128, 0, stream>>>(u_new, u_old, r, nx, ny);
    return cudaGetLastError();
}
