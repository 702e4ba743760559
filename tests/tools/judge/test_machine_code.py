"""Two libraries that are the same program, and what an FP32 kernel computes with."""

from __future__ import annotations

import pytest
from cudamaster.benchmark.contract import Precision
from cudamaster.benchmark.registry import load_task
from cudamaster.tools.device.cpu.device import CpuDevice
from cudamaster.tools.judge import machine_code
from cudamaster.tools.judge.machine_code import narrow_instructions, same_program
from cudamaster.tools.records import Build, Candidate, Resources

TASK = load_task("vector_add")
SOURCE = TASK.source(Precision.FP32)
SASS = """
\t\tFunction : _Z1kPf
        /*0050*/                   HFMA2.MMA R8, -RZ, RZ, 0, 5.9604644775390625e-08 ;   /* 0x00000000ff087435 */
        /*0060*/              @!P0 HFMA2 R8, R1, R2, R3 ;   /* 0x00000000ff087435 */
                                                            /* 0x000fe20000000800 */
\t\tFunction : _Z1tPf
        /*0230*/                   HMMA.1684.F32.TF32 R4, R10.reuse, R6, RZ ;  /* 0x0 */
        /*0240*/                   HMMA.1684.F32.TF32 R16, R10, R16, RZ ;  /* 0x0 */
        /*0250*/                   FFMA R16, R10, R16, RZ ;  /* 0x0 */
\t\tFunction : _Z5plainPf
        /*0250*/                   FFMA R16, R10, R16, RZ ;  /* 0x0 */
"""


def test_other_names_are_the_same_program_and_another_launch_is_not():
    device = CpuDevice(use_nvcc=False)

    def built(old: str, new: str) -> Build:
        assert old in SOURCE
        build = device.build(Candidate(source=SOURCE.replace(old, new)), TASK, Precision.FP32)
        assert build.ok, build.log
        return build

    baseline = built("1024", "1024")
    assert same_program(built("kernel", "sunset"), baseline)
    assert not same_program(built("1024", "256"), baseline)


def test_other_resources_tell_programs_apart_without_a_look():
    def used(registers: int) -> Build:
        return Build(ok=True, library="/nowhere", resources=(Resources(kernel="k", registers=registers),))

    assert not same_program(used(32), used(40))


def test_half_and_tensor_instructions_are_counted_and_constants_are_not(monkeypatch, tmp_path):
    monkeypatch.setattr(machine_code, "section_data", lambda path, name: b"x")
    monkeypatch.setattr(machine_code, "_disassembled", lambda path: SASS)
    assert narrow_instructions(Build(ok=True, library=str(tmp_path))) == ("k: 1 HFMA2", "t: 2 HMMA.1684.F32.TF32")


def test_the_same_device_code_under_other_names_is_the_same_program(monkeypatch, tmp_path):
    monkeypatch.setattr(machine_code, "section_data", lambda path, name: b"x")
    monkeypatch.setattr(machine_code, "_disassembled", lambda path: SASS.replace("_Z1k", f"_Z1{path.name}"))
    first, second = (Build(ok=True, library=str(tmp_path / name)) for name in "ab")
    assert same_program(first, second)


@pytest.mark.nvcc
def test_sass_of_a_real_library():
    from cudamaster.tools.device.cuda.nvcc import nvcc_build
    from cudamaster.tools.device.cuda.toolkit import find_nvcc, find_tool

    if find_nvcc() is None or find_tool("cuobjdump") is None:
        pytest.skip("no nvcc, or no cuobjdump")
    builds = [
        nvcc_build(Candidate(source=source), TASK.contract, "sm_90")
        for source in (SOURCE, SOURCE.replace("kernel", "sunset"))
    ]
    assert same_program(*builds)
    assert narrow_instructions(builds[0]) == ()
