from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cudamaster.benchmark.contract import Contract, Precision, array_in, array_out, size
from cudamaster.benchmark.task import Case, CaseSet, Task
from cudamaster.benchmark.work import compulsory_bytes
from cudamaster.tools.device.gpu_model import gpu_model
from cudamaster.tools.profile.diagnosis import diagnose
from cudamaster.tools.profile.metrics import metric
from cudamaster.tools.records import Build, Diagnosis, LaunchProfile, Profile

SAMPLES = Path(__file__).parents[2] / "data" / "ncu"

Sample = Callable[[str], str]


@pytest.fixture
def sample() -> Sample:
    """Text of a report recorded on an H200 (see tests/data/ncu/README.md)."""
    return lambda name: (SAMPLES / f"{name}.csv").read_text()


def make_task(*, n: int, reads: int, writes: int, flops: int = 0, tensor_cores: bool = False) -> Task:
    """A task whose case reads and writes that many elements."""
    contract = Contract(
        entry="thing",
        arguments=(array_in("x", str(reads)), array_out("y", str(writes)), size("N")),
    )

    def never(*_: Any) -> Any:
        raise AssertionError("a diagnosis runs nothing")

    return Task(
        name="thing",
        category="test",
        formula="y = f(x)",
        contract=contract,
        cases=(Case(set=CaseSet.PAPER, sizes={"N": n}),),
        generate=never,
        reference=never,
        complexity=lambda sizes: sizes["N"],
        min_flops=lambda sizes: flops,
        min_bytes=compulsory_bytes(contract),
        waste="",
        tensor_cores=tensor_cores,
    )


class Calls:
    """Makes profiles and diagnoses them."""

    task = staticmethod(make_task)

    @staticmethod
    def launch(
        kernel: str = "k",
        grid: tuple[int, int, int] = (4096, 1, 1),
        block: tuple[int, int, int] = (256, 1, 1),
        **values: float,
    ) -> LaunchProfile:
        return LaunchProfile(
            kernel=kernel, grid=grid, block=block, metrics=dict(metric(name, value) for name, value in values.items())
        )

    @staticmethod
    def profile(*launches: LaunchProfile, device: Any = "cuda") -> Profile:
        return Profile(device=device, gpu="NVIDIA H200", case="N=1048576 uniform", launches=launches)

    @staticmethod
    def diagnose(
        profile: Profile,
        task: Task | None = None,
        *,
        source: str = "",
        precision: Precision = Precision.FP32,
        build: Build | None = None,
        sass: Any = None,
        gpu: str = "NVIDIA H200",
    ) -> Diagnosis:
        task = task or make_task(n=1 << 20, reads=1 << 20, writes=1 << 20)
        return diagnose(
            profile,
            build=build,
            source=source,
            task=task,
            precision=precision,
            case=task.cases[0],
            gpu=gpu_model(gpu),
            sass=sass if sass is not None else {},
        )


@pytest.fixture
def calls() -> Calls:
    return Calls()
