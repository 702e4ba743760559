"""Build the extension: `pip install --no-build-isolation .`."""

from setuptools import setup
from torch.utils.cpp_extension import BuildExtension, CUDAExtension

# PyTorch switches off the operators of __nv_bfloat16 that CUDA's headers have; plain CUDA code uses them.
KEEP_BF16_OPERATORS = ["-U__CUDA_NO_BFLOAT16_CONVERSIONS__", "-U__CUDA_NO_BFLOAT16_OPERATORS__"]

setup(
    name="rms_norm_extension",
    ext_modules=[
        CUDAExtension(
            "rms_norm_extension",
            ["csrc/binding.cpp", "csrc/rms_norm.cu"],
            extra_compile_args={"cxx": [], "nvcc": KEEP_BF16_OPERATORS},
        )
    ],
    cmdclass={"build_ext": BuildExtension},
)
