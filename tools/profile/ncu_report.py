"""Read a report file of Nsight Compute into a profile, by its own Python module."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

from ..records import LaunchProfile, Profile
from .metrics import metric_spec
from .ncu_csv import UnreadableReport, launch_profile

_READER: Final = Path(__file__).with_name("read_ncu_report.py")
_SECONDS: Final = 60


@cache
def report_module(ncu: Path) -> Path | None:
    """Return the folder with the Python module that belongs to this ncu, or None.

    It lies in `extras/python` of Nsight Compute's own folder. A CUDA toolkit's `bin/ncu` only leads there.
    """
    beside = ncu.resolve().parent
    installed = [*beside.parent.glob("nsight-compute*"), *Path("/opt/nvidia/nsight-compute").glob("*")]
    folders = [root / "extras" / "python" for root in (beside, *sorted(installed, key=_version, reverse=True))]
    return next((folder for folder in folders if (folder / "ncu_report.py").is_file()), None)


def _version(folder: Path) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", folder.name)]


def read_ncu_report(
    module: Path, report: Path, *, gpu: str = "", case: str = "", wanted: Sequence[str] = ()
) -> Profile:
    """Return the profile in a report; the arguments are those of `parse_ncu_csv`.

    Raises:
        UnreadableReport: the module can't read it, or it holds no launch, or lacks a wanted metric.
    """
    command = [sys.executable, "-I", str(_READER), str(module), str(report)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS)
        launches: list[dict[str, Any]] = json.loads(done.stdout)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UnreadableReport(f"Nsight Compute's Python module can't be run: {error}") from error
    except ValueError:
        said = (done.stderr or done.stdout).strip()[-300:]
        raise UnreadableReport(f"Nsight Compute's Python module in {module} can't read {report}: {said}") from None
    if not launches:
        raise UnreadableReport(f"{report} holds no launches")
    for name in wanted:
        names = metric_spec(name).ncu
        if names and not any(found in launch["metrics"] for found in names for launch in launches):
            raise UnreadableReport(f"no metric {name}: expected {' or '.join(names)}; was it collected?")
    named, _ = launches[0]["metrics"].get("device__attribute_display_name", ("", ""))
    return Profile(device="cuda", gpu=gpu or named, case=case, launches=tuple(map(_launch, launches)))


def _launch(launch: dict[str, Any]) -> LaunchProfile:
    metrics = launch["metrics"]
    found = {name: (None if isinstance(value, str) else value, unit) for name, (value, unit) in metrics.items()}

    def extent(what: str) -> tuple[int, int, int]:
        x, y, z = (int(metrics[f"launch__{what}_dim_{axis}"][0]) for axis in "xyz")
        return x, y, z

    return launch_profile(launch["kernel"], extent("grid"), extent("block"), found)
