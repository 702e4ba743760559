"""Dear data and answers are made once, found again by another process, and never fill the disk."""

from __future__ import annotations

import os
import stat
import subprocess
import sys

import numpy as np
import pytest
from cudamaster.benchmark.contract import Precision
from cudamaster.benchmark.registry import load_task
from cudamaster.benchmark.task import CaseSet
from cudamaster.tests.tools.judge.fake_device import FakeDevice
from cudamaster.tools.judge import kept, reference, seeds, stages
from cudamaster.tools.judge.verify import verify
from cudamaster.tools.records import Build

GELU = load_task("gelu")
CASE = GELU.in_set(CaseSet.SMALL)[-1]


@pytest.fixture(autouse=True)
def home(monkeypatch, tmp_path):
    monkeypatch.setenv("CUDAMASTER_HOME", str(tmp_path))
    monkeypatch.setattr(reference, "_recent", reference._Recent(1 << 30))
    seeds._pool.cache_clear()
    yield tmp_path
    seeds._pool.cache_clear()


def again(seed, monkeypatch, precision=Precision.BF16):
    """Return an instance as another process would: nothing in memory, nothing may be made."""
    kept.finish_writing()
    monkeypatch.setattr(reference, "_recent", reference._Recent(1 << 30))
    monkeypatch.setattr(reference, "_make", lambda *_: pytest.fail("made again"))
    return reference.instance(GELU, CASE, precision, seed, keep=True)


def folders(home):
    kept.finish_writing()
    return [p for p in (home / "references").iterdir() if p.is_dir() and not p.name.startswith(".")]


@pytest.mark.parametrize("sampled", [False, True])
def test_what_comes_back_is_what_was_made(monkeypatch, sampled):
    monkeypatch.setattr(reference, "_is_big", lambda task, case: sampled)
    first = reference.instance(GELU, CASE, Precision.BF16, 7, keep=True)
    found = again(7, monkeypatch)
    np.testing.assert_array_equal(found.memory["in"], first.memory["in"])
    assert found.memory["in"].dtype == first.memory["in"].dtype
    for part in ("value", "bound", "positions"):
        np.testing.assert_array_equal(getattr(found.expected["out"], part), getattr(first.expected["out"], part))
    assert (found.expected["out"].positions is not None) == sampled


def test_other_seeds_and_precisions_are_other_data(home):
    for precision in Precision:
        for seed in (1, 2):
            reference.instance(GELU, CASE, precision, seed, keep=True)
    assert len(folders(home)) == 4


def test_nothing_is_written_without_being_asked_for(home):
    reference.instance(GELU, CASE, Precision.FP32, 1)
    assert not (home / "references").exists()


def test_the_least_recently_used_goes_first(home, monkeypatch):
    one = reference.instance(GELU, CASE, Precision.FP32, 1, keep=True).nbytes
    first = folders(home)[0]
    os.utime(first, (1, 1))
    reference.instance(GELU, CASE, Precision.FP32, 2, keep=True)
    kept.finish_writing()
    monkeypatch.setattr(kept, "_MOST_BYTES", int(2.5 * one))
    reference.instance(GELU, CASE, Precision.FP32, 3, keep=True)
    assert len(folders(home)) == 2
    assert first not in folders(home)


def test_what_is_too_large_is_not_kept(home, monkeypatch):
    monkeypatch.setattr(kept, "_MOST_BYTES", 10)
    assert reference.instance(GELU, CASE, Precision.FP32, 1, keep=True).memory["in"].size == CASE.sizes["N"]
    assert folders(home) == []


def test_the_pool_is_the_homes_and_its_owners_alone(home):
    drawn = sorted({seeds.pool_seed() for _ in range(50)})
    text = "from cudamaster.tools.judge.seeds import pool_seed; print(sorted({pool_seed() for _ in range(50)}))"
    found = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == str(drawn)
    assert stat.S_IMODE((home / "references").stat().st_mode) == 0o700
    assert stat.S_IMODE((home / "references" / "pool.json").stat().st_mode) == 0o600


def test_without_a_home_the_pool_lasts_for_the_process(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("CUDAMASTER_HOME", str(tmp_path / "file"))
    assert len({seeds.pool_seed() for _ in range(50)}) == 2


def test_only_dear_cases_with_no_seed_of_their_own_are_kept(home, monkeypatch):
    build = Build(ok=True, library=__file__)
    monkeypatch.setattr(stages, "_COSTLY_OPERATIONS", CASE.sizes["N"] - 1)
    cheap = next(c for c in GELU.in_set(CaseSet.SMALL) if c.sizes["N"] < CASE.sizes["N"])
    assert verify(build, GELU, Precision.FP32, FakeDevice(), cases=[CASE, cheap], seed=3).passed
    assert not (home / "references").exists()
    assert verify(build, GELU, Precision.FP32, FakeDevice(), cases=[CASE, cheap]).passed
    assert len(folders(home)) == 1


def test_small_and_large_instances_are_made_ready_as_far_as_memory_keeps_them(monkeypatch):
    made = []
    monkeypatch.setattr(reference, "instance", lambda task, case, precision, seed, keep: made.append(case.sizes["N"]))
    cases = [c for c in GELU.cases if c.distribution == "uniform" and c.sizes["N"] in (1000, 1024, 4099, 2**14, 2**18)]
    monkeypatch.setattr(reference, "_SMALL_BYTES", 40 * 1025)
    monkeypatch.setattr(reference, "_KEPT_BYTES", 10 * 2**15)
    reference.make_ready(GELU, Precision.FP32, [(case, 1, False) for case in cases])
    assert sorted(made) == sorted(c.sizes["N"] for c in cases if c.sizes["N"] < 2**18)


def test_a_change_in_the_code_that_tasks_share_makes_all_anew(home, monkeypatch):
    reference.instance(GELU, CASE, Precision.BF16, 7, keep=True)
    before = folders(home)
    monkeypatch.setattr(kept, "_shared_code", lambda: "changed")
    monkeypatch.setattr(reference, "_recent", reference._Recent(1 << 30))
    reference.instance(GELU, CASE, Precision.BF16, 7, keep=True)
    assert len(before) == 1
    assert len(folders(home)) == 2
