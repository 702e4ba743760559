"""Every finding: planted, it is named first; in the repaired twin it is silent; without its metrics "
"it never guesses."""

from __future__ import annotations

import inspect
from dataclasses import replace
from typing import Any

import pytest
from cudamaster.benchmark.contract import Precision
from cudamaster.tools.profile.findings import RULES, STALL_MIX
from cudamaster.tools.profile.metrics import METRICS
from cudamaster.tools.profile.sass import SassMix
from cudamaster.tools.profile.strategies import STRATEGIES
from cudamaster.tools.records import Build, Diagnosis, Resources

N = 1 << 20
"""Elements read, and written, by the task of these calls: 8.4 MB, floor 0.87 us on an H200 (writes stay in the L2)."""

COALESCED = {
    "global_load_requests": N / 32,
    "global_load_sectors": N / 8,
    "global_load_bytes_per_sector": 32.0,
    "global_store_requests": N / 32,
    "global_store_sectors": N / 8,
    "global_store_bytes_per_sector": 32.0,
}
VECTORIZED = {**COALESCED, "global_load_requests": N / 128, "global_store_requests": N / 128}
WAITS = {"warp_latency_per_instruction": 20.0, "stall_long_scoreboard_ratio": 15.0}
CALM = {"warp_latency_per_instruction": 4.0, "stall_long_scoreboard_ratio": 1.0}
SLOW = {"duration_us": 40.0, "sm_throughput_pct": 10.0, "memory_throughput_pct": 20.0, "dram_throughput_pct": 15.0}
BUSY = {"dram_throughput_pct": 82.0, "memory_throughput_pct": 82.0}
INSTRUCTIONS = {"issue_slots_busy_pct": 75.0, "instructions": 2e6, "threads_per_instruction": 32.0}


def first(diagnosis: Diagnosis) -> str:
    return diagnosis.findings[0].name if diagnosis.findings else ""


def names(diagnosis: Diagnosis) -> set[str]:
    return {finding.name for finding in diagnosis.findings}


KERNEL = """
#include <cuda_runtime.h>
// __global__ void k(float*) { atomicAdd(nothing, 1); }
__global__ void k(float* y, const float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    BODY
}
"""


def source(body: str) -> str:
    return KERNEL.replace("BODY", body)


# Each pair: a call with one planted fault, and the same call repaired.
PLANTED: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "same_address_atomics": (
        {
            "launch": {**SLOW, **COALESCED, **WAITS, "duration_us": 460.0, "stall_drain_ratio": 4.0}
            | {"global_reductions": 8192, "global_reduction_sectors": 262144},
            "source": source("atomicAdd(y, x[i]);"),
        },
        {
            "launch": {
                **SLOW,
                **VECTORIZED,
                **CALM,
                "duration_us": 3.0,
                "global_reductions": 1024,
                "global_reduction_sectors": 1024,
            },
            "source": source("if (threadIdx.x == 0) atomicAdd(y, x[i]);"),
        },
    ),
    "same_address_atomics on the cpu device": (
        {"launch": {**SLOW, "duration_us": 500.0, "atomics": 262144, "same_address_atomics": 262144}, "device": "cpu"},
        {"launch": {**SLOW, "duration_us": 3.0, "atomics": 4224, "same_address_atomics": 4224}, "device": "cpu"},
    ),
    "redundant_threads": (
        {
            "launch": {**SLOW, **VECTORIZED, **CALM},
            "block": (32, 32, 1),
            "source": source("y[i] = x[i];"),
        },
        {"launch": {**SLOW, **VECTORIZED, **CALM}, "block": (256, 1, 1), "source": source("y[i] = x[i];")},
    ),
    "redundant_threads on the cpu device": (
        {"launch": {**SLOW, "threads": 1024, "redundant_threads": 992}, "device": "cpu"},
        {"launch": {**SLOW, "threads": 1024, "redundant_threads": 10}, "device": "cpu"},
    ),
    "wasteful_algorithm": (
        {"launch": {**SLOW, **VECTORIZED, **CALM, "instructions": N * 40.0, "threads_per_instruction": 32.0}},
        {"launch": {**SLOW, **VECTORIZED, **CALM, "instructions": N / 2.0, "threads_per_instruction": 32.0}},
    ),
    "tensor_cores_unused": (
        {"launch": {**SLOW, **VECTORIZED, **CALM, "tensor_pipe_pct": 0.1}, "tensor": True, "precision": Precision.BF16},
        {
            "launch": {**SLOW, **VECTORIZED, **CALM, "tensor_pipe_pct": 60.0},
            "tensor": True,
            "precision": Precision.BF16,
        },
    ),
    "tensor_cores_waiting": (
        {
            "launch": {**SLOW, **VECTORIZED, **CALM, "tensor_pipe_pct": 20.0},
            "tensor": True,
            "precision": Precision.BF16,
        },
        {
            "launch": {**SLOW, **VECTORIZED, **CALM, "tensor_pipe_pct": 75.0},
            "tensor": True,
            "precision": Precision.BF16,
        },
    ),
    "too_few_blocks": (
        {"launch": {**SLOW, **VECTORIZED, **WAITS}, "grid": (1, 1, 1), "block": (1024, 1, 1)},
        {"launch": {**SLOW, **VECTORIZED, **CALM}, "grid": (1056, 1, 1)},
    ),
    "too_few_blocks: too few threads": (
        {"launch": {**SLOW, **VECTORIZED, **WAITS}, "grid": (132, 1, 1), "block": (64, 1, 1)},
        {"launch": {**SLOW, **VECTORIZED, **CALM}, "grid": (1056, 1, 1)},
    ),
    "too_few_blocks: a tail": (
        {"launch": {**SLOW, **VECTORIZED, **CALM}, "grid": (1100, 1, 1)},
        {"launch": {**SLOW, **VECTORIZED, **CALM}, "grid": (2112, 1, 1)},
    ),
    "launch_or_sync_bound": (
        {"launch": {**SLOW, "duration_us": 1.5}, "launches": 12},
        {"launch": {**SLOW, "duration_us": 18.0}, "launches": 1},
    ),
    "fusible_launches": (
        {"launch": {**SLOW, **BUSY, "dram_read_bytes": 8e7, "dram_write_bytes": 6e7}, "launches": 3},
        {"launch": {**SLOW, "dram_read_bytes": 4.2e6, "dram_write_bytes": 4.2e6}, "launches": 1},
    ),
    "instruction_bound": (
        {"launch": {**SLOW, **VECTORIZED, **CALM, **INSTRUCTIONS, "duration_us": 12.0}},
        {"launch": {**SLOW, **VECTORIZED, **CALM, **INSTRUCTIONS, "instructions": 1e5, "duration_us": 4.0}},
    ),
    "uncoalesced_access": (
        {
            "launch": {
                **SLOW,
                **COALESCED,
                **WAITS,
                "global_load_sectors": float(N),
                "global_load_bytes_per_sector": 4.0,
            }
        },
        {"launch": {**SLOW, **VECTORIZED, **CALM}},
    ),
    "uncoalesced_access: stores": (
        {
            "launch": {**SLOW, **COALESCED, "warp_latency_per_instruction": 20.0, "stall_drain_ratio": 15.0}
            | {"global_store_sectors": float(N), "global_store_bytes_per_sector": 4.0}
        },
        {"launch": {**SLOW, **VECTORIZED, **CALM}},
    ),
    "bank_conflicts": (
        {
            "launch": {**SLOW, **VECTORIZED, "warp_latency_per_instruction": 40.0, "stall_mio_throttle_ratio": 30.0}
            | {"shared_load_requests": 1e4, "shared_load_wavefronts": 3.2e5}
        },
        {"launch": {**SLOW, **VECTORIZED, **CALM, "shared_load_requests": 1e4, "shared_load_wavefronts": 1.05e4}},
    ),
    "bank_conflicts on the cpu device": (
        {"launch": {**SLOW, "shared_store_requests": 1e4, "shared_store_wavefronts": 1.6e5}, "device": "cpu"},
        {"launch": {**SLOW, "shared_store_requests": 1e4, "shared_store_wavefronts": 1e4}, "device": "cpu"},
    ),
    "register_spills": (
        {
            "launch": {**SLOW, **VECTORIZED, **WAITS, "local_load_sectors": 4.0 * N, "local_store_sectors": 2.0 * N},
            "resources": Resources(kernel="k", registers=32, spill_load_bytes=1144, spill_store_bytes=1116),
        },
        {
            "launch": {**SLOW, **VECTORIZED, **CALM, "local_load_sectors": 0.0, "local_store_sectors": 0.0},
            "resources": Resources(kernel="k", registers=64),
        },
    ),
    "accidental_double": (
        {
            "launch": {**SLOW, **VECTORIZED, **CALM, "fp64_pipe_pct": 70.0},
            "source": source("y[i] = 0.5 * x[i];"),
        },
        {"launch": {**SLOW, **VECTORIZED, **CALM, "fp64_pipe_pct": 0.0}, "source": source("y[i] = 0.5f * x[i];")},
    ),
    "accidental_double on the cpu device": (
        {"launch": {**SLOW, "double_ops": 20.0 * N}, "device": "cpu"},
        {"launch": {**SLOW, "double_ops": 0.0}, "device": "cpu"},
    ),
    "special_function_bound": (
        {"launch": {**SLOW, **VECTORIZED, **CALM, "xu_pipe_pct": 88.0, "fma_pipe_pct": 20.0, "alu_pipe_pct": 10.0}},
        {"launch": {**SLOW, **VECTORIZED, **CALM, "xu_pipe_pct": 20.0, "fma_pipe_pct": 20.0, "alu_pipe_pct": 60.0}},
    ),
    "excess_traffic": (
        {
            "flops": 512 * N,
            "launch": {**SLOW, **WAITS, "global_load_sectors": 16.0 * N, "global_load_requests": 4.0 * N}
            | {"global_load_bytes_per_sector": 32.0, "global_store_sectors": N / 8, "global_store_requests": N / 32.0},
        },
        {"launch": {**SLOW, **VECTORIZED, **CALM}},
    ),
    "excess_traffic: device memory": (
        {
            "launch": {**SLOW, **VECTORIZED, **CALM, "dram_throughput_pct": 90.0, "memory_throughput_pct": 90.0}
            | {"dram_read_bytes": 1e8, "dram_write_bytes": 1e7}
        },
        {"launch": {**SLOW, **VECTORIZED, **CALM, "dram_read_bytes": 4.2e6, "dram_write_bytes": 4.2e6}},
    ),
    "divergent_threads": (
        {"launch": {**SLOW, **VECTORIZED, **CALM, "threads_per_instruction": 4.0}},
        {"launch": {**SLOW, **VECTORIZED, **CALM, "threads_per_instruction": 31.0}},
    ),
    "low_occupancy": (
        {"launch": {**SLOW, **VECTORIZED, **WAITS, "registers_per_thread": 255.0}, "grid": (10560, 1, 1)},
        {"launch": {**SLOW, **VECTORIZED, **CALM, "registers_per_thread": 32.0}, "grid": (10560, 1, 1)},
    ),
    "narrow_loads": (
        {"launch": {**SLOW, **COALESCED, **WAITS}, "grid": (4224, 1, 1)},
        {"launch": {**SLOW, **VECTORIZED, **CALM}, "grid": (1056, 1, 1)},
    ),
    "stall_mix": (
        {"launch": {**SLOW, **VECTORIZED, "warp_latency_per_instruction": 30.0, "stall_barrier_ratio": 22.0}},
        {"launch": {**SLOW, **VECTORIZED, **CALM}},
    ),
    "near_floor": (
        {"launch": {**SLOW, "duration_us": 1.7}},
        {"launch": {**SLOW, "duration_us": 29.0}},
    ),
}


def call(calls: Any, spec: dict[str, Any]) -> Diagnosis:
    options = dict(spec)
    grid = options.pop("grid", (4224, 1, 1))
    block = options.pop("block", (256, 1, 1))
    one = calls.launch(grid=grid, block=block, **options.pop("launch"))
    profile = calls.profile(*[one] * options.pop("launches", 1), device=options.pop("device", "cuda"))
    task = calls.task(n=N, reads=N, writes=N, flops=options.pop("flops", N), tensor_cores=options.pop("tensor", False))
    resources = options.pop("resources", None)
    build = Build(ok=True, resources=(resources,)) if resources else None
    diagnosis: Diagnosis = calls.diagnose(profile, task, build=build, **options)
    return diagnosis


@pytest.mark.parametrize("name", PLANTED)
def test_the_planted_fault_is_named_first(calls: Any, name: str) -> None:
    diagnosis = call(calls, PLANTED[name][0])
    assert first(diagnosis) == name.split(":")[0].split(" ")[0], diagnosis


@pytest.mark.parametrize("name", PLANTED)
def test_the_repaired_twin_is_not_accused(calls: Any, name: str) -> None:
    assert name.split(":")[0].split(" ")[0] not in names(call(calls, PLANTED[name][1]))


@pytest.mark.parametrize("name", PLANTED)
def test_the_bound_covers_what_the_repair_gained(calls: Any, name: str) -> None:
    fault, repaired = PLANTED[name]
    before = fault["launch"]["duration_us"] * fault.get("launches", 1)
    after = repaired["launch"]["duration_us"] * repaired.get("launches", 1)
    finding = call(calls, fault).findings[0]
    if after < before:
        assert before / after <= 1.1 * finding.bound
    assert finding.bound >= 1.0


def test_every_rule_has_a_planted_fault() -> None:
    planted = {name.split(":")[0].split(" ")[0] for name in PLANTED}
    assert planted == {rule.name for rule in (*RULES, STALL_MIX)}


@pytest.mark.parametrize("rule", [*RULES, STALL_MIX], ids=lambda rule: rule.name)
def test_a_rule_is_one_file_of_its_name_and_reads_known_metrics(rule: Any) -> None:
    assert inspect.getfile(type(rule)).endswith(f"/{rule.name}.py")
    known = {spec.name for spec in METRICS}
    assert set(rule.reads) <= known
    assert rule.strategies
    stalls = {spec.name[6:-6] for spec in METRICS if spec.name.startswith("stall_")}
    assert set(rule.stalls) <= stalls


@pytest.mark.parametrize("device", ["cuda", "cpu"])
def test_absent_metrics_give_no_findings_not_guesses(calls: Any, device: str) -> None:
    bare = {k: v for k, v in SLOW.items() if k != "duration_us"}
    diagnosis = calls.diagnose(calls.profile(calls.launch(grid=(4224, 1, 1), **bare), device=device))
    assert diagnosis.findings == ()


@pytest.mark.parametrize("name", [n for n in PLANTED if "cpu" not in n])
def test_dropping_any_one_metric_never_raises_nor_invents_a_larger_bound(calls: Any, name: str) -> None:
    spec = PLANTED[name][0]
    cap = spec["launch"]["duration_us"] * spec.get("launches", 1) / 0.2
    for gone in spec["launch"]:
        if gone in ("sm_throughput_pct", "memory_throughput_pct", "dram_throughput_pct"):
            continue
        rest = {k: v for k, v in spec["launch"].items() if k != gone}
        for finding in call(calls, {**spec, "launch": rest}).findings:
            assert 1.0 <= finding.bound <= (cap if gone != "duration_us" else 1e6)


def test_no_bound_exceeds_time_over_floor(calls: Any) -> None:
    for fault, _ in PLANTED.values():
        total = fault["launch"]["duration_us"] * fault.get("launches", 1)
        for finding in call(calls, fault).findings:
            if finding.name not in ("launch_or_sync_bound", "near_floor"):
                assert finding.bound <= total / 0.8


def test_findings_are_ranked_by_bound(calls: Any) -> None:
    for fault, _ in PLANTED.values():
        bounds = [finding.bound for finding in call(calls, fault).findings]
        assert bounds == sorted(bounds, reverse=True)


def test_a_small_kernel_of_the_call_weighs_by_its_share_of_time(calls: Any) -> None:
    scattered = {**SLOW, **COALESCED, **WAITS, "global_load_sectors": float(N), "global_load_bytes_per_sector": 4.0}
    long = calls.launch("long", **{**SLOW, **VECTORIZED, **CALM, "duration_us": 90.0})
    short = calls.launch("short", **{**scattered, "duration_us": 10.0})
    (finding,) = [f for f in calls.diagnose(calls.profile(long, short)).findings if f.name == "uncoalesced_access"]
    assert finding.kernel == "short"
    assert finding.bound <= 1 / 0.9


def test_launches_that_leave_device_memory_idle_gain_nothing_from_fusing(calls: Any) -> None:
    moved = {"dram_read_bytes": 8e7, "dram_write_bytes": 6e7}
    slow = calls.launch(**{**SLOW, **moved, "duration_us": 9000.0, "dram_throughput_pct": 0.5})
    assert "fusible_launches" not in names(calls.diagnose(calls.profile(slow, slow)))


def test_the_longest_launch_says_whether_the_grid_is_too_small(calls: Any) -> None:
    """Levels of a merge sort: the last, in one block, takes most of the time."""
    wide = calls.launch(grid=(4224, 1, 1), **{**SLOW, **CALM, "duration_us": 50.0})
    last = calls.launch(grid=(1, 1, 1), **{**SLOW, **CALM, "duration_us": 450.0})
    finding = calls.diagnose(calls.profile(wide, last)).findings[0]
    assert (finding.name, "1 block for 132" in finding.sentence) == ("too_few_blocks", True)
    assert 5 < finding.bound <= 10  # the first launch stays as it is


def test_tiling_does_not_promise_more_than_the_algorithms_multiply_adds_allow(calls: Any) -> None:
    again = {**SLOW, **COALESCED, **WAITS, "duration_us": 6000.0, "global_load_sectors": 500.0 * N}
    task = calls.task(n=N, reads=N, writes=N, flops=N)
    many = replace(task, complexity=lambda sizes: 17_000_000_000)  # 0.5 ms at 66.9 TFLOP/s
    few, limited = (
        next(f.bound for f in calls.diagnose(profile, of).findings if f.name == "excess_traffic")
        for profile in [calls.profile(calls.launch(**again))]
        for of in (task, many)
    )
    assert few > 15
    assert limited == pytest.approx(6000 / 508, rel=0.01)


def test_work_in_double_is_not_called_instruction_bound(calls: Any) -> None:
    launch = {**PLANTED["instruction_bound"][0]["launch"], "fp64_pipe_pct": 20.0}
    assert "instruction_bound" not in names(call(calls, {"launch": launch}))


def test_findings_say_the_line_in_the_source(calls: Any) -> None:
    spec = PLANTED["same_address_atomics"][0]
    text = spec["source"]
    line = text.splitlines().index("    atomicAdd(y, x[i]);") + 1
    assert call(calls, spec).findings[0].line == line
    double = call(calls, PLANTED["accidental_double"][0]).findings[0]
    assert text.splitlines()[double.line - 1].strip() == "atomicAdd(y, x[i]);"  # the same place in the other source


def test_scattered_atomics_are_not_called_same_address(calls: Any) -> None:
    spec = PLANTED["same_address_atomics"][0]
    for varying in ("atomicAdd(&y[(int)x[i]], 1.0f);", "atomicAdd(y + i, 1.0f);"):
        assert "same_address_atomics" not in names(call(calls, {**spec, "source": source(varying)}))
    assert first(call(calls, {**spec, "source": source("atomicAdd(&y[0], 1.0f);")})) == "same_address_atomics"


def test_wide_shared_loads_are_not_conflicts(calls: Any) -> None:
    four = {"shared_load_requests": 1e4, "shared_load_wavefronts": 4e4, "stall_mio_throttle_ratio": 5.0}
    mix = SassMix(
        kernel="k", instructions=10, opcodes={}, load_bits={}, store_bits={}, shared_load_bits={128: 4},
        tensor=0, local_loads=0, local_stores=0, double=0, special=0, atomics=0, barriers=0,
    )  # fmt: skip
    launch = calls.launch(**SLOW, **VECTORIZED, **WAITS, **four)
    assert "bank_conflicts" in names(calls.diagnose(calls.profile(launch)))
    assert "bank_conflicts" not in names(calls.diagnose(calls.profile(launch), sass={"k": mix}))


def test_broadcast_loads_are_not_uncoalesced(calls: Any) -> None:
    launch = calls.launch(
        **SLOW, **WAITS, global_load_requests=1e6, global_load_sectors=1e6, global_load_bytes_per_sector=4.0
    )
    assert "uncoalesced_access" not in names(calls.diagnose(calls.profile(launch)))


def test_axes_behind_cooperative_groups_are_not_called_unread(calls: Any) -> None:
    spec = PLANTED["redundant_threads"][0]
    hidden = source("auto b = cooperative_groups::this_thread_block(); y[i] = x[b.thread_rank()];")
    assert "redundant_threads" not in names(call(calls, {**spec, "source": hidden}))


def test_blocks_that_draw_a_number_do_not_repeat_each_other(calls: Any) -> None:
    spec = {**PLANTED["redundant_threads"][0], "block": (256, 1, 1), "grid": (128, 1, 1)}
    alike = source("y[i] = x[i];").replace("blockIdx.x * blockDim.x + ", "")
    ticket = alike.replace("y[i]", "const int tile = atomicAdd(ticket, 1); y[i]")
    drawn, repeated = ({**spec, "source": text} for text in (ticket, alike))
    assert "redundant_threads" not in names(call(calls, drawn))
    assert "redundant_threads" in names(call(calls, repeated))


def test_warpgroup_products_are_recommended_where_they_exist_and_are_not_used(calls: Any) -> None:
    spec = PLANTED["tensor_cores_waiting"][0]
    for gpu, code, expected in (
        ("NVIDIA H200", "mma.sync", True),
        ("NVIDIA H200", "wgmma.mma_async", False),
        ("NVIDIA A100", "mma.sync", False),
    ):
        told = call(calls, {**spec, "source": source(f'asm("{code}");'), "gpu": gpu})
        (finding,) = [f for f in told.findings if f.name == "tensor_cores_waiting"]
        assert ("warpgroup_products" in finding.strategies) is expected
        assert 4 < finding.bound <= 5


def test_blocking_host_calls_are_found_outside_kernels_and_comments_only(calls: Any) -> None:
    launch = calls.launch(**{**SLOW, "duration_us": 1.5})
    quiet = source("y[i] = x[i];") + "// cudaDeviceSynchronize();\n"
    assert "launch_or_sync_bound" not in names(calls.diagnose(calls.profile(launch), source=quiet))
    task = calls.task(n=1, reads=64, writes=64)
    loud = source("y[i] = x[i];") + "void f() {\n  cudaMalloc(&p, 4);\n}\n"
    twice = calls.diagnose(calls.profile(launch, launch), task, source=loud)
    (finding,) = [f for f in twice.findings if f.name == "launch_or_sync_bound"]
    assert "cudaMalloc" in finding.evidence
    assert loud.splitlines()[finding.line - 1].strip().startswith("cudaMalloc")


def test_every_strategy_is_in_the_vocabulary(calls: Any) -> None:
    recommended = {strategy for rule in (*RULES, STALL_MIX) for strategy in rule.strategies}
    for fault, _ in PLANTED.values():
        recommended |= {strategy for finding in call(calls, fault).findings for strategy in finding.strategies}
    assert recommended <= set(STRATEGIES)
    assert all(sentence.endswith(".") for sentence in STRATEGIES.values())
