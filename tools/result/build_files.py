"""How to build the kernel without us: a shell script and a CMake file."""

from __future__ import annotations

from ..records import BuildSpec


def build_flags(spec: BuildSpec) -> list[str]:
    """Return nvcc's options for a BuildSpec, without the architecture."""
    flags = [f"-std={spec.standard}", spec.optimization]
    if spec.fast_math:
        flags.append("--use_fast_math")
    if spec.max_registers is not None:
        flags.append(f"-maxrregcount={spec.max_registers}")
    if spec.unroll is not None:
        flags.append(f"-DUNROLL={spec.unroll}")
    return flags + [f"-D{name}={value}" for name, value in spec.defines.items()]


def build_script(spec: BuildSpec, arch: str, entry: str) -> str:
    """Return `build.sh`: a shared library of the kernel, and `bench` linked to it; `arch` where the spec has none."""
    return f"""#!/bin/sh
# Builds lib{entry}.so and the program `bench`. Needs nvcc (CUDA 12 or newer). For another GPU: ARCH=sm_89 ./build.sh
set -eu
cd "$(dirname "$0")"
NVCC="${{NVCC:-nvcc}}"
ARCH="${{ARCH:-{spec.arch or arch}}}"
"$NVCC" -arch="$ARCH" {" ".join(build_flags(spec))} --shared -Xcompiler -fPIC -o lib{entry}.so kernel.cu
"$NVCC" -std=c++17 -O2 -o bench bench.cpp -L. -l{entry} -Xlinker -rpath -Xlinker '$ORIGIN'
echo "built lib{entry}.so and bench: ./bench checks and times the kernel"
"""


def cmake_file(spec: BuildSpec, arch: str, entry: str) -> str:
    """Return `CMakeLists.txt`; `arch` where the spec has none."""
    options = [flag for flag in build_flags(spec) if not flag.startswith("-std=")]
    return f"""cmake_minimum_required(VERSION 3.24)
if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
  set(CMAKE_CUDA_ARCHITECTURES {(spec.arch or arch).removeprefix("sm_")})
endif()
project({entry} LANGUAGES CXX CUDA)
find_package(CUDAToolkit REQUIRED)

add_library({entry} SHARED kernel.cu)
target_compile_features({entry} PRIVATE cuda_std_{spec.standard.removeprefix("c++")})
target_compile_options({entry} PRIVATE $<$<COMPILE_LANGUAGE:CUDA>:{";".join(options)}>)

add_executable(bench bench.cpp)
target_compile_features(bench PRIVATE cxx_std_17)
target_link_libraries(bench PRIVATE {entry} CUDA::cudart)
"""
