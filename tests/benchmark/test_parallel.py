"""Large arrays are worked on in pieces, with the same result as in one go and on every machine."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from cudamaster.benchmark import bf16, inputs, parallel


@pytest.fixture
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel, "PIECE", 1000)
    monkeypatch.setattr(inputs, "PIECE", 1000)


@pytest.mark.parametrize("count", [0, 1, 999, 1000, 1001, 5003])
def test_pieces_cover_everything_once(small_pieces: None, count: int) -> None:
    seen = np.zeros(count, int)

    def visit(_: int, piece: slice) -> None:
        seen[piece] += 1

    parallel.in_pieces(count, visit)
    assert np.all(seen == 1)


def test_a_fault_in_a_piece_is_raised(small_pieces: None) -> None:
    def fail(number: int, _: slice) -> None:
        if number == 3:
            raise ValueError("piece 3")

    with pytest.raises(ValueError, match="piece 3"):
        parallel.in_pieces(5000, fail)


def test_rounding_is_the_same_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.random.default_rng(0).normal(size=(70, 101))
    whole = bf16.to_bf16(values)
    monkeypatch.setattr(parallel, "PIECE", 1000)
    np.testing.assert_array_equal(bf16.to_bf16(values), whole)


def test_large_uniform_data_depend_on_the_seed_alone(small_pieces: None, monkeypatch: pytest.MonkeyPatch) -> None:
    first = inputs.uniform((71, 73), np.random.default_rng(5))
    monkeypatch.setattr(parallel.os, "cpu_count", lambda: 1)
    np.testing.assert_array_equal(inputs.uniform((71, 73), np.random.default_rng(5)), first)
    assert first.min() >= -1
    assert first.max() < 1
    assert abs(first.mean()) < 0.05
    assert len(np.unique(first)) == first.size
    assert not np.array_equal(inputs.uniform((71, 73), np.random.default_rng(6)), first)


def test_freed_memory_is_used_again() -> None:
    """Threads make arrays of 2 MB, six at a time, and drop them: 1.5 million pages, if each were a new one.

    Without `keep_freed_memory` it is 18 to 580 thousand, as the threads happen to run.
    """
    program = """
import resource
import numpy as np
from cudamaster.benchmark.parallel import in_pieces, keep_freed_memory
keep_freed_memory()
def work(number, piece):
    for _ in range(5):
        [np.ones(1 << 18) for _ in range(6)]
start = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
in_pieces(100, work, 1)
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - start)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    threads = 8  # each with an arena of its own
    assert int(done.stdout) < threads * 6 * 512 + 4000


def test_shapes_are_read_in_several_threads_at_once() -> None:
    """CPython 3.11 loses count of a parser's depth where threads change while it builds a tree."""
    program = """
import gc, sys, time
from concurrent.futures import ThreadPoolExecutor
from cudamaster.benchmark.contract import evaluate
def read(number):
    if number % 7:
        return inner(number, number % 7)
    return inner(number, 0)
def inner(number, depth):
    if depth:
        return inner(number, depth - 1)
    return [evaluate(f"N + {number} * {i} + (M // 2)", {"N": 1, "M": 4}) for i in range(20)]
sys.setswitchinterval(1e-6)
gc.callbacks.append(lambda phase, info: time.sleep(0))
gc.set_threshold(1)
with ThreadPoolExecutor(8) as pool:
    assert list(pool.map(read, range(400))) == [[3 + k * i for i in range(20)] for k in range(400)]
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-500:]
