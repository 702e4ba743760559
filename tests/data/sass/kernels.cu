#include <cuda_bf16.h>
#include <mma.h>
#include <cstdio>
extern "C" __global__ void copy4(float4* o, const float4* __restrict__ a, int n){int i=blockIdx.x*blockDim.x+threadIdx.x; if(i<n) o[i]=a[i];}
extern "C" __global__ void gelu_double(float* o, const float* a, int n){int i=blockIdx.x*blockDim.x+threadIdx.x; if(i<n) o[i]=0.5*a[i]*(1.0+erf(a[i]/sqrt(2.0)));}
extern "C" __global__ void dot_atomic(float* o, const float* a, const float* b, int n){float s=0;for(int i=blockIdx.x*blockDim.x+threadIdx.x;i<n;i+=gridDim.x*blockDim.x)s+=a[i]*b[i]; atomicAdd(o,s);}
extern "C" __global__ void softexp(float* o, const float* a, int n){int i=blockIdx.x*blockDim.x+threadIdx.x; if(i<n) o[i]=__expf(a[i])+__sinf(a[i]);}
extern "C" __global__ void transpose(float* o, const float* a, int n){__shared__ float t[32][32];int x=blockIdx.x*32+threadIdx.x,y=blockIdx.y*32+threadIdx.y;for(int j=0;j<32;j+=8)t[threadIdx.y+j][threadIdx.x]=a[(y+j)*n+x];__syncthreads();x=blockIdx.y*32+threadIdx.x;y=blockIdx.x*32+threadIdx.y;for(int j=0;j<32;j+=8)o[(y+j)*n+x]=t[threadIdx.x][threadIdx.y+j];}
using namespace nvcuda;
extern "C" __global__ void mma(float* c,const __nv_bfloat16* a,const __nv_bfloat16* b,int n){wmma::fragment<wmma::matrix_a,16,16,16,__nv_bfloat16,wmma::row_major> fa;wmma::fragment<wmma::matrix_b,16,16,16,__nv_bfloat16,wmma::row_major> fb;wmma::fragment<wmma::accumulator,16,16,16,float> fc;wmma::fill_fragment(fc,0.f);for(int k=0;k<n;k+=16){wmma::load_matrix_sync(fa,a+k,n);wmma::load_matrix_sync(fb,b+k*n,n);wmma::mma_sync(fc,fa,fb,fc);}wmma::store_matrix_sync(c,fc,n,wmma::mem_row_major);}
extern "C" __global__ void __launch_bounds__(1024,2) spill(float* o,const float* a,int n){float r[64];
#pragma unroll
for(int k=0;k<64;k++)r[k]=a[threadIdx.x+k*n];
for(int j=0;j<n;j++){
#pragma unroll
for(int k=0;k<64;k++)r[k]=r[k]*r[(k+7)%64]+a[j];}
#pragma unroll
for(int k=0;k<64;k++)o[threadIdx.x+k*n]=r[k];}
