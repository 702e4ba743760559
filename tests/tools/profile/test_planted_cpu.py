"""Planted faults that the cpu device can see: built and run here, counted, diagnosed."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from cudamaster.benchmark.contract import Contract, DType, Precision, array_in, array_out, scalar, size
from cudamaster.benchmark.task import Case, CaseSet, Task
from cudamaster.tools.device.cpu.device import CpuDevice
from cudamaster.tools.device.gpu_model import gpu_model
from cudamaster.tools.profile.diagnosis import diagnose
from cudamaster.tools.records import Build, Candidate, Diagnosis, Profile

pytestmark = pytest.mark.xdist_group("cpu-planted")

SOURCE = (Path(__file__).parents[2] / "data" / "planted" / "cpu.cu").read_text()
N = 1 << 18


class Planted(NamedTuple):
    """What was planted, with the least work: elements read and written, operations; N if not the usual one."""

    finding: str
    reads: int = N
    writes: int = N
    flops: int = N
    n: int = N


PLANTED = {
    "atomics": Planted("same_address_atomics", writes=1),
    "oneblock": Planted("too_few_blocks"),
    "scattered": Planted("uncoalesced_access"),
    "banks": Planted("bank_conflicts", reads=1024, flops=64 * N),
    "plane": Planted("redundant_threads"),
    "prefix": Planted("wasteful_algorithm", reads=1024, writes=1024, flops=1024),
    "step": Planted("launch_or_sync_bound", n=4096, reads=4096, writes=4096, flops=16 * 4096),
    "filter": Planted("excess_traffic", flops=64 * N),
    "narrow": Planted("narrow_loads", n=1 << 22, reads=1 << 22, writes=1 << 22, flops=1 << 22),
}


def task_of(work: Planted) -> Task:
    contract = Contract(
        entry="planted",
        arguments=(array_in("x", "N"), array_out("y", "N"), size("N"), scalar("which", DType.I32)),
    )

    def generate(case: Case, precision: Precision, rng: Any) -> Any:
        return {"x": rng.uniform(-1, 1, case.sizes["N"])}

    def reference(*_: Any) -> Any:
        raise AssertionError("nothing is judged here")

    return Task(
        name="planted", category="test", formula="", contract=contract, cases=(),
        generate=generate, reference=reference, complexity=lambda sizes: sizes["N"],
        min_flops=lambda sizes: work.flops, min_bytes=lambda sizes, precision: 4 * (work.reads + work.writes), waste="",
    )  # fmt: skip


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[CpuDevice, Build]:
    device = CpuDevice(use_nvcc=False)
    build = device.build(Candidate(source=SOURCE), task_of(PLANTED["plane"]), Precision.FP32)
    assert build.ok, build.log
    return device, build


def diagnosed(built: tuple[CpuDevice, Build], name: str, version: int) -> tuple[Profile, Diagnosis]:
    device, build = built
    work = PLANTED[name]
    which = 2 * list(PLANTED).index(name) + version
    case = Case(set=CaseSet.SMALL, sizes={"N": work.n}, scalars={"which": which})
    task = dataclasses.replace(task_of(work), cases=(case,))
    profile = device.profile(build, task, Precision.FP32, case)
    diagnosis = diagnose(
        profile, build=build, source=SOURCE, task=task, precision=Precision.FP32, case=case, gpu=gpu_model()
    )
    return profile, diagnosis


@pytest.mark.parametrize("name", PLANTED)
def test_the_planted_fault_comes_first_and_its_twin_is_not_accused(built: Any, name: str) -> None:
    fault, found = diagnosed(built, name, 0)
    first = found.findings[0]
    assert first.name == PLANTED[name].finding, found
    twin, left = diagnosed(built, name, 1)
    assert PLANTED[name].finding not in {finding.name for finding in left.findings}
    before, after = (sum(x.metrics["duration_us"].value for x in p.launches) + 2.7 for p in (fault, twin))
    assert 1 < before / after <= 1.1 * first.bound
    if first.kernel:
        assert first.kernel == f"{name}_fault"
        assert first.line is not None
