// Elements of 1 to 16 bytes, halves, structs.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#define THREAD int i = blockIdx.x * blockDim.x + threadIdx.x

struct Point {
    float x, y, z;
};
struct alignas(16) Particle {
    float x, y, z, mass;
};
struct Mixed {
    double energy;
    float charge;
    short kind;
};

template <class T>
__device__ void copy_of(float* out, const float* in, int shift = 0) {
    THREAD;
    reinterpret_cast<T*>(out)[i] = reinterpret_cast<const T*>(in)[i + shift];
}
__global__ void bytes(float* out, const float* in, int n) { copy_of<unsigned char>(out, in); }  // 1 byte a lane
__global__ void bytes_offset_5(float* out, const float* in, int n) { copy_of<unsigned char>(out, in, 5); }  // 1 byte a lane, shifted
__global__ void byte_quads(float* out, const float* in, int n) { copy_of<uchar4>(out, in); }  // uchar4
__global__ void halves(float* out, const float* in, int n) { copy_of<__half>(out, in); }  // 2 bytes a lane
__global__ void half_pairs(float* out, const float* in, int n) { copy_of<__half2>(out, in); }  // half2
__global__ void brain_floats(float* out, const float* in, int n) { copy_of<__nv_bfloat16>(out, in); }  // bf16
__global__ void brain_float_stride_4(float* out, const float* in, int n) {  // bf16, every fourth
    THREAD;
    reinterpret_cast<__nv_bfloat16*>(out)[i] = reinterpret_cast<const __nv_bfloat16*>(in)[4 * i];
}
__global__ void doubles(float* out, const float* in, int n) { copy_of<double>(out, in); }  // 8 bytes a lane
__global__ void pairs(float* out, const float* in, int n) { copy_of<float2>(out, in); }  // float2
__global__ void pairs_offset_1(float* out, const float* in, int n) { copy_of<float2>(out, in, 1); }  // float2, shifted
__global__ void quads_of_floats(float* out, const float* in, int n) { copy_of<float4>(out, in); }  // float4
__global__ void quads_offset_1(float* out, const float* in, int n) { copy_of<float4>(out, in, 1); }  // float4, shifted
__global__ void quads_stride_2(float* out, const float* in, int n) {  // float4, every second
    THREAD;
    reinterpret_cast<float4*>(out)[i] = reinterpret_cast<const float4*>(in)[2 * i];
}
__global__ void eight_halves(float* out, const float* in, int n) {  // 8 halves in one uint4
    THREAD;
    uint4 raw = reinterpret_cast<const uint4*>(in)[i];
    __half2* h = reinterpret_cast<__half2*>(&raw);
    for (int k = 0; k < 4; ++k) h[k] = __hadd2(h[k], h[k]);
    reinterpret_cast<uint4*>(out)[i] = raw;
}
__global__ void points(float* out, const float* in, int n) {  // array of structs of 12 bytes, field by field
    THREAD;
    Point p = reinterpret_cast<const Point*>(in)[i];
    out[i] = p.x * p.y + p.z;
}
__global__ void particles(float* out, const float* in, int n) {  // aligned struct of 16 bytes, whole
    THREAD;
    Particle p = reinterpret_cast<const Particle*>(in)[i];
    p.x += p.mass;
    reinterpret_cast<Particle*>(out)[i] = p;
}
__global__ void one_field(float* out, const float* in, int n) {  // one field of a struct of 16 bytes
    THREAD;
    out[i] = reinterpret_cast<const Particle*>(in)[i].y;
}
__global__ void mixed_fields(float* out, const float* in, int n) {  // fields of 8, 4 and 2 bytes
    THREAD;
    const Mixed& m = reinterpret_cast<const Mixed*>(in)[i];
    out[i] = (float)m.energy + m.charge + (float)m.kind;
}

extern "C" cudaError_t element_types(float* out, const float* in, int n, cudaStream_t stream) {
    bytes<<<n / 256, 256, 0, stream>>>(out, in, n);
    bytes_offset_5<<<n / 256, 256, 0, stream>>>(out, in, n);
    byte_quads<<<n / 256, 256, 0, stream>>>(out, in, n);
    halves<<<n / 256, 256, 0, stream>>>(out, in, n);
    half_pairs<<<n / 256, 256, 0, stream>>>(out, in, n);
    brain_floats<<<n / 256, 256, 0, stream>>>(out, in, n);
    brain_float_stride_4<<<n / 256, 256, 0, stream>>>(out, in, n);
    doubles<<<n / 256, 256, 0, stream>>>(out, in, n);
    pairs<<<n / 256, 256, 0, stream>>>(out, in, n);
    pairs_offset_1<<<n / 256, 256, 0, stream>>>(out, in, n);
    quads_of_floats<<<n / 256, 256, 0, stream>>>(out, in, n);
    quads_offset_1<<<n / 256, 256, 0, stream>>>(out, in, n);
    quads_stride_2<<<n / 256, 256, 0, stream>>>(out, in, n);
    eight_halves<<<n / 256, 256, 0, stream>>>(out, in, n);
    points<<<n / 256, 256, 0, stream>>>(out, in, n);
    particles<<<n / 256, 256, 0, stream>>>(out, in, n);
    one_field<<<n / 256, 256, 0, stream>>>(out, in, n);
    mixed_fields<<<n / 256, 256, 0, stream>>>(out, in, n);
    return cudaGetLastError();
}
