"""The namespaces of an evaluation process: what a candidate sees of the machine, and what is said without them."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from cudamaster.tools.device.runner.client import RunnerProcess
from cudamaster.tools.device.runner.isolation import Isolation, hidden_folders

from .conftest import make_arrays, make_case

Start = Callable[..., RunnerProcess]
HEADERS = """#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
"""


def seen(runner: RunnerProcess) -> list[float]:
    runner.load_case(make_case(), make_arrays())
    result = runner.call()
    assert result.status == "ok", result.message
    return [float(value) for value in result.outputs["y"]]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder with a secret beside the builds."""
    (tmp_path / "builds").mkdir()
    (tmp_path / "references").mkdir()
    (tmp_path / "references" / "answers").write_text("42")
    monkeypatch.setenv("CUDAMASTER_HOME", str(tmp_path))
    return tmp_path


def need(runner: RunnerProcess, *walls: str) -> None:
    if missing := [wall for wall in walls if not getattr(runner.isolation, wall)]:
        pytest.skip(f"this kernel gives no {', '.join(missing)}: {runner.isolation.refused}")


def test_the_answers_on_disk_are_not_there(start: Start, home: Path) -> None:
    assert hidden_folders() == (home / "references",)
    body = f'{{ y[0] = access("{home}/references", F_OK); y[1] = open("{home}/references/answers", 0); return 0; }}'
    runner = start(body, before=HEADERS)
    need(runner, "read_only")
    assert seen(runner)[:2] == [0.0, -1.0]
    assert (home / "references" / "answers").read_text() == "42"


def test_only_its_own_folder_is_writable(start: Start, home: Path) -> None:
    body = f"""{{
      y[0] = open("{home}/x", O_CREAT | O_WRONLY, 0600) >= 0; y[1] = open("/tmp/x", O_CREAT | O_WRONLY, 0600) >= 0;
      y[2] = open("mine", O_CREAT | O_WRONLY, 0600) >= 0; y[3] = umount("{home}/references") == 0;
      y[4] = mount(0, "/", 0, MS_REMOUNT | MS_BIND, 0) == 0; return 0; }}"""
    runner = start(body, before=HEADERS)
    need(runner, "read_only")
    assert seen(runner)[:5] == [0.0, 0.0, 1.0, 0.0, 0.0]
    assert not (home / "x").exists()


def test_no_other_process_and_no_network(start: Start) -> None:
    body = """{
      int processes = 0; DIR* d = opendir("/proc");
      while (dirent* e = readdir(d)) processes += e->d_name[0] >= '1' && e->d_name[0] <= '9';
      y[0] = processes; y[1] = getpid(); return 0; }"""
    runner = start(body, before=HEADERS)
    need(runner, "pid", "network", "processes_hidden")
    assert seen(runner)[:2] == [2.0, 2.0]
    for kind in ("net", "ipc", "pid", "mnt", "user"):
        assert os.readlink(f"/proc/{runner.pid}/ns/{kind}") != os.readlink(f"/proc/self/ns/{kind}")
    assert runner.pid != 2
    assert int(Path(f"/proc/{runner.pid}/status").read_text().split("NSpid:")[1].splitlines()[0].split()[-1]) == 2


def test_no_capability_is_left(start: Start) -> None:
    runner = start()
    need(runner, "user")
    status = Path(f"/proc/{runner.pid}/status").read_text()
    for name in ("CapEff", "CapPrm", "CapBnd"):
        assert int(status.split(f"{name}:")[1].split()[0], 16) == 0


def test_nothing_is_left_after_the_end(start: Start) -> None:
    runner = start("{ for (;;) ; }")
    pids = [runner.pid, runner._process.pid]
    runner.close()
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def test_a_machine_without_namespaces_is_told_of_and_works(
    start: Start, executable: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A user namespace whose own limit of further ones is zero stands for such a kernel."""
    limited = tmp_path / "limited"
    limit = "echo 0 > /proc/sys/user/max_user_namespaces"
    inner = f'{limit} && exec "$@"'
    limited.write_text(f"#!/bin/sh\nexec unshare --user --map-root-user sh -c '{inner}' sh {executable} \"$@\"\n")
    limited.chmod(0o755)
    probe = subprocess.run(["unshare", "--user", "--map-root-user", "sh", "-c", limit], capture_output=True)
    if probe.returncode:
        pytest.skip(f"no namespace to try it in: {probe.stderr.decode()}")
    runner = start(executable=limited)
    assert not runner.isolation.user
    assert "no user namespace" in runner.isolation.refused
    assert "not fully isolated" in str(runner.isolation)
    assert seen(runner)[0] == 3.0


def test_the_statement_names_what_is_missing() -> None:
    all_there = Isolation(True, True, True, True, True, True)
    assert str(all_there).startswith("isolated: ")
    partly = Isolation.read({"system_calls": True, "user": True, "refused": "no pid namespace: Invalid argument"})
    assert partly.missing[0] == "a pid namespace"
    assert str(partly).endswith("(no pid namespace: Invalid argument)")
