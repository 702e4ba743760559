"""compute-sanitizer's reports as sentences, and the whole way with a stand-in for the tool."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from cudamaster.benchmark.contract import Precision
from cudamaster.tools.device.cuda import sanitizer as module
from cudamaster.tools.device.cuda.sanitizer import TOOLS, sanitize_with_compute_sanitizer, sanitizer_findings
from cudamaster.tools.device.port import Unsupported
from cudamaster.tools.records import Build, CaseEvidence

from ..runner.conftest import GOOD, make_arrays, make_case, make_task

MEMCHECK = """========= COMPUTE-SANITIZER
========= Invalid __global__ write of size 4 bytes
=========     at void scale<(int)4>(const float *, float *, int)+0x90 in /tmp/b/candidate.cu:12
=========     by thread (32,0,0) in block (0,0,0)
=========     Access at 0x7f1c00000200 is out of bounds
=========     and is 1 bytes after the nearest allocation at 0x7f1c00000000 of size 512 bytes
=========     Saved host backtrace up to driver entry point at kernel launch time
=========         Host Frame: f in candidate.cu:20 [0x9a10] in candidate.so
=========
========= Invalid __global__ write of size 4 bytes
=========     at void scale<(int)4>(const float *, float *, int)+0x90 in /tmp/b/candidate.cu:12
=========     by thread (33,0,0) in block (0,0,0)
=========     Access at 0x7f1c00000204 is out of bounds
=========     and is 1 bytes after the nearest allocation at 0x7f1c00000000 of size 512 bytes
=========
========= ERROR SUMMARY: 2 errors
"""
RACECHECK = """========= COMPUTE-SANITIZER
========= Error: Race reported between Write access at tile(float *)+0x70 in candidate.cu:12
=========     and Read access at tile(float *)+0x90 in candidate.cu:14 [128 hazards]
=========
========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)
"""
CLEAN = "========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 0 errors\n"


def test_equal_reports_become_one_sentence() -> None:
    (sentence,) = sanitizer_findings("memcheck", MEMCHECK)
    assert sentence == (
        "memcheck: Invalid __global__ write of size 4 bytes, in scale (candidate.cu:12), "
        "and is 1 bytes after the nearest allocation of size 512 bytes [2 reports]"
    )


def test_a_race_names_both_places() -> None:
    (sentence,) = sanitizer_findings("racecheck", RACECHECK)
    assert "in tile (candidate.cu:12) and tile (candidate.cu:14)" in sentence


def test_clean_and_unknown_reports() -> None:
    assert sanitizer_findings("memcheck", CLEAN) == []
    assert sanitizer_findings("memcheck", "") == []
    (unknown,) = sanitizer_findings("synccheck", "========= A new kind of report\n========= ERROR SUMMARY: 3 errors\n")
    assert "3 errors of a kind that is not known here" in unknown


@pytest.fixture
def sanitized(
    tmp_path: Path, executable: Path, library: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., tuple[CaseEvidence, ...]]:
    def run(logs: dict[str, str], body: str = GOOD, start: str = '"$@"') -> tuple[CaseEvidence, ...]:
        for tool in TOOLS:
            (tmp_path / f"{tool}.txt").write_text(logs.get(tool, CLEAN))
        script = tmp_path / "compute-sanitizer"
        script.write_text(f"""#!/bin/bash
while [ "${{1:0:2}}" = -- ]; do
  case "$1" in --tool) tool="$2";; --log-file) log="$2";; esac; shift 2
done
{start}
cat {tmp_path}/$tool.txt > "$log"
""")
        script.chmod(0o755)
        monkeypatch.setattr(module, "find_tool", lambda _: script)
        folder = tmp_path / "logs"
        folder.mkdir(exist_ok=True)
        build = Build(ok=True, library=str(library(body)))
        return sanitize_with_compute_sanitizer(
            executable, build, make_task(), Precision.FP32, [(make_case(), make_arrays())] * 2, seed=5, environment={},
            folder=folder,
        )  # fmt: skip

    return run


def test_nothing_found(sanitized: Callable[..., tuple[CaseEvidence, ...]]) -> None:
    assert sanitized({}) == ()


def test_reports_of_every_tool_are_evidence(sanitized: Callable[..., tuple[CaseEvidence, ...]]) -> None:
    evidence = sanitized({"memcheck": MEMCHECK, "racecheck": RACECHECK})
    assert [e.reason.split(":")[0] for e in evidence] == ["memcheck", "racecheck"] * 2
    assert all((e.seed, e.ok, e.case) == (5, False, make_case().name) for e in evidence)


def test_a_crash_without_a_report_is_evidence_too(sanitized: Callable[..., tuple[CaseEvidence, ...]]) -> None:
    evidence = sanitized({}, body="{ abort(); }")
    assert "memcheck: the call ended with crash" in evidence[0].reason


def test_a_refused_gpu_is_unsupported(sanitized: Callable[..., tuple[CaseEvidence, ...]]) -> None:
    with pytest.raises(Unsupported, match="Device not supported"):
        sanitized({"memcheck": "========= Error: Device not supported\n"})
    with pytest.raises(Unsupported, match="did not start the host program"):
        sanitized({}, start="exit 1")
