"""Build the extension: `pip install --no-build-isolation .`."""

from setuptools import setup
from torch.utils.cpp_extension import BuildExtension, CUDAExtension

setup(
    name="rms_norm_extension",
    ext_modules=[CUDAExtension("rms_norm_extension", ["csrc/binding.cpp", "csrc/rms_norm.cu"])],
    cmdclass={"build_ext": BuildExtension},
)
