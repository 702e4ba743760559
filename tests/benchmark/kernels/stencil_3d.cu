// Seven-point stencils: honest ways to write the sum, and what goes wrong in them.

struct Box {
    T* u_new;
    const T* u;
    float r;
    long long nx, ny, nz;
    __device__ float at(long long i, long long j, long long k) const { return get(u[(i * ny + j) * nz + k]); }
    __device__ bool border(long long i, long long j, long long k) const {
        return i == 0 || i == nx - 1 || j == 0 || j == ny - 1 || k == 0 || k == nz - 1;
    }
};
template <class F>
struct Stepped : Box {
    F formula;
    __device__ void operator()(long long p) const {
        const long long i = p / (ny * nz), j = p / nz % ny, k = p % nz;
        if (border(i, j, k)) u_new[p] = u[p];
        else put(u_new + p, formula(at(i, j, k), at(i - 1, j, k), at(i + 1, j, k), at(i, j - 1, k), at(i, j + 1, k),
                                    at(i, j, k - 1), at(i, j, k + 1), r));
    }
};
template <class F>
__host__ __device__ static Stepped<F> stepped(Box box, F formula) { return {box, formula}; }
struct Plain {
    __device__ float operator()(float u, float a, float b, float c, float d, float e, float f, float r) const {
        return u + r * (a + b + c + d + e + f - 6.0f * u);
    }
};
#define BOX Box{u_new, u_old, r, nx, ny, nz}
#define WORK stepped(BOX, Plain{})
#define COUNT (long long)nx * ny * nz
#include "pointwise.cuh"

struct Differences {
    __device__ float operator()(float u, float a, float b, float c, float d, float e, float f, float r) const {
        return u + r * ((a - u) + (b - u) + (c - u) + (d - u) + (e - u) + (f - u));
    }
};
struct Weights {
    __device__ float operator()(float u, float a, float b, float c, float d, float e, float f, float r) const {
        return fmaf(1.0f - 6.0f * r, u, r * ((e + f) + (c + d) + (a + b)));
    }
};
struct EachScaled {
    __device__ float operator()(float u, float a, float b, float c, float d, float e, float f, float r) const {
        return fmaf(r, a, fmaf(r, b, fmaf(r, c, fmaf(r, d, fmaf(r, e, fmaf(r, f, fmaf(-6.0f * r, u, u)))))));
    }
};
HONEST(differences) { return each(stepped(BOX, Differences{}), COUNT, stream); }
HONEST(weights) { return each(stepped(BOX, Weights{}), COUNT, stream); }
HONEST(each_scaled) { return each(stepped(BOX, EachScaled{}), COUNT, stream); }

// A column of threads along x, with three planes of the point in registers.
__global__ void along_x(Box box) {
    const long long p = thread_index(), j = p / box.nz, k = p % box.nz;
    if (j >= box.ny) return;
    const bool inside = j > 0 && j < box.ny - 1 && k > 0 && k < box.nz - 1;
    float before = 0.0f, here = box.at(0, j, k);
    for (long long i = 0; i < box.nx; ++i) {
        const float next = i + 1 < box.nx ? box.at(i + 1, j, k) : 0.0f;
        float u = here;
        if (inside && i > 0 && i < box.nx - 1) {
            u = Plain{}(here, before, next, box.at(i, j - 1, k), box.at(i, j + 1, k), box.at(i, j, k - 1),
                        box.at(i, j, k + 1), box.r);
        }
        put(box.u_new + (i * box.ny + j) * box.nz + k, u);
        before = here;
        here = next;
    }
}
HONEST(along_x) {
    along_x<<<blocks_for((long long)ny * nz, 128), 128, 0, stream>>>(BOX);
    return cudaGetLastError();
}

struct TwoDimensions {
    __device__ float operator()(float u, float a, float b, float c, float d, float e, float f, float r) const {
        return u + r * (a + b + c + d + e + f - 4.0f * u);
    }
};
struct OneTwice {
    __device__ float operator()(float u, float a, float b, float c, float d, float e, float f, float r) const {
        return Plain{}(u, a, b, c, d, e, e, r);
    }
};
struct FixedQuarter {
    __device__ float operator()(float u, float a, float b, float c, float d, float e, float f, float r) const {
        return Plain{}(u, a, b, c, d, e, f, 0.25f);
    }
};
struct CopiedOnly {
    __device__ float operator()(float u, float a, float b, float c, float d, float e, float f, float r) const {
        return u;
    }
};
struct SumInBf16 {
    __device__ float operator()(float u, float a, float b, float c, float d, float e, float f, float r) const {
        return u + r * in_bf16(in_bf16(in_bf16(a + b) + in_bf16(c + d)) + in_bf16(e + f) - 6.0f * u);
    }
};
MISTAKE(weight_of_two_dimensions) { return each(stepped(BOX, TwoDimensions{}), COUNT, stream); }
MISTAKE(one_neighbour_twice) { return each(stepped(BOX, OneTwice{}), COUNT, stream); }
MISTAKE(r_fixed_at_a_quarter) { return each(stepped(BOX, FixedQuarter{}), COUNT, stream); }
MISTAKE(copied_only) { return each(stepped(BOX, CopiedOnly{}), COUNT, stream); }
MISTAKE(accumulated_in_bf16) { return each(stepped(BOX, SumInBf16{}), COUNT, stream); }
MISTAKE(axes_exchanged) { return each(stepped(Box{u_new, u_old, r, nz, ny, nx}, Plain{}), COUNT, stream); }

struct BorderNotWritten : Box {
    __device__ void operator()(long long p) const {
        if (!border(p / (ny * nz), p / nz % ny, p % nz)) stepped(*this, Plain{})(p);
    }
};
struct OneFaceNotCopied : Box {
    __device__ void operator()(long long p) const {
        if (p % nz != nz - 1) stepped(*this, Plain{})(p);
        else put(u_new + p, 0.0f);
    }
};
struct Periodic : Box {
    __device__ void operator()(long long p) const {
        const long long i = p / (ny * nz), j = p / nz % ny, k = p % nz;
        put(u_new + p, Plain{}(at(i, j, k), at((i + nx - 1) % nx, j, k), at((i + 1) % nx, j, k),
                               at(i, (j + ny - 1) % ny, k), at(i, (j + 1) % ny, k), at(i, j, (k + nz - 1) % nz),
                               at(i, j, (k + 1) % nz), r));
    }
};
// Tiles of 16 along z, whose right neighbour beyond the tile counts as 0.
struct HaloLost : Box {
    __device__ void operator()(long long p) const {
        const long long i = p / (ny * nz), j = p / nz % ny, k = p % nz;
        if (border(i, j, k)) u_new[p] = u[p];
        else put(u_new + p, Plain{}(at(i, j, k), at(i - 1, j, k), at(i + 1, j, k), at(i, j - 1, k), at(i, j + 1, k),
                                    at(i, j, k - 1), k % 16 == 15 ? 0.0f : at(i, j, k + 1), r));
    }
};
template <class F>
static F in_the(Box box) { return {box}; }
MISTAKE(border_not_written) { return each(in_the<BorderNotWritten>(BOX), COUNT, stream); }
MISTAKE(one_face_not_copied) { return each(in_the<OneFaceNotCopied>(BOX), COUNT, stream); }
MISTAKE(periodic_border) { return each(in_the<Periodic>(BOX), COUNT, stream); }
MISTAKE(halo_lost) { return each(in_the<HaloLost>(BOX), COUNT, stream); }
