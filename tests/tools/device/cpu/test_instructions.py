"""Host code read as a GPU's instructions, block by block."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from cudamaster.tools.device.cpu.counters import LaunchCounters, read_counters
from cudamaster.tools.device.cpu.instructions import read_blocks, total_mix

from .conftest import Host, draw, f32

pytestmark = [pytest.mark.xdist_group("cpu-bugs"), pytest.mark.timeout(600)]

CODE = """
0000000000001180 <kernel>:
    1180:\tsub    rsp,0x8
    1184:\tcall   1050 <__sanitizer_cov_trace_pc@plt>
    1189:\tvfmadd231ss xmm1,xmm0,DWORD PTR [rbp+0x0]
    118f:\tadd    rbp,r13
    1192:\txor    eax,eax
    1194:\tvmovss DWORD PTR [rsp],xmm1
    1199:\tjne    1184 <kernel+0x4>
    119b:\tcall   1050 <__sanitizer_cov_trace_pc@plt>
    11a0:\tcall   1060 <expf@plt>
    11a5:\tvdivss xmm0,xmm0,xmm1
    11a9:\tvaddsd xmm0,xmm0,xmm2
    11ad:\tcall   1070 <__tsan_write4@plt>
    11b2:\tret
    11b3:\tvaddss xmm0,xmm0,xmm1
"""


def test_blocks_begin_behind_their_markers_and_end_where_control_leaves() -> None:
    blocks = read_blocks(CODE.splitlines())
    assert sorted(blocks) == [0x1189, 0x11A0]
    loop, tail = blocks[0x1189], blocks[0x11A0]
    assert (loop.fp32, loop.integer, loop.control, loop.special) == (1, 1, 1, 0)
    assert (tail.fp64, tail.special_calls, tail.double_calls) == (1, 2, 0)
    assert tail.fp32 > 8
    assert tail.special == 2


def test_fast_math_takes_the_approximate_functions() -> None:
    exact, fast = (read_blocks(CODE.splitlines(), fast_math=fast)[0x11A0] for fast in (False, True))
    assert fast.special == exact.special
    assert fast.fp32 < exact.fp32 / 4


def test_mixes_add_up() -> None:
    loop = read_blocks(CODE.splitlines())[0x1189]
    both = total_mix([(loop, 2.0), (loop, 3.0)])
    assert (both.fp32, both.integer, both.instructions) == (5, 5, 15)


KERNELS = """#include <cuda_runtime.h>
__global__ void chains(float* out, const float* in, int n) {
    int i = blockIdx.x * 64 + threadIdx.x;
    float v = in[i];
    for (int k = 0; k < n; ++k) v = v * 0.5f + 1.0f;
    out[i] = v;
}
__global__ void half_of_them(float* out, const float* in, int n) {
    int i = blockIdx.x * 64 + threadIdx.x;
    float v = in[i];
    if (threadIdx.x % 2) for (int k = 0; k < n; ++k) v = v * 0.5f + 1.0f;
    out[i] = v;
}
__global__ void in_double(float* out, const float* in, int n) {
    int i = blockIdx.x * 64 + threadIdx.x;
    double v = in[i];
    for (int k = 0; k < n; ++k) v = v * 0.5 + 1.0;
    out[i] = (float)exp(v);
}
__global__ void approximate(float* out, const float* in, int n) {
    int i = blockIdx.x * 64 + threadIdx.x;
    out[i] = __expf(in[i]) + rsqrtf(in[i] + 2.0f);
}
extern "C" cudaError_t mixes(float* out, const float* in, int n, cudaStream_t stream) {
    chains<<<4, 64, 0, stream>>>(out, in, n);
    half_of_them<<<4, 64, 0, stream>>>(out, in, n);
    in_double<<<4, 64, 0, stream>>>(out, in, n);
    approximate<<<4, 64, 0, stream>>>(out, in, n);
    return cudaGetLastError();
}
"""


@pytest.fixture(scope="module")
def launches(host: Host) -> dict[str, LaunchCounters]:
    build = host.build(KERNELS, ["mixes"])
    assert build.ok, build.log
    library = host.trace(build)
    (result,) = host.run([(str(library), "mixes", [f32(256), np.abs(draw(256, 1)), 100])])
    return {launch.kernel: launch for launch in read_counters(result["counters"], library).launches}


def mix(launches: dict[str, LaunchCounters], kernel: str) -> Any:
    found = launches[kernel].mix
    assert found is not None
    return found


def test_every_multiply_add_of_every_warp_is_counted(launches: dict[str, LaunchCounters]) -> None:
    warps = 8
    assert mix(launches, "chains").fp32 == 100 * warps
    # Half of the lanes take the branch: their warps issue as much, whoever is in them.
    assert mix(launches, "half_of_them").fp32 == 100 * warps


def test_double_precision_and_special_functions_are_told_apart(launches: dict[str, LaunchCounters]) -> None:
    assert mix(launches, "in_double").fp64 > 100 * 8
    assert mix(launches, "in_double").fp32 < 100
    assert (launches["in_double"].double_ops, launches["chains"].double_ops) == (256, 0)
    assert (launches["approximate"].special_ops, launches["approximate"].double_ops) == (512, 0)
    assert mix(launches, "approximate").special == 2 * 8
