from __future__ import annotations

from pathlib import Path
from typing import Any

from cudamaster.benchmark.contract import Precision
from cudamaster.tools.device.gpu_model import gpu_model
from cudamaster.tools.profile.diagnosis import subject_of
from cudamaster.tools.profile.kernel_report import KernelReport, kernel_reports, report_text
from cudamaster.tools.profile.ncu_csv import parse_ncu_csv
from cudamaster.tools.profile.sass import parse_sass
from cudamaster.tools.records import Build, Resources

DATA = Path(__file__).parents[2] / "data"
SOURCE = "#include <cuda_runtime.h>\n\n__global__ void copy4(const float4* in, float4* out) { out[0] = in[0]; }\n"


def reports(calls: Any, profile: Any, **known: Any) -> tuple[KernelReport, ...]:
    task = calls.task(n=1, reads=1, writes=1)
    known = {"build": None, "source": "", "sass": {}} | known
    return kernel_reports(
        subject_of(
            profile, known["build"], known["source"], task, Precision.FP32, task.cases[0], gpu_model(), known["sass"]
        )
    )


def test_a_kernel_is_told_with_compiler_code_occupancy_and_roofline(calls: Any) -> None:
    profile = parse_ncu_csv((DATA / "ncu" / "copy_256mb.csv").read_text())
    name = profile.launches[0].kernel
    used = Resources(kernel=name, registers=24, spill_store_bytes=8, barriers=1)
    sass = parse_sass("\tFunction : _Z5copy4\n        /*0000*/                   LDG.E.128 R4, [R2] ;\n")
    build = Build(ok=True, resources=(used,))
    (report,) = reports(calls, profile, build=build, sass={name: sass["_Z5copy4"]})
    assert (report.launches, report.share > 0.9, report.resources) == (1, True, used)
    assert report.roof is not None
    assert report.roof.limiter == "memory"
    text = report_text((report,))
    for said in ("24 registers", "8 spilled", "1 loads of 128 bits", "limited by", "GB/s"):
        assert said in text


def test_what_is_not_known_is_left_out(calls: Any) -> None:
    (report,) = reports(calls, calls.profile(calls.launch(sm_throughput_pct=5.0)), source=SOURCE)
    assert (report.resources, report.sass, report.roof) == (None, None, None)
    assert "roofline" not in report_text((report,))


def test_the_longest_kernel_comes_first_and_its_longest_launch_is_placed(calls: Any) -> None:
    launches = [
        calls.launch("a", duration_us=5.0),
        calls.launch("b", duration_us=20.0),
        calls.launch("b", duration_us=30.0),
    ]
    first, second = reports(calls, calls.profile(*launches))
    assert (first.kernel, first.launches, second.kernel) == ("b", 2, "a")
    assert first.roof is not None
    assert first.roof.time_us == 30.0


def test_on_the_cpu_device_machine_code_is_that_of_nvcc(calls: Any, monkeypatch: Any) -> None:
    from cudamaster.tools.profile import diagnosis

    asked: list[str] = []
    monkeypatch.setattr(diagnosis, "disassemble", lambda path: asked.append(path) or {})
    task = calls.task(n=1, reads=1, writes=1)
    known = ("", task, Precision.FP32, task.cases[0], gpu_model())
    host, checked = Build(ok=True, library="host.so"), Build(ok=True, library="host.so", device_code="nvcc.so")
    for device in ("cpu", "cuda"):
        profile = calls.profile(calls.launch(), device=device)
        for build in (host, checked, None):
            subject_of(profile, build, *known)
    assert asked == ["", "nvcc.so", "", "host.so", "nvcc.so", ""]
