"""Planted bugs that leave results right, or wrong only on a GPU: each is found, at its line."""

from __future__ import annotations

import re
from typing import Any

import pytest
from cudamaster.tools.device.cpu.counters import RuntimeFinding, read_counters

from .conftest import Host, draw, f32

pytestmark = [pytest.mark.xdist_group("cpu-bugs"), pytest.mark.timeout(600)]

# Each kernel is launched as <<<2, 64>>>(out, in, 128); `// HERE` marks a line that the finding must name.
BUGS: dict[str, tuple[str, str]] = {
    "missing_barrier": (
        "shared_race",
        """__shared__ float s[64];
        s[threadIdx.x] = in[threadIdx.x];  // HERE
        out[blockIdx.x * 64 + threadIdx.x] = s[63 - threadIdx.x];  // HERE""",
    ),
    "slot_reused_without_barrier": (
        "shared_race",
        """__shared__ float s[64];
        s[threadIdx.x] = in[threadIdx.x];
        __syncthreads();
        float v = s[(threadIdx.x + 32) % 64];  // HERE
        s[threadIdx.x] = 2.0f * v;  // HERE
        __syncthreads();
        out[blockIdx.x * 64 + threadIdx.x] = s[threadIdx.x];""",
    ),
    "all_threads_write_one_slot": (
        "shared_race",
        """__shared__ float s;
        s = in[threadIdx.x];  // HERE
        __syncthreads();
        out[blockIdx.x * 64 + threadIdx.x] = s;""",
    ),
    "plain_and_atomic": (
        "shared_race",
        """__shared__ float s;
        if (threadIdx.x == 0) s = 0.0f;  // HERE
        atomicAdd(&s, in[threadIdx.x]);  // HERE
        __syncthreads();
        out[blockIdx.x * 64 + threadIdx.x] = s;""",
    ),
    "warp_synchronous": (
        "warp_race",
        """volatile __shared__ float s[64];
        s[threadIdx.x] = in[threadIdx.x];
        __syncthreads();
        if (threadIdx.x < 16) {
            s[threadIdx.x] += s[threadIdx.x + 16];  // HERE
            s[threadIdx.x] += s[threadIdx.x + 8];  // HERE
        }
        __syncthreads();
        out[blockIdx.x * 64 + threadIdx.x] = s[0];""",
    ),
    "read_past_the_end": (
        "out_of_bounds",
        """int i = blockIdx.x * 64 + threadIdx.x;
        out[i] = in[i] + 0.0f * in[i + 1];  // HERE""",
    ),
    "write_past_the_end": (
        "out_of_bounds",
        "int i = blockIdx.x * 64 + threadIdx.x; out[i + (i == 127)] = in[i];  // HERE",
    ),
    "read_before_the_start": (
        "out_of_bounds",
        "int i = blockIdx.x * 64 + threadIdx.x; out[i] = in[i] + 0.0f * in[i - 1];  // HERE",
    ),
    "vector_read_past_the_end": (
        "out_of_bounds",
        """int i = blockIdx.x * 64 + threadIdx.x;
        float4 v = *reinterpret_cast<const float4*>(in + (i & ~3) + (i >= 124 ? 4 : 0));  // HERE
        out[i] = v.x;""",
    ),
    "uninitialised_shared": (
        "uninitialised_shared",
        """__shared__ float s[64];
        if (threadIdx.x < 8) s[threadIdx.x] = in[threadIdx.x];
        __syncthreads();
        float v = s[threadIdx.x % 32];  // HERE
        out[blockIdx.x * 64 + threadIdx.x] = threadIdx.x % 32 < 8 ? v : 0.0f;""",
    ),
    "uninitialised_dynamic": (
        "uninitialised_shared",
        """extern __shared__ float d[];
        out[blockIdx.x * 64 + threadIdx.x] = d[threadIdx.x] * 0.0f;  // HERE""",
    ),
    "barrier_in_a_branch": (
        "divergent_barrier",
        """if (threadIdx.x < 32) {
            __syncthreads();  // HERE
            out[blockIdx.x * 64 + threadIdx.x] = in[threadIdx.x];
        } else {
            __syncthreads();  // HERE
        }""",
    ),
    "barrier_skipped_by_waiting_threads": (
        "divergent_barrier",
        """for (int k = 0; k < 1 + (threadIdx.x >= 32); ++k) {
            __syncthreads();  // HERE
            out[blockIdx.x * 64 + threadIdx.x] = in[threadIdx.x];
        }
        if (threadIdx.x < 32) __syncthreads();  // HERE""",
    ),
    "lane_outside_its_mask": (
        "warp_mask",
        "out[blockIdx.x * 64 + threadIdx.x] = __shfl_sync(0x0000ffffu, in[threadIdx.x], 0);  // HERE",
    ),
    "full_mask_in_a_branch": (
        "warp_mask",
        """float v = in[threadIdx.x];
        if (threadIdx.x % 32 < 16) v += __shfl_xor_sync(0xffffffffu, v, 1);  // HERE
        __syncthreads();
        out[blockIdx.x * 64 + threadIdx.x] = v;""",
    ),
    "shuffle_from_a_lane_that_left": (
        "shuffle_inactive_lane",
        """if (threadIdx.x % 32 >= 20) return;
        out[blockIdx.x * 64 + threadIdx.x] = 0.0f * __shfl_down_sync(0xffffffffu, in[threadIdx.x], 4);  // HERE""",
    ),
    "blocks_write_one_place": ("global_race", "out[threadIdx.x] = in[blockIdx.x * 64 + threadIdx.x];  // HERE"),
    "block_reads_what_another_writes": (
        "global_race",
        """out[blockIdx.x * 64 + threadIdx.x] = in[threadIdx.x];
        if (blockIdx.x == 1) out[64 + threadIdx.x] = out[threadIdx.x];  // HERE""",
    ),
    "last_element_of_shared": (
        "uninitialised_shared",
        """__shared__ float s[65];
        s[threadIdx.x] = in[threadIdx.x];
        __syncthreads();
        out[blockIdx.x * 64 + threadIdx.x] = s[threadIdx.x] + 0.0f * s[threadIdx.x + 1];  // HERE""",
    ),
    "misaligned_vector": (
        "misaligned",
        """int i = blockIdx.x * 64 + threadIdx.x;
        float2 v = *reinterpret_cast<const float2*>(in + (i & ~3) + 1);  // HERE
        out[i] = v.x;""",
    ),
    "shared_past_the_end": (
        "out_of_bounds",
        """extern __shared__ float d[];
        d[threadIdx.x + (threadIdx.x == 63)] = in[threadIdx.x];  // HERE
        __syncthreads();
        out[blockIdx.x * 64 + threadIdx.x] = d[threadIdx.x == 63 ? 0 : threadIdx.x];""",
    ),
    "tile_loop_without_its_second_barrier": (
        "shared_race",
        """__shared__ float s[64];
        float sum = 0.0f;
        for (int k = 0; k < 2; ++k) {
            s[threadIdx.x] = in[k * 64 + threadIdx.x];  // HERE
            __syncthreads();
            sum += s[63 - threadIdx.x];  // HERE
        }
        out[blockIdx.x * 64 + threadIdx.x] = sum;""",
    ),
    "double_buffer_of_one": (
        "shared_race",
        """__shared__ float s[2][64];
        s[0][threadIdx.x] = in[threadIdx.x];
        __syncthreads();
        for (int k = 0; k < 3; ++k) {
            s[(k & 2) / 2][threadIdx.x] = s[k & 1][(threadIdx.x + 32) % 64];  // HERE
            __syncthreads();
        }
        out[blockIdx.x * 64 + threadIdx.x] = s[1][threadIdx.x];""",
    ),
    "stencil_in_place": (
        "global_race",
        """int i = blockIdx.x * 64 + threadIdx.x;
        out[i] = in[i];
        __syncthreads();
        if (i > 0) out[i] = 0.5f * (out[i - 1] + in[i]);  // HERE""",
    ),
    "syncwarp_without_its_lane": (
        "warp_mask",
        """__shared__ float s[64];
        s[threadIdx.x] = in[threadIdx.x];
        if (threadIdx.x % 32 < 8) __syncwarp(0x0000000fu);  // HERE
        __syncthreads();
        out[blockIdx.x * 64 + threadIdx.x] = s[threadIdx.x ^ 1];""",
    ),
    "race_by_bytes_of_a_word": (
        "shared_race",
        """__shared__ unsigned char b[64];
        b[threadIdx.x] = (unsigned char)threadIdx.x;  // HERE
        out[blockIdx.x * 64 + threadIdx.x] = b[(threadIdx.x + 32) % 64];  // HERE""",
    ),
}

RIGHT: dict[str, str] = {
    "neighbouring_bytes": """__shared__ unsigned char b[64];
        b[threadIdx.x] = (unsigned char)threadIdx.x;
        out[blockIdx.x * 64 + threadIdx.x] = b[threadIdx.x];""",
    "same_value_by_all": """__shared__ int flag;
        flag = 1;
        __syncthreads();
        out[blockIdx.x * 64 + threadIdx.x] = flag;""",
    "shared_atomics": """__shared__ float s;
        if (threadIdx.x == 0) s = 0.0f;
        __syncthreads();
        atomicAdd(&s, in[threadIdx.x]);
        __syncthreads();
        out[blockIdx.x * 64 + threadIdx.x] = s;""",
    "within_a_warp_with_syncwarp": """__shared__ float s[64];
        s[threadIdx.x] = in[threadIdx.x];
        __syncwarp();
        float v = s[threadIdx.x ^ 1];
        __syncwarp();
        s[threadIdx.x] = v;
        __syncwarp();
        out[blockIdx.x * 64 + threadIdx.x] = s[threadIdx.x ^ 2];""",
    "early_return_then_barrier": """if (threadIdx.x >= 40) return;
        __syncthreads();
        out[blockIdx.x * 64 + threadIdx.x] = in[threadIdx.x];""",
    "active_mask": """float v = in[threadIdx.x];
        if (threadIdx.x % 3 == 0) {
            unsigned mask = __activemask();
            v += __shfl_sync(mask, v, __ffs(mask) - 1);
        }
        __syncthreads();
        out[blockIdx.x * 64 + threadIdx.x] = v;""",
    "tile_of_a_partial_mask": """float v = in[threadIdx.x];
        if (threadIdx.x % 32 < 16) for (int d = 8; d > 0; d /= 2) v += __shfl_xor_sync(0x0000ffffu, v, d);
        out[blockIdx.x * 64 + threadIdx.x] = v;""",
    "own_elements_of_out": """int i = blockIdx.x * 64 + threadIdx.x;
        out[i] = in[i];
        out[i] += 1.0f;""",
    "dynamic_array": """extern __shared__ float d[];
        d[threadIdx.x] = in[threadIdx.x];
        __syncthreads();
        out[blockIdx.x * 64 + threadIdx.x] = d[63 - threadIdx.x];""",
}


def source_of(kernels: dict[str, str]) -> str:
    text = "#include <cuda_runtime.h>\n"
    for name, body in kernels.items():
        text += f"__global__ void {name}_kernel(float* out, const float* in, int n) {{\n        {body}\n}}\n"
        text += f'extern "C" cudaError_t {name}(float* out, const float* in, int n, cudaStream_t stream) {{\n'
        text += f"    {name}_kernel<<<2, 64, 256, stream>>>(out, in, n);\n    return cudaGetLastError();\n}}\n"
    return text


@pytest.fixture(scope="module")
def found(host: Host) -> dict[str, tuple[int, str, tuple[RuntimeFinding, ...]]]:
    kernels = {name: body for name, (_, body) in BUGS.items()} | RIGHT
    build = host.build(source_of(kernels), list(kernels))
    assert build.ok, build.log
    library = host.trace(build)
    results = host.run([(str(library), name, [f32(128), draw(128, 1), 128]) for name in kernels])
    return {
        name: (result["status"], result["message"], read_counters(result["counters"], library).findings)
        for name, result in zip(kernels, results, strict=True)
    }


@pytest.mark.parametrize("name", BUGS)
def test_bug_is_found_at_its_line(found: dict[str, Any], name: str) -> None:
    kind, body = BUGS[name]
    source = source_of({n: b for n, (_, b) in BUGS.items()} | RIGHT)
    first = source[: source.index(f"void {name}_kernel(")].count("\n") + 2
    marked = {first + k for k, line in enumerate(body.split("\n")) if "HERE" in line}
    of_kind = [f for f in found[name][2] if f.kind == kind]
    assert of_kind, found[name]
    named = {line for f in of_kind for line in (f.line, f.line2)} - {0}
    assert named <= marked, (named, marked)
    assert named, of_kind
    assert re.search(rf"kernel {name}_kernel", of_kind[0].sentence)


@pytest.mark.parametrize("name", RIGHT)
def test_nothing_is_found_in_right_kernels(found: dict[str, Any], name: str) -> None:
    status, message, findings = found[name]
    assert status == 0, message
    assert [f.sentence for f in findings] == []


HOST_POINTER = """#include <cuda_runtime.h>
__global__ void copy(float* out, const float* in) { out[threadIdx.x] = in ? 1.0f : 0.0f; }
extern "C" cudaError_t from_host(float* out, cudaStream_t stream) {
    float values[64] = {};
    copy<<<1, 64, 0, stream>>>(out, values);  // HERE
    return cudaGetLastError();
}
"""


def test_host_pointer_is_found_at_its_launch(host: Host) -> None:
    build = host.build(HOST_POINTER, ["from_host"])
    assert build.ok, build.log
    (result,) = host.run([(str(host.trace(build)), "from_host", [f32(64)])])
    (finding,) = read_counters(result["counters"], None).findings
    assert (finding.kind, finding.line) == ("host_pointer", 5)
    assert "argument 2 of a launch points to the host's memory" in finding.text


def test_there_are_enough_planted_bugs() -> None:
    assert len(BUGS) + 1 >= 25
