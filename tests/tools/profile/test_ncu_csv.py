from __future__ import annotations

import csv
import io
from collections.abc import Callable

import pytest
from cudamaster.tools.profile.metrics import METRICS, UnknownMetric, metric, ncu_names
from cudamaster.tools.profile.ncu_csv import UnreadableReport, kernel_name, parse_ncu_csv
from cudamaster.tools.profile.ncu_errors import explain_ncu

Sample = Callable[[str], str]


def table(names: list[str], units: list[str], *rows: list[str]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, quoting=csv.QUOTE_ALL)
    writer.writerow(["ID", "Kernel Name", "Block Size", "Grid Size", *names])
    writer.writerow(["", "", "", "", *units])
    for number, row in enumerate(rows):
        writer.writerow([str(number), f"k{number}(float *)", "(256, 1, 1)", "(4, 1, 1)", *row])
    return out.getvalue()


def values(text: str) -> dict[str, float]:
    return {name: value.value for name, value in parse_ncu_csv(text).launches[0].metrics.items()}


def test_scaled_and_base_units_give_the_same_base_values(sample: Sample) -> None:
    scaled = values(sample("dot_atomic_64k"))
    assert scaled["duration_us"] == pytest.approx(463.264)
    assert scaled["dram_read_bytes"] == pytest.approx(8_392_448)
    base = values(sample("naive_matmul_2048"))
    assert base["duration_us"] == pytest.approx(3178.784)
    assert base["global_load_sectors"] == 1_073_741_824
    assert base["dram_read_bytes"] == 33_584_640
    assert base["shared_bytes_per_block"] == 1024


def test_program_output_and_notes_before_a_live_table_are_skipped(sample: Sample) -> None:
    text = sample("dot_atomic_16m_live")
    assert text.startswith("==WARNING==")
    profile = parse_ncu_csv(text, case="N=16777216 uniform")
    (launch,) = profile.launches
    assert (launch.kernel, launch.grid, launch.block) == ("dot_atomic", (1024, 1, 1), (256, 1, 1))
    assert launch.metrics["duration_us"].value == pytest.approx(487.68)
    assert (profile.gpu, profile.case) == ("NVIDIA H200", "N=16777216 uniform")


def test_lines_after_the_table_are_skipped(sample: Sample) -> None:
    text = sample("copy_256mb") + "==PROF== Disconnected from process 1\nbye\n"
    assert len(parse_ncu_csv(text).launches) == 1


def test_every_metric_of_the_registry_is_in_a_full_report_or_is_the_cpu_devices(sample: Sample) -> None:
    found = values(sample("copy_256mb"))
    assert [spec.name for spec in METRICS if spec.ncu and spec.name not in found] == []
    assert all(spec.cpu for spec in METRICS if not spec.ncu)


def test_all_launches_are_kept_in_order() -> None:
    text = table(["gpu__time_duration.sum"], ["ns"], ["1,500"], ["2,500"])
    profile = parse_ncu_csv(text)
    assert [(p.kernel, p.metrics["duration_us"].value) for p in profile.launches] == [("k0", 1.5), ("k1", 2.5)]


@pytest.mark.parametrize("nothing", ["no data", "nan", "n/a", "(!) n/a", "", "-nan(ind)"])
def test_a_value_that_ncu_lacks_is_absent_not_zero(nothing: str) -> None:
    assert "dram_read_bytes" not in values(table(["dram__bytes_read.sum"], ["byte"], [nothing]))


@pytest.mark.parametrize(
    ("text", "unit", "expected"),
    [
        ("1,234.5", "Kbyte", 1_234_500),
        ("2", "Mbyte", 2e6),
        ("3", "Gbyte", 3e9),
        ("7", "byte", 7),
        ("1.5e3", "byte", 1500),
    ],
)
def test_bytes_scale_by_powers_of_a_thousand(text: str, unit: str, expected: float) -> None:
    assert values(table(["dram__bytes_read.sum"], [unit], [text]))["dram_read_bytes"] == pytest.approx(expected)


@pytest.mark.parametrize(
    ("unit", "us"), [("ns", 0.002), ("nsecond", 0.002), ("us", 2), ("usecond", 2), ("ms", 2000), ("s", 2e6)]
)
def test_every_spelling_of_a_time_unit_becomes_microseconds(unit: str, us: float) -> None:
    assert values(table(["gpu__time_duration.sum"], [unit], ["2"]))["duration_us"] == pytest.approx(us)


def test_an_unknown_unit_is_an_error_not_a_wrong_number() -> None:
    with pytest.raises(UnreadableReport, match=r"duration_us.*fortnight"):
        parse_ncu_csv(table(["gpu__time_duration.sum"], ["fortnight"], ["2"]))


def test_a_wanted_metric_without_a_column_is_an_error_that_names_it() -> None:
    text = table(["gpu__time_duration.sum"], ["ns"], ["2"])
    assert parse_ncu_csv(text, wanted=["duration_us"]).launches
    with pytest.raises(UnreadableReport, match=r"sm_throughput_pct.*sm__throughput"):
        parse_ncu_csv(text, wanted=["duration_us", "sm_throughput_pct"])
    with pytest.raises(UnknownMetric, match="nonsense"):
        parse_ncu_csv(text, wanted=["nonsense"])


def test_an_older_name_of_a_metric_is_read_too() -> None:
    assert values(table(["smsp__inst_executed_op_shared_ld.sum"], ["inst"], ["5"]))["shared_load_requests"] == 5


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("==WARNING== No kernels were profiled.\n", "child process"),
        (
            "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission\n",
            "SYS_ADMIN",
        ),
        ("==ERROR== Failed to find metric sm__nonsense.sum\n", "sm__nonsense"),
        ("==ERROR== Cuda driver is not compatible with Nsight Compute.\n", "newer driver"),
        ("", "no table"),
        ("hello\n", "hello"),
    ],
)
def test_no_table_is_explained_with_the_fix(text: str, expected: str) -> None:
    with pytest.raises(UnreadableReport, match=expected):
        parse_ncu_csv(text)


def test_a_table_cut_before_its_launches_is_an_error(sample: Sample) -> None:
    text = "\n".join(sample("copy_256mb").splitlines()[:2])
    with pytest.raises(UnreadableReport, match="no launches"):
        parse_ncu_csv(text)


def test_another_page_is_refused() -> None:
    with pytest.raises(UnreadableReport, match="row of units"):
        parse_ncu_csv('"ID","Kernel Name","Metric Name"\n"0","k(int)","Duration"\n')


@pytest.mark.parametrize(
    ("output", "code"),
    [
        ("==ERROR== ERR_NVGPUCTRPERM", "no_permission"),
        ("The user running x does not have permission to access NVIDIA GPU Performance Counters", "no_permission"),
        ("==ERROR== Failed to find metric x", "unknown_metric"),
        ("==ERROR== Driver not compatible with Nsight Compute", "driver_mismatch"),
        ("==ERROR== Profiling failed because a driver resource was unavailable.", "driver_mismatch"),
        ("==ERROR== Profiling is not supported on this device", "unsupported_gpu"),
        ("==WARNING== No kernels were profiled.", "no_kernels"),
        ("==ERROR== Unknown Error on device 0.", "unknown_error"),
        ("==ERROR== The application returned an error code (11).", "other"),
    ],
)
def test_failures_are_recognised_and_quote_ncus_own_line(output: str, code: str) -> None:
    problem = explain_ncu(f"some output\n{output}\nmore")
    assert problem is not None
    assert problem.code == code
    assert problem.line == output
    assert problem.fix in problem.sentence


def test_a_clean_run_has_no_problem(sample: Sample) -> None:
    assert explain_ncu(sample("dot_atomic_16m_live")) is None


@pytest.mark.parametrize(
    ("signature", "name"),
    [
        ("dot_atomic(float *, const float *, const float *, int)", "dot_atomic"),
        ("void ns::reduce<float, (int)4>(T1 *, const T1 *)", "reduce"),
        ("(anonymous namespace)::k(int)", "k"),
        ("void <unnamed>::k<op<int>>(int)", "k"),
        ("plain", "plain"),
    ],
)
def test_the_plain_kernel_name(signature: str, name: str) -> None:
    assert kernel_name(signature) == name


def test_ncu_is_asked_for_one_name_per_metric_and_no_name_twice() -> None:
    names = ncu_names(METRICS)
    assert len(names) == len(set(names)) == sum(bool(spec.ncu) for spec in METRICS)
    assert len({spec.name for spec in METRICS}) == len(METRICS)


def test_a_metric_gets_the_registrys_unit() -> None:
    name, value = metric("dram_read_bytes", 12, "modelled")
    assert (name, value.unit, value.source) == ("dram_read_bytes", "byte", "modelled")
    with pytest.raises(UnknownMetric, match="dram_bytes"):
        metric("dram_bytes", 1)
