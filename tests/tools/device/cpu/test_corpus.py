"""Kernels in the styles that people and models write: each is really run, and compared with numpy."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise
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


ROWS = np.concatenate([[0], np.cumsum(rng(20).integers(0, 30, 301))]).astype(np.int32)
COLUMNS = rng(21).integers(0, 200, ROWS[-1]).astype(np.int32)
VALUES, DENSE = draw(int(ROWS[-1]), 22), draw(200, 23)
SIGNAL = draw(3 * 512, 24)
FIELD = draw(37 * 21 * 9, 25).reshape(9, 21, 37)
BODIES = np.concatenate([draw(150 * 3, 26).reshape(150, 3), np.abs(draw(150, 27))[:, None]], 1).astype(np.float32)
KEYS = rng(28).integers(0, 2**32, 512, dtype=np.uint64).astype(np.uint32)
GRAPH = [sorted({int(j) for j in rng(100 + i).integers(0, 200, 3)} - {i}) for i in range(200)]
EDGES = np.array([j for out in GRAPH for j in out], np.int32)
FIRST = np.concatenate([[0], np.cumsum([len(out) for out in GRAPH])]).astype(np.int32)
LINE = draw(500, 29)
DISTANCES = np.where(rng(30).random((48, 48)) < 0.2, rng(31).random((48, 48)), 1e9).astype(np.float32)
QUERY, KEY, VALUE = (draw(300 * 32, seed).reshape(300, 32) for seed in (32, 33, 34))
ROWS16 = bf16(draw(8 * 200, 35))
GAMMA, BETA = draw(200, 36), draw(200, 37)
INT8_A, INT8_B = (rng(seed).integers(-128, 128, (30, 40)).astype(np.int8) for seed in (38, 39))
IMAGE = draw(50 * 33, 40).reshape(33, 50)
POINTS, CENTERS = draw(2 * 500, 41).reshape(500, 2), draw(2 * 7, 42).reshape(7, 2)
TALL = draw(3 * 200, 43).reshape(3, 200)
HALVES = draw(64 * 64, 44).astype(np.float16).reshape(64, 64)


def levels() -> list[int]:
    found, queue = {0: 0}, [0]
    for node in queue:
        for other in GRAPH[node]:
            if other not in found:
                found[other] = found[node] + 1
                queue.append(other)
    return [found.get(node, -1) for node in range(len(GRAPH))]


def stencil7() -> Floats:
    x = FIELD.astype(np.float64)
    out = np.zeros_like(x)
    c = x[1:-1, 1:-1, 1:-1]
    around = x[:-2, 1:-1, 1:-1] + x[2:, 1:-1, 1:-1] + x[1:-1, :-2, 1:-1] + x[1:-1, 2:, 1:-1]
    out[1:-1, 1:-1, 1:-1] = 0.4 * c + 0.1 * (around + x[1:-1, 1:-1, :-2] + x[1:-1, 1:-1, 2:])
    return out.reshape(-1)


def forces() -> Floats:
    x = BODIES.astype(np.float64)
    r = x[None, :, :3] - x[:, None, :3]
    out = np.zeros((len(x), 4))
    out[:, :3] = (r * (x[None, :, 3] * ((r * r).sum(2) + 1e-3) ** -1.5)[:, :, None]).sum(1)
    return out.reshape(-1)


def jacobi() -> tuple[Floats, Floats]:
    a, b = LINE.copy(), LINE.copy()
    for _ in range(10):
        b[1:-1] = np.float32(0.5) * (a[:-2] + a[2:])
        a, b = b, a
    return a, b


def hashed(x: Any) -> Any:
    for shift, factor in ((16, 0x7FEB352D), (15, 0x846CA68B), (16, 1)):
        x = ((x ^ (x >> shift)) * factor) & 0xFFFFFFFF
    return x


def inside_circle(samples: int) -> int:
    i = np.arange(samples, dtype=np.uint64)
    x, y = (hashed((12345 + 2 * i + k) & 0xFFFFFFFF).astype(np.float32) * np.float32(2.0**-32) for k in (0, 1))
    return int((x.astype(np.float64) ** 2 + y.astype(np.float64) ** 2 < 1).sum())


def escape_times(width: int, height: int) -> Any:
    c = (-2.0 + 3.0 * np.arange(width) / width)[None, :] + 1j * (-1.5 + 3.0 * np.arange(height) / height)[:, None]
    z, count = np.zeros_like(c), np.zeros(c.shape, int)
    for _ in range(50):
        going = z.real**2 + z.imag**2 <= 4.0
        count += going
        z = np.where(going, z * z + c, z)
    return count.reshape(-1)


def paths() -> Floats:
    d = DISTANCES.astype(np.float64)
    for k in range(len(d)):
        d = np.minimum(d, d[:, k : k + 1] + d[k : k + 1])
    return d.reshape(-1)


def normed() -> Floats:
    x = from_bf16(ROWS16).reshape(8, 200).astype(np.float64)
    y = (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5) * GAMMA + BETA
    return y.reshape(-1)


def blurred() -> Floats:
    weights = (1 / (1 + np.arange(25))).reshape(5, 5)
    padded = np.pad(IMAGE.astype(np.float64), 2, mode="edge")
    return sum(weights[j, i] * padded[j : j + 33, i : i + 50] for j in range(5) for i in range(5)).reshape(-1)


NEAREST = ((POINTS[:, None].astype(np.float64) - CENTERS[None]) ** 2).sum(2).argmin(1)
PADDED = np.pad(INTS, (0, 8)).reshape(-1, 16)

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
    "spmv": (
        "spmv", [ROWS, COLUMNS, VALUES, DENSE, f32(301), 301],
        [np.array([(VALUES[a:b] * DENSE[COLUMNS[a:b]].astype(np.float64)).sum() for a, b in pairwise(ROWS)])], 1e-5,
    ),
    "fft": (
        "fft256", [SIGNAL, f32(3 * 512), 3],
        [np.fft.fft(SIGNAL.view(np.complex64).reshape(3, 256)).astype(np.complex64).view(np.float32)], 2e-5,
    ),
    "stencil": ("stencil7", [FIELD.reshape(-1), f32(FIELD.size), 37, 21, 9], [stencil7()], 1e-6),
    "nbody": ("nbody", [BODIES.reshape(-1), f32(600), 150], [forces()], 0.05),
    "blelloch": ("exclusive_scan", [INTS, i32(1000), i32(8), 1000], [np.cumsum(INTS) - INTS], 0),
    "look-back": ("scan_look_back", [INTS, i32(1000), i32(4), i32(4), i32(4), 1000], [np.cumsum(INTS)], 0),
    "radix": ("radix_sort", [("inout", KEYS), 2], [np.sort(KEYS.reshape(2, 256), 1)], 0),
    "bfs": ("bfs", [FIRST, EDGES, i32(200), i32(200), i32(200), i32(1), 200], [np.array(levels())], 0),
    "jacobi": ("jacobi", [("inout", LINE), ("inout", LINE), 500], list(jacobi()), 0),
    "monte-carlo": ("monte_carlo", [np.zeros(1, np.uint64), 20000], [np.array([inside_circle(20000)])], 0),
    "mandelbrot": ("escape_times", [i32(30 * 18), 30, 18], [escape_times(30, 18)], 0),
    "floyd": ("shortest_paths", [("inout", DISTANCES.reshape(-1)), 48], [paths()], 100),
    "attention": (
        "flash", [QUERY.reshape(-1), KEY.reshape(-1), VALUE.reshape(-1), f32(9600), 300],
        [(softmax(QUERY.astype(np.float64) @ KEY.T * 0.17677669) @ VALUE).reshape(-1)], 1e-5,
    ),
    "layer-norm": ("norm_rows", [ROWS16, np.zeros(1600, np.uint16), GAMMA, BETA, 8, 200], [None], 0),
    "int8": (
        "int8_product", [INT8_A.reshape(-1).view(np.int32), INT8_B.reshape(-1).view(np.int32), i32(900), 30, 30, 10],
        [INT8_A.astype(int) @ INT8_B.T.astype(int)], 0,
    ),
    "blur": ("blur", [IMAGE.reshape(-1), f32(1650), 50, 33], [blurred()], 1e-5),
    "k-means": (
        "kmeans_step", [POINTS.reshape(-1), CENTERS.reshape(-1), i32(500), f32(14), i32(7), 500, 7],
        [NEAREST, None, np.bincount(NEAREST, minlength=7)], 0,
    ),
    "groups": (
        "groups", [INTS, i32(1), i32(1), i32(1000), i32(1000), 1000],
        [np.array([INTS.sum()]), np.array([INTS.max()]), np.cumsum(PADDED, 1).reshape(-1)[:1000],
         PADDED[:, ::-1].reshape(-1)[:1000]], 0,
    ),
    "top-32": ("largest_32", [TALL.reshape(-1), f32(96), 3, 200], [-np.sort(-TALL, 1)[:, :32]], 0),
    "half-transpose": (
        "doubled_transpose", [HALVES.view(np.uint16).reshape(-1), np.zeros(4096, np.uint16), 64],
        [(2 * HALVES.T).astype(np.float16).view(np.uint16)], 0,
    ),
    "byte-counts": ("count_bytes", [BYTES, np.zeros(256, np.uint32), 4096], [np.bincount(BYTES, minlength=256)], 0),
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


def test_layer_norm_rounds_to_the_nearest_bf16(results: dict[str, dict[str, Any]]) -> None:
    got, want = from_bf16(results["layer-norm"]["outputs"][0]), normed()
    assert np.abs(got - want).max() <= np.abs(want).max() * 2.0**-8


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
