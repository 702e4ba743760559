"""Kernels in the styles that people and models write: each is really run, and compared with numpy."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from .conftest import Host, draw, f32, i32

pytestmark = [pytest.mark.xdist_group("cpu"), pytest.mark.timeout(600)]

HERE = Path(__file__).parent / "corpus"
Floats = Any


def rng(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


def bf16(x: Floats) -> Floats:
    bits = x.astype(np.float32).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def from_bf16(x: Floats) -> Floats:
    return (x.astype(np.uint32) << 16).view(np.float32)


X = draw(5003, 1)
INTS = rng(2).integers(-1000, 1000, 1000).astype(np.int32)
A, B = draw(45 * 37, 3).reshape(45, 37), draw(37 * 70, 4).reshape(37, 70)
M16 = bf16(draw(50 * 35, 5))
SORTED = draw(16384, 6)
BYTES = rng(7).integers(0, 256, 4096).astype(np.uint8)
PARTICLES = rng(8).integers(0, 50, (77, 4)).astype(np.float32).view(np.int32)


def softmax(x: Floats) -> Floats:
    e = np.exp(x - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def particles_after() -> Floats:
    out = PARTICLES.copy()
    view = out.view(np.float32)
    view[:, 0] = PARTICLES.view(np.float32)[:, 0] + PARTICLES.view(np.float32)[:, 1] * np.float32(0.5)
    out[:, 3] = -PARTICLES[:, 3]
    return out


def poly(x: Floats) -> Floats:
    h = x.astype(np.float16).reshape(-1, 2)
    one = h.astype(np.float64)
    inner = (h + np.float16(1)).astype(np.float16)
    r = (one * one + inner.astype(np.float64)).astype(np.float16)
    r[h[:, 0] > 0.5] *= np.float16(2)
    return r.astype(np.float32).reshape(-1)


def integer(v: int) -> int:
    u = v & 0xFFFFFFFF
    clz = 32 - u.bit_length()
    brev = int(f"{u:032b}"[::-1], 2) >> 24
    ffs = (u & -u).bit_length()
    perm = int.from_bytes(u.to_bytes(4, "little"), "big")
    total = u.bit_count() + clz + brev + ffs + perm + ((v * (1 << 20)) >> 32) + ((u * 77) >> 32) + min(v, 7) + max(3, u)
    return (total + (1 << 31)) % (1 << 32) - (1 << 31)


CASES: dict[str, tuple[str, list[Any], list[Floats], float]] = {
    "sum": ("sum", [f32(1), X, f32(64), 5003], [np.array([X.sum(dtype=np.float64)])], 1e-3),
    "sum_single_pass": ("sum_single_pass", [f32(1), X, f32(64), 5003], [np.array([X.sum(dtype=np.float64)])], 1e-3),
    "sum_cooperative": ("sum_cooperative", [f32(1), X, f32(64), 5003], [np.array([X.sum(dtype=np.float64)])], 1e-3),
    "max_of_16": ("max_of_16", [f32(313), X, 5003], [np.pad(X, (0, 5), constant_values=-9).reshape(-1, 16).max(1)], 0),
    "scan": ("scan", [i32(1000), INTS, 1000], [np.cumsum(INTS)], 0),
    "statistics": ("statistics", [i32(1), f32(1), X, 5003], [np.array([(X > 0).sum()]), np.array([X.max()])], 0),
    "gemm": ("gemm", [f32(45 * 70), A, B, 45, 70, 37], [(A.astype(np.float64) @ B).reshape(-1)], 1e-5),
    "transpose": (
        "transpose2", [f32(45 * 37), np.zeros(50 * 35, np.uint16), A, M16, 45, 37],
        [A.T.reshape(-1), None], 0,
    ),
    "convolution": (
        "convolution", [f32(1000 - 20), draw(1000, 9), draw(21, 10), 1000, 21],
        [np.correlate(draw(1000, 9), draw(21, 10), "valid")], 1e-5,
    ),
    "sort": ("sort", [("inout", SORTED), 16384], [np.sort(SORTED)], 0),
    "axpy": (
        "axpy", [("inout", bf16(X[:1003])), bf16(X[1003:2006]), 0.75, 1003],
        [bf16(np.float32(0.75) * from_bf16(bf16(X[1003:2006])) + from_bf16(bf16(X[:1003])))], 0,
    ),
    "polynomial": ("polynomial", [f32(1000), X[:1000], 1000], [poly(X[:1000])], 0),
    "particles": ("move_particles", [("inout", PARTICLES), 77], [particles_after()], 0),
    "lookups": (
        "lookups", [i32(100), 100],
        [np.array([[3, 1, 4, 1, 5, 9, 2, 6][i % 8] + [100, 200][i % 2] for i in range(100)])], 0,
    ),
    "softmax": (
        "softmax", [f32(7 * 300), draw(2100, 11), 7, 300],
        [softmax(draw(2100, 11).reshape(7, 300).astype(np.float64)).reshape(-1)], 1e-6,
    ),
    "histogram": ("histogram256", [np.zeros(256, np.uint32), BYTES, 4096], [np.bincount(BYTES, minlength=256)], 0),
    "integers": ("integer_intrinsics", [i32(1000), INTS, 1000], [np.array([integer(int(v)) for v in INTS])], 0),
}  # fmt: skip


def add_one(x: Floats) -> Floats:
    return x + np.float32(1)


ELEMENTWISE: list[Callable[[Floats], Floats]] = [
    lambda x: np.maximum(x, 0),
    lambda x: x * np.float32(3),
    lambda x: x + np.float32(2),
    *[add_one] * 3,
    lambda x: x * np.resize(np.array([1, 2, 3, 4], np.float32), len(x)),
    *[add_one] * 2,
]
for which, function in enumerate(ELEMENTWISE):
    CASES[f"elementwise-{which}"] = ("elementwise", [f32(999), X[:999], 999, which], [function(X[:999])], 1e-6)


@pytest.fixture(scope="module")
def results(host: Host) -> dict[str, dict[str, Any]]:
    libraries = {}
    for path in sorted(HERE.glob("*.cu")):
        source = path.read_text()
        entries = re.findall(r'^extern "C" cudaError_t (\w+)', source, re.MULTILINE)
        build = host.build(source, entries)
        assert build.ok, build.log
        libraries |= dict.fromkeys(entries, build.library)
    names = [*CASES, "compaction", "sort_without_asking", "too_many_threads"]
    calls = {name: (CASES[name][0], CASES[name][1]) for name in CASES}
    calls["compaction"] = ("compaction", [i32(1000), i32(1), INTS, 1000])
    calls["sort_without_asking"] = ("sort_without_asking", [("inout", SORTED), 16384])
    calls["too_many_threads"] = ("too_many_threads", [f32(999), X[:999], 999])
    done = host.run([(libraries[calls[name][0]], *calls[name]) for name in names])
    return dict(zip(names, done, strict=True))


@pytest.mark.parametrize("name", CASES)
def test_kernel_is_right(results: dict[str, dict[str, Any]], name: str) -> None:
    result, (_, _, expected, tolerance) = results[name], CASES[name]
    assert result["status"] == 0, result["message"]
    assert result["counters"]["findings"] == []
    for got, want in zip(result["outputs"], expected, strict=False):
        if want is None:
            continue
        got = got.reshape(-1)[: want.size]
        if tolerance:
            assert np.abs(got - want.reshape(-1)).max() <= tolerance
        else:
            assert got.tolist() == want.reshape(-1).astype(got.dtype).tolist()


def test_compaction_keeps_every_third(results: dict[str, dict[str, Any]]) -> None:
    out, count = results["compaction"]["outputs"][:2]
    wanted = INTS[INTS % 3 == 0]
    assert count[0] == len(wanted)
    assert np.array_equal(np.sort(out[: len(wanted)]), np.sort(wanted))


def test_dynamic_shared_memory_above_48_kb_must_be_asked_for(results: dict[str, dict[str, Any]]) -> None:
    refused = results["sort_without_asking"]
    assert refused["status"] == 1
    assert "65536 bytes of dynamic shared memory, 49152 are allowed" in refused["message"]


def test_too_many_threads_are_an_invalid_configuration(results: dict[str, dict[str, Any]]) -> None:
    refused = results["too_many_threads"]
    assert refused["status"] == 9
    assert "more than 1024 threads" in refused["message"]


def test_launches_are_counted(results: dict[str, dict[str, Any]]) -> None:
    first, second = results["sum"]["counters"]["launches"]
    assert (first["kernel"], first["grid"], first["block"]) == ("block_sum<256>", [20, 1, 1], [256, 1, 1])
    assert first["warp_ops"] == 20 * (8 * 5 + 3)
    assert first["barriers"] == 20
    assert first["static_bytes"] == 32
    assert (second["barriers"], second["dynamic_bytes"]) == (7, 256)
    histogram = results["histogram"]["counters"]["launches"][0]
    assert histogram["shared_atomics"] == 4096
    assert results["sum_cooperative"]["counters"]["launches"][0]["grid_barriers"] == 1
