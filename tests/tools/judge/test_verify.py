"""The judge against kernels that are honest, wrong in a natural way, or cheating."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from cudamaster.benchmark.contract import Precision
from cudamaster.benchmark.registry import load_task
from cudamaster.benchmark.task import CaseSet
from cudamaster.tests.tools.judge.fake_device import Call, FakeDevice, honest
from cudamaster.tools.device.port import CallResult, DeviceUnavailable, Unsupported
from cudamaster.tools.judge.verify import verify
from cudamaster.tools.records import Build, Status

BUILD = Build(ok=True, library=__file__, checked_with_nvcc=True)
UNITS = [("dot_product", Precision.FP32), ("gelu", Precision.BF16), ("spmv_csr", Precision.FP32)]


def judged(kernel, name="gelu", precision=Precision.FP32, **options):
    return verify(BUILD, load_task(name), precision, FakeDevice(kernel), **options)


@pytest.mark.parametrize(("name", "precision"), UNITS)
def test_an_honest_kernel_passes_and_leaves_half_of_the_bound(name, precision):
    verdict = judged(honest, name, precision)
    assert verdict.passed, verdict.detail
    assert verdict.checked_with_nvcc
    assert verdict.device == "cpu"
    assert max(e.worst_ratio for e in verdict.cases) <= 0.5
    assert {e.set for e in verdict.cases} == {CaseSet.SMALL, CaseSet.HIDDEN}


def nothing(call: Call) -> None:
    """Leave the outputs as they were."""


def zeros(call: Call) -> None:
    call.write({a.name: np.zeros(call.memory[a.name].shape) for a in call.task.contract.outputs})


def first_call_only(state=None):
    state = {}

    def kernel(call: Call) -> None:
        honest(call) if "done" not in state else None
        state["done"] = True

    return kernel


def keeps_the_answer_by_address():
    kept = {}

    def kernel(call: Call) -> None:
        key = (call.buffers, call.case.name)
        if key not in kept:
            honest(call)
            kept[key] = {a.name: call.memory[a.name].copy() for a in call.task.contract.outputs}
        for name, array in kept[key].items():
            call.memory[name][...] = array

    return kernel


def right_only_in_the_first_buffers():
    first = {}

    def kernel(call: Call) -> None:
        if first.setdefault(call.case.name, call.buffers) == call.buffers:
            honest(call)

    return kernel


def drops_the_last_element(call: Call) -> None:
    for argument in call.task.contract.inputs:
        call.memory[argument.name] = call.memory[argument.name].copy()
        call.memory[argument.name][-1] = 0
    honest(call)


def spoils_an_input(call: Call) -> None:
    honest(call)
    call.memory[call.task.contract.inputs[0].name][0] += 1


def shown_sizes_only(call: Call) -> None:
    honest(call) if call.case.set is not CaseSet.HIDDEN else zeros(call)


@pytest.mark.parametrize(("name", "precision"), UNITS)
@pytest.mark.parametrize(
    "make",
    [
        lambda: nothing,
        lambda: zeros,
        first_call_only,
        keeps_the_answer_by_address,
        right_only_in_the_first_buffers,
        lambda: spoils_an_input,
        lambda: shown_sizes_only,
    ],
    ids=["nothing", "zeros", "first_call", "by_address", "first_buffers", "spoils_input", "shown_sizes"],
)
def test_cheats_are_wrong(name, precision, make):
    verdict = judged(make(), name, precision)
    assert verdict.status is Status.WRONG
    assert any(not e.ok and e.reason for e in verdict.cases)


def test_what_was_never_written_is_said():
    assert "never written" in judged(nothing).detail


def test_a_kept_answer_is_named():
    assert "an answer was kept" in judged(keeps_the_answer_by_address()).detail


def test_the_evidence_says_where_what_was_expected_and_how_many_are_wrong():
    def drops_the_tail(call: Call) -> None:
        honest(call)
        size = call.memory["out"].size
        call.memory["out"][size // 4 * 4 :] = 0.0

    verdict = judged(drops_the_tail)
    bad = next(e for e in verdict.cases if not e.ok and e.case.startswith("N=31 "))
    assert "out[28]" in bad.reason or "out[29]" in bad.reason or "out[30]" in bad.reason
    assert "should be" in bad.reason
    assert "(the tail)" in bad.reason
    assert "all wrong elements are 0" in bad.reason
    assert bad.bad_elements == 3
    assert bad.worst_ratio > 1


def test_the_detail_says_where_the_kernel_is_right():
    verdict = judged(lambda call: honest(call) if call.case.sizes["N"] <= 1024 else zeros(call))
    assert "Right at: case N=1 uniform;" in verdict.detail
    assert "case N=1025 uniform: out[" in verdict.detail


def test_a_dropped_term_of_a_dot_product_is_found():
    assert judged(drops_the_last_element, "dot_product").status is Status.WRONG


def test_hidden_sizes_stay_hidden():
    verdict = judged(shown_sizes_only)
    assert "a hidden case" in verdict.summary
    for case in load_task("gelu").in_set(CaseSet.HIDDEN):
        assert case.name not in verdict.detail + verdict.summary


def test_a_later_stage_does_not_run_after_a_failure():
    verdict = judged(zeros)
    assert {e.set for e in verdict.cases} == {CaseSet.SMALL}
    assert sum(not e.ok for e in verdict.cases) <= 6


@pytest.mark.parametrize("status", ["launch_error", "crash", "timeout"])
def test_a_failed_call_is_reported_as_what_it_is(status):
    verdict = judged(lambda call: CallResult(status, "because"))
    assert verdict.status == status
    assert "because" in verdict.summary
    assert len(verdict.cases) == 1


def test_a_damaged_guard_band_is_wrong():
    def kernel(call: Call) -> CallResult:
        honest(call)
        return CallResult("ok", outputs=call.memory, damage=("memory after 'out' was overwritten: byte 4 of 4",))

    verdict = judged(kernel)
    assert verdict.status is Status.WRONG
    assert "memory after 'out'" in verdict.summary


def raising(error):
    def kernel(call: Call) -> None:
        raise error

    return kernel


def test_what_is_not_the_candidates_fault_costs_no_repair():
    assert judged(raising(Unsupported("too big"))).status is Status.UNSUPPORTED
    verdict = judged(raising(OSError("disk full")))
    assert verdict.status is Status.INFRA_ERROR
    assert "disk full" in verdict.summary
    assert not verdict.status.costs_a_repair


def test_a_missing_device_is_not_a_verdict():
    with pytest.raises(DeviceUnavailable):
        judged(raising(DeviceUnavailable("no GPU")))


def test_checking_nothing_is_not_a_pass():
    assert judged(honest, cases=()).status is Status.INFRA_ERROR


def test_data_are_fresh_each_time_unless_a_seed_is_given():
    cases = load_task("gelu").in_set(CaseSet.SMALL)[:4]

    def seeds(**options):
        return [e.seed for e in judged(honest, cases=cases, **options).cases]

    assert seeds(seed=1) == seeds(seed=1)
    assert seeds() != seeds()
    assert len(set(seeds())) == len(seeds())


@pytest.mark.parametrize(
    ("failure", "status"),
    [
        ("source", "build_error"),
        ("option", "build_error"),
        ("arch", "build_error"),
        ("infra", "infra_error"),
        ("unsupported", "unsupported"),
    ],
)
def test_a_failed_build_is_blamed_on_the_right_party(failure, status):
    build = Build(ok=False, failure=failure, log="nvcc warning: old\nx.cu(3): error: expected ';'")
    verdict = verify(build, load_task("gelu"), Precision.FP32, FakeDevice())
    assert verdict.status == status
    assert verdict.summary == "x.cu(3): error: expected ';'"
    assert verdict.detail == build.log


def test_the_verdict_survives_json():
    verdict = judged(nothing)
    assert type(verdict).model_validate_json(verdict.model_dump_json()) == verdict


def test_task_files_that_change_meanwhile_are_the_machines_fault(tmp_path):
    (tmp_path / "task.py").write_text("right")
    task = replace(load_task("gelu"), folder=tmp_path)

    def poisons_the_oracle(call):
        (tmp_path / "task.py").write_text("wrong")
        honest(call)

    verdict = verify(BUILD, task, Precision.FP32, FakeDevice(poisons_the_oracle))
    assert verdict.status is Status.INFRA_ERROR
    assert "the files of task gelu have changed" in verdict.summary
