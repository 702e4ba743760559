"""The whole way through a profile, with a stand-in for ncu that really starts the host program."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from cudamaster.benchmark.contract import Precision
from cudamaster.tools.device.cuda import ncu as module
from cudamaster.tools.device.cuda.ncu import ncu_command, ncu_version, profile_with_ncu, without_unknown
from cudamaster.tools.device.port import CallFailed, Unsupported
from cudamaster.tools.profile.metrics import metrics_of
from cudamaster.tools.records import Build, Profile

from ...profile.test_ncu_report import MODULE as STAND_IN
from ..runner.conftest import GOOD, make_arrays, make_case, make_task

TABLE = """"ID","Process Name","Kernel Name","Grid Size","Block Size","gpu__time_duration.sum","dram__bytes_read.sum"
"","","","","","ns","byte"
"0","runner","scale(const float *, float *)","(4, 1, 1)","(256, 1, 1)","2500","4096"
"""
# Starts what it wraps, as ncu does, then writes its log. $metrics holds the names that it was asked for.
SCRIPT = """#!/bin/bash
while [ "${1:0:2}" = -- ]; do
  case "$1" in
    --csv|--force-overwrite) shift;;
    --export) export="$2"; shift 2;;
    --import) import="$2"; shift 2;;
    --log-file) log="$2"; shift 2;;
    --metrics) metrics="$2"; shift 2;;
    *) shift 2;;
  esac
done
BODY
"""
RUN = '"$@"; cat > "$log" <<END\n==PROF== Connected to process 1\n' + TABLE + "END\n"


@pytest.fixture
def profiled(
    tmp_path: Path, executable: Path, library: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Profile]:
    def profile(script: str = RUN, body: str = GOOD, reader: Path | None = None, **more: Any) -> Profile:
        tool = tmp_path / "ncu"
        tool.write_text(SCRIPT.replace("BODY", script))
        tool.chmod(0o755)
        monkeypatch.setattr(module, "find_tool", lambda _: tool)
        monkeypatch.setattr(module, "report_module", lambda _: reader)
        monkeypatch.setattr(module, "_REFUSED", refused)
        build = Build(ok=True, library=str(library(body)))
        folder = tmp_path / "profile"
        folder.mkdir(exist_ok=True)
        options: dict[str, Any] = {"gpu": "NVIDIA H200", "environment": {}, "folder": folder, **more}
        return profile_with_ncu(executable, build, make_task(), Precision.FP32, make_case(), make_arrays(), **options)

    refused: dict[str, str] = {}
    return profile


def test_a_profile_comes_in_base_units(profiled: Callable[..., Profile]) -> None:
    profile = profiled()
    (launch,) = profile.launches
    assert (launch.kernel, launch.grid, launch.block) == ("scale", (4, 1, 1), (256, 1, 1))
    assert launch.metrics["duration_us"].value == 2.5
    assert (profile.gpu, profile.case) == ("NVIDIA H200", make_case().name)


def test_the_gpu_is_held_for_the_call_alone(profiled: Callable[..., Profile], tmp_path: Path) -> None:
    seen: list[str] = []

    @contextmanager
    def hold() -> Iterator[None]:
        seen.append("started" if (tmp_path / "profile" / "began").exists() else "not yet")
        yield

    profiled(f'touch "{tmp_path}/profile/began"; {RUN}', hold=hold)
    assert seen == ["started"]


REPORT = '[{"kernel": "scale(int)", "metrics": {"gpu__time_duration.sum": [3000.0, "ns"], DIMS}}]'.replace(
    "DIMS", ", ".join(f'"launch__{what}_dim_{axis}": [2, ""]' for what in ("grid", "block") for axis in "xyz")
)
EXPORT = f"""if [ "$import" ]; then cat <<END\n{TABLE}END
else "$@"; echo "==PROF== Report" > "$log"; cat > "$export" <<END\n{REPORT}\nEND
fi
"""


def test_a_report_is_read_with_ncus_own_module(
    profiled: Callable[..., Profile], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "ncu_report.py").write_text(STAND_IN)
    profile = profiled(EXPORT, reader=tmp_path)
    (launch,) = profile.launches
    assert (launch.kernel, launch.grid, launch.block) == ("scale", (2, 2, 2), (2, 2, 2))
    assert launch.metrics["duration_us"].value == 3.0


def test_a_report_that_the_module_can_not_read_is_read_by_ncu(profiled: Callable[..., Profile], tmp_path: Path) -> None:
    (tmp_path / "ncu_report.py").write_text("raise ImportError('another Python')")
    (launch,) = profiled(EXPORT, reader=tmp_path).launches
    assert launch.metrics["duration_us"].value == 2.5


def test_a_metric_that_ncu_does_not_know_is_replaced_or_left_out(profiled: Callable[..., Profile]) -> None:
    unknown = "smsp__sass_inst_executed_op_shared_ld.sum"
    complains = f'echo "==ERROR== Failed to find metric {unknown}" > "$log"; exit 1'
    refuses = f'if [[ ",$metrics," = *,{unknown},* ]]; then {complains}; fi\n'
    assert profiled(refuses + RUN).launches


def test_replacing_names() -> None:
    specs = [s for s in metrics_of("memory", "filter") if s.name in ("shared_load_requests", "l2_hit_rate_pct")]
    refused: set[str] = set()
    text = "==ERROR== Failed to find metric smsp__sass_inst_executed_op_shared_ld.sum"
    names = without_unknown(specs, refused, text)
    assert set(names) == {"smsp__inst_executed_op_shared_ld.sum", "lts__t_sector_hit_rate.pct"}
    names = without_unknown(specs, refused, "Failed to find metric smsp__inst_executed_op_shared_ld.sum")
    assert names == ["lts__t_sector_hit_rate.pct"]


def test_no_permission_is_explained_once(profiled: Callable[..., Profile]) -> None:
    denied = 'echo "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission" > "$log"; exit 1'
    with pytest.raises(Unsupported, match="NVreg_RestrictProfilingToAdminUsers=0"):
        profiled(denied)
    with pytest.raises(Unsupported, match="NVreg_RestrictProfilingToAdminUsers=0"):
        profiled(RUN)  # not tried again on that GPU


def test_no_kernels_is_an_error_with_causes(profiled: Callable[..., Profile]) -> None:
    with pytest.raises(Unsupported, match="without a launch"):
        profiled('"$@"; echo "==WARNING== No kernels were profiled." > "$log"')
    assert profiled().launches  # such a fault does not last


def test_a_tool_that_does_not_start_the_program(profiled: Callable[..., Profile]) -> None:
    with pytest.raises(Unsupported, match="did not start"):
        profiled("exit 3")


def test_a_candidate_that_fails_under_ncu_is_named(profiled: Callable[..., Profile]) -> None:
    with pytest.raises(CallFailed, match="launch_error"):
        profiled(body="{ return 1; }")


def test_what_a_candidate_prints_is_not_taken_for_ncus_words(profiled: Callable[..., Profile]) -> None:
    prints = GOOD.replace("{\n", '{ write(1, "==ERROR== ERR_NVGPUCTRPERM\\\\n", 28);\n', 1)
    assert profiled(body=prints).launches


def test_no_ncu(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(module, "find_tool", lambda _: None)
    with pytest.raises(Unsupported, match="ncu"):
        profile_with_ncu(
            tmp_path,
            Build(ok=True),
            make_task(),
            Precision.FP32,
            make_case(),
            {},
            gpu="x",
            environment={},
            folder=tmp_path,
        )


def test_clocks_are_left_alone_and_units_are_base() -> None:
    command = " ".join(ncu_command(Path("ncu"), Path("log"), ["a", "b"]))
    assert "--clock-control none" in command
    assert "--print-units base" in command
    assert "--metrics a,b" in command


def test_version(tmp_path: Path) -> None:
    tool = tmp_path / "ncu"
    tool.write_text("#!/bin/sh\necho 'Version 2025.3.1.0 (build 36398880) (public-release)'\n")
    tool.chmod(0o755)
    assert ncu_version(tool) == "2025.3.1.0"
    assert ncu_version(tmp_path / "nothing") == ""
