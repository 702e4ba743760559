// What knows of tensors stays here; the .cu file has pointers and numbers only.
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAGuard.h>
#include <torch/extension.h>

#include "rms_norm.h"

torch::Tensor rms_norm(torch::Tensor in, torch::Tensor weight, double eps) {
    TORCH_CHECK(in.is_cuda() && in.is_contiguous() && in.dim() == 2, "in: a contiguous CUDA matrix");
    TORCH_CHECK(weight.is_cuda() && weight.is_contiguous() && weight.numel() == in.size(1), "weight: one per column");
    TORCH_CHECK(weight.scalar_type() == in.scalar_type(), "in and weight: the same type");
    const c10::cuda::CUDAGuard guard(in.device());
    torch::Tensor out = torch::empty_like(in);
    const int rows = static_cast<int>(in.size(0)), cols = static_cast<int>(in.size(1));
    const cudaStream_t stream = at::cuda::getCurrentCUDAStream();
    if (in.scalar_type() == torch::kFloat32) {
        launch_rms_norm(out.data_ptr<float>(), in.data_ptr<float>(), weight.data_ptr<float>(), rows, cols,
                        static_cast<float>(eps), stream);
    } else {
        TORCH_CHECK(in.scalar_type() == torch::kBFloat16, "in: float32 or bfloat16");
        using Element = __nv_bfloat16;
        launch_rms_norm(static_cast<Element*>(out.data_ptr()), static_cast<const Element*>(in.data_ptr()),
                        static_cast<const Element*>(weight.data_ptr()), rows, cols, static_cast<float>(eps), stream);
    }
    return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, module) { module.def("rms_norm", &rms_norm); }
